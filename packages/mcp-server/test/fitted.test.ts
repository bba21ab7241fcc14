import { Client as DualClient } from '@modelcontextprotocol/client'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { definitionFor, fitCompletion, fitDefinition, fitPromptResult, fitReadResult, fitToolResult, LEGACY_REVISIONS, LISTS, MODERN_REVISIONS, type ListKind, type Revision } from '@polyvac/mcp-protocol'
import { createGateway } from '@polyvac/mcp-gateway'
import fc from 'fast-check'
import { test } from 'tap'
import { handWritten } from '../../mcp-gateway/test/fixtures/hand-written.js'
import { LegacySession, modern, serve } from './fixtures/wire.js'

type Fields = Record<string, any>

const REVISIONS: readonly Revision[] = [...LEGACY_REVISIONS, ...MODERN_REVISIONS]
const HUGE = 'x'.repeat(20_000)
const LINK = { type: 'resource_link', uri: 'x://1', name: 'one', title: 'One', description: 'a link', mimeType: 'text/plain', size: 3, icons: [{ src: 'x://icon' }], annotations: { priority: 1 }, _meta: {} }
const SCHEMA = { $schema: 'https://json-schema.org/draft/2020-12/schema', $id: 'case.schema', type: 'object', title: 'T', description: 'D', properties: { a: { type: 'string', minLength: 1, pattern: '^a', enum: ['a'], nullable: true }, b: { type: 'array', items: { type: 'string' }, minItems: 0, uniqueItems: true }, c: { $ref: '#/$defs/c' }, d: { anyOf: [{ type: 'integer', minimum: 0 }, { type: 'null' }] } }, required: ['a'], additionalProperties: true, $defs: { c: { type: 'object', properties: {}, required: [] } } }

/** A definition of each kind with all its fields. */
const DEFINITIONS: Readonly<Record<ListKind, Fields>> = {
  tools: { name: 'odd', title: 'Odd', description: 'odd', icons: [{ src: 'x://icon', mimeType: 'image/png', sizes: ['any'], theme: 'dark' }], inputSchema: SCHEMA, outputSchema: SCHEMA, execution: { taskSupport: 'optional' }, annotations: { title: 'A', readOnlyHint: true, destructiveHint: true, idempotentHint: true, openWorldHint: true }, _meta: { a: 1 } },
  resources: { uri: 'x://odd', name: 'odd', title: 'Odd', description: 'odd', icons: [], mimeType: 'text/plain', size: 1, annotations: { audience: ['user'], priority: 0.5, lastModified: '2026-01-01T00:00:00Z' }, _meta: {} },
  templates: { uriTemplate: 'x://{odd}', name: 'odd', title: 'Odd', description: 'odd', icons: [], mimeType: 'text/plain', annotations: { audience: ['user'] }, _meta: {} },
  prompts: { name: 'odd', title: 'Odd', description: 'odd', icons: [], arguments: [{ name: 'a', title: 'A', description: 'an argument', required: true }], _meta: {} }
}
const GOOD: Readonly<Record<ListKind, Fields>> = {
  tools: { name: 'good', inputSchema: { type: 'object', properties: {} } },
  resources: { uri: 'x://good', name: 'good' },
  templates: { uriTemplate: 'x://good/{a}', name: 'good' },
  prompts: { name: 'good' }
}
const TEXT = { type: 'text', text: 'hi', annotations: { audience: ['user'] }, _meta: {} }
const IMAGE = { type: 'image', data: 'iVBORw0KGgo=', mimeType: 'image/png', annotations: {}, _meta: {} }
const BLOCKS = [TEXT, IMAGE, { ...IMAGE, type: 'audio', mimeType: 'audio/wav' }, LINK, { type: 'resource', resource: { uri: 'x://1', mimeType: 'text/plain', text: 'hi', _meta: {} }, annotations: {}, _meta: {} }, { type: 'resource', resource: { uri: 'x://1', blob: 'aGk=' } }]
const META = { progressToken: 1, 'io.modelcontextprotocol/related-task': { taskId: 'x' } }
const RESULTS = {
  'tools/call': { content: BLOCKS, structuredContent: { a: 1 }, isError: false, _meta: META },
  'resources/read': { contents: [{ uri: 'x://1', mimeType: 'text/plain', text: 'hi', _meta: {} }, { uri: 'x://1', blob: 'aGk=' }], _meta: META },
  'prompts/get': { description: 'a prompt', messages: BLOCKS.map(content => ({ role: 'user', content })), _meta: META },
  'completion/complete': { completion: { values: ['a', 'b'], total: 2, hasMore: false } }
} as const
type Method = keyof typeof RESULTS

