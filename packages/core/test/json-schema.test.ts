import { Ajv2020 } from 'ajv/dist/2020.js'
import fc from 'fast-check'
import t from 'tap'
import { watchLoop } from '../../../test/fixtures/loop-watch.js'
import { findExplosiveSchemas, JsonSchema } from '../src/json-schema/index.js'

const text = (pattern: string): JsonSchema => new JsonSchema({ type: 'object', properties: { text: { type: 'string', pattern } } })

const times = <T>(count: number, make: (i: number) => T): T[] => Array.from({ length: count }, (_, i) => make(i))
const record = <T>(count: number, make: (i: number) => T, prefix = 'k'): Record<string, T> => Object.fromEntries(times(count, i => [`${prefix}${i}`, make(i)]))
const nested = (levels: number, wrap: (inner: unknown) => unknown, inner: unknown): unknown => levels === 0 ? inner : nested(levels - 1, wrap, wrap(inner))

/** A tree of components of eight kinds. */
const tree = {
  $defs: {
    component: {
      anyOf: times(8, () => ({ type: 'object', properties: { kind: { type: 'string' }, children: { type: 'array', items: { $ref: '#/$defs/component' } } }, required: ['kind'] }))
    }
  },
  type: 'object',
  properties: { root: { $ref: '#/$defs/component' } }
}
const branch = (inner: unknown): unknown => ({ kind: 'a', children: [inner] })
const below = (inner: unknown): unknown => ({ a: inner })
const twice = (keyword: string): object => ({ [keyword]: times(2, () => ({ properties: { a: { $ref: '#' } } })) })

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

t.test('a keyword that a server writes as null, or with an empty list, does not apply', async t => {
  for (const keyword of ['not', 'contains', 'anyOf', 'oneOf', 'allOf', 'if', 'then', 'else', 'required', 'enum', 'type', 'pattern', 'items', 'additionalProperties', 'minItems', 'uniqueItems']) {
    const schema = new JsonSchema({ properties: { own: { [keyword]: null } }, [keyword]: null })
    for (const own of [[], {}, 'text']) t.equal(schema.problems({ own }, 'arguments'), '', keyword)
  }
  for (const keyword of ['anyOf', 'oneOf', 'allOf']) t.equal(new JsonSchema({ [keyword]: [] }).problems({}, 'arguments'), '', keyword)
})

t.test('unique items are checked in one pass', async t => {
  const unique = new JsonSchema({ type: 'object', properties: { items: { type: 'array', uniqueItems: true } } })
  const objects = times(5_000, i => ({ a: { b: i } }))
  t.equal(unique.problems({ items: objects }, 'arguments'), '')
  t.equal(unique.problems({ items: [{ a: { b: 7 } }, { a: { b: 7 } }] }, 'arguments'), 'arguments/items: must NOT have duplicate items')
  t.not(unique.problems({ items: [...objects, { a: { b: 7 } }] }, 'arguments'), '')
  t.match(unique.problems({ items: [{ a: 1, b: [2] }, { b: [2], a: 1 }] }, 'arguments'), /duplicate/, 'the order of keys does not count')
  t.equal(unique.problems({ items: [1, '1', [1], ['1'], { 1: 1 }, null, 'null', true, 'true', [], {}, '[]'] }, 'arguments'), '')
  t.match(unique.problems({ items: [0, -0] }, 'arguments'), /duplicate/)
  const any = new JsonSchema({ type: 'object', properties: { items: { type: 'array', uniqueItems: false } } })
  t.equal(any.problems({ items: [1, 1] }, 'arguments'), '')
  const draft7 = new JsonSchema({ $schema: 'http://json-schema.org/draft-07/schema#', type: 'array', uniqueItems: true })
  t.match(draft7.problems([1, 1], 'arguments'), /duplicate/)
})

