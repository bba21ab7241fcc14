import { execFileSync } from 'node:child_process'
import fc from 'fast-check'
import { test } from 'tap'
import { asCurl, asFetch, quoteForShell } from '../page/shared/copy-as.js'
import { fieldOf, hasPassword, initialValue, MAX_DEPTH, problemsOf, readText, variantOf, withEntry, withoutPasswords } from '../page/tools/json-schema.js'

interface Sample { readonly schema: Record<string, unknown>, readonly value: unknown }

const name = fc.stringMatching(/^[a-z][a-z_]{0,5}$/)
const leaf: fc.Arbitrary<Sample> = fc.oneof(
  fc.string({ minLength: 1 }).map(value => ({ schema: { type: 'string' }, value })),
  fc.integer().map(value => ({ schema: { type: 'integer' }, value })),
  fc.double({ noNaN: true, noDefaultInfinity: true }).filter(value => !Object.is(value, -0)).map(value => ({ schema: { type: 'number' }, value })),
  fc.boolean().map(value => ({ schema: { type: 'boolean' }, value })),
  fc.constant({ schema: { type: 'null' }, value: null }),
  fc.uniqueArray(fc.oneof(fc.string({ minLength: 1 }), fc.integer()), { minLength: 1, maxLength: 4 }).map(values => ({ schema: { enum: values }, value: values.at(-1) })),
  fc.integer().map(value => ({ schema: { const: value }, value })),
  fc.oneof(fc.integer(), fc.string({ minLength: 1 })).map(value => ({ schema: { type: ['integer', 'string'] }, value }))
)

/** Schemas with a value that fits them. */
const sample = fc.letrec<{ any: Sample }>(tie => ({
  any: fc.oneof({ depthSize: 'small', withCrossShrink: true },
    leaf,
    fc.dictionary(name, tie('any'), { maxKeys: 4, noNullPrototype: true }).chain(parts => fc.subarray(Object.keys(parts)).map(required => ({
      schema: { type: 'object', properties: Object.fromEntries(Object.entries(parts).map(([key, { schema }]) => [key, schema])), required },
      value: Object.fromEntries(Object.entries(parts).map(([key, { value }]) => [key, value]))
    }))),
    fc.tuple(tie('any'), fc.nat(3)).map(([{ schema, value }, length]) => ({ schema: { type: 'array', items: schema }, value: Array.from({ length }, () => value) })),
    fc.tuple(tie('any'), fc.constantFrom('anyOf', 'oneOf')).map(([{ schema, value }, key]) => ({ schema: { [key]: [{ type: 'string', const: '\u0000' }, schema] }, value })),
    tie('any').map(({ schema, value }) => ({ schema: { allOf: [schema, { description: 'both' }] }, value }))
  )
})).any

/** Writes a value into an empty form, control by control, as a person does. */
function fillIn (schema: unknown, root: unknown, value: unknown, depth = 0): unknown {
  const field = fieldOf(schema, root, depth)
  if (field.kind === 'object') {
    let filled: unknown = {}
    for (const [key, part] of Object.entries(value as object)) {
      filled = withEntry(filled, key, fillIn(field.entries.find(({ name }) => name === key)?.schema, root, part, depth + 1))
    }
    return filled
  }
  if (field.kind === 'array') return (value as unknown[]).reduce((list, item, i) => withEntry(list, i, fillIn(field.items, root, item, depth + 1)), [] as unknown)
  if (field.kind === 'choice') return fillIn(field.variants[variantOf(field.variants, root, value)], root, value, depth + 1)
  if (field.kind === 'values') return field.values.find(one => JSON.stringify(one) === JSON.stringify(value))
  if (field.kind === 'json') return JSON.parse(JSON.stringify(value))
  return readText(field.kind, String(value))
}

test('a value that fits a schema comes back unchanged from its form, and fits', t => {
  fc.assert(fc.property(sample, ({ schema, value }) => {
    const filled = fillIn(schema, schema, value)
    t.strictSame(filled, value)
    if (problemsOf(schema, filled).length > 0) throw new Error(problemsOf(schema, filled).join())
  }), { numRuns: 300 })
  t.end()
})

