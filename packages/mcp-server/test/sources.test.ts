import { createVacs, type Interpreter, type Memory, type VacConfig, type Vacs } from '@polyvac/core'
import { SKILLS } from '@polyvac/core/plugin'
import { Value } from '@sinclair/typebox/value'
import type { TSchema } from '@sinclair/typebox'
import { test } from 'tap'
import { vacResources, vacTools, type ToolResult } from '../src/index.js'
import { callContext } from './fixtures/sources-context.js'
import { LegacySession, messagesIn, serve, sourceOf } from './fixtures/wire.js'

const documents = new Map([['guides/a b.md', 'All of it.'], ['c.md', 'More.']])
const memory = (more: Partial<Memory> = {}): Memory => ({
  search: async () => [{ content: 'At nine.', score: 0.9, metadata: { source: 'guides/a b.md', lines: '3', heading: 'Hours' } }],
  list: async () => [...documents.keys()].map(uri => ({ uri, name: uri, mimeType: 'text/markdown' })),
  read: async uri => documents.get(uri),
  ...more
})

const cited: Interpreter = async function * (question) {
  yield 'At '
  yield { progress: 0.5, message: 'half' }
  yield 'nine [1].'
  yield { answer: 'At nine [1].', source_documents: [{ page_content: 'Nine.', metadata: { source: 'guides/a b.md', lines: '3', heading: 'Hours' } }, { page_content: 'Web.', metadata: { url: 'https://example.org/x' } }], metadata: { question } }
}

const vacsOf = (streamInterpreter: Interpreter = cited, vacs: Record<string, VacConfig> = { my_docs: { display_name: 'My docs', model: 'm' }, plain: {} }): Vacs =>
  createVacs({ vacs, streamInterpreter, parts: vacs.my_docs === undefined ? {} : { my_docs: { memory: memory() } } })

const textOf = ({ content }: ToolResult): string => String(content[0]?.text)

test('each skill of each VAC is a tool, with the schemas of the skill', async t => {
  const tools = await vacTools(vacsOf()).list()
  t.strictSame(tools.map(({ name }) => name), ['list_available_vacs', 'get_vac_info', 'vac_query_my_docs', 'vac_stream_my_docs', 'vac_memory_search_my_docs', 'vac_query_plain', 'vac_stream_plain'])
  const [, , query, stream, search] = tools
  t.equal(query?.inputSchema, SKILLS.query.input)
  t.equal(stream?.outputSchema, SKILLS.stream.output)
  t.match(search, { title: 'Search My docs', inputSchema: SKILLS.memory.input, annotations: { readOnlyHint: true } })
  t.strictSame((await vacTools(vacsOf(), { names: ['plain'] }).list()).map(({ name }) => name), ['list_available_vacs', 'get_vac_info', 'vac_query_plain', 'vac_stream_plain'])
  t.strictSame(await vacTools(vacsOf(), { names: [] }).list(), [])
  t.throws(() => vacTools(vacsOf(), { names: ['plan'] }), { code: 'MCP_SERVER_OPTIONS', message: /has plan, which is not configured/ })
})

