import type { Principal } from '@polyvac/core'
import { postgresTaskStore } from '@polyvac/tasks/postgres'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { test, type Test } from 'tap'
import { testDatabase } from '../../../test/fixtures/postgres.js'
import { messagesIn, says, serve, sourceOf, Wire } from './fixtures/wire.js'

/** Tokens of one owner, two of them with the same scopes, and one of another. */
const TOKENS: Record<string, Principal & { readonly note?: string }> = {
  'Bearer wide': { owner: 'ann', scopes: ['vac:a', 'vac:b', 'admin'], note: 'the first' },
  'Bearer second': { owner: 'ann', scopes: ['admin', 'vac:b', 'vac:a'], note: 'the second' },
  'Bearer narrow': { owner: 'ann', scopes: [] },
  'Bearer other': { owner: 'bob', scopes: ['vac:a'] }
}

/** A tool that returns its caller, and one that only callers with `admin` see. */
const source = sourceOf({
  who: { run: (_args, { principal }) => says(JSON.stringify(principal)) },
  hidden: { run: () => says('secret') }
}, { listFor: async (kind, principal, id) => kind !== 'tools' ? undefined : ['who', ...principal?.scopes?.includes('admin') === true ? ['hidden'] : []].filter(name => id === undefined || name === id).map(name => ({ name, inputSchema: { type: 'object' } })) as never })

async function replicas (t: Test, count: number): Promise<{ apps: FastifyInstance[], tokens: Map<string, Principal> }> {
  const tokens = new Map(Object.entries(TOKENS))
  const authenticate = ({ headers }: FastifyRequest): Principal | undefined => tokens.get(String(headers.authorization))
  const url = count === 1 ? '' : await testDatabase(t)
  const start = async (): Promise<FastifyInstance> => {
    if (count > 1) {
      const tasks = postgresTaskStore({ url })
      await tasks.open()
      const app = await serve(t, { sources: [source], authenticate, tasks, stateKey: 'k'.repeat(32) })
      t.teardown(() => tasks.close())
      return app
    }
    return await serve(t, { sources: [source], authenticate })
  }
  const apps = await Promise.all(Array.from({ length: count }, start))
  for (const app of apps) await app.listen({ host: '127.0.0.1', port: 0 })
  return { apps, tokens }
}

for (const count of [1, 2]) {
  test(`over HTTP+SSE each message has the caller of its POST, with ${count === 1 ? 'one replica' : 'two replicas'}`, async t => {
    const { apps, tokens } = await replicas(t, count)
    const [first, last] = [apps[0]!, apps.at(-1)!]
    for (const [opener, poster] of [['wide', 'second'], ['second', 'wide']] as const) {
      for (const [token, principal] of Object.entries(TOKENS)) tokens.set(token, principal)
      const headers = (name: string): Record<string, string> => ({ authorization: `Bearer ${name}` })
      const wire = new Wire(first, undefined, headers(opener), 'GET')
      await wire.until('\n\n')
      const endpoint = /^event: endpoint\ndata: (.*)\n\n/.exec(wire.text)![1]!
      let id = 0
      const answer = async (app: FastifyInstance, name: string, method: string, params: object = {}): Promise<any> => {
        const { statusCode } = await app.inject({ method: 'POST', url: endpoint, headers: headers(name), payload: { jsonrpc: '2.0', id: ++id, method, params } })
        if (statusCode !== 202) return statusCode
        await wire.until(`"id":${id}`)
        await wire.until('\n\n')
        return messagesIn(wire.text.slice(wire.text.indexOf('\n\n') + 2)).find(message => message.id === id)
      }
      const who = async (app: FastifyInstance, name: string): Promise<unknown> => {
        const { result } = await answer(app, name, 'tools/call', { name: 'who' })
        return JSON.parse(result.content[0].text)
      }
      for (const app of [first, last]) {
        t.strictSame(await who(app, opener), TOKENS[`Bearer ${opener}`], 'the token of the stream')
        t.strictSame(await who(app, poster), TOKENS[`Bearer ${poster}`], 'the other token of its owner')
        const sees = async (name: string): Promise<unknown> => (await answer(app, name, 'tools/call', { name: 'hidden' }))
        t.match(await sees(poster), { result: says('secret') })
        t.equal(await sees('narrow'), 404, 'a session of other scopes is unknown')
        t.equal(await answer(app, 'other', 'ping'), 404, 'a session of another owner is unknown')
      }
      tokens.delete(`Bearer ${opener}`)
      for (const app of [first, last]) {
        t.strictSame(await who(app, poster), TOKENS[`Bearer ${poster}`], 'after the token of the stream was removed')
        t.equal(await answer(app, opener, 'ping'), 401)
      }
      wire.leave()
    }
  })
}
