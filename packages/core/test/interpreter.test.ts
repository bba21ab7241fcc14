import { test } from 'tap'
import fc from 'fast-check'
import { deepStrictEqual } from 'node:assert'
import { setTimeout as delay } from 'node:timers/promises'
import { createVacs, echoInterpreter, isAnswer, type Chunk, type Interpreter, type ToolAccess, type VacCall, type VacsOptions } from '../src/index.js'
import { memoryBudget } from '../src/plugin.js'
import { until } from '../../../test/fixtures/until.js'

const make = (streamInterpreter: Interpreter, more: Partial<VacsOptions> = {}) =>
  createVacs({ vacs: ['docs'], streamInterpreter, ...more }).get('docs')

async function read (chunks: AsyncIterable<Chunk>) {
  const text: string[] = []
  const progress: number[] = []
  let last: Chunk | undefined
  for await (const chunk of chunks) {
    last = chunk
    if (typeof chunk === 'string') text.push(chunk)
    else if (!isAnswer(chunk) && 'progress' in chunk) progress.push(chunk.progress)
  }
  return { text, progress, last }
}

const call = (more: Partial<VacCall> = {}): VacCall => ({ question: 'q', ...more })
const final = { answer: 'ab', source_documents: [{ page_content: 'p', metadata: { n: 1 } }], metadata: { m: 1 }, extra: true }

const forms: Array<[string, Interpreter]> = [
  ['async generator that returns its answer', async function * () { yield 'a'; await delay(1); yield 'b'; return final }],
  ['async generator that yields its answer last', async function * () { yield 'a'; yield 'b'; yield final }],
  ['sync generator that returns its answer', function * () { yield 'a'; yield 'b'; return final }],
  ['sync generator that yields its answer last', function * () { yield 'a'; yield 'b'; yield final }],
  ['callback pushed from an async function', async (_q, _v, _h, { callback }) => {
    await callback.on_llm_new_token('a')
    await delay(1)
    await callback.async_on_llm_new_token('b')
    return final
  }],
  ['callback whose end call brings the answer', async (_q, _v, _h, { callback }) => {
    await callback.on_llm_new_token('a')
    await callback.on_llm_new_token('b')
    await callback.on_llm_end(final)
  }],
  ['promise of an async generator', async () => (async function * () { yield 'a'; yield 'b'; return final })() as never]
]

test('every interpreter form streams the same text and ends with the same answer', async t => {
  for (const [name, interpreter] of forms) {
    const { text, last } = await read(make(interpreter).stream(call()))
    t.strictSame(text.join(''), 'ab', name)
    t.strictSame(last, final, name)
    t.strictSame(await make(interpreter).ask(call()), final, name)
  }
  for (const [name, interpreter] of [
    ['async function', async () => final], ['sync function', () => final]
  ] as Array<[string, Interpreter]>) {
    const { text, last } = await read(make(interpreter).stream(call()))
    t.strictSame([text, last], [['ab'], final], name)
  }
})

test('the streamed text is the answer where there is no answer object', async t => {
  const answer = (text: string) => ({ answer: text, source_documents: [] })
  t.strictSame(await make(async function * () { yield 'a'; yield { progress: 0.5 }; yield 'b' }).ask(call()), answer('ab'))
  t.strictSame(await make(() => 'plain').ask(call()), answer('plain'))
  t.strictSame(await make(async (_q, _v, _h, { callback }) => { await callback.on_llm_new_token('pushed') }).ask(call()), answer('pushed'))
  t.strictSame(await make(function * () { yield 'a'; return { source_documents: [] } as never }).ask(call()), answer('a'))
})