test('any JSON is a schema for a form that ends', t => {
  const walk = (schema: unknown, root: unknown, depth = 0): void => {
    const field = fieldOf(schema, root, depth)
    if (depth > MAX_DEPTH) t.equal(field.kind === 'object' || field.kind === 'array' || field.kind === 'choice', false)
    else if (field.kind === 'object') for (const { schema } of field.entries.slice(0, 2)) walk(schema, root, depth + 1)
    else if (field.kind === 'array') walk(field.items, root, depth + 1)
    else if (field.kind === 'choice') for (const variant of field.variants.slice(0, 2)) walk(variant, root, depth + 1)
  }
  const key = fc.constantFrom('type', 'properties', 'items', '$ref', 'allOf', 'anyOf', 'oneOf', 'enum', 'const', 'default', 'required', '$defs', '#', 'pattern')
  const { odd } = fc.letrec(tie => ({
    odd: fc.oneof({ depthSize: 'medium' }, fc.constantFrom('object', 'array', 'string', 'integer', '#', '#/$defs/type', '#/properties', '(', '%'), fc.jsonValue({ maxDepth: 1 }), fc.array(tie('odd'), { maxLength: 3 }), fc.dictionary(key, tie('odd'), { maxKeys: 4 }))
  }))
  fc.assert(fc.property(odd, fc.jsonValue(), (schema, value) => {
    walk(schema, schema)
    initialValue(schema, schema, true)
    variantOf([schema, schema], schema, value)
    problemsOf(schema, value)
  }), { numRuns: 300 })
  t.end()
})

test('references, recursion and combinations at the root have fields', t => {
  const tree = { $ref: '#/$defs/node', $defs: { node: { type: 'object', properties: { name: { type: 'string' }, children: { type: 'array', items: { $ref: '#/$defs/node' } } }, required: ['name'] } } }
  const field = fieldOf(tree, tree)
  t.match(field, { kind: 'object', entries: [{ name: 'name', isRequired: true }, { name: 'children', isRequired: false }] })
  t.strictSame(initialValue(tree, tree, true), {})
  t.strictSame(problemsOf(tree, { name: 'a', children: [{ name: 'b' }] }), [])
  t.match(problemsOf(tree, { name: 'a', children: [{ name: 7 }] }), [/^children\/0\/name: /])

  const either = { type: 'object', properties: { id: { type: 'string' } }, required: ['id'], oneOf: [{ properties: { a: { type: 'integer' } }, required: ['a'] }, { properties: { b: { type: 'string' } }, required: ['b'] }] }
  const choice = fieldOf(either, either)
  t.equal(choice.kind, 'choice')
  if (choice.kind !== 'choice') return t.end()
  t.match(fieldOf(choice.variants[1], either), { kind: 'object', entries: [{ name: 'id', isRequired: true }, { name: 'b', isRequired: true }] })
  t.equal(variantOf(choice.variants, either, { id: 'x', b: 'y' }), 1)

  const both = { allOf: [{ type: 'object', properties: { a: { type: 'string' } } }, { properties: { b: { default: 3, type: 'integer' } }, required: ['a'] }] }
  t.strictSame(initialValue(both, both, true), { b: 3 })
  t.strictSame(initialValue({ $ref: '#' }, { $ref: '#' }, true), undefined)
  t.end()
})

