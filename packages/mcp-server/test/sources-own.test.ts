import { Type } from '@sinclair/typebox'
import { test } from 'tap'
import { z } from 'zod'
import { defineTools } from '../src/index.js'
import { callContext } from './fixtures/sources-context.js'
import { LegacySession, modern, serve } from './fixtures/wire.js'

const context = callContext()

test('handlers have the types of their schemas, and their return values become results', async t => {
  const tools = defineTools([
    { name: 'add', title: 'Add', inputSchema: Type.Object({ a: Type.Number(), b: Type.Number() }), outputSchema: Type.Object({ sum: Type.Number() }), handler: ({ a, b }) => ({ sum: a + b }) },
    { name: 'greet', inputSchema: Type.Object({ name: Type.String() }), handler: async ({ name }) => `Hello ${name.toUpperCase()}` },
    { name: 'upper', inputSchema: Type.Object({ text: Type.String() }), outputSchema: Type.String(), handler: ({ text }) => text.toUpperCase() },
    { name: 'whole', inputSchema: Type.Object({}), handler: () => ({ content: [], isError: true }) },
    { name: 'late', inputSchema: Type.Object({}), handler: async (_args, { progress }) => { await progress({ progress: 1 }); return 'done' } }
  ])
  t.match(await tools.list(), [{ name: 'add', title: 'Add', inputSchema: { type: 'object' }, outputSchema: { type: 'object' } }, {}, {}, {}, {}])
  t.notOk('handler' in (await tools.list())[0]!, 'a definition can be sent')
  t.strictSame(await tools.call('add', { a: 1, b: 2 }, context), { content: [{ type: 'text', text: '{"sum":3}' }], structuredContent: { sum: 3 } })
  t.strictSame(await tools.call('greet', { name: 'ada' }, context), { content: [{ type: 'text', text: 'Hello ADA' }] })
  t.strictSame(await tools.call('upper', { text: 'x' }, context), { content: [{ type: 'text', text: 'X' }], structuredContent: 'X' })
  t.strictSame(await tools.call('whole', {}, context), { content: [], isError: true })
  t.strictSame(await tools.call('late', {}, context), { content: [{ type: 'text', text: 'done' }] })

  defineTools([
    // @ts-expect-error the argument is a number
    { name: 'typed', inputSchema: Type.Object({ a: Type.Number() }), handler: ({ a }) => a.toUpperCase() as string }
  ])
})

test('a return value that the output schema does not describe is an error', async t => {
  const tools = defineTools([
    { name: 'wrong', inputSchema: Type.Object({}), outputSchema: Type.Object({ sum: Type.Number() }), handler: () => ({ sum: 'three' }) },
    { name: 'throws', inputSchema: Type.Object({}), handler: () => { throw new Error('no') } }
  ])
  await t.rejects(async () => await tools.call('wrong', {}, context), { message: /wrong returned a value that its outputSchema does not describe: value\/sum: must be number/ })
  await t.rejects(async () => await tools.call('throws', {}, context), { message: 'no' })
})

test('without an output schema a handler returns a text, a number, a boolean, plain data or nothing', async t => {
  let returned: unknown
  const tools = defineTools([{ name: 'give', inputSchema: Type.Object({}), handler: () => returned }])
  const give = async (value: unknown) => {
    returned = value
    return await tools.call('give', {}, context)
  }
  const text = (text: string) => ({ content: [{ type: 'text', text }] })
  for (const [value, shown] of [['x', 'x'], ['', ''], [0, '0'], [-1.5, '-1.5'], [false, 'false'], [3n, '3'], [undefined, ''], [null, '']] as const) {
    t.strictSame(await give(value), text(shown), String(value))
  }
  const data = [{ sum: 3 }, [1, 'two'], [], {}, Object.assign(Object.create(null) as object, { a: 1 }), { title: 't', content: 'of a document' }]
  for (const value of data) t.same(await give(value), { ...text(JSON.stringify(value)), structuredContent: value }, JSON.stringify(value))
  t.strictSame(await give({ at: new Date(0), left: undefined }), { ...text('{"at":"1970-01-01T00:00:00.000Z"}'), structuredContent: { at: '1970-01-01T00:00:00.000Z' } })
  for (const [value, what] of [[new Map(), 'an object of the class Map'], [new Date(), 'an object of the class Date'], [() => {}, 'a function'], [Symbol('s'), 'a symbol']] as const) {
    await t.rejects(give(value), { message: `the tool give returned ${what}; return text, a plain object or a list, or a result with \`content\`` })
  }
  await t.rejects(give({ big: 1n }), { code: 'MCP_INVALID_RESULT' })
  const ring: unknown[] = []
  ring.push(ring)
  await t.rejects(give(ring), { code: 'MCP_INVALID_RESULT' })
})

