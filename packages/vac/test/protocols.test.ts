import { test } from 'tap'
import Fastify, { type FastifyInstance, type FastifyPluginAsync } from 'fastify'
import { createVacs, type Interpreter } from '@polyvac/core'
import { PROTOCOLS, protocolPlugin, vacPlugin, type ChatProtocol } from '../src/index.js'
import { pluginOf } from '../src/plugin.js'
import { agUiPlugin } from '../src/plugins/ag-ui.js'
import { aiSdkPlugin } from '../src/plugins/ai-sdk.js'
import { directPlugin } from '../src/plugins/direct.js'
import { openaiPlugin } from '../src/plugins/openai.js'
import { responsesPlugin } from '../src/plugins/responses.js'
import { PROBES, questions, type Probe } from '../../../test/probes/index.mjs'
import { until } from '../../../test/fixtures/until.js'
import { open, text } from './fixtures/app.js'
import { toy, toyProbe } from './fixtures/toy.js'

const TABLE: Readonly<Record<string, ChatProtocol>> = { ...PROTOCOLS, toy }
const ALL: Readonly<Record<string, Probe | undefined>> = { ...PROBES, toy: toyProbe }
const probes = Object.fromEntries(Object.keys(TABLE).map(name => [name, ALL[name]!]))

/** An application with the plugins of all protocols, or with one plugin. */
async function serve (streamInterpreter: Interpreter, options: object = {}, logged: string[] = []): Promise<FastifyInstance> {
  const app = Fastify({ logger: { stream: { write: (line: string) => { logged.push(line) } } } })
  const vacs = createVacs({ vacs: ['docs'], streamInterpreter })
  for (const protocol of Object.values(TABLE)) await app.register(protocolPlugin(protocol), { vacs, ...options })
  return app
}

test('each protocol of the table has a probe', t => {
  for (const [name, probe] of Object.entries(probes)) {
    t.ok(probe !== undefined && Object.keys({ ...probe.ask, ...probe.stream }).length > 0, `test/probes has none for ${name}`)
    t.equal(TABLE[name]?.name, name)
  }
  t.end()
})

test('each protocol answers in each of its forms, and names itself to interpreters and in the log', async t => {
  const logged: string[] = []
  const seen: string[] = []
  const app = await serve(async function * (question, _vac, _history, { protocol }) {
    seen.push(protocol)
    yield 'heard '
    yield question
  }, {}, logged)
  t.teardown(() => app.close())
  for (const [what, { path, body, headers }, probe] of questions('hello', 'docs', probes)) {
    const [name] = what.split(':')
    const response = await app.inject({ method: 'POST', url: path, payload: body, headers })
    t.equal(response.statusCode, 200, what)
    t.equal(probe.textOf(response.body), 'heard hello', `${what} ${response.body}`)
    t.equal(probe.errorOf(response.body), undefined, what)
    t.equal(seen.pop(), name)
    t.match(await until(() => logged.find(line => line.includes('"answered"')), 'the call is logged'), new RegExp(`"vac":"docs","protocol":"${name}".*"outcome":"completed"`), what)
    logged.length = 0
  }
})

test('failures before the first byte and after it have a code, and no text of the error', async t => {
  const logged: string[] = []
  const app = await serve(async function * (question) {
    if (question === 'none') return { answer: 'The documents do not answer this.', metadata: { answered: false } }
    if (question === 'late') yield 'text'
    throw new Error('secret')
  }, {}, logged)
  t.teardown(() => app.close())
  const calls = (): object[] => logged.flatMap(line => line.split('\n')).filter(line => line.includes('"outcome"')).map(line => JSON.parse(line) as object)
  for (const [question, fields] of [
    ['early', { msg: 'not answered', outcome: 'VAC_INTERPRETER_FAILED', answered: undefined }], ['none', { msg: 'answered', outcome: 'completed', answered: false }]
  ] as const) {
    await app.inject({ method: 'POST', url: '/vac/docs', payload: { user_input: question } })
    await until(() => calls().length > 0, 'the call is logged')
    t.match(calls(), [fields], question)
    logged.length = 0
  }
  for (const [question, vac, status, code] of [['early', 'docs', 500, /VAC_INTERPRETER_FAILED|the VAC "docs" failed/], ['x', 'dosc', 404, /VAC_NOT_FOUND|model_not_found|is named "dosc"/], ['late', 'docs', undefined, /VAC_INTERPRETER_FAILED/], [' ', 'docs', 400, /BAD_REQUEST|invalid_value|must not be blank/]] as const) {
    for (const [what, { path, body, headers }, probe] of questions(question, vac, probes)) {
      const response = await app.inject({ method: 'POST', url: path, payload: body, headers })
      if (status !== undefined) t.equal(response.statusCode, status, `${what}, ${question}`)
      const { code: named, message = '' } = probe.errorOf(response.body) ?? {}
      // a plain sentence has no code
      t.match(String(named ?? message), new RegExp(code, 'i'), `${what}, ${question}: ${response.body}`)
      t.notMatch(response.body, /secret|node_modules/)
    }
  }
})