test('problems are those of the chosen variant, and say which field needs what', t => {
  const text = { type: 'string' }
  const shape = {
    oneOf: [
      { type: 'object', properties: { type: { const: 'circle' }, radius: { type: 'number' } }, required: ['type', 'radius'] },
      { type: 'object', properties: { type: { const: 'rect' }, width: { type: 'number', minimum: 1 } }, required: ['type', 'width'] }
    ]
  }
  const schema = { type: 'object', properties: { shape, person: { anyOf: [{ type: 'object', properties: { a: text }, required: ['a'] }, { type: 'object', properties: { b: text }, required: ['b'] }] } } }
  t.strictSame(problemsOf(schema, { shape: { type: 'rect' } }), ['shape/width: needs a value'])
  t.strictSame(problemsOf(schema, { shape: { type: 'rect', width: 0 } }), ['shape/width: needs at least 1'])
  t.strictSame(problemsOf(schema, { person: {} }, new Map([['args.person', 1]]), 'args'), ['person/b: needs a value'])
  t.strictSame(problemsOf({ type: 'object', properties: { n: { type: 'integer' } } }, { n: 'x' }), ['n: needs a whole number'])
  t.match(problemsOf({ type: 'object', properties: { list: { type: 'array', minItems: 2, items: text } } }, { list: ['a'] }), [/^list: .*too few/])

  const titled = { oneOf: [{ const: 'r', title: 'Red' }, { const: 'g', title: 'Green' }] }
  t.match(fieldOf(titled, titled), { kind: 'values', values: ['r', 'g'], titles: ['Red', 'Green'] })
  const login = { type: 'object', properties: { user: text, keys: { type: 'array', items: { type: 'string', format: 'password' } }, secret: { type: 'string', format: 'password' } } }
  t.ok(hasPassword(login))
  t.equal(JSON.stringify(withoutPasswords(login, login, { user: 'a', keys: ['k'], secret: 's' })), '{"user":"a","keys":[null]}')
  const open = { type: 'object', properties: { creds: { type: 'object', additionalProperties: { $ref: '#/$defs/secret' } }, user: text }, $defs: { secret: { type: 'string', format: 'password' } } }
  t.equal(JSON.stringify(withoutPasswords(open, open, { user: 'a', creds: { key: 's' }, more: 's' })), '{"user":"a"}', 'nor where no control shows it')
  t.end()
})

test('an empty text is left out, and a number stays a number', t => {
  t.equal(readText('text', ''), undefined)
  t.equal(readText('text', '7'), '7')
  t.equal(readText('number', '7'), 7)
  t.equal(readText('number', '0'), 0)
  t.equal(readText('number', ' '), ' ', 'which the check refuses')
  t.equal(readText('number', '-0'), '-0', 'the sign of what may go on as -0.5')
  t.strictSame(withEntry({ a: 1, b: '' }, 'b', undefined), { a: 1 })
  t.strictSame(withEntry(undefined, 'a', 1), { a: 1 })
  t.strictSame(withEntry([1, 2, 3], 1, undefined), [1, 3])
  t.end()
})

test('a shell reads back each text that is quoted for it', t => {
  const texts = fc.sample(fc.oneof(fc.string({ unit: 'grapheme' }), fc.constantFrom("'", "it's", '$(exit 3)', '`x`', '\\', '"', '!', '\n', '-n', "'\\''")), 300).filter(text => !text.includes('\0'))
  const printed = execFileSync('sh', ['-c', `printf '%s\\0' ${texts.map(quoteForShell).join(' ')}`], { encoding: 'utf8' })
  t.strictSame(printed.split('\0').slice(0, -1), texts)
  const request = { method: 'POST', url: 'http://127.0.0.1:8080/mcp/call', headers: { 'content-type': 'application/json' }, body: { message: "it's" } }
  t.equal(asCurl(request), "curl -sN -X POST 'http://127.0.0.1:8080/mcp/call' -H 'content-type: application/json' --data-raw '{\"message\":\"it'\\''s\"}'")
  t.match(asFetch(request), /^await fetch\("http:\/\/127\.0\.0\.1:8080\/mcp\/call", \{[^]*"body": "\{\\"message\\":\\"it's\\"\}"/)
  const secured = { ...request, headers: { ...request.headers, authorization: '•••' }, body: { text: 'authorization' } }
  const sent = execFileSync('sh', ['-c', `curl () { printf '%s\\n' "$@"; }; TOKEN=abc; ${asCurl(secured)}`], { encoding: 'utf8' })
  t.match(sent, /^authorization: Bearer abc$/m, 'the shell puts the token in')
  const calls: unknown[] = []
  // eslint-disable-next-line no-new-func -- the copy is a program
  new Function('fetch', 'TOKEN', asFetch(secured).replace('await ', ''))((...call: unknown[]) => calls.push(...call), 'abc')
  t.strictSame(calls, [secured.url, { method: 'POST', headers: { 'content-type': 'application/json', authorization: 'Bearer abc' }, body: '{"text":"authorization"}' }])
  t.end()
})
