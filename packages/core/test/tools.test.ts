import { Type } from '@sinclair/typebox'
import { test } from 'tap'
import { fileURLToPath } from 'node:url'
import { createVacs, defineTools, isStep, workerInterpreter, type Hit, type Interpreter, type MemoryQuery, type Step, type VacsOptions } from '../src/index.js'
import { LightAbort, selectTools } from '../src/plugin.js'

const seen: unknown[] = []
const tools = defineTools([
  {
    name: 'add',
    description: 'Adds.',
    annotations: { readOnlyHint: true },
    inputSchema: Type.Object({ a: Type.Number(), b: Type.Number() }),
    outputSchema: Type.Object({ sum: Type.Number() }),
    handler ({ a, b }, { principal, signal }) {
      seen.push(principal?.owner, signal.aborted)
      return { sum: a + b }
    }
  },
  { name: 'fail', inputSchema: Type.Object({}), handler () { throw Object.assign(new Error('sold out'), { code: 'SOLD_OUT', statusCode: 409 }) } }
])

const hit: Hit = { content: 'tea', score: 0.9, metadata: {} }
const queries: MemoryQuery[] = []
const memory = {
  async search (query: MemoryQuery): Promise<Hit[]> {
    queries.push(query)
    query.onDegraded?.('the model does not answer')
    return [hit]
  }
}
const folder = fileURLToPath(new URL('fixtures', import.meta.url))

function make (streamInterpreter: Interpreter, more: Partial<VacsOptions> = { tools, parts: { docs: { memory } } }) {
  return createVacs({ vacs: ['docs'], streamInterpreter, ...more }).get('docs')
}

function logTo (lines: unknown[]) {
  return { debug () {}, info () {}, warn (obj: object, message?: string) { lines.push([obj, message]) }, error () {} }
}

test('a function tool is called for the caller, as a step of the answer', async t => {
  const steps: Step[] = []
  const vac = make(async (_question, _vac, _history, extra) => {
    const [add, fail] = extra.tools
    t.match(add, { name: 'add', description: 'Adds.', annotations: { readOnlyHint: true }, inputSchema: { type: 'object' }, outputSchema: { type: 'object' } })
    t.equal(fail?.description, '')
    t.equal(extra.tools, extra.tools, 'they are made once')
    const { structuredContent } = await add!.call<{ sum: number }>({ a: 1, b: 2 })
    await t.rejects(add!.call({ a: 'x' }), { code: 'MCP_INVALID_ARGUMENTS', message: /arguments\/b: is missing; arguments\/a: must be number/ })
    await t.rejects(fail!.call({}), { code: 'SOLD_OUT' })
    return String(structuredContent?.sum)
  })
  seen.length = 0
  const { answer } = await vac.ask({ question: 'q', principal: { owner: 'alice' }, steps: 'all', onStep: step => { steps.push(step) } })
  t.equal(answer, '3')
  t.strictSame(seen, ['alice', false])
  t.match(steps, [
    { tool_call: { name: 'add', input: { a: 1, b: 2 } } }, { tool_result: { state: 'completed', output: { structuredContent: { sum: 3 } } } },
    { tool_call: { name: 'add' } }, { tool_result: { state: 'failed', error: { code: 'MCP_INVALID_ARGUMENTS' } } },
    { tool_call: { name: 'fail' } }, { tool_result: { state: 'failed', error: { message: 'sold out' } } }
  ])
  t.notOk('server' in (steps[0] as { tool_call: object }).tool_call)
})

test('an input that does not fit, which no interpreter catches, stays hidden, and an error of a tool for the caller does not', async t => {
  await t.rejects(make(async (_q, _v, _h, extra) => { await extra.tools[0]!.call({}) }).ask({ question: 'q' }), { code: 'VAC_INTERPRETER_FAILED' })
  await t.rejects(make(async (_q, _v, _h, extra) => { await extra.tools[1]!.call({}) }).ask({ question: 'q' }), { code: 'SOLD_OUT', statusCode: 409 })
})

test('the memory is searched for the caller, and what does not work of it is logged once', async t => {
  const lines: unknown[] = []
  const vac = make(async (_question, _vac, _history, { memory }) => {
    await memory?.search({ query: 'tea', limit: 3 })
    return JSON.stringify(await memory?.search({ query: 'tea', threshold: 0.2 }))
  })
  queries.length = 0
  const { answer } = await vac.ask({ question: 'q', principal: { owner: 'alice' }, log: logTo(lines) })
  t.strictSame(JSON.parse(answer), [hit])
  t.match(queries, [{ query: 'tea', limit: 3, owner: 'alice', signal: AbortSignal }, { threshold: 0.2 }])
  t.strictSame(lines, [[{ reason: 'the model does not answer' }, 'a part of the memory does not work']])
  const stop = new AbortController()
  const hanging = make(async (_q, _v, _h, extra) => { await extra.memory?.search({ query: 'x', signal: stop.signal }) }, { parts: { docs: { memory: { search: async () => await new Promise(() => {}) } } } })
  const asked = hanging.ask({ question: 'q' })
  stop.abort(Object.assign(new Error('enough'), { code: 'ENOUGH', statusCode: 400 }))
  await t.rejects(asked, { code: 'ENOUGH' }, 'a memory that ignores its signal')
})

