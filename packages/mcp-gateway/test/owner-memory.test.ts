import { memoryBudget } from '@polyvac/core/plugin'
import { test, type Test } from 'tap'
import { until } from '../../../test/fixtures/until.js'
import { started } from './fixtures/app.js'
import { handWritten, type Exchange } from './fixtures/hand-written.js'
import { relayed } from './fixtures/relayed.js'

const MIB = 1024 * 1024

/** A budget of 16 MiB, of which one owner may have 4. */
async function small (t: Test): Promise<void> {
  await until(() => memoryBudget.used === 0, 'nothing is counted')
  const { limit } = memoryBudget
  memoryBudget.limit = 16 * MIB
  t.teardown(() => { memoryBudget.limit = limit })
}

const principal = (owner: string): { principal: { owner: string } } => ({ principal: { owner } })

for (const type of ['application/json', 'text/event-stream']) {
  test(`responses of ${type} that one owner causes are refused at the share of that owner, and those to others are read`, async t => {
    await small(t)
    const open = new Map<string, Exchange>()
    const { url } = await handWritten(t, exchange => {
      if (exchange.message.method !== 'tools/call') return false
      open.set(exchange.message.params.arguments.key, exchange)
      return true
    }, { isModern: false })
    const { gateway } = await started(t, [{ name: 'own', url }])
    const begin = async (owner: string, key: string): Promise<{ done: Promise<unknown>, end: () => void }> => {
      const done = gateway.call('own', 'tool', { key }, principal(owner))
      done.catch(() => {})
      await until(() => open.has(key), `the server has ${key}`)
      const { res, message: { id } } = open.get(key)!
      res.writeHead(200, { 'content-type': type })
      res.write(`${type === 'application/json' ? '' : 'data: '}{"jsonrpc":"2.0","id":${String(id)},"result":{"content":[{"type":"text","text":"${'x'.repeat(3 * MIB)}`)
      return { done, end: () => { res.end(`"}]}}${type === 'application/json' ? '' : '\n\n'}`) } }
    }
    const first = await begin('bob', 'b1')
    await until(() => memoryBudget.used > 2.5 * MIB, 'what has come is counted')
    await t.rejects((await begin('bob', 'b2')).done, { code: 'MEMORY_BUDGET_EXCEEDED', statusCode: 503 })
    const other = await begin('alice', 'a1')
    other.end()
    t.match(await other.done, { content: [{ type: 'text' }] })
    first.end()
    t.match(await first.done, { content: [{ type: 'text' }] })
    await until(() => memoryBudget.used === 0, 'nothing is counted any more')
  })
}

test('a long answer over stdio counts for the owner of its request', async t => {
  await small(t)
  const relay = await relayed(t)
  const { gateway } = await started(t, [relay.config])
  const answer = async (owner: string | undefined, key: string, bytes: number): Promise<unknown> => {
    const done = gateway.call(relay.config.name!, 'tool', { key }, owner === undefined ? {} : principal(owner))
    done.catch(() => {})
    relay.answer(await relay.request(key), { content: [{ type: 'text', text: 'x'.repeat(bytes) }] })
    return await done
  }
  await t.rejects(answer('bob', 'b1', 5 * MIB), { code: 'MEMORY_BUDGET_EXCEEDED', statusCode: 503 })
  t.match(await answer('alice', 'a1', 3 * MIB), { content: [{ type: 'text' }] })
  t.match(await answer('bob', 'b2', 3 * MIB), { content: [{ type: 'text' }] })
  t.match(await answer(undefined, 'u1', 5 * MIB), { content: [{ type: 'text' }] }, 'callers without an owner share all')
  await until(() => memoryBudget.used === 0, 'nothing is counted any more')
})