test('results of all forms are converted to one shape', async t => {
  const shapes: Array<[unknown, object]> = [
    [{ answer: 'x', source_documents: ['text', { page_content: 'p' }, { other: 1 }] },
      { answer: 'x', source_documents: [{ page_content: 'text', metadata: {} }, { page_content: 'p', metadata: {} }, { page_content: '{"other":1}', metadata: {} }] }],
    [{ answer: 'x', metadata: { source_documents: [{ page_content: 'p', metadata: { a: 1 } }], k: 1 } },
      { answer: 'x', source_documents: [{ page_content: 'p', metadata: { a: 1 } }], metadata: { k: 1 } }],
    [{ output: { content: 'x' } }, { output: { content: 'x' }, answer: 'x', source_documents: [] }],
    [{ auth_required: 'sign in' }, { auth_required: 'sign in', answer: 'sign in', source_documents: [] }],
    [{ input_required: 'which?' }, { input_required: 'which?', answer: 'which?', source_documents: [] }],
    [{ answer: 'x', when: new Date(0) }, { answer: 'x', when: '1970-01-01T00:00:00.000Z', source_documents: [] }]
  ]
  for (const [given, wanted] of shapes) t.strictSame(await make(() => given as never).ask(call()), wanted)
})

test('an invalid result fails, and the error names the VAC and the type', async t => {
  const circular: Record<string, unknown> = { answer: 'x' }
  circular.self = circular
  for (const bad of [7, [], true, { nothing: 1 }, undefined, null, { answer: 7 }, circular, { answer: 'x', big: 1n }]) {
    await t.rejects(make(() => bad as never).ask(call()), { code: 'VAC_INVALID_RESULT', statusCode: 500, message: /"docs"/ })
  }
  await t.rejects(make(function * () { yield 7 as never }).ask(call()), { code: 'VAC_INVALID_RESULT' })
})

test('the interpreter is called with the question, the VAC, the history and the extra arguments, reserved names kept', async t => {
  const asked: unknown[] = []
  const callTool = async (...args: unknown[]) => {
    asked.push(args)
    return { content: [] }
  }
  const listTools = async (options?: unknown) => {
    asked.push(options)
    return []
  }
  let seen: unknown[] = []
  const vacs = createVacs({
    vacs: { docs: { model: 'm', custom: 1 } },
    callTool,
    listTools,
    streamInterpreter: (...args) => { seen = args; return 'ok' }
  })
  await vacs.get('docs').ask(call({
    history: [{ role: 'user', content: 'h' }],
    extra: { temperature: 0.5, signal: 'forged', vac: 'forged', callback: 'forged', listTools: 'forged' },
    protocol: 'a2a',
    principal: { owner: 'alice' }
  }))
  const [question, name, history, extra] = seen as [string, string, unknown, Record<string, unknown>]
  t.strictSame([question, name, history], ['q', 'docs', [{ role: 'user', content: 'h' }]])
  t.match(extra, { temperature: 0.5, vac: { model: 'm', custom: 1 }, protocol: 'a2a', principal: { owner: 'alice' } })
  // tools are called for the caller: an MCP server may have its sign-in
  const tools = extra as unknown as { readonly [Name in keyof ToolAccess]-?: NonNullable<ToolAccess[Name]> }
  await tools.callTool('mail', 'send', {})
  await tools.listTools()
  t.match(asked, [['mail', 'send', {}, { principal: { owner: 'alice' } }], { principal: { owner: 'alice' } }])
  t.type(extra.signal, AbortSignal)
  t.type((extra.log as { info: unknown }).info, 'function')
})

test('extra.log takes what pino takes, also over a log with fewer methods', async t => {
  const lines: unknown[] = []
  const line = (level: string) => (obj: object, message?: string): void => { lines.push([level, obj, message]) }
  const plain = { debug: line('debug'), info: line('info'), warn: line('warn'), error: line('error') }
  const use: Interpreter = async (_q, _v, _h, { log }) => {
    log.info('asked %s times', 2)
    log.trace({ a: 1 }, 'traced')
    log.child({ order: 7 }).child({ line: 2 }).warn({ a: 1 }, 'late')
    log.error(new Error('broken'))
    return 'yes'
  }
  await make(use).ask({ question: 'q', log: plain })
  t.match(lines, [
    ['info', {}, 'asked 2 times'], ['debug', { a: 1 }, 'traced'], ['warn', { order: 7, line: 2, a: 1 }, 'late'], ['error', { err: { message: 'broken' } }, undefined]
  ])
  const full = { ...plain, trace: line('trace'), child: () => full }
  lines.length = 0
  await make(use).ask({ question: 'q', log: full })
  t.match(lines, [['info', 'asked %s times', 2], ['trace', { a: 1 }, 'traced'], ['warn', { a: 1 }, 'late'], ['error']])
  t.equal((await make(use).ask({ question: 'q' })).answer, 'yes', 'without a log')
})