/** What fields of servers in other languages have. */
const ODD: readonly unknown[] = [
  null, true, false, 0, -1.5, '', 'text', '5', 'true', HUGE, [], [null], [HUGE], {}, { a: null }, { type: null }, [[]], ['object', 'null'], 'str', '(?i)x',
  '2026-02-30T00:00:00Z', { $ref: '#/nowhere' }, { type: 'object', properties: null }, { type: 'object', properties: { a: true, b: false, c: null, d: 'string' }, required: null },
  { type: 'video', data: HUGE }, [{ type: 'text', text: 5 }], { nullable: true }, { $id: 'case.schema' }, { id: 'x', required: true, exclusiveMinimum: true }
]

/** Every copy of a value in which one field, at any depth, is odd or absent. */
function * variants (value: unknown, depth = 0): Generator<unknown> {
  // the huge values once for each field of the entry
  for (const odd of ODD) if (depth < 2 || !JSON.stringify(odd).includes(HUGE)) yield odd
  yield undefined
  if (Array.isArray(value)) for (const [i, one] of value.entries()) for (const odd of variants(one, depth + 1)) yield value.map((other, j) => i === j ? odd : other)
  else if (typeof value === 'object' && value !== null) for (const [key, one] of Object.entries(value)) for (const odd of variants(one, depth + 1)) yield { ...value, [key]: odd }
}

interface Reader { readonly name: string, answer: (method: string, result: object) => Promise<Fields> }

/** An official client of a revision, which reads the results that it is given. */
async function readerOf (revision: Revision, kind: 'sdk' | 'client'): Promise<Reader> {
  const isModern = MODERN_REVISIONS.includes(revision as never)
  let next: object = {}
  const capabilities = { tools: {}, resources: {}, prompts: {}, completions: {} }
  const serverInfo = { name: 'fitted', version: '1' }
  const transport = {
    onmessage: undefined as ((message: object) => void) | undefined,
    async start () {},
    async close () {},
    async send ({ id, method }: { id?: number, method?: string }) {
      if (id === undefined) return
      const result = method === 'initialize'
        ? { protocolVersion: revision, capabilities, serverInfo }
        : method === 'server/discover' ? { resultType: 'complete', supportedVersions: [revision], capabilities, ttlMs: 0, cacheScope: 'private', _meta: { 'io.modelcontextprotocol/serverInfo': serverInfo } } : next
      transport.onmessage?.({ jsonrpc: '2.0', id, result: JSON.parse(JSON.stringify(result)) })
    }
  }
  const info = { name: 'test', version: '1' }
  const client: any = kind === 'sdk' ? new Client(info) : new DualClient(info, { versionNegotiation: isModern ? { mode: { pin: revision } } : { mode: 'legacy' } } as never)
  await client.connect(transport)
  const methods: Record<string, () => Promise<Fields>> = {
    'tools/list': () => client.listTools(),
    'resources/list': () => client.listResources(),
    'resources/templates/list': () => client.listResourceTemplates(),
    'prompts/list': () => client.listPrompts(),
    'tools/call': () => client.callTool({ name: 'plain', arguments: {} }),
    'resources/read': () => client.readResource({ uri: 'x://1' }),
    'prompts/get': () => client.getPrompt({ name: 'plain' }),
    'completion/complete': () => client.complete({ ref: { type: 'ref/prompt', name: 'plain' }, argument: { name: 'a', value: '' } })
  }
  return {
    name: `${kind} of ${revision}`,
    async answer (method, result) {
      next = isModern ? { resultType: 'complete', ttlMs: 0, cacheScope: 'private', ...result } : result
      return await methods[method]!()
    }
  }
}

async function readers (): Promise<Array<readonly [Revision, Reader]>> {
  const all: Array<readonly [Revision, Reader]> = []
  for (const revision of REVISIONS) {
    all.push([revision, await readerOf(revision, 'client')])
    if (!MODERN_REVISIONS.includes(revision as never)) all.push([revision, await readerOf(revision, 'sdk')])
  }
  return all
}

/** The entries of a list that are served, as the server serves them; equal ones once, since clients compile schemas. */
function listed (kind: ListKind, definitions: readonly unknown[], revision: Revision): object {
  const items = definitions.flatMap(definition => {
    const fitted = fitDefinition(kind, definition)
    return 'definition' in fitted ? [definitionFor(kind, fitted.definition, revision)] : []
  })
  return { [LISTS[kind].key]: [...new Map(items.map(item => [JSON.stringify(item), item])).values()] }
}

function fittedResult (method: Method, result: Fields, revision: Revision): object {
  switch (method) {
    case 'tools/call': return fitToolResult(result, revision)
    case 'resources/read': return fitReadResult(result, 'x://1')
    case 'prompts/get': return fitPromptResult(result, revision)
    case 'completion/complete': return { completion: fitCompletion(result.completion) }
  }
}

