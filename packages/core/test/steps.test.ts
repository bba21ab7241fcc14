import { test } from 'tap'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { createVacs, isAnswer, isStep, workerInterpreter, type Chunk, type Interpreter, type Step, type ToolAccess, type VacCall, type VacsOptions } from '../src/index.js'
import { collectStep, stepsFor } from '../src/plugin.js'

type CallTool = NonNullable<ToolAccess['callTool']>
const result = { content: [{ type: 'text' as const, text: 'sunny' }] }
const tool: CallTool = async () => result
const open = createVacs({ vacs: ['docs'], streamInterpreter: () => 'unused' })

function make (streamInterpreter: unknown, more: Partial<VacsOptions> = {}) {
  return createVacs({ vacs: ['docs'], streamInterpreter: streamInterpreter as Interpreter, callTool: tool, ...more }).get('docs')
}

async function read (vac: ReturnType<typeof make>, call: Partial<VacCall> = { steps: 'all' }) {
  const chunks: Chunk[] = []
  for await (const chunk of vac.stream({ question: 'q', ...call })) chunks.push(chunk)
  const steps = chunks.filter(isStep)
  const last = chunks.at(-1)
  return { chunks, steps, answer: last !== undefined && isAnswer(last) ? last : undefined }
}

/** Chunks without what differs from run to run. */
function plain (chunks: readonly Chunk[]): unknown[] {
  const ids: string[] = []
  const place = (id: string): number => {
    if (!ids.includes(id)) ids.push(id)
    return ids.indexOf(id)
  }
  return chunks.map(chunk => {
    if (typeof chunk === 'string' || isAnswer(chunk)) return chunk
    if ('tool_call' in chunk) return ['call', place(chunk.tool_call.id), chunk.tool_call.name, chunk.tool_call.input]
    return 'tool_result' in chunk ? ['result', place(chunk.tool_result.id), chunk.tool_result.state, chunk.tool_result.error ?? chunk.tool_result.output] : chunk
  })
}

const answer = { answer: 'ab', source_documents: [] }

test('calls of tools are steps in the order of the text, whatever the form of the interpreter', async t => {
  const forms: Array<[string, unknown]> = [
    ['async generator', async function * (_q: string, _v: string, _h: [], { callTool }: { callTool: CallTool }) {
      yield 'a'
      await callTool('s', 'weather', { city: 'Oslo' })
      yield 'b'
    }],
    ['pushed text', async (_q: string, _v: string, _h: [], { callTool, callback }: { callTool: CallTool, callback: { on_llm_new_token: (text: string) => Promise<void> } }) => {
      await callback.on_llm_new_token('a')
      await callTool('s', 'weather', { city: 'Oslo' })
      await callback.on_llm_new_token('b')
    }],
    ['steps that it yields itself, of a sync generator', function * () {
      yield 'a'
      yield { tool_call: { id: 1, name: 'weather', input: { city: 'Oslo' } } }
      yield { tool_result: { output: result } }
      yield 'b'
    }]
  ]
  const expected = ['a', ['call', 0, 'weather', { city: 'Oslo' }], ['result', 0, 'completed', result], 'b', answer]
  for (const [name, interpreter] of forms) {
    t.strictSame(plain((await read(make(interpreter))).chunks), expected, name)
    const steps: Step[] = []
    t.strictSame(await make(interpreter).ask({ question: 'q', steps: 'all', onStep: step => { steps.push(step) } }), answer, name)
    t.strictSame(plain(steps), expected.filter(Array.isArray), `${name}, not streamed`)
    t.strictSame((await read(make(interpreter), {})).chunks, ['a', 'b', answer], `${name}, not asked for`)
  }
})

test('a step of a slow reader keeps its place before what came after it', async t => {
  const vac = make(async function * (_q: string, _v: string, _h: [], { callTool }: { callTool: CallTool }) {
    const later = delay(5).then(async () => await callTool('s', 'late', {}))
    yield 'a'
    yield 'b'
    await later
  })
  const seen: Chunk[] = []
  for await (const chunk of vac.stream({ question: 'q', steps: 'names' })) {
    seen.push(chunk)
    if (chunk === 'a') await delay(20)
  }
  t.match(plain(seen), ['a', ['call', 0, 'late'], ['result', 0, 'completed'], 'b', answer])
})

