import { eventsOf, jsonOf } from './events.mjs'

const ACCEPT = { accept: 'application/json, text/event-stream' }
const META = { 'io.modelcontextprotocol/protocolVersion': '2026-07-28', 'io.modelcontextprotocol/clientCapabilities': {}, 'io.modelcontextprotocol/clientInfo': { name: 'probe', version: '1' } }

const call = (kind, meta) => (text, vac) => {
  const name = `vac_${kind}_${vac}`
  return {
    path: '/mcp',
    body: { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name, arguments: { query: text }, _meta: { ...META, ...meta } } },
    headers: { ...ACCEPT, 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'tools/call', 'mcp-name': name }
  }
}
const messageOf = body => jsonOf(body) ?? eventsOf(body).at(-1)?.data

export const mcp = {
  ask: { vac_query: call('query') },
  stream: { vac_stream: call('stream', { progressToken: 'p' }) },
  textOf: body => messageOf(body)?.result?.content?.[0]?.text,
  piecesOf: body => eventsOf(body).map(({ data }) => data.method === 'notifications/progress' ? data.params.message ?? '' : '').join(''),
  withSteps: ({ body: { params, ...body }, ...request }) =>
    ({ ...request, body: { ...body, params: { ...params, _meta: { progressToken: 'p', ...params._meta, 'polyvac/steps': true } } } }),
  stepsOf: body => eventsOf(body).flatMap(({ data }) => data.params?._meta?.['polyvac/step'] ?? []),
  errorOf: body => messageOf(body)?.error ?? (messageOf(body)?.result?.isError === true ? { message: messageOf(body).result.content[0].text } : undefined),
  usageOf: body => messageOf(body)?.result?._meta?.['polyvac/usage']
}