const attacks: Record<string, [schema: object, value: unknown]> = {
  'a tree of alternatives': [tree, { root: nested(14, branch, { kind: 5 }) }],
  'a deep tree of alternatives': [tree, { root: nested(30, branch, { kind: 5 }) }],
  'a thousand wrong siblings': [tree, { root: { kind: 'a', children: times(1_000, () => ({ kind: 5 })) } }],
  'alternatives of which one may fit': [JSON.parse(JSON.stringify(tree).replace('anyOf', 'oneOf')) as object, { root: nested(30, branch, { kind: 'a' }) }],
  'two references that both apply': [twice('allOf'), nested(60, below, 1)],
  'a reference to itself': [{ allOf: [{ $ref: '#' }, { $ref: '#' }] }, {}],
  'sixty definitions, each twice': [{ $defs: record(61, i => i === 60 ? {} : { allOf: times(2, () => ({ $ref: `#/$defs/k${i + 1}` })) }), $ref: '#/$defs/k0' }, {}],
  'nested conditions on what is not evaluated': [{ ...twice('anyOf'), unevaluatedProperties: false }, nested(60, below, 1)],
  'what is not evaluated, of many keys': [{ anyOf: times(50, i => ({ properties: { [`k${i}`]: {} } })), unevaluatedProperties: false }, record(20_000, () => 1)],
  'a pattern over megabytes': [{ pattern: '^(a+)+$' }, 'a'.repeat(4_000_000) + '!'],
  'a pattern of a million states': [{ pattern: 'a{1000}'.repeat(1_000) }, 'aaaa'],
  'many patterns': [{ patternProperties: record(300, () => ({ type: 'string' }), '^x.*z') }, record(5_000, () => 1, 'x')],
  'unique items': [{ uniqueItems: true }, times(200_000, i => ({ a: { b: i } }))],
  'a large enum of objects': [{ items: { enum: times(10_000, i => ({ a: i })) } }, times(50_000, () => ({ a: -1 }))],
  'thousands of alternatives': [{ items: { anyOf: times(3_000, i => ({ required: [`k${i}`] })) } }, times(1_000, () => ({ z: 1 }))],
  'contains in contains': [{ contains: { contains: { contains: { const: 1 } } } }, times(60, () => times(60, () => times(60, () => 0)))],
  'thirty thousand anchors': [{ $defs: record(30_000, i => ({ $anchor: `a${i}`, $ref: `#a${i + 1}` })), $ref: '#a0' }, {}],
  'a schema of a megabyte': [{ properties: record(100_000, () => ({ type: 'string' })) }, { k1: 5 }],
  'a schema nested a hundred thousand deep': [deepSchema(100_000), nested(60, below, 'x')],
  'a quadratic format': [{ items: { format: 'url' } }, times(500, () => `http://${'1.'.repeat(900)} `)],
  'a list of a million wrong items': [{ items: { type: 'string' } }, times(1_000_000, () => 1)],
  'names and patterns of a megabyte': [{ properties: { a: { pattern: `^${'b'.repeat(1_000_000)}$` } }, additionalProperties: false }, { a: 'a', ['c'.repeat(1_000_000)]: 1 }]
}

function deepSchema (levels: number): object {
  let schema: object = { type: 'string' }
  for (let i = 0; i < levels; i++) schema = { properties: { a: schema } }
  return schema
}

t.test('no schema and no value keep the event loop, or make the text of problems long', async t => {
  for (const [what, [definition, value]] of Object.entries(attacks)) {
    const schema = new JsonSchema(definition)
    // compiled code is several times as fast as the first run
    schema.problems(value, 'arguments')
    const problems = await watchLoop(() => schema.problems(value, 'arguments'), { what })
    t.ok(problems.length < 10_000, `${what}: the text of the problems is short`)
    await watchLoop(() => findExplosiveSchemas([['a', definition]]), { what: `finding out whether ${what} can explode` })
  }
})

t.test('a value that takes too many steps is accepted, or refused where the receiver does not check it', async t => {
  const [schema, value] = attacks['a deep tree of alternatives'] as [object, unknown]
  t.equal(new JsonSchema(schema).problems(value, 'arguments'), '')
  t.equal(new JsonSchema(schema, { refusesUnchecked: true }).problems(value, 'arguments'), 'arguments: takes too long to check against the schema; send less')
  t.equal(new JsonSchema(schema, { refusesUnchecked: true }).problems({ root: nested(3, branch, { kind: 'a' }) }, 'arguments'), '')
  t.match(new JsonSchema(schema).problems({ root: { kind: 'a', children: times(200, () => ({ kind: 5 })) } }, 'arguments'), /^arguments\/root: must match a schema in anyOf/)
})

t.test('a schema that can explode is found only from the schema', async t => {
  const explosive = ['a tree of alternatives', 'two references that both apply', 'a reference to itself', 'sixty definitions, each twice', 'alternatives of which one may fit']
  t.same(findExplosiveSchemas(explosive.map(what => [what, attacks[what]?.[0]])), explosive)
  const json = { $defs: { json: { anyOf: [{ type: 'string' }, { type: 'array', items: { $ref: '#/$defs/json' } }, { type: 'object', additionalProperties: { $ref: '#/$defs/json' } }] } }, $ref: '#/$defs/json' }
  const binary = { properties: { left: { $ref: '#' }, right: { $ref: '#' } } }
  t.same(findExplosiveSchemas([['a list', { items: { type: 'string' } }], ['a binary tree', binary], ['elsewhere', { $ref: 'https://schemas.example/a' }]]), [])
  t.same(new JsonSchema(json).problems({ a: [1] }, 'arguments').split('; ')[0], 'arguments: must match a schema in anyOf')
})

t.test('references to the network are not followed, and leave the check to the receiver', async t => {
  const schema = new JsonSchema({ properties: { a: { $ref: 'http://127.0.0.1:1/schema.json' }, b: { type: 'string' } } })
  t.equal(schema.problems({ a: 1 }, 'arguments'), '')
  t.equal(schema.problems({ b: 1 }, 'arguments'), 'arguments/b: must be string')
})