test('a VAC with mcp_tool is one tool of that name, and tools say what their VAC is for', async t => {
  const described = { display_name: 'My docs', description: 'Knows the opening hours', agent: 'documents', mcp_tool: 'ask_hours' }
  const source = vacTools(vacsOf(cited, { my_docs: described, plain: { description: 'Repeats' } }))
  const names = (tools: ReadonlyArray<{ readonly name: string }>): string[] => tools.map(({ name }) => name)
  const listed = await source.list()
  t.strictSame(names(listed), ['list_available_vacs', 'get_vac_info', 'ask_hours', 'vac_query_plain', 'vac_stream_plain'])
  t.equal(listed[2]?.description, 'Ask My docs and get the complete answer with its sources: Knows the opening hours (agent: documents)')
  t.equal(listed[4]?.description, 'Talk with plain and read the answer while it is made: Repeats')
  for (const name of ['ask_hours', 'vac_query_my_docs']) {
    t.match((await source.call(name, { query: 'When?' }, callContext())).structuredContent, { answer: 'At nine [1].' }, name)
    t.ok(source.mayUse?.('tools', name, { owner: 'a', scopes: ['vac:my_docs'] }))
    t.notOk(source.mayUse?.('tools', name, { owner: 'a', scopes: ['vac:plain'] }))
  }
  t.match((await source.call('get_vac_info', { vector_name: 'my_docs' }, callContext())).structuredContent, { tools: ['ask_hours'] })
  t.strictSame(names(await vacTools(vacsOf(cited, { my_docs: described })).list()), ['ask_hours'], 'an agent is one tool')
  t.strictSame(names(await vacTools(vacsOf(cited, { my_docs: { mcp_tool: 'vac_stream_my_docs' } })).list()), ['vac_stream_my_docs'])
  const crossed = vacTools(vacsOf(async question => question, { my_docs: { mcp_tool: 'vac_query_plain' }, plain: { mcp_tool: 'ask' } }))
  t.match((await crossed.list()).map(({ name, title }) => [name, title]), [['vac_query_plain', 'Ask my_docs'], ['ask', 'Ask plain']])
  t.ok(crossed.mayUse?.('tools', 'vac_query_plain', { owner: 'a', scopes: ['vac:my_docs'] }), 'a name in the list is the VAC that has it')
  for (const name of ['vac_query_plain', 'get_vac_info']) {
    t.throws(() => vacTools(vacsOf(cited, { my_docs: { mcp_tool: name }, plain: {} })), { code: 'MCP_SERVER_OPTIONS', message: `"${name}"; change the` })
  }
})

test('the result of a tool fits its output schema and links its sources', async t => {
  const source = vacTools(vacsOf())
  const tools = new Map((await source.list()).map(tool => [tool.name, tool]))
  for (const [name, args] of [
    ['vac_query_my_docs', { query: 'When?' }], ['vac_stream_my_docs', { query: 'When?' }], ['vac_memory_search_my_docs', { search_query: 'hours' }],
    ['list_available_vacs', {}], ['get_vac_info', { vector_name: 'my_docs' }]
  ] as const) {
    const result = await source.call(name, args, callContext())
    t.strictSame([...Value.Errors(tools.get(name)?.outputSchema as TSchema, result.structuredContent)], [], name)
    t.not(result.isError, true, name)
  }
  const result = await source.call('vac_query_my_docs', { query: 'When?' }, callContext())
  t.match(result.structuredContent, { answer: 'At nine [1].', metadata: { question: 'When?' } })
  t.equal(textOf(result), 'At nine [1].\n\nSources:\n[1] guides/a b.md:3  Hours\n[2] Web.')
  t.strictSame(result.content.slice(1), [
    { type: 'resource_link', uri: 'polyvac://vacs/my_docs/documents/guides/a%20b.md', name: 'guides/a b.md' },
    { type: 'resource_link', uri: 'https://example.org/x', name: 'https://example.org/x' }
  ])
  t.match((await source.call('get_vac_info', { vector_name: 'my_docs' }, callContext())).structuredContent, { memory: true, tools: ['vac_query_my_docs', 'vac_stream_my_docs', 'vac_memory_search_my_docs'] })
  const found = await source.call('vac_memory_search_my_docs', { search_query: 'hours', similarity_threshold: 0.95 }, callContext())
  t.match(found, { content: [{ text: /lower similarity_threshold/ }], structuredContent: { total_results: 0, limit: 10 } })
  const empty = createVacs({ vacs: ['plain'], streamInterpreter: cited, parts: { plain: { memory: memory({ search: async () => [] }) } } })
  const nothing = await vacTools(empty).call('vac_memory_search_plain', { search_query: 'hours' }, callContext())
  t.match(nothing, { content: [{ text: /^Nothing matches\.$/ }], structuredContent: { total_results: 0 } })
})

test('a stream sends its text as progress while it is made', async t => {
  const context = callContext()
  const result = await vacTools(vacsOf()).call('vac_stream_my_docs', { query: 'When?' }, context)
  const [first, half, last] = context.sent
  t.strictSame([first, last], [{ progress: 3, message: 'At ' }, { progress: 13, message: 'nine [1].' }])
  t.strictSame(half, { progress: 4, total: 8, message: undefined }, 'progress of the interpreter has a total and no message')
  t.match(result.structuredContent, { final_answer: 'At nine [1].', stream_completed: true })
})

