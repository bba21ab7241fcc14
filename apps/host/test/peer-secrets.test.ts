import type { ServerResponse } from 'node:http'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { test, type Test } from 'tap'
import { artifact, COMPLETED, json, rawAgent, status, stream, task, WORKING, type Came, type Json } from '../../../packages/a2a-client/test/fixtures/agent.js'
import { until } from '../../../test/fixtures/until.js'
import '../../../test/fixtures/timeout.mjs'
import { createHost, type HostOptions } from '../src/index.js'

const KEY = 'CANARY0of0the0key'
const HEADER = 'CANARY0of0the0header'
const BASIC = Buffer.from('polyvac:CANARY0password').toString('base64')

/** Whether a text has a secret, also as part of Basic. */
function hasSecret (text: string): boolean { return /CANARY/.test(text) || text.includes(BASIC) }

async function host (t: Test, options: HostOptions) {
  const lines: string[] = []
  const app = await createHost({ tasks: { store: 'memory' }, server: { logger: { level: 'trace', stream: { write (line: string) { lines.push(line) } } } }, ...options })
  t.teardown(() => app.close())
  /** What callers get: the answer, the stream with its steps, and the record of a durable run. */
  const ask = async (vac: string, question: string): Promise<{ readonly statusCode: number, readonly texts: readonly string[] }> => {
    const payload = { user_input: question }
    const { statusCode, payload: answer } = await app.inject({ method: 'POST', url: `/vac/${vac}`, payload })
    const { payload: streamed } = await app.inject({ method: 'POST', url: `/vac/streaming/${vac}/sse?steps=all`, payload: { ...payload, steps: 'all' } })
    const begun = await app.inject({ method: 'POST', url: `/vac/${vac}`, payload: { ...payload, background: true } })
    const { run_id: id } = begun.json<{ run_id: string }>()
    let kept = ''
    await until(async () => {
      kept = (await app.inject({ url: `/vac/${vac}/runs/${id}` })).payload
      return /"(?:failed|completed|input_required)"/.test(kept)
    }, 'the run has ended')
    const { payload: events } = await app.inject({ url: `/vac/${vac}/runs/${id}/stream` })
    return { statusCode, texts: [answer, streamed, begun.payload, kept, events] }
  }
  return { app, ask, lines }
}

