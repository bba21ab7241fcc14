import t from 'tap'
import { JsonSchema } from '../src/json-schema.js'

const text = (pattern: string): JsonSchema => new JsonSchema({ type: 'object', properties: { text: { type: 'string', pattern } } })

t.test('a pattern that takes other engines minutes is checked, on texts as long as a body', async t => {
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
