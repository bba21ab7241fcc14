import { test } from 'tap'
import type { ServerRequest, SourceContext } from '../src/index.js'
import { toolSource } from '../src/tool-source/tool-source.js'
import { bad, published, started, until } from './fixtures/app.js'
import { contextOf, handWritten, type Exchange } from './fixtures/hand-written.js'

test('the tools of all servers are one source, under unique names', async t => {
  const { gateway } = await started(t, [published('everything'), bad({}, { name: 'a server with a name that is much longer than any model would ever take' })])
  const source = gateway.toolSource()
  const tools = await source.list()
  t.ok(tools.every(({ name }) => /^[\w.-]{1,64}$/.test(name)))
  t.equal(new Set(tools.map(({ name }) => name)).size, tools.length)
  t.notOk(tools.some(tool => 'execution' in tool), 'tasks of an upstream are not offered as our own')
  const other = (name: string): string => tools.find(tool => tool.name.startsWith('a_server') && tool.description === `The habit ${name}`)!.name
  const context = contextOf()
  t.match(await source.call('everything__echo', { message: 'hi' }, context), { content: [{ text: 'Echo: hi' }] })
  t.match(await source.call(other('echo'), { message: 'long' }, context), { content: [{ text: 'long' }] })
  await source.call(other('progress'), {}, context)
  t.strictSame(context.sent.map(({ progress }) => progress), [1, 2, 3])
  t.match(await source.call(other('fail'), {}, context), { isError: true })
  await t.rejects(source.call('everything__ecko', {}, context), { code: 'MCP_TOOL_NOT_FOUND', message: /everything__echo/ })
  const [resource] = await source.resources.list()
  t.match(await source.resources.read(resource!.uri), { contents: [{ uri: resource!.uri }] })
  await t.rejects(source.resources.read('none://at.all'), { code: 'MCP_RESOURCE_NOT_FOUND' })
  t.ok((await source.resources.templates()).length > 0)
  const prompts = await source.prompts.list()
  t.ok(prompts.some(({ name }) => name === 'everything__simple-prompt'))
  t.match(await source.prompts.get('everything__simple-prompt', {}), { messages: [{}] })
})

test('a source that was never listed finds its tools all the same', async t => {
  const { gateway } = await started(t, [bad()])
  t.match(await gateway.toolSource().call('bad__echo', { message: 'x' }, contextOf()), { content: [{ text: 'x' }] })
})

test('a failure of a server is a result with its code and reason', async t => {
  const { gateway } = await started(t, [bad({}, { timeout: 1 })])
  const source = gateway.toolSource()
  t.match(await source.call('bad__exit', {}, contextOf()), { isError: true, content: [{ text: /^MCP_SERVER_GONE: the MCP server "bad" ended during the call/ }] })
  await until(() => gateway.get('bad').status().state === 'ready')
  t.match(await source.call('bad__hang', {}, contextOf()), { isError: true, content: [{ text: /^MCP_CALL_TIMEOUT: / }] })
})

test('a caller that cancels cancels at the server', async t => {
  const { gateway } = await started(t, [bad()])
  const source = gateway.toolSource()
  for (const era of ['legacy', 'modern'] as const) {
    const context = contextOf({ era })
    const call = source.call('bad__hang', {}, context)
    await until(() => gateway.get('bad').status().callsInFlight === 1)
    context.signal.abort(new Error('left'))
    await t.rejects(call, { message: 'left' }, era)
    t.equal(gateway.get('bad').status().callsInFlight, 0)
  }
})

test('a question reaches a caller that is asked while the call goes on', async t => {
  const { gateway } = await started(t, [bad()])
  const asked: unknown[] = []
  const context = contextOf({
    capabilities: { elicitation: {} },
    ask: async ({ question }) => { asked.push(question?.method); return { question: { action: 'accept', content: { city: 'Aarhus' } } } }
  })
  t.match(await gateway.toolSource().call('bad__ask', {}, context), { content: [{ text: /Aarhus/ }] })
  t.strictSame(asked, ['elicitation/create'])
  t.match(await gateway.toolSource().call('bad__ask', {}, contextOf()), { content: [{ text: /decline/ }] }, 'a caller that cannot be asked declines')
})