test('a model server that repeats the key in its errors shows it to no caller, no run and no line of the log', async t => {
  let reply: (said: string, response: ServerResponse) => void = () => {}
  const server = createServer((request, response) => {
    request.resume().on('end', () => { reply(`refused: ${request.headers.authorization?.slice('Bearer '.length)} ${JSON.stringify(request.headers)}`, response) })
  }).listen(0, '127.0.0.1')
  await until(() => server.listening, 'the server listens')
  t.teardown(() => {
    server.close()
    server.closeAllConnections()
  })
  const openai = { base_url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`, api_key: KEY }
  const { ask, lines } = await host(t, { vacs: { help: { model: 'any-model', openai }, auto: { model: 'auto', openai } } as never, stream_interpreter: 'agent' })
  const events = (response: ServerResponse, ...data: unknown[]): void => {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.end(data.map(one => `data: ${JSON.stringify(one)}\n\n`).join(''))
  }
  const replies: Record<string, typeof reply> = {
    'a refusal': (said, response) => { json(response, 401, { error: { message: said, code: said, param: { said } } }) },
    'a refusal in two pieces': (said, response) => {
      const text = JSON.stringify({ error: { message: said } })
      const middle = text.indexOf(KEY) + 5
      response.writeHead(403, { 'content-type': 'application/json' }).write(text.slice(0, middle))
      setImmediate(() => response.end(text.slice(middle)))
    },
    'a page': (said, response) => { response.writeHead(404, { 'content-type': 'text/html', 'x-why': said }).end(`<p>${said}</p>`) },
    'an error amid the stream': (said, response) => { events(response, { error: { message: said, type: said } }) },
    'an event of another form': (said, response) => { events(response, { choices: said }) },
    'JSON that is not an answer': (said, response) => { json(response, 200, { object: said, choices: [{ message: said }] }) },
    'an answer': (said, response) => { events(response, { id: 'c', object: 'chat.completion.chunk', created: 0, model: 'm', choices: [{ index: 0, delta: { content: said }, finish_reason: 'stop' }] }) }
  }
  for (const [what, next] of Object.entries(replies)) {
    reply = next
    for (const vac of ['help', 'auto']) {
      const { texts } = await ask(vac, 'What is tea?')
      t.strictSame(texts.filter(hasSecret), [], `${vac}: ${what}`)
    }
    t.strictSame(lines.filter(hasSecret), [], `the log: ${what}`)
  }
  t.ok(lines.some(line => line.includes('[redacted]')), 'the log has the rest of the error')
})

for (const [name, scheme, auth] of [
  ['a token', { httpAuthSecurityScheme: { scheme: 'Bearer' } }, { token: KEY }],
  ['a key in a header with an ordinary name', { apiKeySecurityScheme: { location: 'header', name: 'x-tenant' } }, { api_key: KEY }],
  ['a password', { httpAuthSecurityScheme: { scheme: 'basic' } }, { username: 'polyvac', password: 'CANARY0password' }]
] as const) {
  test(`an agent that repeats ${name} in its errors shows it to no caller, no run and no line of the log`, async t => {
    const said = ({ headers }: Came): string => `refused: ${(headers.authorization ?? '').replace('Bearer ', '')} ${JSON.stringify(headers)}`
    const description = `the agent of ${HEADER}`
    const raw = await rawAgent(t, ({ id, method, params }: Json, response, came) => {
      const question = params.message?.parts[0].text as string | undefined
      const text = said(came)
      if (method === 'GetTask') return json(response, 200, { jsonrpc: '2.0', id, result: task('TASK_STATE_FAILED').task })
      if (question === 'error') return json(response, 200, { jsonrpc: '2.0', id, error: { code: -32603, message: text, data: { text } } })
      if (question === 'refusal') return json(response, 200, { jsonrpc: '2.0', id, error: { code: -32602, message: text } })
      if (question === 'misfit') return json(response, 200, { jsonrpc: '2.0', id, error: { code: -32009, message: text } })
      if (question === 'status') return response.writeHead(401, { 'www-authenticate': `Bearer error="${text.replaceAll('"', '')}"` }).end(text)
      if (question === 'failed') return stream(response, id, [task(WORKING), status(WORKING, text), status('TASK_STATE_FAILED', text)])
      if (question === 'rejected') return stream(response, id, [task('TASK_STATE_REJECTED', { status: { state: 'TASK_STATE_REJECTED', message: { messageId: 'm', role: 'ROLE_AGENT', parts: [{ text }] } } })])
      if (question === 'asks') return stream(response, id, [task(WORKING), status('TASK_STATE_INPUT_REQUIRED', text)])
      if (question === 'data') return stream(response, id, [task(WORKING), artifact('x', { artifact: { artifactId: 'a', name: text, description: text, parts: [{ text }, { data: { deep: [text] } }, { raw: 'AAAA', filename: text }] } }), status(COMPLETED)])
      return stream(response, id, [{ message: { messageId: '1', role: 'ROLE_AGENT', parts: [{ text }] } }])
    }, { description, securitySchemes: { s: scheme }, securityRequirements: [{ schemes: { s: { list: [] } } }] })
    const agents = [{ name: 'peer', url: raw.origin, auth: { s: auth }, headers: { 'x-auth-token': HEADER } }]
    const { app, ask, lines } = await host(t, { vacs: ['demo'], stream_interpreter: 'echo', a2a_agents: agents as never, enable_a2a_agent: true, enable_mcp_server: true })
    for (const question of ['error', 'refusal', 'misfit', 'status', 'failed', 'rejected', 'asks', 'data', 'message']) {
      const { texts } = await ask('peer', question)
      t.strictSame(texts.filter(hasSecret), [], question)
    }
    for (const url of ['/vacs', '/.well-known/agent-card.json', '/ready']) t.notOk(hasSecret((await app.inject({ url })).payload), url)
    t.strictSame(lines.filter(hasSecret), [])
    t.ok(raw.calls().length > 9)
  })
}
