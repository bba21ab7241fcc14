import { test } from 'tap'
import { OpenWork, type Work } from '../src/session/open-work.js'

const work = (owner: string | undefined, taskId?: string): Work => ({
  options: { principal: owner === undefined ? undefined : { owner } }, method: 'tools/call', tool: 'tool', taskId, isPaused: false, pause () {}, resume () {}
})

/** The owners that unnamed messages go to, each with one call open. */
const served = (open: OpenWork, owners: readonly string[]): string[] => owners.filter(owner => {
  const place = open.begin(work(owner))
  const found = typeof open.ofOneOwner() !== 'string'
  open.end(place)
  return found
})

test('cancelled calls past the bound count until the connection ends, and keep the memory within it', t => {
  const open = new OpenWork({ areNamed: true }, undefined)
  for (let id = 0; id < 1_000; id++) open.leave(id, 'bob')
  open.leave('past', 'bob')
  t.strictSame(served(open, ['alice', 'bob']), ['bob'])
  for (let id = 0; id < 1_000; id++) t.strictSame(open.settle(id), { owner: 'bob' })
  t.equal(open.settle('past'), undefined, 'it is not known one by one')
  t.strictSame(served(open, ['alice', 'bob']), ['bob'])
  for (let id = 0; id < 1_000; id++) open.leave(id, 'alice')
  for (let id = 1_000; id < 5_000; id++) open.leave(id, `owner ${id}`)
  for (let id = 0; id < 5_000; id++) open.settle(id)
  t.strictSame(served(open, ['alice', 'bob', 'owner 1000']), [], 'those of several owners')
  t.end()
})

test('one ping is in flight at a time, however many answers there are', t => {
  const pings: Array<() => void> = []
  const open = new OpenWork({ areNamed: true }, answered => { pings.push(answered) })
  const first = open.begin(work('alice'))
  for (let i = 0; i < 100; i++) open.end(open.begin(work(`owner ${i % 3}`)))
  t.equal(pings.length, 1)
  t.match(open.ofOneOwner(), /just answered another owner/)
  pings.shift()!()
  t.equal(pings.length, 1, 'those who were answered meanwhile need another one')
  pings.shift()!()
  t.strictSame([pings.length, open.ofOneOwner()], [0, [first.value]])
  open.end(first)
  t.match(open.ofOneOwner(), /no call/)
  t.equal(open.size, 0)
  t.end()
})