test('names that clients do not accept, or that occur twice, are refused with the place in the list', async t => {
  const tool = (name: string) => ({ name, inputSchema: Type.Object({}), handler: () => '' })
  t.throws(() => defineTools([tool('a'), tool('a')]), { code: 'INVALID_TOOLS', message: /two tools are named "a", the entries 0 and 1 of the tools; rename one/ })
  t.throws(() => defineTools([tool('a'), { inputSchema: Type.Object({}), handler: () => '' } as never]), { code: 'INVALID_TOOLS', message: /the entry 1 of the tools has no `name`; use 1 to 64/ })
  for (const entry of [null, 'x', []]) t.throws(() => defineTools([entry as never]), { code: 'INVALID_TOOLS', message: /the entry 0 of the tools is not a tool; a tool is \{ name/ })
  for (const name of ['', 'two words', 'ä', 'x'.repeat(65)]) t.throws(() => defineTools([tool(name)]), { code: 'INVALID_TOOLS', message: /cannot be named/ })
  t.throws(() => defineTools([{ ...tool('a'), handler: 'x' as never }]), { code: 'INVALID_TOOLS', message: /no handler/ })
})

test('schemas of zod are listed as JSON Schema, and check the arguments', async t => {
  const source = defineTools([
    {
      name: 'add',
      inputSchema: z.object({ a: z.number(), b: z.number().default(2) }),
      outputSchema: z.object({ sum: z.number() }),
      handler: ({ a, b }) => ({ sum: a + b })
    },
    { name: 'even', inputSchema: z.object({ n: z.number().refine(n => n % 2 === 0, 'is odd') }), handler: ({ n }) => n.toFixed(1) },
    { name: 'wrong', inputSchema: z.object({}), outputSchema: z.object({ sum: z.number() }), handler: () => ({ sum: 'x' }) }
  ])
  const app = await serve(t, { sources: [source] })
  const session = await LegacySession.open(app)
  const { json: { result } } = await session.request('tools/list')
  t.match(result?.tools[0], {
    inputSchema: { type: 'object', properties: { a: { type: 'number' } }, required: ['a'] },
    outputSchema: { type: 'object', properties: { sum: { type: 'number' } }, required: ['sum'] }
  })
  t.notOk('def' in result?.tools[0].inputSchema)
  const call = async (name: string, args: object) => (await session.request('tools/call', { name, arguments: args })).json.result
  t.match(await call('add', { a: 1 }), { structuredContent: { sum: 3 } }, 'with the default of b')
  t.match(await call('add', { a: 'str' }), { isError: true, content: [{ text: /arguments\/a/ }] })
  t.match(await call('even', { n: 4 }), { content: [{ text: '4.0' }] })
  t.match(await call('even', { n: 3 }), { isError: true, content: [{ text: /input schema of even: arguments\/n: is odd/ }] })
  t.match(await call('wrong', {}), { isError: true, content: [{ text: /the request failed/ }] }, 'the mistake of the handler stays hidden')
})

test('any Standard Schema with JSON Schema is taken, also one that is a function', async t => {
  const standard = {
    version: 1,
    vendor: 'other',
    validate: async (value: unknown) => ({ value: { ...value as { n: number }, seen: true } }),
    jsonSchema: { input: () => ({ type: 'object', required: ['n'] }), output: () => ({}) }
  } as const
  const inputSchema = Object.assign(() => {}, { '~standard': standard })
  const tools = defineTools([{ name: 'own', inputSchema, handler: ({ n, seen }) => `${n} ${String(seen)}` }])
  t.strictSame((await tools.list())[0]!.inputSchema, { type: 'object', required: ['n'] })
  t.match(await tools.call('own', { n: 1 }, context), { content: [{ text: '1 true' }] })
})

test('JSON Schema is taken unchanged', async t => {
  const inputSchema = { type: 'object', properties: { a: { type: 'number' } } }
  const tools = defineTools([{ name: 'plain', inputSchema, handler: ({ a }) => JSON.stringify(a) }])
  t.equal((await tools.list())[0]!.inputSchema, inputSchema)
  t.match(await tools.call('plain', { a: 1 }, context), { content: [{ text: '1' }] })
})

test('what is not a schema is refused at registration, with the tool and the remedy', t => {
  const refusal = (inputSchema: unknown, outputSchema?: unknown) => {
    try {
      defineTools([{ name: 'tool_x', inputSchema: inputSchema as never, outputSchema: outputSchema as never, handler: () => '' }])
      return 'taken'
    } catch (err) {
      t.equal((err as { code?: unknown }).code, 'INVALID_TOOLS')
      return (err as Error).message
    }
  }
  const older = { '~standard': { version: 1, vendor: 'zod', validate: () => ({ value: 1 }) } }
  for (const [schema, problem] of [
    [undefined, /inputSchema of the tool tool_x is missing; pass z\.object/],
    ['object', /is missing; pass/],
    [{ a: z.number() }, /is not a schema; .* A zod shape needs z\.object/],
    [{}, /is not a schema/],
    [{ type: 'string' }, /is not a schema/],
    [z.string(), /must be that of an object/],
    [z.object({ d: z.date() }), /has no JSON Schema: Date cannot be represented/],
    [older, /is a schema of zod without JSON Schema; use zod 4\.2 or newer/]
  ] as const) t.match(refusal(schema), problem)
  t.match(refusal(z.object({}), { sum: z.number() }), /outputSchema of the tool tool_x is not a schema/)
  t.match(refusal(z.object({}), older), /outputSchema of the tool tool_x/)
  t.end()
})

test('arguments that take too many steps to check are refused before a library or a handler gets them', async t => {
  const kind = (children: z.ZodType): z.ZodType => z.object({ kind: z.string(), children: z.array(children).optional() })
  const component: z.ZodType = z.lazy(() => z.union([kind(component), kind(component), kind(component), kind(component), kind(component), kind(component), kind(component), kind(component)]))
  const json = { type: 'object', properties: { root: { $ref: '#/$defs/c' } }, $defs: { c: { anyOf: Array(8).fill({ type: 'object', properties: { kind: { type: 'string' }, children: { items: { $ref: '#/$defs/c' } } } }) } } }
  const nested = (levels: number): object => levels === 0 ? { kind: 5 } : { kind: 'a', children: [nested(levels - 1)] }
  let calls = 0
  for (const inputSchema of [z.object({ root: component }), json]) {
    const tools = defineTools([{ name: 'render', inputSchema: inputSchema as never, handler: () => String(++calls) }])
    t.match(await Promise.resolve(tools.call('render', { root: nested(14) }, context)).catch((err: unknown) => err),
      { code: 'MCP_INVALID_ARGUMENTS', statusCode: 400, message: /arguments: takes too long to check against the schema; send less/ })
  }
  t.equal(calls, 0)
})

test('a result that JSON cannot represent is a failure that names the tool', async t => {
  let deep: unknown = 'x'
  for (let i = 0; i < 100_000; i++) deep = { deep }
  const circular: Record<string, unknown> = {}
  circular.self = circular
  const anything = Type.Object({})
  const tools = defineTools([
    { name: 'deep', inputSchema: anything, outputSchema: { type: 'object', additionalProperties: { $ref: '#' } }, handler: () => deep },
    { name: 'circular', inputSchema: anything, outputSchema: anything, handler: () => circular },
    { name: 'whole', inputSchema: anything, handler: () => ({ content: [], structuredContent: deep }) },
    { name: 'big', inputSchema: anything, handler: () => ({ content: [{ type: 'text', text: 1n }] }) }
  ])
  const app = await serve(t, { sources: [tools] })
  const session = await LegacySession.open(app)
  for (const [name, reason] of [['deep', /nested too deep/], ['circular', /circular/], ['whole', /nested too deep/], ['big', /BigInt/]] as const) {
    for (const { status, json } of [await session.request('tools/call', { name }), await modern(app, 'tools/call', { name })]) {
      t.equal(status, 200)
      t.match(json.result, { isError: true })
      const { text } = json.result?.content[0]
      t.match(text, `the result of the tool "${name}" cannot be sent as JSON`)
      t.match(text, reason)
    }
  }
})

test('log lines of failed calls name the owner', async t => {
  const lines: Array<Record<string, unknown>> = []
  const logger = { level: 'info', stream: { write: (line: string) => { lines.push(JSON.parse(line) as Record<string, unknown>) } } }
  const tools = defineTools([{ name: 'broken', inputSchema: Type.Object({}), handler: () => { throw new Error('no disk') } }])
  const app = await serve(t, { sources: [tools], authenticate: () => ({ owner: 'alice' }) }, { logger })
  await modern(app, 'tools/call', { name: 'broken' })
  t.match(lines.find(({ msg }) => msg === 'an MCP call failed'), { owner: 'alice', tool: 'broken' })
})

test('half of a surrogate pair in what a handler returns becomes U+FFFD', async t => {
  const half = 'x\ud83d'
  const tools = defineTools([
    { name: 'text', inputSchema: Type.Object({}), handler: () => half },
    { name: 'value', inputSchema: Type.Object({}), outputSchema: Type.Object({ list: Type.Array(Type.String()) }), handler: () => ({ list: [half] }) },
    { name: 'whole', inputSchema: Type.Object({}), handler: () => ({ content: [{ type: 'text', text: half }], structuredContent: { [half]: 1 } }) }
  ])
  t.strictSame(await tools.call('text', {}, context), { content: [{ type: 'text', text: 'x\ufffd' }] })
  t.strictSame(await tools.call('value', {}, context), { content: [{ type: 'text', text: '{"list":["x\ufffd"]}' }], structuredContent: { list: ['x\ufffd'] } })
  t.strictSame(await tools.call('whole', {}, context), { content: [{ type: 'text', text: 'x\ufffd' }], structuredContent: { 'x\ufffd': 1 } })
})