test('an interpreter that throws fails with a code; its error is the cause', async t => {
  const failing: Array<[string, Interpreter]> = [
    ['throws', () => { throw new Error('secret') }],
    ['rejects', async () => { throw new Error('secret') }],
    ['throws nothing', () => { throw undefined }], // eslint-disable-line no-throw-literal
    ['throws after a chunk', async function * () { yield 'a'; throw new Error('secret') }],
    ['throws in a sync generator', function * () { yield 'a'; throw new Error('secret') }],
    ['throws after a push', async (_q, _v, _h, { callback }) => { await callback.on_llm_new_token('a'); throw new Error('secret') }]
  ]
  for (const [name, interpreter] of failing) {
    const err = await make(interpreter).ask(call()).catch((err: unknown) => err as Error)
    t.match(err, { code: 'VAC_INTERPRETER_FAILED', statusCode: 500 }, name)
    t.notMatch((err as Error).message, /secret/, name)
    if (name !== 'throws nothing') t.match((err as Error).cause, { message: 'secret' }, name)
  }
})

test('an error that an interpreter made for its caller is passed on, and any other stays hidden', async t => {
  const thrown = (properties: object): Error => Object.assign(new Error('a text'), properties)
  for (const properties of [
    { expose: true }, { expose: true, statusCode: 502 }, { statusCode: 429, code: 'TOO_MANY' }, { status: 404, code: 'NO_SUCH_ORDER' }
  ]) {
    const err = thrown(properties)
    t.equal(await make(async () => { throw err }).ask(call()).catch((err: unknown) => err), err, JSON.stringify(properties))
  }
  for (const properties of [
    {}, { statusCode: 429 }, { code: 'ENOENT' }, { statusCode: 500, code: 'OWN' }, { statusCode: 401, code: 'OWN', expose: false },
    { status: 401, code: 'invalid_api_key', headers: {} }, { status: 404, code: 'ERR_BAD_REQUEST', response: {} },
    { statusCode: 404, code: 'MCP_TOOL_NOT_FOUND' }, { expose: true, code: 'MCP_TOOL_FAILED' }
  ]) {
    const err = await make(async () => { throw thrown(properties) }).ask(call()).catch((err: unknown) => err as Error)
    t.match(err, { code: 'VAC_INTERPRETER_FAILED', cause: { message: 'a text' } }, JSON.stringify(properties))
  }
})

test('a timeout, a signal and a reader that leaves abort the interpreter, also one that ignores it', async t => {
  const stuck = (seen: { aborted: boolean }): Interpreter => async function * (_q, _v, _h, { signal }) {
    signal.addEventListener('abort', () => { seen.aborted = true })
    yield 'a'
    await new Promise(() => {})
  }
  const timeout = { aborted: false }
  await t.rejects(make(stuck(timeout)).ask(call({ timeoutMs: 20 })), { code: 'VAC_TIMEOUT', statusCode: 504 })
  t.equal(timeout.aborted, true)

  const canceled = { aborted: false }
  const controller = new AbortController()
  setTimeout(() => controller.abort(new Error('canceled by request')), 20)
  await t.rejects(make(stuck(canceled)).ask(call({ signal: controller.signal })), { message: 'canceled by request' })
  t.equal(canceled.aborted, true)

  const left = { aborted: false }
  const reading = make(stuck(left)).stream(call())[Symbol.asyncIterator]()
  t.strictSame(await reading.next(), { value: 'a', done: false })
  await reading.return?.()
  t.equal(left.aborted, true)

  let started = false
  await t.rejects(make(() => { started = true; return 'x' }).ask(call({ signal: AbortSignal.abort() })), { code: 'CALL_ABORTED' })
  t.equal(started, false, 'a call that is aborted before it begins never runs')
})

test('an endless interpreter that never waits can be stopped', async t => {
  for (const interpreter of [
    function * () { for (;;) yield 'x' }, async function * () { for (;;) yield 'x' }
  ] as Interpreter[]) {
    const controller = new AbortController()
    setTimeout(() => controller.abort(new Error('enough')), 20)
    await t.rejects(make(interpreter).ask(call({ signal: controller.signal })), { message: 'enough' })
  }
})