test('failed, parallel, unfinished and aborted calls of tools', async t => {
  const failing: CallTool = async (_server, name, _args, options) => {
    if (name === 'fails') throw Object.assign(new Error('no such city'), { code: 'TOOL_FAILED', statusCode: 500, secret: 'x' })
    if (name === 'reports') return { content: [{ type: 'text', text: 'not found' }], isError: true }
    if (name === 'hangs') await delay(60_000, undefined, { signal: options?.signal, ref: false })
    return result
  }
  const vac = make(async function * (_q: string, _v: string, _h: [], { callTool, signal }: { callTool: CallTool, signal: AbortSignal }) {
    await callTool('s', 'fails', {}).catch(() => {})
    await callTool('s', 'reports', {})
    const stop = new AbortController()
    await Promise.all([callTool('s', 'one', {}), callTool('s', 'two', {})])
    const stopped = callTool('s', 'hangs', {}, { signal: stop.signal })
    stop.abort()
    await stopped.catch(() => {})
    void callTool('s', 'hangs', {}, { signal }).catch(() => {})
    yield 'text'
  }, { callTool: failing })
  const controller = new AbortController()
  const { chunks, steps } = await read(vac, { steps: 'all', signal: controller.signal })
  controller.abort()
  t.match(plain(chunks), [
    ['call', 0, 'fails'], ['result', 0, 'failed', { code: 'TOOL_FAILED', message: 'no such city' }],
    ['call', 1, 'reports'], ['result', 1, 'failed', { code: 'TOOL_ERROR', message: 'not found' }],
    ['call', 2, 'one'], ['call', 3, 'two'], ['result', 2, 'completed'], ['result', 3, 'completed'],
    ['call', 4, 'hangs'], ['result', 4, 'failed', { code: 'ABORT_ERR' }],
    ['call', 5, 'hangs'], 'text', ['result', 5, 'failed', { code: 'TOOL_UNFINISHED' }], { answer: 'text' }
  ])
  t.notMatch(JSON.stringify(steps), /secret/)
  t.ok(steps.every(step => !('tool_result' in step) || typeof step.tool_result.duration_ms === 'number'))
})

test('names leave out inputs, outputs and errors of tools', async t => {
  const vac = make(async function * (_q: string, _v: string, _h: [], { callTool }: { callTool: CallTool }) {
    await callTool('s', 'weather', { marker: 'MARKER' })
    yield { tool_call: { id: 'c', name: 'own', server: 's', input: 'MARKER', more: 'MARKER' } }
    yield { tool_result: { id: 'c', error: new Error('MARKER') } }
    yield { reasoning: 'a thought' }
    yield '.'
  }, { callTool: async () => ({ content: [{ type: 'text', text: 'MARKER' }] }) })
  const { steps } = await read(vac, { steps: 'names' })
  t.equal(steps.length, 5)
  t.notMatch(JSON.stringify(steps), /MARKER/)
  t.match(steps.slice(2), [
    { tool_call: { id: 'c', name: 'own', server: 's' } }, { tool_result: { id: 'c', state: 'failed' } }, { reasoning: 'a thought' }
  ])
})

test('spans and calls of tools have their places in time', async t => {
  const vac = make(async function * (_q: string, _v: string, _h: [], { callTool }: { callTool: CallTool }) {
    yield { span: { id: 'm', kind: 'model', name: 'fake', state: 'running' } }
    await callTool('s', 'weather', {})
    yield { span: { id: 'm', kind: 'model', name: 'fake', usage: { inputTokens: 3, outputTokens: 2 }, finish_reason: 'stop' } }
    yield { span: { kind: 'search', duration_ms: 0, passages: 4, input: { query: 'MARKER' } } }
    yield { span: { kind: 'audit', state: 'failed', start_ms: 1.25, duration_ms: 2 } }
    yield '.'
  }, { callTool: async () => { await delay(5); return result } })
  const { steps } = await read(vac)
  t.match(steps, [
    { span: { id: 'm', state: 'running', start_ms: Number } },
    { tool_call: { name: 'weather' } }, { tool_result: { start_ms: Number } },
    { span: { id: 'm', state: 'completed', usage: { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 }, finish_reason: 'stop' } },
    { span: { kind: 'search', name: 'search', passages: 4, input: { query: 'MARKER' } } },
    { span: { kind: 'audit', state: 'failed', start_ms: 1.3, duration_ms: 2 } }
  ])
  const [begun, , called, ended] = steps as any[]
  t.equal(ended.span.start_ms, begun.span.start_ms)
  t.ok(called.tool_result.start_ms >= begun.span.start_ms && ended.span.duration_ms >= called.tool_result.duration_ms - 1, 'the call is within the span')
  t.notMatch(JSON.stringify(await read(vac, { steps: 'names' })), /MARKER/)
  const list: Step[] = []
  for (const step of steps) collectStep(list, step)
  t.match(list.map(step => Object.keys(step)[0]), ['span', 'tool_call', 'tool_result', 'span', 'span'], 'a list has a span once, at the place of its beginning')
  t.match(list[0], { span: { state: 'completed' } })
  const bounded = make(function * () {
    for (let i = 0; i < 20; i++) yield { span: { kind: 'search', name: `${i}` } }
    yield '.'
  }, { limits: { maxSteps: 10 } })
  t.match((await read(bounded)).answer, { metadata: { steps_left_out: 10 } })
})

