import { test, type Test } from 'tap'
import Fastify, { type FastifyInstance } from 'fastify'
import fc from 'fast-check'
import { a2aPlugin } from '@polyvac/a2a'
import { createVacs, type Interpreter, type Principal, type StepView } from '@polyvac/core'
import { mcpServerPlugin, vacTools } from '@polyvac/mcp-server'
import { sqliteTaskStore } from '@polyvac/tasks/sqlite'
import { vacPlugin } from '@polyvac/vac'
import { forms, VAC_PROTOCOLS, type Probe } from './probes/index.mjs'

const SECRETS = ['MARKER-INPUT', 'MARKER-OUTPUT', 'MARKER-ERROR']
const CALLERS: Readonly<Record<string, Principal>> = {
  admin: { owner: 'a', scopes: ['admin'] }, user: { owner: 'u' }, scoped: { owner: 'a', scopes: ['vac:*'] }
}
const CONFIG = { all: { steps: 'all' }, names: { steps: 'names' }, plain: {}, off: { steps: 'off' } } as const

/** What a request of a caller may see, as the contract has it. */
function expected (vac: keyof typeof CONFIG, asked: boolean, isAdmin: boolean): StepView | undefined {
  if (vac === 'off') return undefined
  if (vac === 'all') return 'all'
  if (!asked) return undefined
  return isAdmin ? 'all' : 'names'
}

const agent: Interpreter = async function * (question, _vac, _history, { callTool, ...extra }) {
  yield 'heard '
  await callTool!('server-name', 'tool-name', { marker: 'MARKER-INPUT' })
  await callTool!('server-name', 'failing-tool', {}).catch(() => {})
  yield { reasoning: 'a thought' }
  yield question
  yield { answer: `heard ${question}`, source_documents: [], metadata: { extra: Object.keys(extra).includes('steps') } }
}

async function serve (t: Test, streamInterpreter: Interpreter = agent, isOpen = false): Promise<FastifyInstance> {
  const app = Fastify()
  const vacs = createVacs({
    vacs: CONFIG,
    streamInterpreter,
    async callTool (_server, tool) {
      if (tool === 'failing-tool') throw Object.assign(new Error('MARKER-ERROR'), { code: 'TOOL_FAILED' })
      return { content: [{ type: 'text', text: 'MARKER-OUTPUT' }] }
    }
  })
  const tasks = sqliteTaskStore({ path: ':memory:' })
  await tasks.open()
  const authenticate = isOpen ? {} : { authenticate: ({ headers }: { headers: Record<string, unknown> }) => CALLERS[String(headers.authorization)] }
  await app.register(vacPlugin, { vacs, protocols: VAC_PROTOCOLS, ...authenticate })
  await app.register(a2aPlugin, { vacs, tasks, ...authenticate })
  await app.register(mcpServerPlugin, { sources: [vacTools(vacs)], ...authenticate })
  t.teardown(async () => {
    await app.close()
    await tasks.close()
  })
  return app
}

/** Responses have steps as texts: no more than names. */
const isTold = (what: string): boolean => what.startsWith('responses')
/** Protocols of front ends have steps without an ask. */
const isAlways = (what: string): boolean => isTold(what) || /^a(?:g_ui|i_sdk)/.test(what)

/** Whether a form of a protocol shows calls of tools to a caller who may see them. */
function showsTools (what: string, asked: boolean): boolean {
  if (what.startsWith('openai')) return false
  if (what.startsWith('direct')) return what !== 'direct: text'
  // progress needs a token, which the request without the ask has only where it streams
  if (what.startsWith('mcp')) return asked || what === 'mcp: vac_stream'
  if (isAlways(what)) return true
  return /subscribe|stream/i.test(what)
}

interface Sent { readonly body: string, readonly what: string, readonly probe: Probe }

async function ask (app: FastifyInstance, [what, make, probe]: ReturnType<typeof forms>[number], vac: string, asked: boolean, headers: Record<string, string>): Promise<Sent> {
  const request = make('you', vac)
  const { path, body } = asked ? { ...request, ...probe.withSteps(request) } : request
  const response = await app.inject({ method: 'POST', url: path, payload: body, headers: { ...request.headers, ...headers } })
  return { body: response.body, what: `${what}, ${vac}${asked ? ', asked' : ''}, ${JSON.stringify(headers)}`, probe }
}

function check (t: Test, { body, what, probe }: Sent, seen: StepView | undefined, hasTools: boolean): void {
  // responses have texts, and the frames of chats no field for a duration and a code
  const view = what.startsWith('responses') && seen === 'all' ? 'names' : seen
  const isChat = what.startsWith('ai_sdk')
  t.match(probe.textOf(body), 'heard you', what)
  const leaks = SECRETS.filter(secret => body.includes(secret))
  t.strictSame(leaks, view === 'all' && hasTools ? SECRETS : [], `${what}: contents`)
  t.notMatch(body, /"extra":true/, `${what}: the ask does not reach the interpreter`)
  const tools = probe.stepsOf(body).filter(step => 'tool_call' in step || 'tool_result' in step)
  if (view === undefined || !hasTools) {
    t.strictSame([tools, body.includes('tool-name')], [[], false], what)
    return
  }
  t.match(tools, [
    { tool_call: { name: 'tool-name', server: 'server-name' } }, { tool_result: { state: 'completed', ...!isChat && { duration_ms: Number } } },
    { tool_call: { name: 'failing-tool', server: 'server-name' } }, { tool_result: { state: 'failed' } }
  ], what)
  t.equal(tools[1]!.tool_result.id, tools[0]!.tool_call.id, what)
  if (view === 'all') t.match([tools[0]!.tool_call.input, tools[3]!.tool_result.error], [{ marker: 'MARKER-INPUT' }, { ...!isChat && { code: 'TOOL_FAILED' }, message: 'MARKER-ERROR' }], what)
}