const isObject = (value: unknown): value is Fields => typeof value === 'object' && value !== null && !Array.isArray(value)

for (const kind of Object.keys(DEFINITIONS) as ListKind[]) {
  test(`every odd field of ${kind} leaves a list that official clients of every revision read`, async t => {
    const { outputSchema, ...definition } = DEFINITIONS[kind]
    const odd = [...variants(definition), ...outputSchema === undefined ? [] : [...variants(outputSchema)].map(odd => ({ ...GOOD[kind], outputSchema: odd }))]
    const lost = odd.filter(one => isObject(one) && isObject(one.inputSchema ?? {}) && one[LISTS[kind].id] === DEFINITIONS[kind][LISTS[kind].id] && 'problem' in fitDefinition(kind, one))
    t.strictSame(lost.map(one => (one as Fields).inputSchema?.type).filter(type => !['string', 'null', 'number', 'integer', 'boolean', 'array'].includes([type].flat()[0])), [], 'entries with a name are repaired, unless their arguments are not an object')
    for (const [revision, reader] of await readers()) {
      const { method, key } = LISTS[kind]
      const result = listed(kind, [GOOD[kind], ...odd, GOOD[kind]], revision) as Fields
      const read = await reader.answer(method, result).catch((err: unknown) => ({ problem: String(err).slice(0, 300) }) as Fields)
      t.equal(read.problem, undefined, reader.name)
      t.equal(read[key]?.length, result[key].length, `${reader.name} reads all entries`)
    }
    t.end()
  })
}

/** Results with odd fields; those of the entries of a list stand in one result. */
function * oddResults (result: Fields): Generator<Fields> {
  for (const [field, value] of Object.entries(result)) {
    if (!Array.isArray(value)) for (const odd of variants(value)) yield { ...result, [field]: odd }
    else {
      for (const odd of ODD) yield { ...result, [field]: odd }
      yield { ...result, [field]: value.flatMap(entry => [...variants(entry)]) }
    }
  }
}

for (const method of Object.keys(RESULTS) as Method[]) {
  test(`every odd field of a result of ${method} leaves one that official clients of every revision read`, async t => {
    const odd = [...oddResults(RESULTS[method])]
    for (const [revision, reader] of await readers()) {
      for (const result of odd) {
        const fitted = fittedResult(method, result, revision)
        const problem = await reader.answer(method, fitted).then(() => undefined, (err: unknown) => String(err).slice(0, 300))
        if (problem !== undefined) t.fail(`${reader.name}: ${problem}: ${JSON.stringify(result).slice(0, 500)}`)
      }
      t.pass(`${reader.name} reads ${odd.length} results`)
    }
  })
}

const odd = fc.oneof(fc.constantFrom(...ODD), fc.jsonValue({ maxDepth: 4 }))

/** An object in which several fields, at any depth, are odd. */
const broken = (value: unknown): fc.Arbitrary<unknown> => fc.oneof(
  { weight: 1, arbitrary: odd },
  { weight: 6, arbitrary: Array.isArray(value) ? fc.tuple(...value.map(broken)) : isObject(value) ? fc.record(Object.fromEntries(Object.entries(value).map(([key, one]) => [key, broken(one)])), { requiredKeys: [] }) : fc.constant(value) }
)

test('definitions and results with several odd fields are read by official clients of every revision', async t => {
  const all = await readers()
  const kinds = Object.keys(DEFINITIONS) as ListKind[]
  await fc.assert(fc.asyncProperty(fc.record(Object.fromEntries(kinds.map(kind => [kind, fc.array(broken(DEFINITIONS[kind]), { maxLength: 4 })]))), fc.record(Object.fromEntries(Object.entries(RESULTS).map(([method, result]) => [method, broken(result)]))), async (lists, results) => {
    for (const [revision, reader] of all) {
      for (const kind of kinds) {
        const { method, key } = LISTS[kind]
        const read = await reader.answer(method, listed(kind, [GOOD[kind], ...lists[kind]!], revision))
        if (!(read[key].length > 0)) throw new Error('an empty list')
      }
      for (const [method, result] of Object.entries(results)) if (isObject(result)) await reader.answer(method, fittedResult(method as Method, result, revision))
    }
  }), { numRuns: 15 })
})

const ok = { type: 'object', properties: {} }

