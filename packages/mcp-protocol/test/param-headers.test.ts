import { test } from 'tap'
import { decodeHeader, encodeHeader, encodeParameters, headerMatches, readHeaderParameters } from '../src/index.js'

const object = (properties: object): object => ({ type: 'object', properties })

test('marks on properties at any depth are read', async t => {
  const schema = object({ region: { type: 'string', 'x-mcp-header': 'Region' }, page: object({ size: { type: 'integer', 'x-mcp-header': 'Page-Size' } }) })
  t.strictSame(readHeaderParameters(schema), {
    parameters: [
      { header: 'mcp-param-region', path: ['region'], type: 'string' },
      { header: 'mcp-param-page-size', path: ['page', 'size'], type: 'integer' }
    ],
    problem: undefined
  })
  t.strictSame(readHeaderParameters(undefined), { parameters: [], problem: undefined }, 'a schema may be absent')
})

test('a mark that breaks a rule is reported and does not count', async t => {
  const broken: Array<[string, object, RegExp]> = [
    ['a name with a blank', object({ a: { type: 'string', 'x-mcp-header': 'a b' } }), /"a b" of a is invalid: it is not an RFC 9110 token/],
    ['an empty name', object({ a: { type: 'string', 'x-mcp-header': '' } }), /not an RFC 9110 token/],
    ['a name that is not a string', object({ a: { type: 'string', 'x-mcp-header': 5 } }), /5 of a .* not an RFC 9110 token/],
    ['a number', object({ a: { type: 'number', 'x-mcp-header': 'A' } }), /string, integer or boolean/],
    ['a property without a type', object({ a: { 'x-mcp-header': 'A' } }), /string, integer or boolean/],
    ['the root', { type: 'object', 'x-mcp-header': 'A' }, /a part other than `properties` leads to it/],
    ['items', object({ list: { type: 'array', items: { type: 'string', 'x-mcp-header': 'A' } } }), /a part other than `properties` leads to it/],
    ['a branch', { type: 'object', anyOf: [object({ a: { type: 'string', 'x-mcp-header': 'A' } })] }, /a part other than `properties` leads to it/],
    ['a definition', { type: 'object', $defs: { a: { type: 'string', 'x-mcp-header': 'A' } } }, /a part other than `properties` leads to it/]
  ]
  for (const [what, schema, problem] of broken) {
    const read = readHeaderParameters(schema)
    t.match(read.problem, problem, what)
    t.strictSame(read.parameters, [], what)
  }
  const twice = readHeaderParameters(object({ a: { type: 'string', 'x-mcp-header': 'Name' }, b: { type: 'string', 'x-mcp-header': 'name' } }))
  t.match(twice.problem, /"name" of b is invalid: another property has the same/, 'names are compared without regard to case')
  t.equal(twice.parameters.length, 2)
})

test('data and property names that look like a mark are not marks', async t => {
  const schema = object({ 'x-mcp-header': { type: 'string' }, a: { type: 'object', default: { 'x-mcp-header': 'a b' }, enum: [{ 'x-mcp-header': 'a b' }] } })
  t.strictSame(readHeaderParameters(schema), { parameters: [], problem: undefined })
})

test('a schema is searched to a bounded depth', async t => {
  let schema = object({ deep: { type: 'string', 'x-mcp-header': 'Deep' } })
  for (let depth = 0; depth < 20; depth++) schema = object({ inner: schema })
  t.strictSame(readHeaderParameters(schema), { parameters: [], problem: undefined })
})

test('arguments become headers, and headers match them', async t => {
  const { parameters } = readHeaderParameters(object({
    text: { type: 'string', 'x-mcp-header': 'Text' },
    count: { type: 'integer', 'x-mcp-header': 'Count' },
    flag: { type: 'boolean', 'x-mcp-header': 'Flag' },
    absent: { type: 'string', 'x-mcp-header': 'Absent' }
  }))
  t.strictSame(encodeParameters(parameters, { text: 'Zürich', count: 42, flag: false, absent: null }), {
    'mcp-param-text': '=?base64?WsO8cmljaA==?=', 'mcp-param-count': '42', 'mcp-param-flag': 'false'
  })
  t.strictSame(encodeParameters(parameters, { count: 1.5 }), {}, 'a fraction is not an integer')
  t.strictSame(encodeParameters(parameters, { count: '42' }), { 'mcp-param-count': '42' }, 'the server reports a wrong type')
  t.ok(headerMatches(' =?base64?WsO8cmljaA==?= ', 'Zürich', 'string'))
  t.ok(headerMatches('42.0', 42, 'integer'))
  t.notOk(headerMatches('42.5', 42, 'integer'))
  t.notOk(headerMatches('=?base64?*?=', '', 'string'))
})

test('a header value decodes to what was encoded', async t => {
  for (const value of ['plain', 'two words', '', ' outer blanks ', 'Zürich', '=?base64?eA==?=', '=?BASE64?eA==?=', 'a\nb']) {
    const header = encodeHeader(value)
    t.match(header, /^[\x20-\x7e]+$/)
    t.equal(decodeHeader(header), value)
  }
  t.equal(decodeHeader('=?base64?/w==?='), undefined, 'bytes that are not UTF-8')
})
