import { test } from 'tap'
import fc from 'fast-check'
import { LightAbort, LogGate, MemoryBudget, OwnerSlots } from '../src/plugin.js'

test('a budget counts what is held, by owner, and refuses beyond its limit or the share of an owner', async t => {
  const budget = new MemoryBudget(1_000)
  const [a, b, anonymous] = [budget.hold('bodies', 'alice'), budget.hold('bodies', 'bob'), budget.hold('bodies')]
  a.grow(250)
  t.throws(() => { a.grow(1) }, { code: 'MEMORY_BUDGET_EXCEEDED', statusCode: 503, message: /memory for bodies/ })
  t.equal(budget.refusedRecently, true)
  b.grow(200)
  anonymous.grow(550)
  t.notOk(b.tryGrow(1), 'the whole is used')
  a.shrink(100)
  t.ok(b.tryGrow(50))
  for (const hold of [a, a, b, anonymous]) hold.release()
  t.equal(budget.used, 0)
})

test('whatever is held and released, a budget never exceeds its limit and ends at zero', async () => {
  fc.assert(fc.property(fc.array(fc.tuple(fc.constantFrom('a', 'b', undefined), fc.integer({ min: 0, max: 500 }))), steps => {
    const budget = new MemoryBudget(1_000)
    const holds = steps.map(([owner, bytes]) => {
      const hold = budget.hold('x', owner)
      hold.tryGrow(bytes)
      return hold
    })
    const isWithin = budget.used <= 1_000
    for (const hold of holds) { hold.shrink(3); hold.release() }
    return isWithin && budget.used === 0
  }))
})

test('waiting owners get free slots in turn, and none more than its share', async t => {
  const slots = new OwnerSlots({ part: 'calls', total: 4, share: 2, maxWaiting: 100 })
  const order: string[] = []
  const ask = (owner: string): void => { slots.take(owner).then(() => order.push(owner), t.fail) }
  for (let i = 0; i < 6; i++) ask('bob')
  ask('alice')
  await Promise.resolve()
  t.strictSame(order, ['bob', 'bob', 'alice'], 'bob has his share')
  ask('carol')
  ask('dave')
  await new Promise(setImmediate)
  t.strictSame(order.slice(3), ['carol'])
  slots.release('bob')
  slots.release('alice')
  await new Promise(setImmediate)
  t.strictSame(order.slice(4).sort(), ['bob', 'dave'], 'one each')
  t.equal(slots.taken, 4)
  t.equal(slots.waiting, 3)
})

test('one slot goes to the waiting owners in turn, however many calls each has', async t => {
  const slots = new OwnerSlots({ part: 'calls', total: 1, share: 1, maxWaiting: 100 })
  const order: string[] = []
  slots.tryTake('carol')
  for (const owner of ['bob', 'bob', 'bob', 'alice', 'alice']) slots.take(owner).then(() => order.push(owner), t.fail)
  for (let i = 0; i < 5; i++) {
    slots.release(order.at(-1) ?? 'carol')
    await new Promise(setImmediate)
  }
  t.strictSame(order, ['bob', 'alice', 'bob', 'alice', 'bob'])
})

test('a wait ends with its signal; too many waits are refused; callers without an owner share all', async t => {
  const slots = new OwnerSlots({ part: 'calls', total: 1, share: 1, maxWaiting: 4 })
  t.ok(slots.tryTake('bob'))
  const abort = new LightAbort()
  const waiting = slots.take('bob', abort)
  await t.rejects(slots.take('bob'), { code: 'OWNER_SHARE_USED', statusCode: 503 })
  abort.abort(new Error('left'))
  await t.rejects(waiting, { message: 'left' })
  t.equal(slots.waiting, 0)
  await t.rejects(slots.take('bob', abort), { message: 'left' })
  slots.release('bob')
  t.equal(slots.taken, 0)
  const all = new OwnerSlots({ part: 'calls', total: 3 })
  t.ok([1, 2, 3].every(() => all.tryTake()))
  t.notOk(all.tryTake())
})

test('one log line of a kind passes in an interval, with the number of those left out', async t => {
  const gate = new LogGate(60_000)
  t.equal(gate.pass('a'), 0)
  t.equal(gate.pass('a'), undefined)
  t.equal(gate.pass('b'), 0)
  t.equal(gate.pass('a', 'alice'), 0, 'each caller has its own')
  t.equal(gate.pass('a alice'), 0, 'and a kind with its name is another one')
  const short = new LogGate(0)
  short.pass('a')
  t.equal(short.pass('a'), 0)
})

test('however many callers and kinds there are, a gate lets no more lines pass than it remembers, and none silences another kind', async t => {
  const passed = (gate: LogGate, kind: (i: number) => string, caller: (i: number) => string): number =>
    Array.from({ length: 5_000 }, (_, i) => gate.pass(kind(i), caller(i))).filter(suppressed => suppressed !== undefined).length
  const gate = new LogGate(60_000)
  t.equal(gate.pass('scope', 'alice'), 0)
  t.equal(passed(gate, () => 'token', i => `address 2001:db8::${i.toString(16)}`), 250)
  t.equal(passed(gate, () => 'token', i => `address 2001:db8::${i.toString(16)}`), 0, 'no eviction lets the same lines pass again')
  t.equal(gate.pass('scope', 'alice'), undefined, 'nor those of another kind')
  t.equal(gate.pass('scope', 'bob'), 0, 'another kind still has its lines')
  t.equal(passed(gate, i => `kind ${i}`, () => ''), 748, '1,000 in all')
  const short = new LogGate(0, 4)
  t.equal(passed(short, () => 'token', String), 5_000, 'a line of an interval that is over makes room')
})