test('null fields of an upstream server cost neither its other tools nor its results, and what is left out is named', async t => {
  const odd: Record<string, Fields> = {
    nulls: { title: null, description: null, annotations: null, icons: null, _meta: null, outputSchema: null, execution: null },
    hints: { annotations: { title: null, readOnlyHint: null, destructiveHint: 'true' } },
    required: { inputSchema: { type: 'object', properties: { a: true, b: null }, required: null } },
    list: { inputSchema: { type: ['object', 'null'] } },
    none: { inputSchema: null },
    output: { outputSchema: { $id: 'case.result.v1', description: 'any result' } },
    nowhere: { outputSchema: { type: 'object', properties: { a: { $ref: '#/$defs/lost' } } } },
    text: { inputSchema: { type: 'string' } }
  }
  const tools = [{ name: 'good', inputSchema: ok }, ...Object.entries(odd).map(([name, fields]) => ({ name, inputSchema: ok, ...fields })), null, { inputSchema: ok }, { name: 'last', inputSchema: ok }]
  const results: Record<string, object> = {
    nulls: { content: [{ type: 'text', text: 'hi', annotations: null, _meta: null }], isError: null, structuredContent: null, _meta: null },
    hints: { content: null },
    required: { content: [{ type: 'resource_link', uri: 'x://1', name: null, size: '12', mimeType: null }, { type: 'image', data: 'iVBORw0KGgo' }, { type: 'audio', data: 'not base64!' }] },
    list: { structuredContent: { a: 1 } },
    none: { content: [{ type: 'video', url: 'x' }, null, 'words'], isError: 'true' }
  }
  const { url } = await handWritten(t, ({ message: { method, params }, result }) => {
    if (method === 'tools/list') result({ tools, nextCursor: null })
    else if (method === 'tools/call') result(results[params.name] ?? { content: [] })
    else if (method === 'resources/read') result({ contents: [{ uri: null, text: 'body', mimeType: null }], _meta: null })
    else if (method === 'prompts/list') result({ prompts: [{ name: 'prompt', arguments: null, title: null }] })
    else if (method === 'prompts/get') result({ description: null, messages: [{ role: 'system', content: [{ type: 'text', text: 'x', annotations: null }] }] })
    else return false
    return true
  }, { isModern: false })
  const gateway = createGateway({ servers: { up: { url } } })
  gateway.start()
  t.teardown(() => gateway.close())
  const app = await serve(t, { sources: [gateway.toolSource()] })
  const session = await LegacySession.open(app)
  for (const ask of [(method: string, params?: Fields) => session.request(method, params), (method: string, params?: Fields) => modern(app, method, params)]) {
    const call = async (name: string): Promise<Fields> => (await ask('tools/call', { name: `up__${name}` })).json.result!
    const { tools: served } = (await ask('tools/list')).json.result as { tools: Fields[] }
    t.strictSame(served.map(({ name }) => name), ['good', 'hints', 'last', 'list', 'none', 'nowhere', 'nulls', 'output', 'required'].map(name => `up__${name}`))
    t.strictSame(Object.keys(served.find(({ name }) => name === 'up__nulls')!), ['name', 'inputSchema'])
    t.strictSame(served.find(({ name }) => name === 'up__required')?.inputSchema, { type: 'object', properties: { a: {}, b: {} } })
    const nulls = await call('nulls')
    t.match(nulls.content, [{ type: 'text', text: 'hi' }])
    t.strictSame(Object.keys(nulls.content[0]), ['type', 'text'])
    for (const field of ['isError', 'structuredContent']) t.notOk(field in nulls, field)
    t.strictSame((await call('hints')).content, [])
    t.strictSame((await call('required')).content, [{ type: 'resource_link', uri: 'x://1', name: 'x://1' }, { type: 'image', data: 'iVBORw0KGgo=', mimeType: 'image/png' }, { type: 'text', text: '(audio, audio/wav)' }])
    t.match(await call('list'), { content: [{ type: 'text', text: '{"a":1}' }], structuredContent: { a: 1 } })
    t.match(await call('none'), { isError: true, content: [{ type: 'text', text: '{"type":"video","url":"x"}' }, { type: 'text', text: 'words' }] })
    t.strictSame((await ask('resources/read', { uri: 'own://a' })).json.result?.contents, [{ uri: 'own://a', text: 'body' }])
    t.match((await ask('prompts/list')).json.result?.prompts, [{ name: 'up__prompt' }])
    t.strictSame((await ask('prompts/get', { name: 'up__prompt' })).json.result?.messages, [{ role: 'user', content: { type: 'text', text: 'x' } }])
  }
  t.strictSame(gateway.status()[0]?.leftOutTools, [
    { tool: 'text', problem: 'its inputSchema permits no object, and arguments are one' },
    { tool: 'entry 10 of the list', problem: 'it is not an object' },
    { tool: 'entry 11 of the list', problem: 'it has no name' }
  ])
})