test('an interpreter that yields empty chunks endlessly does not block the event loop', async t => {
  const endless: Interpreter[] = [
    function * () { for (;;) yield '' }, async function * () { for (;;) yield '' }, async function * () { for (;;) yield { answer: 'x' } }
  ]
  for (const interpreter of endless) {
    await t.rejects(make(interpreter).ask(call({ timeoutMs: 30 })), { code: 'VAC_TIMEOUT' })
    await t.rejects(read(make(interpreter).stream(call({ timeoutMs: 30 }))), { code: 'VAC_TIMEOUT' })
  }
})

test('a failure is kept for its reader, is not an unhandled rejection and does not hold a place', async t => {
  const unhandled: unknown[] = []
  const note = (err: unknown): void => { unhandled.push(err) }
  process.on('unhandledRejection', note)
  t.teardown(() => { process.off('unhandledRejection', note) })
  const vacs = createVacs({
    vacs: ['docs'],
    streamInterpreter: async (question, _v, _h, { callback, signal }) => {
      for (let i = 0; i < 5; i++) callback.on_llm_new_token('text ').catch(() => {})
      if (question === 'hang') await new Promise((resolve, reject) => { signal.addEventListener('abort', () => { reject(new Error('aborted')) }) })
      throw new Error('after the text')
    }
  })
  for (const [question, code] of [['throw', 'VAC_INTERPRETER_FAILED'], ['hang', 'VAC_TIMEOUT']] as const) {
    const stream = vacs.get('docs').stream(call({ question, timeoutMs: 30 }))[Symbol.asyncIterator]()
    t.strictSame(await stream.next(), { done: false, value: 'text ' })
    // the failure comes before its reader
    if (question === 'throw') await delay(1)
    else await until(() => vacs.running === 0, 'its place is free before the failure is read')
    const rest = (async () => { for (;;) if ((await stream.next()).done === true) return })()
    await t.rejects(rest, { code })
    t.strictSame(await stream.next(), { done: true, value: undefined })
  }
  t.strictSame(unhandled, [])
  t.equal(vacs.running, 0)
})

test('the reader sets the pace: generators wait, awaited pushes wait, other pushes are bounded', async t => {
  let made = 0
  const pulled = make(async function * () { for (;;) { made++; yield 'x' } }).stream(call())
  for await (const chunk of pulled) { t.equal(chunk, 'x'); if (made === 3) break }
  t.equal(made, 3)

  let pushed = 0
  const awaited = make(async (_q, _v, _h, { callback }) => {
    for (let i = 0; i < 1_000; i++) { await callback.on_llm_new_token('x'.repeat(1_000)); pushed++ }
  }).stream(call())[Symbol.asyncIterator]()
  await awaited.next()
  await until(async () => { const before = pushed; await delay(5); return pushed === before }, 'the interpreter waits')
  t.ok(pushed < 100, `an awaited push waits for the reader (${pushed} of 1000 pushed)`)
  await awaited.return?.()

  const flood = make(async (_q, _v, _h, { callback, signal }) => {
    while (!signal.aborted) callback.on_llm_new_token('x'.repeat(1_000)).catch(() => {})
    return 'x'
  }, { limits: { maxUnreadChars: 10_000 } })
  await t.rejects(flood.ask(call()), { code: 'VAC_BUFFER_FULL' })

  const long = make(function * () { for (let i = 0; i < 100; i++) yield 'x'.repeat(1_000) }, { limits: { maxAnswerChars: 10_000 } })
  await t.rejects(long.ask(call()), { code: 'VAC_INVALID_RESULT', message: /10000 characters/ })

  const streamed = make(function * () { for (let i = 0; i < 100; i++) yield 'x'.repeat(1_000) }, { limits: { maxStreamedChars: 10_500 } })
  const { text, last } = await read(streamed.stream(call()))
  t.equal(text.join('').length, 100_000, 'all text is streamed')
  t.match(last, { answer: 'x'.repeat(10_500), metadata: { truncated: true } }, 'and the answer is its beginning')
  t.equal((await streamed.ask(call())).answer.length, 100_000)
})