test('bodies that are too large, no JSON, or of another type are refused in the format of the protocol', async t => {
  const app = await serve(() => 'x', { bodyLimit: 1000 })
  t.teardown(() => app.close())
  for (const [what, { path, headers }, probe] of questions('x', 'docs', probes)) {
    for (const [payload, type, status] of [[JSON.stringify({ a: 'x'.repeat(2000) }), 'application/json', 413], ['{', 'application/json', 400], ['a=b', 'text/plain', 415], ['[]', 'application/json', 400]] as const) {
      const response = await app.inject({ method: 'POST', url: path, payload, headers: { ...headers, 'content-type': type } })
      t.equal(response.statusCode, status, `${what} ${payload.slice(0, 10)}`)
      t.ok(probe.errorOf(response.body)?.message, response.body)
    }
    const wrong = await app.inject({ method: 'PUT', url: path, payload: {} })
    t.match([wrong.statusCode, wrong.headers.allow], [405, /POST/], what)
    t.ok(probe.errorOf(wrong.body)?.message, wrong.body)
  }
})

test('a client that disconnects aborts the interpreter, and the end of the application ends a stream', async t => {
  for (const [what, { path, body, headers }, probe] of questions('x', 'docs', probes)) {
    let [begun, aborted] = [0, 0]
    const app = await serve(async function * (_question, _vac, _history, { signal }) {
      begun++
      signal.addEventListener('abort', () => { aborted++ })
      yield 'begun'
      await new Promise(() => {})
    })
    const { request, response } = await open(app, path, body, headers)
    await until(() => begun === 1, `${what}: the call has begun`)
    request.destroy()
    await until(() => aborted === 1, `${what}: the call is aborted`)
    await response.catch(() => {})
    const other = await open(app, path, body, headers)
    await until(() => begun === 2, `${what}: the next call has begun`)
    await app.close()
    t.match(String(probe.errorOf(await text(await other.response))?.code), /SHUTTING_DOWN|SERVICE_CLOSING/i, what)
  }
})

test('keep_alive of each protocol sends comments or events in its event streams, and 0 sends none', async t => {
  let release = (): void => {}
  for (const [keepAlive, isSent] of [[0.1, true], [0, false]] as const) {
    const app = await serve(async () => { await new Promise<void>(resolve => { release = resolve; setTimeout(resolve, 250) }); return 'late' }, { keep_alive: keepAlive })
    t.teardown(() => { release(); return app.close() })
    for (const [what, { path, body, headers }] of questions('x', 'docs', probes)) {
      if (!what.endsWith('events')) continue
      const { body: sent } = await app.inject({ method: 'POST', url: path, payload: body, headers })
      // readers of responses do not see comments: they get the last state again
      t.equal(/^: keep-alive\n/m.test(sent) || (sent.match(/^event: response.in_progress$/gm) ?? []).length > 1, isSent, `${what}, ${keepAlive}`)
    }
  }
})

