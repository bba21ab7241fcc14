import t from 'tap'
import { JsonSchema } from '../src/json-schema.js'

const text = (pattern: string): JsonSchema => new JsonSchema({ type: 'object', properties: { text: { type: 'string', pattern } } })

t.test('a pattern that takes a backtracking engine minutes is checked in linear time', async t => {
  for (const pattern of ['^(a+)+$', '^(a|a)*$']) {
    t.match(text(pattern).problems({ text: `${'a'.repeat(20_000)}!` }, 'arguments'), /arguments\/text: must match pattern/)
    t.equal(text(pattern).problems({ text: 'a'.repeat(20_000) }, 'arguments'), '')
  }
  t.equal(text('^\\p{L}{2}\\d+\\/\\u0041$').problems({ text: 'äö12/A' }, 'arguments'), '')
  t.equal(text('^(?!x)y$').problems({ text: 'z' }, 'arguments'), '', 'a look-ahead is left to the owner of the schema')
})

t.test('a schema that asks for an asynchronous check gets the ordinary one', async t => {
  const schema = new JsonSchema({ $async: true, type: 'object', properties: { a: { type: 'string' } } })
  t.equal(schema.problems({ a: 1 }, 'arguments'), 'arguments/a: must be string')
  t.equal(schema.problems({ a: 'x' }, 'arguments'), '')
})

t.test('unique items are checked in one pass', async t => {
  const unique = new JsonSchema({ type: 'object', properties: { items: { type: 'array', uniqueItems: true } } })
  const objects = Array.from({ length: 300_000 }, (_, i) => ({ a: { b: i } }))
  t.equal(unique.problems({ items: objects }, 'arguments'), '')
  t.equal(unique.problems({ items: [...objects, { a: { b: 7 } }] }, 'arguments'), 'arguments/items: must NOT have duplicate items')
  t.match(unique.problems({ items: [{ a: 1, b: [2] }, { b: [2], a: 1 }] }, 'arguments'), /duplicate/, 'the order of keys does not count')
  t.equal(unique.problems({ items: [1, '1', [1], ['1'], { 1: 1 }, null, 'null', true, 'true', [], {}, '[]'] }, 'arguments'), '')
  t.match(unique.problems({ items: [0, -0] }, 'arguments'), /duplicate/)
  const any = new JsonSchema({ type: 'object', properties: { items: { type: 'array', uniqueItems: false } } })
  t.equal(any.problems({ items: [1, 1] }, 'arguments'), '')
  const draft7 = new JsonSchema({ $schema: 'http://json-schema.org/draft-07/schema#', type: 'array', uniqueItems: true })
  t.match(draft7.problems([1, 1], 'arguments'), /duplicate/)
})