test('text is complete and not duplicated, in every form and at every pace of the reader', async () => {
  const pieces = fc.array(fc.string(), { maxLength: 30 })
  await fc.assert(fc.asyncProperty(pieces, fc.constantFrom('async', 'sync', 'push', 'mixed'), fc.boolean(), async (texts, form, slow) => {
    const interpreter: Interpreter = {
      async: async function * () { yield * texts; return { answer: texts.join('') } } as Interpreter,
      sync: function * () { yield * texts; return { answer: texts.join('') } } as Interpreter,
      push: (async (_q, _v, _h, { callback }) => {
        for (const [i, text] of texts.entries()) { callback.on_llm_new_token(text).catch(() => {}); if (i % 3 === 0) await delay(0) }
        return { answer: texts.join('') }
      }) as Interpreter,
      mixed: (async function * (_q, _v, _h, { callback }) {
        for (const [i, text] of texts.entries()) { if (i % 2 === 0) yield text; else await callback.on_llm_new_token(text) }
        return { answer: texts.join('') }
      }) as Interpreter
    }[form]!
    let got = ''
    let answer: unknown
    for await (const chunk of make(interpreter).stream(call())) {
      if (typeof chunk === 'string') got += chunk
      else answer = chunk
      if (slow) await delay(0)
    }
    deepStrictEqual(got, texts.join(''))
    deepStrictEqual(answer, { answer: texts.join(''), source_documents: [] })
  }), { numRuns: 40 })
})

test('progress is bounded, and heartbeat marks are progress, not text', async t => {
  const { text, progress } = await read(make(function * () {
    yield { progress: -1 }
    yield { progress: 7 }
    yield '[[HEARTBEAT]]still here[[/HEARTBEAT]]'
    yield 'a'
  }).stream(call()))
  t.strictSame([text, progress], [['a'], [0, 1, 0]])
})

test('createVacs refuses invalid options and names them', async t => {
  const vacs = createVacs({ vacs: ['docs', 'my_docs'], streamInterpreter: () => 'x' })
  t.strictSame(vacs.names, ['docs', 'my_docs'])
  t.throws(() => vacs.get('dosc'), { code: 'VAC_NOT_FOUND', statusCode: 404, message: /did you mean "docs"/ })
  for (const name of ['__proto__', 'constructor', '..', '']) t.throws(() => vacs.get(name), { code: 'VAC_NOT_FOUND' })
  t.throws(() => createVacs({ vacs: ['a/b'], streamInterpreter: () => 'x' }), { code: 'INVALID_VAC_NAME', message: /a\/b/ })
  for (const name of ['agent', 'info']) {
    const message = `"${name}" cannot be the name of a VAC: the path /ag-ui/${name} belongs to routes of AG-UI; use another name, such as "my-${name}"`
    t.throws(() => createVacs({ vacs: ['docs', name], streamInterpreter: () => 'x' }), { code: 'INVALID_VAC_NAME', message })
    t.throws(() => vacs.replace({ vacs: { [name]: {} }, streamInterpreter: () => 'x' }), { code: 'INVALID_VAC_NAME', message })
  }
  t.strictSame(vacs.names, ['docs', 'my_docs'])
  t.throws(() => createVacs({ vacs: ['docs'] }), { code: 'INVALID_VACS', message: /"docs" has no interpreter/ })
  t.throws(() => createVacs({ vacs: ['docs'], streamInterpreter: () => 'x', parts: { dosc: {} } }), { code: 'INVALID_VACS', message: /dosc/ })
})

test('a VAC may have its own interpreter, and all VACs can be replaced while answers are in progress', async t => {
  const vacs = createVacs({
    vacs: ['a', 'b'], streamInterpreter: () => 'shared', vacInterpreter: () => 'static', parts: { b: { streamInterpreter: () => 'own' } }
  })
  t.equal((await vacs.get('a').ask(call())).answer, 'static')
  t.equal((await vacs.get('b').ask(call())).answer, 'own')
  const { last } = await read(vacs.get('a').stream(call()))
  t.match(last, { answer: 'shared' })

  const slow = createVacs({ vacs: ['a'], streamInterpreter: async function * () { yield 'old '; await delay(20); yield 'text' } })
  const running = slow.get('a').ask(call())
  t.throws(() => slow.replace({ vacs: ['a'] }), { code: 'INVALID_VACS' })
  t.strictSame(slow.names, ['a'], 'a bad replacement changes nothing')
  slow.replace({ vacs: ['c'], streamInterpreter: () => 'new' })
  t.equal((await running).answer, 'old text')
  t.strictSame(slow.names, ['c'])
})