t.test('names of the prototype are members like others', async t => {
  const schema = new JsonSchema({ type: 'object', properties: { constructor: { type: 'string' }, toString: { type: 'string' } }, required: ['hasOwnProperty'], additionalProperties: false })
  t.equal(schema.problems({}, 'arguments'), 'arguments/hasOwnProperty: is missing')
  t.match(schema.problems(JSON.parse('{ "__proto__": 1, "hasOwnProperty": 1 }'), 'arguments'), /arguments\/__proto__: is not known/)
})

const leaf = fc.oneof(
  fc.constantFrom({ type: 'string' }, { type: 'number' }, { type: ['integer', 'null'] }, { type: 'boolean' }, {}, true, false),
  fc.constantFrom({ minimum: 1 }, { exclusiveMaximum: 3 }, { multipleOf: 2 }, { minLength: 1, maxLength: 2 }, { enum: ['a', 1, null, { a: 1 }] }, { const: [1] }, { pattern: '^a' }, { maxItems: 1 }, { minProperties: 1 }, { uniqueItems: true }, { required: ['a'] }, { dependentRequired: { a: ['b'] } })
)
const { schema: anySchema } = fc.letrec(tie => {
  const child = tie('schema')
  return {
    schema: fc.oneof({ maxDepth: 3 }, leaf, fc.record({
      properties: fc.dictionary(fc.constantFrom('a', 'b'), child),
      patternProperties: fc.dictionary(fc.constantFrom('^a', 'b$'), child),
      additionalProperties: child,
      propertyNames: fc.constantFrom({ maxLength: 1 }, { enum: ['a', 'b', 'ab'] }),
      items: child,
      prefixItems: fc.array(child, { minLength: 1, maxLength: 2 }),
      contains: fc.constantFrom({ type: 'string' }, { minLength: 1, type: 'string' }),
      allOf: fc.array(child, { minLength: 1, maxLength: 2 }),
      anyOf: fc.array(child, { minLength: 1, maxLength: 2 }),
      oneOf: fc.array(child, { minLength: 1, maxLength: 3 }),
      not: child,
      if: child,
      then: child,
      else: child,
      dependentSchemas: fc.dictionary(fc.constantFrom('a', 'b'), child),
      unevaluatedProperties: child,
      unevaluatedItems: child,
      $ref: fc.constantFrom('#/$defs/leaf', '#leaf')
    }, { requiredKeys: [] }))
  }
})
const anyValue = fc.letrec(tie => ({
  value: fc.oneof({ maxDepth: 3 }, fc.constantFrom('', 'a', 'ab', 0, 1, 2, 3.5, true, null), fc.array(tie('value'), { maxLength: 3 }), fc.dictionary(fc.constantFrom('a', 'b', 'ab', 'c'), tie('value')))
})).value

t.test('values are valid exactly where they are valid for Ajv', async () => {
  fc.assert(fc.property(anySchema, fc.array(anyValue, { maxLength: 5 }), (schema, values) => {
    // Ajv does not see what an unevaluated keyword of a subschema has evaluated (JSON Schema 2020-12, section 11)
    fc.pre((JSON.stringify(schema)?.match(/"unevaluated/g)?.length ?? 0) < 2)
    const definition = { $defs: { leaf: { $anchor: 'leaf', type: ['string', 'array', 'object'] } }, allOf: [schema] }
    const isValid = new Ajv2020({ strict: false, validateSchema: false, logger: false, meta: false }).compile(definition)
    const mine = new JsonSchema(definition)
    // fast-check makes objects without a prototype, too, which Ajv does not take for equal to others
    for (const value of JSON.parse(JSON.stringify(values)) as unknown[]) {
      const problems = mine.problems(value, 'value')
      if ((problems === '') !== isValid(value)) throw new Error(`${JSON.stringify(value)}: ${problems || 'valid'}, Ajv ${JSON.stringify(isValid.errors)}`)
    }
  }), { numRuns: 40 })
})

t.test('any JSON is a schema, without an unexpected error', async t => {
  const keywords = fc.constantFrom('type', 'properties', 'items', 'anyOf', 'allOf', 'not', 'if', 'then', '$ref', '$id', '$anchor', '$defs', 'enum', 'const', 'pattern', 'format', 'required', 'dependencies', 'contains', 'minContains', 'patternProperties', 'additionalProperties', 'prefixItems', 'unevaluatedProperties', 'unevaluatedItems', 'minimum', 'multipleOf', 'uniqueItems', 'propertyNames', 'dependentSchemas')
  const odd = fc.letrec(tie => ({
    schema: fc.oneof({ maxDepth: 4 }, fc.constantFrom<unknown>(null, true, false, 0, -1, 1e308, '', '#', '#/', '##', '%', 'a', '__proto__', 'constructor', '\uD800'), fc.array(tie('schema'), { maxLength: 3 }), fc.dictionary(keywords, tie('schema')))
  })).schema
  fc.assert(fc.property(odd, fc.jsonValue(), (schema, value) => {
    new JsonSchema(schema).problems(value, 'value')
    findExplosiveSchemas([['a', schema]])
  }), { numRuns: 500 })
  t.pass()
})
