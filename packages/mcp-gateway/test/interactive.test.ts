import { LightAbort } from '@polyvac/core/plugin'
import { setTimeout as delay } from 'node:timers/promises'
import { test } from 'tap'
import { bad, published, started, textOf, until } from './fixtures/app.js'
import { changeText } from '../../../test/fixtures/change-text.mjs'

const accept = (content: object): object => ({ action: 'accept', content })

test('a tool that asks is answered by a second call', async t => {
  const { app, gateway } = await started(t, [published('everything')])
  const post = async (payload: object): Promise<{ status: number, body: any }> => {
    const { statusCode, body } = await app.inject({ method: 'POST', url: '/mcp/call', payload })
    return { status: statusCode, body: JSON.parse(body) }
  }
  const call = { server: 'everything', tool: 'trigger-elicitation-request', arguments: {} }
  const asked = await post(call)
  t.match(asked, { status: 202, body: { status: 'input_required', inputRequests: { 'input-1': { method: 'elicitation/create', params: { message: String, requestedSchema: { type: 'object' } } } }, requestState: /^v1\./ } })
  const { requestState } = asked.body
  const tampered = changeText(requestState)
  t.match(await post({ ...call, requestState: tampered }), { status: 400, body: { code: 'MCP_INVALID_STATE' } })
  t.match(await post({ ...call, tool: 'echo', requestState }), { status: 400, body: { code: 'MCP_INVALID_STATE', error: /did not sign its requestState for this caller, server, tool/ } })
  t.match(await post({ ...call, requestState, inputResponses: { 'input-1': 'yes' } }), { status: 400, body: { code: 'BAD_REQUEST' } })
  t.match(await post({ ...call, requestState, inputResponses: { 'input-1': { action: 'maybe' } } }), { status: 400, body: { error: /accept/ } })
  const again = await post({ ...call, requestState })
  t.match(again, { status: 202, body: { inputRequests: { 'input-1': {} } } }, 'without an answer it asks again')
  const answered = await post({ ...call, requestState: again.body.requestState, inputResponses: { 'input-1': accept({ name: 'Ada' }), other: {} } })
  t.equal(answered.status, 200)
  t.match(JSON.stringify(answered.body), /Ada/)
  t.match(await post({ ...call, requestState: again.body.requestState }), { status: 400, body: { error: /has been used/ } })
  const declined = await post({ ...call, capabilities: {} })
  t.match(declined, { status: 200, body: { result: { content: [{ text: /declin/i }, {}] } } }, 'a caller that cannot answer is not asked')
  t.equal(gateway.get('everything').status().callsInFlight, 0)
})

test('a sampling request is answered by a second call, or fails the call if the caller cannot answer', async t => {
  const { app, call } = await started(t, [published('everything')])
  const body = { server: 'everything', tool: 'trigger-sampling-request', arguments: { prompt: 'Hello?', maxTokens: 10 } }
  const asked = (await app.inject({ method: 'POST', url: '/mcp/call', payload: body })).json()
  t.match(asked.inputRequests, { 'input-1': { method: 'sampling/createMessage', params: { messages: Array } } })
  const inputResponses = { 'input-1': { role: 'assistant', model: 'mine', content: { type: 'text', text: 'Hello yourself' } } }
  const done = await app.inject({ method: 'POST', url: '/mcp/call', payload: { ...body, requestState: asked.requestState, inputResponses } })
  t.match(done.body, /Hello yourself/)
  t.equal((await call('everything', 'echo', { message: 'x' })).status, 200)
  const cannot = await app.inject({ method: 'POST', url: '/mcp/call', payload: { ...body, capabilities: { elicitation: {} } } })
  t.match(cannot.json(), { error: /the client has no handler for/ })
})

test('a tool may ask again and again, and its own time stands still meanwhile', async t => {
  const { app, call } = await started(t, [bad({}, { timeout: 1 })])
  const body = { server: 'bad', tool: 'ask', arguments: { rounds: 3 } }
  let answer = (await app.inject({ method: 'POST', url: '/mcp/call', payload: body })).json()
  for (let round = 1; round <= 3; round++) {
    t.match(Object.keys(answer.inputRequests), [`input-${round}`])
    // in the first round longer than the timeout of the call
    if (round === 1) await delay(1_200)
    answer = (await app.inject({ method: 'POST', url: '/mcp/call', payload: { ...body, requestState: answer.requestState, inputResponses: { [`input-${round}`]: accept({ city: `c${round}` }) } } })).json()
  }
  t.match(textOf({ body: answer }), /c3/)
  t.equal((await call('bad', 'echo', { message: 'x' })).status, 200)
})

