import { Type } from '@sinclair/typebox'
import { test } from 'tap'
import { defineTools } from '../src/index.js'
import { callContext } from './fixtures/sources-context.js'

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
    { name: 'unknown', inputSchema: Type.Object({}), handler: () => ({ sum: 3 }) },
    { name: 'throws', inputSchema: Type.Object({}), handler: () => { throw new Error('no') } }
  ])
  await t.rejects(async () => await tools.call('wrong', {}, context), { message: /wrong returned a value that its outputSchema does not describe: value\/sum expected number/ })
  await t.rejects(async () => await tools.call('unknown', {}, context), { message: /neither text nor a result/ })
  await t.rejects(async () => await tools.call('throws', {}, context), { message: 'no' })
})

test('names that clients do not accept, or that occur twice, are refused', async t => {
  const tool = (name: string) => ({ name, inputSchema: Type.Object({}), handler: () => '' })
  t.throws(() => defineTools([tool('a'), tool('a')]), { code: 'MCP_SERVER_OPTIONS', message: /two tools are named "a"/ })
  for (const name of ['', 'two words', 'ä', 'x'.repeat(65)]) t.throws(() => defineTools([tool(name)]), { code: 'MCP_SERVER_OPTIONS', message: /cannot be named/ })
  t.throws(() => defineTools([{ ...tool('a'), handler: 'x' as never }]), { code: 'MCP_SERVER_OPTIONS', message: /no handler/ })
})
