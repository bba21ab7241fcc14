import Fastify from 'fastify'
import { test } from 'tap'
import { mcpGatewayPlugin } from '../src/index.js'
import { bad, testedGateway, until, type TestedOptions } from './fixtures/app.js'
import { changeText } from '../../../test/fixtures/change-text.mjs'

interface Reply { readonly status: number, readonly retryAfter: unknown, readonly body: any, readonly bytes: string }

async function serve (t: { teardown (work: () => Promise<void>): void }, options: TestedOptions) {
  const gateway = testedGateway({ servers: [bad()], ...options })
  const app = Fastify({ forceCloseConnections: true })
  await app.register(mcpGatewayPlugin, { gateway, authenticate: request => ({ owner: String(request.headers.caller) }) })
  app.addHook('preClose', () => gateway.close())
  t.teardown(() => app.close())
  gateway.start()
  const call = async (caller: string, tool: string, args: object = {}, more: object = {}): Promise<Reply> => {
    const { statusCode: status, headers, body } = await app.inject({ method: 'POST', url: '/mcp/call', headers: { caller }, payload: { server: 'bad', tool, arguments: args, ...more } })
    const { date: _date, 'x-request-id': _id, ...rest } = headers
    return { status, retryAfter: headers['retry-after'], body: JSON.parse(body), bytes: JSON.stringify([status, rest, body]) }
  }
  return { gateway, call }
}

test('one owner takes a quarter of the calls of a server, waits in turn, and gets 503 beyond', async t => {
  const { gateway, call } = await serve(t, { maxInFlight: 8 })
  const bobs = Array.from({ length: 2 }, () => call('bob', 'slow', { ms: 1_500 }))
  await until(() => gateway.get('bad').status().callsInFlight === 2)
  const waiting = Array.from({ length: 2 }, () => call('bob', 'slow', { ms: 1 }))
  t.match(await call('bob', 'slow', { ms: 1 }), { status: 503, retryAfter: /\d/, body: { code: 'OWNER_SHARE_USED', server: 'bad' } })
  t.equal(gateway.get('bad').status().callsInFlight, 2)
  t.equal((await call('alice', 'echo', { message: 'x' })).status, 200, 'another owner has the rest')
  t.strictSame((await Promise.all([...bobs, ...waiting])).map(({ status }) => status), [200, 200, 200, 200])
})

test('one owner has a quarter of the open questions', async t => {
  const { gateway, call } = await serve(t, { maxQuestions: 4 })
  t.equal((await call('bob', 'ask')).status, 202)
  t.match(await call('bob', 'ask'), { status: 200, body: { result: { content: [{ text: /decline/ }] } } })
  t.equal(gateway.get('bad').status().callsInFlight, 1)
})

test('a parked call of another owner is answered byte for byte like one that was never parked', async t => {
  const { call } = await serve(t, { stateKey: 'k'.repeat(32) })
  const other = await serve(t, { stateKey: 'k'.repeat(32) })
  const stranger = await serve(t, { stateKey: 'x'.repeat(32) })
  const asked = await call('alice', 'ask')
  const { requestState, inputRequests: { 'input-1': question } } = asked.body
  t.match(question, { method: 'elicitation/create' })
  const inputResponses = { 'input-1': { action: 'accept', content: { name: 'bob' } } }
  const resume = async (caller: string, requestState: string): Promise<Reply> => await call(caller, 'ask', {}, { requestState, inputResponses })
  const foreign = await resume('bob', requestState)
  t.match(foreign, { status: 400, body: { code: 'MCP_INVALID_STATE' } })
  const forged = [
    (await stranger.call('bob', 'ask')).body.requestState, (await other.call('alice', 'ask')).body.requestState,
    changeText(requestState), `v1.AAAA${requestState.slice(7)}`, requestState.slice(0, 20), 'v1..', 'never-issued', 'x'.repeat(1_000)
  ]
  for (const state of forged) t.equal((await resume('bob', state)).bytes, foreign.bytes, state.slice(0, 40))
  t.match(await resume('alice', requestState), { status: 200, body: { result: { content: [{ text: /bob/ }] } } }, 'the call still waits for alice')
})