test('an unanswered question is declined after its time, and the end of a server ends its questions', async t => {
  const { app, call, gateway } = await started(t, [bad()], { questionTtlMs: 1_000 })
  const body = { server: 'bad', tool: 'ask', arguments: {} }
  const first = (await app.inject({ method: 'POST', url: '/mcp/call', payload: body })).json()
  t.equal(gateway.get('bad').status().callsInFlight, 1)
  await until(() => gateway.get('bad').status().callsInFlight === 0)
  t.match((await app.inject({ method: 'POST', url: '/mcp/call', payload: { ...body, requestState: first.requestState } })).json(), { code: 'MCP_INVALID_STATE' })
  const second = (await app.inject({ method: 'POST', url: '/mcp/call', payload: body })).json()
  await call('bad', 'exit')
  t.match((await app.inject({ method: 'POST', url: '/mcp/call', payload: { ...body, requestState: second.requestState, inputResponses: { 'input-1': accept({}) } } })).json(), { error: String, code: /MCP_/ })
})

test('a question that could be of several calls is declined, and the log has the reason', async t => {
  const warnings: object[] = []
  const { call } = await started(t, [bad({}, { name: 'ambiguous' })], { log: { debug () {}, info () {}, warn: (fields: object) => { if ('callsInFlight' in fields) warnings.push(fields) }, error () {} } })
  await call('ambiguous', 'echo', { message: 'x' })
  const [asking] = await Promise.all([call('ambiguous', 'ask'), call('ambiguous', 'slow')])
  t.match(textOf(asking), /decline/)
  t.match(warnings, [{ mcpServer: 'ambiguous', method: 'elicitation/create', reason: /several calls/, callsInFlight: 2, tools: ['ask', 'slow'] }])
})

test('while a question is open, the next call of the same tool gets its own question', async t => {
  const { app, call } = await started(t, [bad()])
  const answers = []
  for (const message of ['first', 'second', 'third']) {
    const asked = await call('bad', 'ask', { params: { message } })
    t.match(asked, { status: 202, body: { inputRequests: { 'input-1': { params: { message } } } } })
    answers.push({ server: 'bad', tool: 'ask', arguments: { params: { message } }, requestState: asked.body.requestState, inputResponses: { 'input-1': accept({ city: message }) } })
  }
  for (const payload of answers) {
    const { body } = await app.inject({ method: 'POST', url: '/mcp/call', payload })
    t.match(body, payload.arguments.params.message)
  }
})

test('questions past the limit are declined', async t => {
  const { call } = await started(t, [bad({ a: true }, { name: 'a' }), bad({ b: true }, { name: 'b' })], { maxQuestions: 1 })
  t.equal((await call('a', 'ask')).status, 202)
  t.match(textOf(await call('b', 'ask')), /decline/)
})

test('a call with many open questions declines the others', async t => {
  const { app, call } = await started(t, [bad()])
  const body = { server: 'bad', tool: 'ask', arguments: { atOnce: 40 } }
  let { requestState } = (await call('bad', 'ask', body.arguments)).body
  let open: object = {}
  const askAgain = async (): Promise<number> => {
    const again = (await app.inject({ method: 'POST', url: '/mcp/call', payload: { ...body, requestState, inputResponses: {} } })).json()
    requestState = again.requestState
    open = again.inputRequests
    return Object.keys(open).length
  }
  // those that the server sent after the first response come with the next
  await until(async () => await askAgain() === 16)
  t.equal(await askAgain(), 16)
  t.ok(Object.keys(open).includes('input-1'))
})

test('a request that clients do not serve gets a JSON-RPC error', async t => {
  const { call } = await started(t, [bad()])
  t.match(textOf(await call('bad', 'ask', { method: 'roots/list', params: {} })), /error/)
})

test('a question never reaches the call of another owner that waits at the same server', async t => {
  const { gateway } = await started(t, [bad()])
  const shown: unknown[] = []
  const ask = (owner: string, params: object): { readonly done: Promise<unknown>, readonly stop: LightAbort } => {
    const signal = new LightAbort()
    const done = gateway.call('bad', 'ask', { params }, {
      principal: { owner },
      signal,
      // unanswered for as long as the test lasts
      ask: async question => { shown.push([owner, question.params]); return await new Promise(() => {}) }
    })
    done.catch(() => {})
    return { done, stop: signal }
  }
  const first = ask('ada', { message: 'for ada' })
  await until(() => shown.length === 1)
  const foreign = ask('eve', { message: 'for eve' })
  t.match(textOf({ body: { result: await foreign.done as never } }), /decline/)
  t.strictSame(shown, [['ada', { message: 'for ada' }]])
  first.stop.abort(new Error('left'))
})
