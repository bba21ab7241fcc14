import { isRecord } from '@polyvac/core/plugin'
import { ok, problem, unchecked, warning, type Finding } from './finding.js'
import { describeFailure, type HttpClient, type WholeReply } from '../http-client.js'

const ACCEPT = 'application/json, text/event-stream'
const REVISION = '2025-06-18'
/** Time for the first event of a stream. A service sends the headers at once. */
const FIRST_EVENT_MS = 3_000
const CLIENT = { protocolVersion: REVISION, capabilities: {}, clientInfo: { name: 'polyvac-doctor', version: '1' } }

/** The MCP server at /mcp, or at the address itself: its session, tools, authentication, and streams. */
export async function * checkMcp (client: HttpClient): AsyncGenerator<Finding> {
  const path = client.base.pathname.endsWith('/mcp/') ? client.base.href.replace(/\/$/, '') : 'mcp'
  const reply = await client.send(path, { headers: { accept: ACCEPT }, body: call('initialize', CLIENT) })
  if (reply.status === 404 || reply.status === 501) {
    yield unchecked('mcp', `POST /mcp answers ${reply.status}: no MCP server there`)
    return
  }
  if (reply.status === 401) yield * checkAuthentication(client, reply)
  if (reply.status === 401) return
  const result = resultOf(reply)
  if (result === undefined) {
    yield problem('mcp', `initialize answers ${reply.status} without a result`,
      'let the proxy pass POST /mcp with Accept, Content-Type and Mcp-* headers unchanged')
    return
  }
  yield ok('mcp', `initialize answers revision ${String(result.protocolVersion)}`)
  const session = reply.headers.get('mcp-session-id')
  const headers = { accept: ACCEPT, 'mcp-protocol-version': String(result.protocolVersion), ...session === null ? {} : { 'mcp-session-id': session } }
  try {
    await client.send(path, { headers, body: { jsonrpc: '2.0', method: 'notifications/initialized' } })
    const listed = await client.send(path, { headers, body: call('tools/list', {}) })
    const tools = resultOf(listed)?.tools
    yield Array.isArray(tools)
      ? ok('mcp tools', `tools/list answers with ${tools.length} tools`)
      : problem('mcp tools', `tools/list answers ${listed.status} without tools`, session === null
        ? 'let the proxy pass the response header Mcp-Session-Id'
        : 'route all requests of a session to one replica, or share sessions')
    yield await checkStream(client, path, headers)
  } finally {
    if (session !== null) await client.send(path, { method: 'DELETE', headers }).catch(() => {})
  }
}

/** A stream of events that stays open: a proxy that buffers keeps its headers back, since the stream does not end. */
async function checkStream (client: HttpClient, path: string, headers: Readonly<Record<string, string>>): Promise<Finding> {
  const remedy = 'turn buffering off for text/event-stream: `proxy_buffering off` in nginx, `flush_interval -1` in Caddy'
  try {
    const stream = await client.open(path, { headers: { ...headers, accept: 'text/event-stream' }, maxMs: FIRST_EVENT_MS })
    const packed = stream.headers.get('content-encoding')
    const type = stream.headers.get('content-type') ?? ''
    await stream.pieces[Symbol.asyncIterator]().return?.()
    if (!type.startsWith('text/event-stream')) return unchecked('streams', `GET answers ${stream.status}: the server has no stream of events`)
    if (packed !== null) return warning('streams', `events are compressed with ${packed}`, 'exclude text/event-stream from compression: compressors hold events back')
    if (!/no-transform|no-cache|no-store/.test(stream.headers.get('cache-control') ?? '')) {
      return warning('streams', 'events have no Cache-Control: no-cache', 'let the proxy pass the response header Cache-Control')
    }
    return ok('streams', 'a stream of events opens before it ends')
  } catch (err) {
    return problem('streams', `a stream of events does not open (${describeFailure(err)}): a proxy may buffer it until its end`, remedy)
  }
}

async function * checkAuthentication (client: HttpClient, reply: WholeReply): AsyncGenerator<Finding> {
  const challenge = reply.headers.get('www-authenticate')
  if (challenge === null) {
    yield problem('authentication', '401 has no WWW-Authenticate header', 'let the service send it, and the proxy pass it: clients find the authorization server with it')
    return
  }
  const named = /resource_metadata="([^"]+)"/.exec(challenge)?.[1]
  const metadata = await client.send(named ?? '.well-known/oauth-protected-resource')
  if (metadata.status !== 200 || !isRecord(metadata.json)) {
    yield (named === undefined ? warning : problem)('authentication', `the metadata of the resource answers ${metadata.status}`,
      'serve /.well-known/oauth-protected-resource without authentication, or send tokens with --header')
  } else if (!String(metadata.json.resource).startsWith(client.base.origin)) {
    yield problem('authentication', `the metadata names the resource ${String(metadata.json.resource)}, not ${client.base.origin}`,
      'set service.public_url: clients refuse metadata of another resource')
  } else yield ok('authentication', '401 leads to the metadata of the resource')
}

/** What browsers of another origin may do. */
export async function * checkCors (client: HttpClient): AsyncGenerator<Finding> {
  const origin = 'https://other-origin.invalid'
  const { headers } = await client.send('mcp', {
    method: 'OPTIONS', headers: { origin, 'access-control-request-method': 'POST', 'access-control-request-headers': 'content-type,mcp-session-id' }
  })
  const allowed = headers.get('access-control-allow-origin')
  const credentials = headers.get('access-control-allow-credentials') === 'true'
  const remedy = 'name the origins of your pages in service.cors'
  if (allowed === null) yield ok('cors', 'pages of unknown origins may not read responses')
  else if (credentials) yield problem('cors', `pages of any origin may send credentials (allowed: ${allowed})`, remedy)
  else if (allowed !== '*' && allowed !== origin) yield ok('cors', `pages of ${allowed} may read responses`)
  else {
    const sent = await client.send('health', { headers: { origin } })
    yield /mcp-session-id|\*/i.test(sent.headers.get('access-control-expose-headers') ?? '')
      ? ok('cors', 'pages of any origin may read responses, without credentials')
      : warning('cors', 'pages may read responses but not the header Mcp-Session-Id', 'expose Mcp-Session-Id with Access-Control-Expose-Headers')
  }
}

function call (method: string, params: object): object {
  return { jsonrpc: '2.0', id: 1, method, params }
}

/** The result of a reply in JSON, or in the last event with one. */
function resultOf ({ json, text }: WholeReply): Record<string, unknown> | undefined {
  for (const data of [json, ...text.split(/\r?\n/).filter(line => line.startsWith('data:')).map(line => parse(line.slice(5)))]) {
    if (isRecord(data) && isRecord(data.result)) return data.result
  }
}

function parse (text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