test('a call waits for a caller that is run again with the answers', async t => {
  const { gateway } = await started(t, [bad()])
  const source = gateway.toolSource()
  const paused = new Error('this run ends here')
  let held: { questions: Readonly<Record<string, ServerRequest>>, state: string | undefined } | undefined
  const capabilities = { elicitation: {} }
  const pausing = (more: Partial<SourceContext> = {}): SourceContext => contextOf({ era: 'modern', capabilities, ask: async (questions, state) => { held = { questions, state }; throw paused }, ...more })
  await t.rejects(source.call('bad__ask', { rounds: 2 }, pausing()), paused)
  t.match(held?.questions, { 'input-1': { method: 'elicitation/create' } })
  t.equal(gateway.get('bad').status().callsInFlight, 1, 'the call goes on')
  await t.rejects(source.call('bad__ask', { rounds: 2 }, pausing({ state: held?.state })), paused, 'no answer: the same question again')
  t.match(held?.questions, { 'input-1': {} })

  const answering = (city: string): SourceContext => {
    let isAnswered = false
    return pausing({
      state: held?.state,
      ask: async (questions, state) => {
        if (isAnswered) { held = { questions, state }; throw paused }
        isAnswered = true
        return Object.fromEntries(Object.keys(questions).map(key => [key, { action: 'accept', content: { city } }]))
      }
    })
  }
  await t.rejects(source.call('bad__ask', { rounds: 2 }, answering('Aarhus')), paused)
  t.match(held?.questions, { 'input-2': {} })
  t.match(await source.call('bad__ask', { rounds: 2 }, answering('Odense')), { content: [{ text: /Odense/ }] })
  t.match(await source.call('bad__ask', { rounds: 2 }, answering('again')), { isError: true, content: [{ text: /^MCP_INVALID_STATE: .*has been used/ }] })
  t.equal(gateway.get('bad').status().callsInFlight, 0)
  t.match(await source.call('bad__ask', {}, contextOf({ era: 'modern', capabilities })), { content: [{ text: /decline/ }] }, 'a caller that cannot be asked after all declines')
})

test('a state of one caller is of no use to another', async t => {
  const { gateway } = await started(t, [bad()])
  const source = gateway.toolSource()
  let state: string | undefined
  const paused = new Error('this run ends here')
  const context = (owner: string): SourceContext => contextOf({ era: 'modern', principal: { owner }, state, capabilities: { elicitation: {} }, ask: async (_questions, given) => { state = given; throw paused } })
  await t.rejects(source.call('bad__ask', {}, context('ada')), paused)
  t.match(await source.call('bad__ask', {}, context('eve')), { isError: true, content: [{ text: /^MCP_INVALID_STATE/ }] })
  await t.rejects(source.call('bad__ask', {}, context('ada')), paused)
})

test('a tool that is always a task at its server is called all the same, and asks meanwhile', async t => {
  const { gateway } = await started(t, [published('everything')])
  const source = gateway.toolSource()
  const asked: unknown[] = []
  const context = contextOf({
    capabilities: { elicitation: {} },
    ask: async ({ question }) => { asked.push(question?.method); return { question: { action: 'accept', content: { interpretation: 'technical' } } } }
  })
  t.match(await source.call('everything__simulate-research-query', { topic: 'tea', ambiguous: true }, context), { content: [{ text: /tea/ }] })
  t.strictSame(asked, ['elicitation/create'])
  const left = contextOf()
  const call = source.call('everything__simulate-research-query', { topic: 'tea' }, left)
  await until(() => gateway.get('everything').status().callsInFlight === 1)
  left.signal.abort(new Error('left'))
  await t.rejects(call, { message: 'left' })
  await until(() => gateway.get('everything').status().callsInFlight === 0)
})

test('changes of a resource are reported while there are subscribers, also after a restart of its server', async t => {
  const { gateway } = await started(t, [published('everything')])
  const source = gateway.toolSource()
  const [resource] = await source.resources.list()
  const told = { a: 0, b: 0 }
  const stops = [await source.resources.subscribe(resource!.uri, () => { told.a++ }), await source.resources.subscribe(resource!.uri, () => { told.b++ })]
  const toggle = async (): Promise<void> => { t.notOk((await source.call('everything__toggle-subscriber-updates', {}, contextOf())).isError) }
  await toggle()
  await until(() => told.a > 0 && told.b > 0)
  stops[0]!()
  const { pid } = gateway.get('everything').status()
  process.kill(pid!, 'SIGKILL')
  await until(() => gateway.get('everything').status().state === 'ready' && gateway.get('everything').status().pid !== pid)
  Object.assign(told, { a: 0, b: 0 })
  await toggle()
  await until(() => told.b > 0)
  t.equal(told.a, 0)
  stops[1]!()
})

/** Two servers with the same resource and the same template, each with its own text. */
async function twins (t: Parameters<typeof started>[0]): ReturnType<typeof started> {
  const answer = (name: string) => ({ message: { method, params }, result, error }: Exchange): boolean => {
    if (method === 'resources/list') result({ resources: [{ uri: 'file:///a?b#c', name: 'a' }, { uri: `own://${name}` }] })
    else if (method === 'resources/templates/list') result({ resourceTemplates: [{ uriTemplate: 'file:///{+path}' }] })
    else if (method === 'completion/complete') result({ completion: { values: [`${name} ${String(params.ref.uri)}`] } })
    else if (method === 'server/discover') result({ supportedVersions: ['2026-07-28'], capabilities: { resources: {}, completions: {} } })
    else if (method !== 'resources/read') return false
    else if (params.uri.startsWith('file:///')) result({ contents: [{ uri: params.uri, text: name }, { uri: 'other:', text: '' }] })
    else error(-32602, 'not found', { uri: params.uri })
    return true
  }
  const servers = await Promise.all(['Grüße', 'b'].map(async name => ({ name, url: (await handWritten(t, answer(name))).url })))
  return await started(t, servers)
}