test('progress of an interpreter reaches the caller; its message only where messages are not the text', async t => {
  const reports: Interpreter = async function * () {
    for (const [progress, message] of [[0, 'asking'], [0.25, 'searching'], [0.25, 'still searching'], [1, 'done']] as const) yield { progress, message }
    return { answer: 'At nine.' }
  }
  const app = await serve(t, { sources: [vacTools(vacsOf(reports))] })
  const session = await LegacySession.open(app)
  for (const [skill, steps] of [['query', 4], ['stream', 5]] as const) {
    const params = { name: `vac_${skill}_plain`, arguments: { query: 'When?' }, _meta: { progressToken: 'p' } }
    const { body } = await session.request('tools/call', params)
    const sent = messagesIn(body).filter(({ method }) => method === 'notifications/progress').map(({ params }) => params as any)
    const messages = skill === 'query' ? ['asking', 'searching', 'still searching', 'done'] : [...Array<undefined>(4), 'At nine.']
    t.strictSame(sent.map(({ message }) => message), messages, skill)
    t.equal(sent.length, steps)
    t.ok(sent.every(({ progress }, i) => progress > (sent[i - 1]?.progress ?? 0)), 'it grows')
    t.strictSame(sent.slice(1, 4).map(({ progress, total }) => progress / total), [0.25, 0.25, 1])
    t.equal(sent[4]?.total, undefined, 'text has no total')
  }
})

test('a VAC whose name clients do not accept is still a tool', async t => {
  const source = vacTools(vacsOf(cited, { Überblick: {}, ['x'.repeat(64)]: {} }))
  for (const { name } of (await source.list()).slice(2)) {
    t.match(name, /^[A-Za-z0-9_.-]{1,64}$/)
    t.match(await source.call(name, { query: 'Was?' }, callContext()), { structuredContent: {} })
  }
})

test('a failure is a result with isError, code, reason and remedy; its cause is only in the log', async t => {
  const context = callContext()
  const broken = await vacTools(vacsOf(() => { throw new Error('the secret cause') })).call('vac_query_plain', { query: 'x' }, context)
  t.match(broken, { isError: true, content: [{ text: /^VAC_INTERPRETER_FAILED: the VAC "plain" failed; the log has the cause under the call id [0-9a-f-]{36}$/ }] })
  const { callId } = context.logged.find(([level]) => level === 'error')?.[1] as { callId: string }
  t.ok(textOf(broken).endsWith(callId))
  t.match(context.logged.at(-1), ['info', { vac: 'plain', protocol: 'mcp', skill: 'query', outcome: 'failed' }])

  const slow = vacsOf(async (_question, _name, _history, { signal }) => await new Promise((_resolve, reject) => { signal.addEventListener('abort', () => { reject(signal.reason) }) }))
  t.match(await vacTools(slow, { timeoutMs: 10 }).call('vac_query_plain', { query: 'x' }, callContext()), { isError: true, content: [{ text: /^VAC_TIMEOUT: .* raise the timeout/ }] })

  const lost = createVacs({ vacs: ['plain'], streamInterpreter: cited, parts: { plain: { memory: { search: async () => { throw new Error('secret') } } } } })
  t.match(await vacTools(lost).call('vac_memory_search_plain', { search_query: 'x' }, callContext()), { isError: true, content: [{ text: /^VAC_FAILED: the VAC "plain" failed/ }] })

  await t.rejects(async () => await vacTools(vacsOf()).call('vac_query_plain', { query: 'x', chat_history: [7] }, callContext()), { code: 'INVALID_HISTORY', statusCode: 400 })
  await t.rejects(async () => await vacTools(vacsOf()).call('get_vac_info', { vector_name: 'nobody' }, callContext()), { code: 'VAC_NOT_FOUND', statusCode: 404 })
  await t.rejects(async () => await vacTools(vacsOf()).call('vac_query_nobody', { query: 'x' }, callContext()), { code: 'VAC_NOT_FOUND' })
})

