import { test } from 'tap'
import { started } from './fixtures/app.js'
import { handWritten, type Exchange } from './fixtures/hand-written.js'

const property = (mark: unknown, type = 'string'): object => ({ type: 'object', properties: { a: { type, 'x-mcp-header': mark } } })

interface Warning { readonly tool?: string, readonly problem?: string }

function warnings (): { seen: Warning[], log: { debug (): void, info (): void, warn (obj: Warning): void, error (): void } } {
  const seen: Warning[] = []
  return { seen, log: { debug () {}, info () {}, warn: obj => { if (obj.tool !== undefined) seen.push(obj) }, error () {} } }
}

const lists = (tools: () => object[]) => ({ message: { method }, result }: Exchange): boolean => {
  if (method !== 'tools/list') return false
  result({ tools: tools() })
  return true
}

test('a tool with an invalid x-mcp-header is left out of the list with one warning, and hides no other', async t => {
  const tools = [
    { name: 'fine', inputSchema: property('Region') },
    { name: 'blank', inputSchema: property('a b') },
    { name: 'empty', inputSchema: property('') },
    { name: 'number', inputSchema: property('N', 'number') },
    { name: 'object', inputSchema: property('O', 'object') },
    { name: 'array', inputSchema: property('A', 'array') },
    { name: 'twice', inputSchema: { type: 'object', properties: { a: { type: 'string', 'x-mcp-header': 'X' }, b: { type: 'string', 'x-mcp-header': 'x' } } } },
    { name: 'items', inputSchema: { type: 'object', properties: { a: { type: 'array', items: { type: 'string', 'x-mcp-header': 'I' } } } } },
    { name: 'typed', inputSchema: property(7) }
  ]
  const { url } = await handWritten(t, lists(() => tools))
  const { seen, log } = warnings()
  const { get, call } = await started(t, [{ name: 'own', url }], { log, listTtlMs: 1 })
  const names = async (): Promise<string[]> => (await get('/mcp/tools')).body.tools.map(({ name }: { name: string }) => name)
  t.strictSame(await names(), ['fine'])
  t.strictSame(await names(), ['fine'])
  const leftOut = ['array', 'blank', 'empty', 'items', 'number', 'object', 'twice', 'typed']
  t.strictSame(seen.map(({ tool }) => tool).sort(), leftOut, 'each is named once in the log')
  const { servers: [{ leftOutTools }] } = (await get('/mcp/servers')).body
  t.strictSame(leftOutTools.map(({ tool }: { tool: string }) => tool), leftOut, 'and in the state of its server')
  t.match(leftOutTools[0].problem, /the x-mcp-header "A" of a is invalid/)
  t.match(seen.find(({ tool }) => tool === 'blank')?.problem, /"a b" of a is invalid: it is not an RFC 9110 token/)
  t.match(await call('own', 'blank', { a: 'x' }), { status: 404, body: { code: 'MCP_TOOL_NOT_FOUND' } })
  t.equal((await call('own', 'fine', { a: 'x' })).status, 200)
})

test('the same tool is listed by a server of the older era, which knows no such headers', async t => {
  const { url } = await handWritten(t, lists(() => [{ name: 'blank', inputSchema: property('a b') }]), { isModern: false })
  const { seen, log } = warnings()
  const { call } = await started(t, [{ name: 'own', url }], { log })
  t.equal((await call('own', 'blank', { a: 'x' })).status, 200)
  t.strictSame(seen, [])
})

test('strings, integers and booleans are sent as headers; numbers and absent arguments are not', async t => {
  const types = { s: 'string', i: 'integer', b: 'boolean', absent: 'string' }
  const properties = { ...Object.fromEntries(Object.entries(types).map(([key, type]) => [key, { type, 'x-mcp-header': key }])), n: { type: 'number' } }
  const seen: Array<Record<string, unknown>> = []
  const { url } = await handWritten(t, exchange => {
    const { method } = exchange.message
    if (method === 'tools/call') seen.push(Object.fromEntries(Object.entries(exchange.headers).filter(([name]) => name.startsWith('mcp-'))))
    return lists(() => [{ name: 'tool', inputSchema: { type: 'object', properties } }])(exchange)
  })
  const { call } = await started(t, [{ name: 'own', url }])
  t.equal((await call('own', 'tool', { s: 'Århus ', i: 7, b: false, n: 1.5 })).status, 200)
  t.strictSame(seen, [{
    'mcp-protocol-version': '2026-07-28',
    'mcp-method': 'tools/call',
    'mcp-name': 'tool',
    'mcp-param-s': `=?base64?${Buffer.from('Århus ').toString('base64')}?=`,
    'mcp-param-i': '7',
    'mcp-param-b': 'false'
  }])
})

for (const isForGood of [false, true]) {
  test(`a call whose headers the server refuses is sent again with the headers of a new list${isForGood ? ', once' : ''}`, async t => {
    let mark = 'Old'
    let listed = 0
    const calls: string[] = []
    const { url } = await handWritten(t, exchange => {
      const { message: { id, method }, headers, res } = exchange
      if (method === 'tools/list') listed++
      if (method !== 'tools/call') return lists(() => [{ name: 'tool', inputSchema: property(mark) }])(exchange)
      calls.push(Object.keys(headers).filter(name => name.startsWith('mcp-param-')).join())
      if (headers['mcp-param-new'] !== undefined && !isForGood) return false
      mark = 'New'
      res.writeHead(400, { 'content-type': 'application/json' }).end(JSON.stringify({ jsonrpc: '2.0', id, error: { code: -32020, message: 'Mcp-Param-New is missing' } }))
      return true
    })
    const { call } = await started(t, [{ name: 'own', url }])
    const { status, body } = await call('own', 'tool', { a: 'x' })
    t.strictSame(calls, ['mcp-param-old', 'mcp-param-new'])
    t.equal(listed, 2)
    if (isForGood) t.match({ status, body }, { status: 500, body: { code: 'MCP_CALL_FAILED', details: { rpcCode: -32020 } } })
    else t.equal(status, 200)
  })
}