test('the text of answers in progress is counted in the memory budget', async t => {
  const { limit } = memoryBudget
  t.teardown(() => { memoryBudget.limit = limit })
  const text = 'x'.repeat(20_000)
  const many = make(async function * () { for (let i = 0; i < 100; i++) yield text })
  const pushing = make(async (question, name, history, { callback }) => { for (let i = 0; i < 100; i++) callback.on_llm_new_token(text) })
  memoryBudget.limit = 200_000
  await t.rejects(many.ask(call()), { code: 'MEMORY_BUDGET_EXCEEDED', statusCode: 503 })
  await t.rejects(pushing.ask(call()), { code: 'MEMORY_BUDGET_EXCEEDED' })
  let streamed = 0
  let last: unknown
  for await (const chunk of many.stream(call())) {
    if (typeof chunk === 'string') streamed += chunk.length
    else last = chunk
  }
  t.equal(streamed, 2_000_000, 'a stream goes on')
  t.match(last, { answer: /^x{80000,}$/, metadata: { truncated: true } })
  t.equal(memoryBudget.used, 0)
  memoryBudget.limit = limit
  t.equal((await many.ask(call())).answer.length, 2_000_000)
  t.equal(memoryBudget.used, 0)
})

test('an owner may have a quarter of the answers in progress', async t => {
  const gates: Array<() => void> = []
  const vac = make(async function * () { await new Promise<void>(resolve => { gates.push(resolve) }); yield 'a' }, { maxConcurrent: 8 })
  const ask = (owner: string) => vac.ask({ ...call(), principal: { owner } })
  const running = [ask('bob'), ask('bob'), ask('alice')]
  await t.rejects(ask('bob'), { code: 'OWNER_SHARE_USED', statusCode: 503 })
  for (const open of gates.splice(0)) open()
  await Promise.all(running)
  const again = ask('bob')
  for (const open of gates) open()
  t.equal((await again).answer, 'a')
})

test('answers in progress are bounded', async t => {
  let release = (): void => {}
  const gate = new Promise<void>(resolve => { release = resolve })
  const vac = make(async function * () { yield 'a'; await gate }, { maxConcurrent: 1 })
  const first = vac.ask(call())
  await t.rejects(vac.ask(call()), { code: 'VAC_BUSY', statusCode: 503 })
  release()
  await first
  t.equal((await vac.ask(call())).answer, 'a', 'the place is free again')
})

test('echo answers with the question word by word', async t => {
  const { text, last } = await read(make(echoInterpreter).stream(call({ question: 'one  two\nthree' })))
  t.strictSame(text, ['one', '  two', '\nthree'])
  t.match(last, { answer: 'one  two\nthree' })
  t.equal((await make(echoInterpreter).ask(call({ question: `x${' '.repeat(500_000)}` }))).answer, 'x')
})

test('echo makes tokens, fails and aborts as requested, within bounds', async t => {
  const echo = make(echoInterpreter)
  const answerTo = async (extra: Record<string, unknown>) => (await echo.ask(call({ question: 'x', extra }))).answer
  t.equal(await answerTo({ echo_tokens: 3 }), 'token1 token2 token3')
  t.match(await answerTo({ echo_tokens: 1e12 }), / token100000$/)
  t.equal(await answerTo({ echo_tokens: -5 }), '')
  await t.rejects(answerTo({ echo_error: 'boom' }), { cause: { code: 'ECHO_FAILED', message: /boom/ } })
  const controller = new AbortController()
  const chunks = echo.stream(call({ question: 'one two', extra: { echo_delay_ms: 50_000 }, signal: controller.signal }))[Symbol.asyncIterator]()
  const next = chunks.next()
  controller.abort()
  await t.rejects(next, { code: 'CALL_ABORTED' })
})