test('an error that an interpreter made for its caller is the text of the result; every other one stays hidden', async t => {
  const thrown = { err: new Error() }
  const app = await serve(t, { sources: [vacTools(vacsOf(() => { throw thrown.err }))] })
  const session = await LegacySession.open(app)
  for (const [properties, text] of [
    [{ statusCode: 429, code: 'TOO_MANY' }, 'TOO_MANY: the text'],
    [{ expose: true, statusCode: 502, code: 'NO_SEARCH' }, 'NO_SEARCH: the text'],
    [{ expose: true }, 'VAC_FAILED: the text'],
    [{ statusCode: 429 }, undefined],
    [{ statusCode: 429, code: 'TOO_MANY', expose: false }, undefined],
    [{ statusCode: 503, code: 'DOWN' }, undefined],
    [{}, undefined]
  ] as const) {
    thrown.err = Object.assign(new Error('the text'), properties)
    for (const skill of ['query', 'stream']) {
      const { json: { result } } = await session.request('tools/call', { name: `vac_${skill}_plain`, arguments: { query: 'x' } })
      const what = `${skill} ${JSON.stringify(properties)}`
      t.match(result, { isError: true, content: [{ text: text ?? /^VAC_INTERPRETER_FAILED: the VAC "plain" failed/ }] }, what)
      if (text === undefined) t.notMatch(JSON.stringify(result), /the text/, what)
    }
  }
})

test('errors of handlers and sources for their caller reach it, as text of a result or as a JSON-RPC error', async t => {
  const busy = Object.assign(new Error('too many'), { statusCode: 429, code: 'TOO_MANY' })
  const prompts = { list: () => [{ name: 'p' }], get: (name: string): never => { throw name === 'p' ? busy : new Error('secret') } }
  const app = await serve(t, { sources: [sourceOf({ fails: { run: () => { throw busy } }, breaks: { run: () => { throw new Error('secret') } } }, { prompts })] })
  const session = await LegacySession.open(app)
  t.match((await session.request('tools/call', { name: 'fails' })).json.result, { isError: true, content: [{ text: 'too many' }] })
  const broken = await session.request('tools/call', { name: 'breaks' })
  t.match(broken.json.result, { isError: true, content: [{ text: /the request failed/ }] })
  t.notMatch(broken.body, /secret/)
  t.match((await session.request('prompts/get', { name: 'p' })).json.error, { code: -32603, message: 'too many' })
})

test('a cancelled call aborts the interpreter', async t => {
  for (const kind of ['query', 'stream']) {
    const context = callContext()
    let aborted: unknown
    const source = vacTools(vacsOf(async (_question, _name, _history, { signal }) => {
      signal.addEventListener('abort', () => { aborted = signal.reason })
      setImmediate(() => { context.signal.abort(new Error('left')) })
      return await new Promise(() => {})
    }))
    await t.rejects(async () => await source.call(`vac_${kind}_plain`, { query: 'x' }, context), { message: 'left' })
    t.match(aborted, { message: 'left' }, kind)
  }
})

const asking: Interpreter = (question, _name, history) => question === 'Hours?'
  ? { input_required: 'Which branch?' }
  : question === 'Aarhus' ? { input_required: 'Which day?' } : `${question} of ${history.map(({ content }) => content).join(', ')}`

test('an interpreter that asks back is answered by the caller in the same call', async t => {
  const replies = ['Aarhus', 'Monday']
  const asked: unknown[] = []
  const context = callContext({ capabilities: { elicitation: {} }, answer: ({ method, params }) => { asked.push([method, params?.message]); return { action: 'accept', content: { reply: replies[asked.length - 1] } } } })
  const result = await vacTools(vacsOf(asking)).call('vac_query_plain', { query: 'Hours?', chat_history: [['Hi', 'Hello']] }, context)
  t.match(result.structuredContent, { answer: 'Monday of Hi, Hello, Hours?, Which branch?, Aarhus, Which day?' })
  t.strictSame(asked, [['elicitation/create', 'Which branch?'], ['elicitation/create', 'Which day?']])

  const declined = callContext({ capabilities: { elicitation: { form: {} } } })
  t.match(await vacTools(vacsOf(asking)).call('vac_query_plain', { query: 'Hours?' }, declined), { isError: true, content: [{ text: /^MCP_INPUT_DECLINED: .*Which branch\?/ }] })
})