test('a row in the table is all that the plugin needs of a protocol', async t => {
  const vacs = createVacs({ vacs: ['docs'], streamInterpreter: question => question })
  const app = Fastify()
  await app.register(pluginOf(TABLE), { vacs, protocols: ['direct', ['toy', { loud: true }]] as never })
  t.teardown(() => app.close())
  for (const [what, { path, body, headers }, probe] of questions('hello', 'docs', { toy: toyProbe })) {
    const response = await app.inject({ method: 'POST', url: path, payload: body, headers })
    t.equal(probe.textOf(response.body)?.slice(-5), 'HELLO', what)
    t.equal(response.headers['x-toy'], what.endsWith('events') ? 'yes' : undefined)
  }
  t.strictSame((await app.inject('/toy/names')).json(), { names: ['docs'] })
  t.match((await app.inject({ method: 'POST', url: '/toy/docs', payload: { say: 'nonsense' } })).json(), { oops: 'body/say: is nonsense', code: 'BAD_REQUEST' })
  t.match((await app.inject('/toy/nothing/here')).json(), { oops: /the routes here are GET \/toy\/names, POST \/toy\/:vector_name/ })
  t.match((await app.inject({ method: 'POST', url: '/toy/docs/' })).json(), { oops: /did you mean "\/toy\/docs"/ })
  t.equal((await app.inject('/openai/v1/models')).statusCode, 404, 'a protocol that is not named has no routes')
})

test('protocols are chosen by name, with options, and mistakes are named', async t => {
  const vacs = createVacs({ vacs: ['docs'], streamInterpreter: question => question })
  const routesOf = async (plugin: FastifyPluginAsync<never>, options: object): Promise<string> => {
    const app = Fastify()
    t.teardown(() => app.close())
    await app.register(plugin, { vacs, ...options } as never)
    return app.printRoutes()
  }
  t.notMatch(await routesOf(vacPlugin as never, { protocols: ['direct'] }), /openai/)
  t.notMatch(await routesOf(vacPlugin as never, { protocols: [['openai', { keep_alive: 1 }]] }), /vac\b.*\(GET/)
  t.equal(await routesOf(vacPlugin as never, { protocols: ['direct', 'openai'] }), await routesOf(vacPlugin as never, {}))
  t.equal(await routesOf(vacPlugin as never, { protocols: ['direct'] }), await routesOf(directPlugin as never, { keep_alive: 3 }))
  t.equal(await routesOf(vacPlugin as never, { protocols: ['openai'] }), await routesOf(openaiPlugin as never, {}))
  t.equal(await routesOf(vacPlugin as never, { protocols: ['responses'] }), await routesOf(responsesPlugin as never, {}))
  t.equal(await routesOf(vacPlugin as never, { protocols: ['ag_ui'] }), await routesOf(agUiPlugin as never, {}))
  t.equal(await routesOf(vacPlugin as never, { protocols: [['ai_sdk', { version: 6 }]] }), await routesOf(aiSdkPlugin as never, { unread_timeout: 60 }))
  for (const [plugin, options, message] of [
    [vacPlugin, { protocols: ['opnai'] }, /no protocol "opnai"; did you mean "openai"/], [vacPlugin, { protocols: ['__proto__'] }, /no protocol "__proto__"/], [vacPlugin, { protocols: [7] }, /no protocol "7"/],
    [vacPlugin, { protocols: ['direct', 'direct'] }, /direct is in the list twice/], [vacPlugin, { protocols: ['direct'], openai: false }, /not both/],
    [vacPlugin, { protocols: [['openai', { keep_alive: 4000 }]] }, /openai\/keep_alive: expected number/], [vacPlugin, { protocols: [['openai', { x: 1 }]] }, /openai\/x/], [vacPlugin, { protocols: [['openai', null]] }, /openai: expected object/],
    [openaiPlugin, { keep_alive: '7' }, /openai\/keep_alive/], [openaiPlugin, { protocols: ['direct'] }, /the plugin of openai has no option "protocols"/]
  ] as const) await t.rejects(routesOf(plugin as never, options), { code: 'VAC_PLUGIN_OPTIONS', message }, JSON.stringify(options))
})

test('plugins with the same prefix answer unknown paths together', async t => {
  const app = await serve(question => question)
  t.teardown(() => app.close())
  const refused = async (method: 'GET' | 'PUT', url: string): Promise<unknown[]> => {
    const { statusCode, headers: { allow }, body } = await app.inject({ method, url })
    return [statusCode, allow, body]
  }
  t.match(await refused('GET', '/openai/v1/nothing'), [404, undefined, /GET \/openai\/v1\/models.*POST \/openai\/v1\/responses/])
  t.match(await refused('PUT', '/openai/v1/models'), [405, /GET/])
  t.match(await refused('PUT', '/openai/v1/responses'), [405, 'POST'])
})