test('inputs, outputs and errors of tools leave only where the configuration and the caller allow it, over each protocol', async t => {
  const app = await serve(t)
  for (const form of forms()) {
    for (const vac of Object.keys(CONFIG) as Array<keyof typeof CONFIG>) {
      for (const asked of [false, true]) {
        for (const authorization of Object.keys(CALLERS)) {
          check(t, await ask(app, form, vac, asked, { authorization }), expected(vac, asked || isAlways(form[0]), authorization === 'admin'), showsTools(form[0], asked))
        }
      }
    }
  }
})

test('on loopback without authentication the caller may see all, and behind a proxy only names', async t => {
  const app = await serve(t, agent, true)
  for (const form of forms()) {
    for (const isLocal of [true, false]) {
      check(t, await ask(app, form, 'plain', true, isLocal ? {} : { 'x-forwarded-for': '198.51.100.7' }), isLocal ? 'all' : 'names', showsTools(form[0], true))
    }
  }
})

test('reasoning comes where it is asked for', async t => {
  const app = await serve(t)
  for (const form of forms()) {
    for (const asked of [false, true]) {
      const { body, what, probe } = await ask(app, form, 'plain', asked, { authorization: 'user' })
      const isShown = (asked || isAlways(form[0])) && (form[0].startsWith('openai') || showsTools(form[0], true))
      t.strictSame(probe.stepsOf(body).filter(step => 'reasoning' in step), isShown ? [{ reasoning: 'a thought' }] : [], what)
    }
  }
})

test('a reader of a task sees what it may see itself, not what the sender of the task saw', async t => {
  const app = await serve(t)
  const follow = async (authorization: string, taskId: string): Promise<string> => (await app.inject({
    method: 'POST', url: '/a2a/tasks/resubscribe', headers: { authorization, 'last-event-id': '1' }, payload: { jsonrpc: '2.0', id: 1, method: 'tasks/resubscribe', params: { taskId } }
  })).body
  for (const form of forms().filter(([what]) => what === 'a2a: tasks/sendSubscribe')) {
    const { body } = await ask(app, form, 'plain', true, { authorization: 'admin' })
    const taskId = /"taskId":"([^"]+)"/.exec(body)![1]!
    t.match(await follow('admin', taskId), 'MARKER-INPUT')
    const other = await follow('scoped', taskId)
    t.match(other, 'tool-name')
    t.notMatch(other, 'MARKER')
  }
})

test('a task that goes on with another caller shows it no more than that one may see', async t => {
  const app = await serve(t, async function * (question, _vac, _history, { callTool }) {
    await callTool!('server-name', 'tool-name', { marker: 'MARKER-INPUT' })
    if (question !== 'more') return { input_required: 'And?' }
    return { answer: 'done' }
  })
  const send = async (method: string, authorization: string, params: object): Promise<string> => (await app.inject({
    method: 'POST', url: `/a2a/${method}`, headers: { authorization }, payload: { jsonrpc: '2.0', id: 1, method, params }
  })).body
  const first = await send('tasks/send', 'admin', { skillName: 'vac_query_plain', input: { query: 'x' }, metadata: { steps: true } })
  t.match(first, 'input-required')
  const second = await send('tasks/sendSubscribe', 'scoped', { taskId: /"taskId":"([^"]+)"/.exec(first)![1], input: { query: 'more' } })
  t.match(second, /"steps":\[\{"tool_call".*"state":"completed"/s)
  t.notMatch(second, 'MARKER')
})

test('steps never change the text of an answer, whatever they hold', async t => {
  const text = fc.string({ unit: 'binary', maxLength: 20 })
  const step = fc.oneof(
    fc.record({ reasoning: text }),
    fc.record({ tool_call: fc.record({ name: fc.string({ minLength: 1, maxLength: 9 }), input: fc.jsonValue() }) }),
    fc.record({ tool_result: fc.record({ output: fc.jsonValue() }) }),
    fc.record({ data: fc.record({ type: fc.constantFrom('[DONE]', 'data: x', 'a\n\nb'), value: fc.jsonValue() }) }),
    fc.record({ source: fc.record({ page_content: text }) }),
    fc.record({ file: fc.record({ url: text.map(tail => `https://example.com/${tail}`) }) })
  )
  let chunks: unknown[] = []
  const app = await serve(t, async function * () { yield * chunks as string[] })
  await fc.assert(fc.asyncProperty(fc.array(fc.oneof(text, step), { minLength: 1, maxLength: 8 }), async some => {
    chunks = ['heard you', ...some]
    const whole = chunks.filter(chunk => typeof chunk === 'string').join('').toWellFormed()
    for (const form of forms(undefined, ['stream'])) {
      for (const asked of [false, true]) {
        const { body, what, probe } = await ask(app, form, 'plain', asked, { authorization: 'admin' })
        if (what.startsWith('direct: text') || what.startsWith('mcp')) continue
        if (probe.piecesOf(body) !== whole) throw new Error(`${what}: ${JSON.stringify(probe.piecesOf(body))} is not ${JSON.stringify(whole)}`)
      }
    }
  }), { numRuns: 25 })
})
