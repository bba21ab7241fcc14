import { LEGACY_REVISIONS } from '@polyvac/mcp-protocol'
import { rowsOf, rpc, STATES, type Request, type Row, type Sender } from '../row.js'
import { askOverSse } from './http-sse.js'
import { LEGACY, LEGACY_TASKS, MODERN, type Made } from './mcp-methods.js'

type Json = Readonly<Record<string, unknown>>

const BOTH = { accept: 'application/json, text/event-stream' }
const REVISION = '2026-07-28'
export const ABLE = { elicitation: {}, extensions: { 'io.modelcontextprotocol/tasks': {} } }

/** A request of 2026-07-28. Calls of tools become tasks where the client declares that it can have them. */
export function modern (method: string, params: Json, capabilities: object = ABLE, until?: string): Extract<Request, { path: string }> {
  const named = params.name ?? params.uri ?? params.taskId
  const _meta = { ...params._meta as object, 'io.modelcontextprotocol/protocolVersion': REVISION, 'io.modelcontextprotocol/clientCapabilities': capabilities }
  const headers = { ...BOTH, 'mcp-protocol-version': REVISION, 'mcp-method': method, ...typeof named === 'string' && { 'mcp-name': named } }
  return { path: '/mcp', headers, body: rpc(method, { ...params, _meta }), ...until !== undefined && { until } }
}

const modernRows: Row[] = rowsOf({ protocol: `MCP ${REVISION}`, route: 'POST /mcp' }, [
  ...MODERN.map(({ params, until, ...row }) => ({
    ...row, make: (id: string) => modern(row.method, params(id), row.method === 'tools/call' ? { elicitation: {} } : ABLE, until)
  })),
  { method: 'tools/call', about: 'as a task', thing: 'vac' as const, make: name => modern('tools/call', { name: `vac_query_${name}`, arguments: { query: 'hello' } }) }
])

const initialize = (protocolVersion: string): object => rpc('initialize', { protocolVersion, capabilities: ABLE, clientInfo: { name: 'test', version: '1' } })

/** The methods of a revision: those of tasks are unknown in all but the newest. */
function methodsOf (revision: string): readonly Made[] {
  if (revision === LEGACY_REVISIONS[0]) return [...LEGACY, ...LEGACY_TASKS]
  return [...LEGACY, ...LEGACY_TASKS.filter(({ thing }) => thing === 'toolTask').map(({ method, params }): Made => ({ method, about: 'not in this revision', params }))]
}

const everyState = { changes: STATES } as const
const inSession = async (sender: Sender, revision: string): Promise<Record<string, string>> => ({ ...BOTH, ...await sender.session(revision), 'mcp-protocol-version': revision })

const legacyRows: Row[] = LEGACY_REVISIONS.flatMap(revision => {
  const named = (id: string): Record<string, string> => ({ ...BOTH, 'mcp-session-id': id, 'mcp-protocol-version': revision })
  const withSession = { route: 'POST /mcp', thing: 'session' } as const
  const aboutCall = { route: 'POST /mcp', thing: 'call', isSilent: true, ...everyState } as const
  return rowsOf({ protocol: `MCP ${revision}` }, [
    ...methodsOf(revision).map(({ params, until, ...row }) => ({
      ...row,
      route: 'POST /mcp',
      make: async (id: string, sender: Sender) => ({ path: '/mcp', headers: await inSession(sender, revision), body: rpc(row.method, params(id)), ...until !== undefined && { until } })
    })),
    { route: 'POST /mcp', method: 'initialize', make: () => ({ path: '/mcp', headers: BOTH, body: initialize(revision) }) },
    { ...withSession, about: 'request', kind: 'continue', make: id => ({ path: '/mcp', headers: named(id), body: rpc('ping') }) },
    { ...withSession, about: 'notification', kind: 'cancel', make: id => ({ path: '/mcp', headers: named(id), body: { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 'none' } } }) },
    { ...withSession, about: 'response', kind: 'continue', make: id => ({ path: '/mcp', headers: named(id), body: { jsonrpc: '2.0', id: 'none', result: {} } }) },
    { ...withSession, about: 'batch', kind: 'continue', make: id => ({ path: '/mcp', headers: named(id), body: [rpc('ping')] }) },
    { route: 'GET /mcp', thing: 'session', kind: 'stream', make: id => ({ method: 'GET', path: '/mcp', headers: { ...named(id), accept: 'text/event-stream' }, until: '' }) },
    { route: 'DELETE /mcp', thing: 'session', kind: 'cancel', ...everyState, make: id => ({ method: 'DELETE', path: '/mcp', headers: named(id) }) },
    { route: 'GET /mcp', about: 'stream of a call', thing: 'call', kind: 'resume', make: (id, { more }) => ({ method: 'GET', path: '/mcp', headers: { ...named(more.session!), accept: 'text/event-stream', 'last-event-id': id }, until: '' }) },
    {
      ...aboutCall, about: 'cancellation of a call', kind: 'cancel', make: (_id, { more }) => ({ path: '/mcp', headers: named(more.session!), body: { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 'asked' } } })
    },
    {
      ...aboutCall, about: 'answer to a question of a call', kind: 'continue', make: (_id, { more }) => ({ path: '/mcp', headers: named(more.session!), body: { jsonrpc: '2.0', id: more.question, result: { action: 'decline' } } })
    }
  ])
})

/** The transport of 2024-11-05: what a caller posts is answered on the stream of its session. */
const sseRows: Row[] = rowsOf({ protocol: 'MCP HTTP+SSE', route: 'POST /mcp' }, [
  ...methodsOf('2024-11-05').map(({ params, until: _until, ...row }) => ({ ...row, make: (id: string, sender: Sender) => async () => await askOverSse(sender, rpc(row.method, params(id))) })),
  { method: 'initialize', make: (_id, sender) => async () => await askOverSse(sender, initialize('2024-11-05')) },
  { route: 'GET /mcp', kind: 'stream', make: () => ({ method: 'GET', path: '/mcp', headers: { accept: 'text/event-stream' }, until: 'sse_session=' }) },
  { about: 'session', thing: 'sseSession', kind: 'continue', make: id => ({ path: `/mcp?sse_session=${id}`, headers: BOTH, body: rpc('ping') }) },
  // with the scopes of the caller that posts, not those of the caller that opened the stream
  {
    about: 'call on the stream of alice',
    thing: 'sseVac',
    kind: 'continue',
    make: (name, sender) => async () => await askOverSse(sender, rpc('tools/call', { name: `vac_query_${name}`, arguments: { query: 'hello' } }), sender.alice)
  }
])

export const mcpRows: readonly Row[] = [...modernRows, ...legacyRows, ...sseRows]
