import type { AddedCount, CountNow } from '@polyvac/tasks'
import Fastify from 'fastify'
import { test } from 'tap'
import { until } from '../../../test/fixtures/until.js'
import { CallerCounts } from '../src/guards/caller-counts.js'
import { MAX_COUNTED_OWNERS } from '../src/guards/day-counts.js'
import { createHost } from '../src/index.js'
import { MAX_COUNTED_CALLERS } from '../src/guards/minute-counts.js'

const { log } = Fastify()

test('the tasks of a day are counted apart from addresses and owners in a minute, and MCP and A2A together', async t => {
  const app = await createHost({
    vacs: ['docs'],
    stream_interpreter: 'echo',
    enable_a2a_agent: true,
    enable_mcp_server: true,
    tasks: { store: 'memory' },
    trusted_proxies: ['loopback'],
    limits: { owner: { tasks_per_day: 2, requests_per_minute: 10 }, address: { requests_per_minute: 1_000 } },
    authenticate: ({ headers: { authorization: owner } }) => owner === undefined ? undefined : { owner },
    server: { logger: false }
  })
  t.teardown(() => app.close())
  const send = async (owner: string) => (await app.inject({
    method: 'POST',
    url: '/a2a/tasks/send',
    headers: { authorization: owner },
    payload: { jsonrpc: '2.0', id: 1, method: 'tasks/send', params: { skillName: 'vac_query_docs', input: { query: 'x' } } }
  })).statusCode
  const meta = { 'io.modelcontextprotocol/protocolVersion': '2026-07-28', 'io.modelcontextprotocol/clientCapabilities': { extensions: { 'io.modelcontextprotocol/tasks': {} } } }
  const call = async (owner: string) => (await app.inject({
    method: 'POST',
    url: '/mcp',
    headers: {
      authorization: owner, accept: 'application/json, text/event-stream', 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'tools/call', 'mcp-name': 'vac_query_docs'
    },
    payload: { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { _meta: meta, name: 'vac_query_docs', arguments: { query: 'x' } } }
  })).body
  t.strictSame([await send('alice'), await send('alice'), await send('alice')], [200, 200, 429])
  for (let i = 0; i < MAX_COUNTED_CALLERS + 1; i++) {
    const headers = { 'x-forwarded-for': `10.${i >> 16}.${(i >> 8) & 255}.${i & 255}`, authorization: `stranger ${i}` }
    await app.inject({ url: '/vac', headers })
  }
  t.equal(await send('alice'), 429, 'however many other callers there were')
  t.equal(await send('bob'), 200)
  t.match(await call('bob'), /"taskId"/, 'the second task of the day')
  t.match(await call('bob'), /TASKS_PER_DAY|tasks in a day/)
  t.equal(await send('bob'), 429)
})

test('many addresses do not push out the rate of an owner, nor the other way round', t => {
  const counts = new CallerCounts(() => undefined, log)
  for (const [kept, crowd] of [[counts.ofOwners, counts.ofAddresses], [counts.ofAddresses, counts.ofOwners]] as const) {
    t.equal(kept.add('alice', 1), undefined)
    for (let i = 0; i < MAX_COUNTED_CALLERS * 2; i++) crowd.add(`10.0.0.${i}`, 1)
    t.ok(kept.add('alice', 1), 'seconds to wait')
  }
  t.end()
})

test('a count of a day never goes down in favour of others, however many there are', t => {
  const { tasks } = new CallerCounts(() => undefined, log)
  for (let i = 0; i < 3; i++) t.equal(tasks.add('alice', 3), undefined)
  t.equal(tasks.add('carol', 3), undefined)
  t.ok(tasks.add('alice', 3))
  // three rounds of strangers, each with more tasks than the one before
  for (let round = 1; round <= 3; round++) {
    for (let i = 0; i < MAX_COUNTED_OWNERS * 1.2; i++) for (let task = 0; task < round; task++) tasks.add(`stranger ${round} ${i}`, 3)
    t.ok(tasks.add('alice', 3), `after round ${round}`)
  }
  let left = 0
  while (tasks.add('carol', 3) === undefined) left++
  t.ok(left <= 2, `carol had one task, and creates ${left} more`)
  t.end()
})

test('a task that is not created does not count', t => {
  const { tasks } = new CallerCounts(() => undefined, log)
  t.equal(tasks.add('alice', 1), undefined)
  tasks.takeBack('alice')
  t.equal(tasks.add('alice', 1), undefined)
  t.ok(tasks.add('alice', 1))
  t.end()
})

test('what a crowded replica has forgotten of an owner is in the shared counts, and comes back', async t => {
  const rows = new Map<string, number>()
  const shared = {
    async add (added: readonly AddedCount[]): Promise<CountNow[]> {
      t.equal(new Set(added.map(({ name }) => name)).size, added.length, 'a statement has a name once')
      return added.map(({ name, count, windowMs }) => {
        rows.set(name, (rows.get(name) ?? 0) + count)
        return { name, count: rows.get(name)!, endsInMs: windowMs }
      })
    }
  }
  const counts = new CallerCounts(() => shared, log)
  t.teardown(() => { counts.close() })
  for (let i = 0; i < 2; i++) t.equal(counts.tasks.add('alice', 5), undefined)
  for (let i = 0; i < MAX_COUNTED_OWNERS * 1.2; i++) counts.tasks.add(`stranger ${i}`, 5)
  t.equal(counts.tasks.add('alice', 5), undefined)
  const total = 3 + Math.floor(MAX_COUNTED_OWNERS * 1.2)
  await until(() => [...rows.values()].reduce((sum, count) => sum + count, 0) === total, 'all is sent, also what is forgotten here')
  t.equal(Math.max(...rows.values()), 3, 'all tasks of alice')
  for (let i = 0; i < 2; i++) t.equal(counts.tasks.add('alice', 5), undefined)
  t.ok(counts.tasks.add('alice', 5), 'the sixth')
})