test('an interpreter that asks back continues when the call runs again', async t => {
  let runs = 0
  const source = vacTools(vacsOf((...args) => { runs++; return asking(...args) }))
  let state: string | undefined
  const paused = new Error('the call ends here')
  const first = callContext({ era: 'modern', capabilities: { elicitation: {} }, ask: async (_questions, given) => { state = given; throw paused } })
  await t.rejects(async () => await source.call('vac_stream_plain', { query: 'Hours?' }, first), paused)
  let questions: string[] = []
  const again = callContext({
    era: 'modern',
    capabilities: { elicitation: {} },
    state,
    ask: async (asked, given) => {
      questions = [...questions, ...Object.keys(asked)]
      if (questions.length > 1) { state = given; throw paused }
      return { 'reply-1': { action: 'accept', content: { reply: 'Aarhus' } } } as never
    }
  })
  await t.rejects(async () => await source.call('vac_stream_plain', { query: 'Hours?' }, again), paused)
  t.strictSame(questions, ['reply-1', 'reply-2'])
  t.equal(runs, 2, 'the first question was asked once')
  const last = callContext({ era: 'modern', capabilities: { elicitation: {} }, state, answer: () => ({ action: 'accept', content: { reply: 'Monday' } }) })
  t.match((await source.call('vac_stream_plain', { query: 'Hours?' }, last)).structuredContent, { final_answer: 'Monday of Hours?, Which branch?, Aarhus, Which day?' })
})