test('who sees steps', t => {
  const asks = (steps: 'all' | 'names' | 'off' | undefined, asked: boolean, isAdmin: boolean): unknown => stepsFor({ steps }, asked, () => isAdmin)
  t.strictSame([asks('off', true, true), asks('off', false, false)], [undefined, undefined])
  t.strictSame([asks('all', false, false), asks('all', true, false)], ['all', 'all'])
  t.strictSame([asks('names', false, true), asks('names', true, true), asks('names', true, false)], [undefined, 'all', 'names'])
  t.strictSame([asks(undefined, false, true), asks(undefined, true, true), asks(undefined, true, false)], [undefined, 'all', 'names'])
  t.end()
})

test('steps are read in the forms that interpreters have them in', async t => {
  const cases: Array<[unknown, unknown]> = [
    [{ tool_call: { id: 'a', function: { name: 'f', arguments: '{"x":1}' } } }, { tool_call: { id: 'a', name: 'f', input: { x: 1 } } }],
    [{ tool_call: { id: 'a', name: 'f', input: '{"x":' } }, { tool_call: { id: 'a', name: 'f', input: '{"x":' } }],
    [{ tool_call: { id: 'a', name: 'f', server: '' } }, { tool_call: { id: 'a', name: 'f', input: {} } }],
    [{ tool_result: { id: 'a', output: undefined, duration_ms: -1 } }, { tool_result: { id: 'a', state: 'completed', output: null } }],
    [{ tool_result: { id: 'a', error: 'broken', output: 1 } }, { tool_result: { id: 'a', state: 'failed', error: { message: 'broken' } } }],
    [{ tool_result: { id: 'a', output: NaN, duration_ms: 3 } }, { tool_result: { id: 'a', state: 'completed', output: null, duration_ms: 3 } }],
    [{ source: 'a passage' }, { source: { page_content: 'a passage', metadata: {} } }],
    [{ data: { type: 'chart', value: { at: new Date(0), no: undefined } } }, { data: { type: 'chart', value: { at: '1970-01-01T00:00:00.000Z' } } }],
    [{ file: { name: 'a.txt', media_type: 'text/plain', bytes: new TextEncoder().encode('hi') } }, { file: { name: 'a.txt', media_type: 'text/plain', bytes: 'aGk=' } }],
    [{ file: { url: new URL('https://example.com/a') } }, { file: { name: 'file', media_type: 'application/octet-stream', url: 'https://example.com/a' } }],
    [{ reasoning: 'half \ud83d of' }, { reasoning: 'half \ufffd of' }],
    [{ data: { type: 'x\ud83d', value: ['\ud83d'] } }, { data: { type: 'x\ufffd', value: ['\ufffd'] } }]
  ]
  for (const [yielded, expected] of cases) {
    t.strictSame((await read(make(function * () { yield yielded; yield '.' }))).steps, [expected], JSON.stringify(expected))
  }
  const halves = await read(make(function * () {
    yield { reasoning: 'a \ud83d' }
    yield { reasoning: undefined }
    yield { reasoning: '\ude00 b' }
    yield null
    yield '.'
  }))
  t.strictSame(halves.steps, [{ reasoning: 'a ' }, { reasoning: '😀 b' }])
})

test('a step of the wrong form fails the answer with its problem, whether it is seen or not', async t => {
  const cycle: Record<string, unknown> = {}
  cycle.self = cycle
  const cases: Array<[unknown, RegExp]> = [
    [{ tool_call: 'f' }, /a `tool_call` that is not an object/],
    [{ tool_call: { input: {} } }, /a `tool_call` without a string `name`/],
    [{ tool_result: 1 }, /a `tool_result` that is not an object/],
    [{ reasoning: 1 }, /a `reasoning` that is not text/],
    [{ span: { name: 'x' } }, /a `span` without a string `kind`/],
    [{ span: { kind: 'x', state: 'late' } }, /a `span` whose `state` is not/],
    [{ source: 1 }, /a `source` that is neither text nor an object/],
    [{ data: { value: 1 } }, /a `data` without a string `type`/],
    [{ file: { name: 'a' } }, /a `file` with neither a `url` nor `bytes`/],
    [{ file: { bytes: '###' } }, /a `file` whose `bytes` are neither base64/]
  ]
  for (const [yielded, message] of cases) {
    const vac = make(function * () { yield yielded })
    for (const steps of ['all', 'names', undefined] as const) await t.rejects(read(vac, { steps }), { code: 'VAC_INVALID_RESULT', message })
  }
  await t.rejects(read(make(function * () { yield { data: { type: 'x', value: 1n } } })), { message: /cannot be converted to JSON/ })
  await t.rejects(read(make(function * () { yield { tool_call: { name: 'f', input: cycle } } })), { message: /contains itself/ })
})