test('a URI that two servers list has its server as the authority, and both are readable', async t => {
  const { gateway, app } = await twins(t)
  const source = gateway.toolSource()
  const uris = (await source.resources.list()).map(({ uri }) => uri)
  t.strictSame(uris, ['mcp://Gr%C3%BC%C3%9Fe/file:///a?b#c', 'own://Grüße', 'mcp://b/file:///a?b#c', 'own://b'])
  t.strictSame((await source.resources.read(uris[0]!)).contents, [{ uri: uris[0], text: 'Grüße' }, { uri: 'mcp://Gr%C3%BC%C3%9Fe/other:', text: '' }])
  t.match(await source.resources.read(uris[0]!.toLowerCase()), { contents: [{ text: 'Grüße' }] }, 'a client may normalize the authority')
  t.match(await source.resources.read(uris[2]!), { contents: [{ uri: uris[2], text: 'b' }] })
  t.match(await source.resources.read('file:///a?b#c'), { contents: [{ text: 'Grüße' }] }, 'without a server the first one counts')
  const stop = await source.resources.subscribe(uris[2]!, () => {})
  const subscribed = (name: string): string[] => [...gateway.get(name).listeners.uris]
  t.strictSame([subscribed('Grüße'), subscribed('b')], [[], ['file:///a?b#c']], 'a subscription is at its server')
  stop()
  t.strictSame(subscribed('b'), [])
  await t.rejects(source.resources.read('mcp://b/none:'), { code: 'MCP_RESOURCE_NOT_FOUND' })
  await t.rejects(source.resources.read('mcp://c/file:///a'), { code: 'MCP_RESOURCE_NOT_FOUND' })
  for (const server of ['Grüße', 'b']) {
    const read = await app.inject({ method: 'POST', url: '/mcp/resources/read', payload: { server, uri: 'file:///a?b#c' } })
    t.match(read.json(), { contents: [{ text: server }] }, 'the REST routes name the server')
  }
})

test('a template that two servers list leads to the resources of its server', async t => {
  const { gateway } = await twins(t)
  const source = gateway.toolSource()
  const templates = (await source.resources.templates()).map(({ uriTemplate }) => uriTemplate)
  t.strictSame(templates, ['mcp://Gr%C3%BC%C3%9Fe/file:///{+path}', 'mcp://b/file:///{+path}'])
  t.match(await source.resources.read(templates[1]!.replace('{+path}', 'x/y')), { contents: [{ text: 'b' }] })
  const ref = { type: 'ref/resource', uri: templates[1]! } as const
  const argument = { name: 'path', value: 'x', given: {} }
  t.strictSame(await source.complete(ref, argument, contextOf()), { values: ['b file:///{+path}'] })
})

test('MCP Apps are declared to a server of the older era, and by a call for the caller that declares them', async t => {
  const ui = { 'io.modelcontextprotocol/ui': { mimeTypes: ['text/html;profile=mcp-app'] } }
  for (const isModern of [false, true]) {
    const seen: unknown[] = []
    const { url } = await handWritten(t, ({ message: { method, params } }) => {
      const capabilities = isModern ? params?._meta?.['io.modelcontextprotocol/clientCapabilities'] : params?.capabilities
      if (method === (isModern ? 'tools/call' : 'initialize')) seen.push(capabilities?.extensions)
    }, { isModern })
    const { gateway } = await started(t, [{ name: 'own', url }])
    const source = gateway.toolSource()
    await source.call('own__tool', {}, contextOf({ era: 'legacy', capabilities: { extensions: ui } }))
    await source.call('own__tool', {}, contextOf({ era: 'legacy' }))
    t.strictSame(seen, isModern ? [ui, undefined] : [ui])
  }
})

test('however many changes there are, the tools are listed once at a time', async t => {
  let change = (_kinds: readonly ['tools']): void => {}
  let open = 0
  let most = 0
  let lists = 0
  const source = toolSource({
    names: [],
    limits: { maxQuestions: 1 },
    stateKey: undefined,
    async listShared () {
      lists++
      most = Math.max(most, ++open)
      await new Promise(resolve => setImmediate(resolve))
      open--
      return { items: [], unavailable: [] }
    },
    onChange (listener: typeof change) { change = listener; return () => {} }
  } as unknown as Parameters<typeof toolSource>[0])
  let changes = 0
  source.onChange(() => { changes++ })
  for (let i = 0; i < 1_000; i++) change(['tools'])
  await until(() => lists === 2 && open === 0)
  t.equal(most, 1)
  t.equal(changes, 1_000, 'each change is reported')
})