test('a caller that cannot be asked reads the question, and how to answer it', async t => {
  for (const capabilities of [{}, { elicitation: { url: {} } }]) {
    const result = await vacTools(vacsOf(asking)).call('vac_query_plain', { query: 'Hours?' }, callContext({ capabilities }))
    t.match(result, { content: [{ text: /^Which branch\?\n\n\(To answer, call this tool again/ }], structuredContent: { answer: 'Which branch?', metadata: { input_required: 'Which branch?' } } })
    t.not(result.isError, true)
  }
})

test('an interpreter that needs an authorization is not asked through the client', async t => {
  const context = callContext({ capabilities: { elicitation: {} }, answer: () => { throw new Error('asked') } })
  t.match(await vacTools(vacsOf(() => ({ auth_required: 'Sign in at https://example.com' }))).call('vac_query_plain', { query: 'x' }, context),
    { content: [{ text: /^Sign in at https:\/\/example\.com\n\n\(Once that is done, call this tool again/ }], structuredContent: { metadata: { auth_required: 'Sign in at https://example.com' } } })
})

test('an interpreter that keeps asking is stopped', async t => {
  let asked = 0
  const context = callContext({ capabilities: { elicitation: {} }, answer: () => { asked++; return { action: 'accept', content: { reply: 'no' } } } })
  t.match(await vacTools(vacsOf(() => ({ input_required: 'Sure?' }))).call('vac_query_plain', { query: 'x' }, context), { content: [{ text: /^Sure\?/ }] })
  t.equal(asked, 10)
  const long = callContext({ capabilities: { elicitation: {} }, answer: () => { throw new Error('asked') } })
  t.match(await vacTools(vacsOf(() => ({ input_required: 'x'.repeat(8_000) }))).call('vac_query_plain', { query: 'x' }, long), { content: [{ text: /^x{8000}/ }] }, 'what is too long to be held by the caller is not asked')
})

test('replaced VACs are reported as a change, and the new ones answer', async t => {
  const vacs = vacsOf()
  const source = vacTools(vacs)
  const seen: unknown[] = []
  const stop = source.onChange?.(kinds => { seen.push(kinds) })
  await vacs.replace({ vacs: ['other'], streamInterpreter: async () => 'new' })
  t.strictSame(seen, [['tools']])
  t.match((await source.list()).map(({ name }) => name), ['list_available_vacs', 'get_vac_info', 'vac_query_other', 'vac_stream_other'])
  t.match((await source.call('vac_query_other', { query: 'x' }, callContext())).structuredContent, { answer: 'new' })
  stop?.()
})

test('VACs and their documents are resources', async t => {
  const { resources, complete } = vacResources(vacsOf())
  t.strictSame((await resources?.list())?.map(({ uri }) => uri), [
    'polyvac://vacs/my_docs', 'polyvac://vacs/my_docs/documents/guides/a%20b.md', 'polyvac://vacs/my_docs/documents/c.md', 'polyvac://vacs/plain'
  ])
  const read = async (uri: string) => await resources?.read(uri, callContext())
  t.match(JSON.parse(String((await read('polyvac://vacs/my_docs'))?.contents[0]?.text)), { name: 'my_docs', memory: true })
  t.strictSame(await read('polyvac://vacs/my_docs/documents/guides/a%20b.md'), { contents: [{ uri: 'polyvac://vacs/my_docs/documents/guides/a%20b.md', mimeType: 'text/markdown', text: 'All of it.' }] })
  for (const uri of ['polyvac://vacs/nobody', 'polyvac://vacs/plain/documents/c.md', 'polyvac://vacs/my_docs/documents/none.md', 'polyvac://vacs/%', 'file:///etc/passwd', 'polyvac://vacs/my_docs/documents/..%2F..%2Fetc%2Fpasswd']) {
    t.equal(await read(uri), undefined, uri)
  }
  t.match(await resources?.templates?.(), [{ uriTemplate: 'polyvac://vacs/{vac}' }, { uriTemplate: 'polyvac://vacs/{vac}/documents/{+document}' }])
  const proposed = async (uri: string, name: string, value: string, given = {}) => (await complete?.({ type: 'ref/resource', uri }, { name, value, given }, callContext()))?.values
  t.strictSame(await proposed('polyvac://vacs/{vac}', 'vac', 'doc'), ['my_docs'])
  t.strictSame(await proposed('polyvac://vacs/{vac}/documents/{+document}', 'document', 'GUIDE', { vac: 'my_docs' }), ['guides/a b.md'])
  t.strictSame(await proposed('polyvac://vacs/{vac}/documents/{+document}', 'document', ''), [])
  t.strictSame(await proposed('other://{vac}', 'vac', ''), [])
  t.strictSame((await vacResources(vacsOf(), { names: ['plain'] }).resources?.list())?.map(({ uri }) => uri), ['polyvac://vacs/plain'])
})

test('a completion has at most 100 values', async t => {
  const many = Array.from({ length: 150 }, (_, i) => ({ uri: `${i}.md`, name: `${i}.md`, mimeType: 'text/markdown' }))
  const vacs = createVacs({ vacs: ['a'], streamInterpreter: cited, parts: { a: { memory: memory({ list: async () => many }) } } })
  const { values, total, hasMore } = await vacResources(vacs).complete?.({ type: 'ref/resource', uri: 'polyvac://vacs/{vac}/documents/{+document}' }, { name: 'document', value: '', given: { vac: 'a' } }, callContext()) ?? { values: [] }
  t.strictSame([values.length, total, hasMore], [100, 150, true])
})

test('changes of documents are reported, of the present VACs', async t => {
  const listeners = new Map<string, Set<() => void>>()
  const watched = (name: string): Memory => memory({
    onChange (listener) {
      const all = listeners.get(name) ?? new Set()
      listeners.set(name, all.add(listener))
      return () => { all.delete(listener) }
    }
  })
  const change = (name: string): void => { for (const listener of listeners.get(name) ?? []) listener() }
  const vacs = createVacs({ vacs: ['a'], streamInterpreter: cited, parts: { a: { memory: watched('a') } } })
  const source = vacResources(vacs)
  const seen: unknown[] = []
  const stop = source.onChange?.(kinds => { seen.push(...kinds) })
  let updated = 0
  const unsubscribe = await source.resources?.subscribe?.('polyvac://vacs/a/documents/c.md', () => { updated++ })
  change('a')
  t.strictSame([seen, updated], [['resources'], 1])
  unsubscribe?.()
  await vacs.replace({ vacs: ['b'], streamInterpreter: cited, parts: { b: { memory: watched('b') } } })
  change('a')
  change('b')
  t.strictSame([seen, updated], [['resources', 'resources', 'resources'], 1])
  stop?.()
  t.equal(listeners.get('a')?.size, 0)
  t.equal(listeners.get('b')?.size, 0)
})