test('without tools, memory and conversation they are empty, whatever the caller sends', async t => {
  const vac = make(async (_q, _v, _h, { tools, memory, conversation }) => JSON.stringify([tools, memory ?? null, conversation ?? null]), {})
  const forged = { extra: { tools: 'forged', memory: 'forged', conversation: 'forged' } }
  t.equal((await vac.ask({ question: 'q', ...forged })).answer, '[[],null,null]')
  t.equal((await vac.ask({ question: 'q', ...forged, conversation: 'c1' })).answer, '[[],null,"c1"]')
  t.throws(() => make(() => 'x', { tools: [] as never }), { code: 'INVALID_VACS', message: /tools must be what defineTools\(\) returns; it is a list/ })
})

test('in a worker thread they work as on the event loop', async t => {
  const worker = await workerInterpreter('./tools.mjs', folder, { maxThreads: 1 })
  t.teardown(() => worker.close())
  const steps: Step[] = []
  const vac = make(worker.stream_interpreter)
  seen.length = 0
  queries.length = 0
  const { answer, ...more } = await vac.ask({ question: 'q', conversation: 'c1', principal: { owner: 'alice' }, steps: 'all', onStep: step => { steps.push(step) } })
  t.strictSame({ answer, ...more }, { answer: '3', source_documents: [], hits: [hit], conversation: 'c1', names: ['add', 'fail'], codes: ['MCP_INVALID_ARGUMENTS', 'SOLD_OUT'] })
  t.strictSame(seen, ['alice', false])
  t.match(queries, [{ query: 'tea', limit: 2, owner: 'alice' }])
  t.equal(steps.filter(step => isStep(step) && 'tool_call' in step).length, 3, 'each call is one step')
  const unsent = make(worker.stream_interpreter, { tools, parts: { docs: { memory: { search: async () => [{ ...hit, metadata: { f: () => {} } }] } } } })
  await t.rejects(unsent.ask({ question: 'q' }), { code: 'VAC_INTERPRETER_FAILED' }, 'what cannot be sent to a thread')
})

test('a handler gets an AbortSignal, whatever the signal of its caller', async t => {
  let signal: AbortSignal | undefined
  const own = defineTools([{ name: 'wait', inputSchema: { type: 'object' }, handler (_args, context) { signal = context.signal; return '' } }])
  const stop = new LightAbort()
  await own.call('wait', {}, { signal: stop, principal: undefined, log: logTo([]) })
  t.equal(signal?.aborted, false)
  stop.abort(new Error('left'))
  t.match(signal, { aborted: true, reason: { message: 'left' } })
})

test('the tools of a VAC are chosen by name, and a model gets a name for each', t => {
  const listed = ['read', 'write'].map(name => ({ server: 'files', name, description: '', inputSchema: { type: 'object' } }))
  const choice = { listed, functions: [{ name: 'add' }, { name: 'add.more' }], vacs: ['docs', 'ü'], remote: ['shop'] }
  const names = (list: readonly string[] | undefined, more: Partial<typeof choice> & { servers?: string[] } = {}) => {
    const { tools, problems } = selectTools(list, { ...choice, ...more })
    return [tools.map(({ kind, name }) => `${kind} ${name}`), problems.map(({ entry, message }) => entry === undefined ? message : `${entry}: ${message}`)]
  }
  t.match(names(undefined), [['server files__read', 'server files__write', 'function add', /^function add_more_[0-9a-f]{8}$/], []])
  t.strictSame(names([]), [[], []])
  t.strictSame(names(['files', 'files__read', 'add', 'vac:docs', 'shop']), [['server files__read', 'server files__write', 'function add', 'vac vac_docs', 'agent shop'], []])
  t.match(names(['vac:ü']), [[/^vac vac___[0-9a-f]{8}$/], []])
  t.match(names(['filez', 'files__wrote', 'vac:dogs', 'docs']), [[], [
    'filez: there is no tool, MCP server or agent "filez"; did you mean "files"?',
    'files__wrote: the MCP server "files" has no tool "wrote"; did you mean "write"?',
    'vac:dogs: there is no other VAC "dogs"; did you mean "docs"?',
    'docs: there is no tool, MCP server or agent "docs"; did you mean "vac:docs"?'
  ]])
  t.match(names(['dcos', 'tea']), [[], ['dcos: there is no tool, MCP server or agent "dcos"; did you mean "vac:docs"?', /^tea: .*; there are: files, add, add\.more, vac:docs, vac:ü, shop$/]])
  t.strictSame(names(['mail', 'mail__send'], { servers: ['mail'] }), [[], []], 'a server that does not answer yet')
  t.strictSame(names(['shop', 'vac:docs'], { functions: [{ name: 'vac_docs' }, { name: 'shop' }] }), [['vac vac_docs'],
    ['shop: "shop" is a tool of the application and a remote agent; rename one of them']])
  t.strictSame(names(['vac_docs', 'vac:docs'], { functions: [{ name: 'vac_docs' }] }), [['function vac_docs'],
    ['vac:docs: the tool "vac_docs" of the application and the VAC "docs" would both be the tool "vac_docs"; rename one of them']])
  t.strictSame(names(undefined, { functions: [{ name: 'files__read' }] }), [['server files__read', 'server files__write'],
    ['the tool "read" of the MCP server "files" and the tool "files__read" of the application would both be the tool "files__read"; rename one of them']])
  t.end()
})