test('what a tool returns never fails the answer', async t => {
  const cycle: Record<string, unknown> = { content: [] }
  cycle.self = cycle
  const hostile = Object.defineProperty({}, 'message', { get () { throw new Error('hostile') } })
  for (const given of [cycle, { content: [], big: 1n }, 'text', undefined, null]) {
    const vac = make(async (_q: string, _v: string, _h: [], { callTool }: { callTool: CallTool }) => {
      await callTool('s', 'f', {})
      return 'done'
    }, { callTool: async () => given as never })
    t.match((await read(vac)).chunks.slice(0, -2), [{ tool_call: { name: 'f' } }, { tool_result: { state: 'completed' } }])
  }
  const vac = make(async (_q: string, _v: string, _h: [], { callTool }: { callTool: CallTool }) => {
    await callTool('s', 'f', cycle).catch(() => {})
    return 'done'
  }, { callTool: async () => { throw hostile } })
  t.match((await read(vac)).chunks.slice(0, -2), [{ tool_call: { name: 'f', input: null } }, { tool_result: { error: { message: 'the tool failed' } } }])
})

test('steps past their bounds are left out and counted, and the answer is complete', async t => {
  const many = make(async function * (_q: string, _v: string, _h: [], { callTool }: { callTool: CallTool }) {
    for (let i = 0; i < 5; i++) await callTool('s', 'f', {})
    for (let i = 0; i < 100; i++) yield { reasoning: 'thought ' }
    yield 'text'
  }, { limits: { maxSteps: 3 } })
  const { steps, answer } = await read(many)
  t.strictSame(steps.map(step => Object.keys(step)[0]), ['tool_call', 'tool_result', 'tool_call', 'tool_result', 'tool_call', 'tool_result'])
  t.strictSame(answer, { answer: 'text', source_documents: [], metadata: { steps_left_out: 5 } })
  t.strictSame((await read(many, {})).answer, { answer: 'text', source_documents: [] })

  const large = make(async function * (_q: string, _v: string, _h: [], { callTool }: { callTool: CallTool }) {
    await callTool('s', 'f', { text: 'x'.repeat(3_000) })
    yield { data: { type: 'd', value: 'x'.repeat(3_000) } }
    yield { tool_call: { id: 'c', name: 'y'.repeat(3_000) } }
    yield { reasoning: 'short' }
    yield '.'
  }, { limits: { maxStepChars: 2_000 } })
  t.match((await read(large)).chunks, [
    { tool_call: { name: 'f', input: null } }, { tool_result: { state: 'completed', output: result } }, { reasoning: 'short' }, '.',
    { metadata: { steps_left_out: 3 } }
  ])
})

test('steps of an interpreter in a thread', async t => {
  const worker = await workerInterpreter('./steps.mjs', fileURLToPath(new URL('fixtures', import.meta.url)), { maxThreads: 1 })
  t.teardown(() => worker.close())
  const lines: unknown[] = []
  const log = { debug: (obj: object) => { lines.push(obj) }, info () {}, warn () {}, error () {} }
  const vac = make(worker.stream_interpreter)
  t.strictSame([vac.takes, vac.openai], [['tools', 'images'], ['tools', 'images']])
  const { chunks } = await read(vac, { steps: 'all', log })
  t.match(plain(chunks), [
    'a', ['call', 0, 'weather', { city: 'Oslo' }], ['result', 0, 'completed', result], 'b',
    { file: { name: 'a.txt', media_type: 'text/plain', bytes: 'aGk=' } }, { answer: 'ab' }
  ])
  t.match(lines, [
    { vac: 'docs', step: 'tool_call', tool: 'weather', server: 's' }, { step: 'tool_result', state: 'completed', ms: Number }, { step: 'file' }
  ])
  t.equal(lines.length, 3)
  t.strictSame((await read(vac, {})).chunks.length, 3, 'not asked for')
  t.equal(open.running, 0)
})
