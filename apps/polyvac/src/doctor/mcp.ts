import { REVISION as MODERN } from '@polyvac/client/mcp'
import { checkAuthentication, checkOpenMetadata } from './authentication.js'
import { ok, problem, unchecked, warning, type Finding } from './finding.js'
import { ACCEPT, endSession, INITIALIZE, isAbsent, LEGACY, mcpPath, modernRequest, openSession, resultOf, rpc } from './json-rpc.js'
import { checkEventStream } from './streams.js'
import type { HttpClient, WholeReply } from '../client/http-client.js'

/** The MCP server at /mcp, or at the address itself: both eras, tools, authentication, requests, and streams. */
export async function * checkMcp (client: HttpClient): AsyncGenerator<Finding> {
  const path = mcpPath(client)
  const discovered = await client.send(path, modernRequest('server/discover'))
  if (isAbsent(discovered)) {
    yield unchecked('mcp', `POST /mcp answers ${discovered.status}: no MCP server there`)
    return
  }
  if (discovered.status === 401) {
    yield * checkAuthentication(client, discovered)
    return
  }
  yield * checkOpenMetadata(client)
  const versions = resultOf(discovered)?.supportedVersions
  const isModern = Array.isArray(versions) && versions.includes(MODERN)
  yield isModern
    ? ok(`mcp ${MODERN}`, 'server/discover answers')
    : unchecked(`mcp ${MODERN}`, `server/discover answers ${discovered.status}: the server has the older revisions`)
  const opened = await client.send(path, INITIALIZE)
  const result = resultOf(opened)
  if (result !== undefined) yield * checkSession(client, path, opened, String(result.protocolVersion), isModern)
  else if (isModern) yield unchecked(`mcp ${LEGACY}`, `initialize answers ${opened.status}: the server has only ${MODERN}`)
  else {
    yield problem('mcp', `initialize answers ${opened.status} without a result`,
      'let the proxy pass POST /mcp with Accept, Content-Type and Mcp-* headers unchanged')
    return
  }
  if (isModern) {
    yield checkTools(await client.send(path, modernRequest('tools/list')), `mcp ${MODERN} tools`, 'let the proxy pass the header Mcp-Method unchanged')
    yield * checkEventStream(client, path, modernRequest('subscriptions/listen', { notifications: { toolsListChanged: true } }), true)
  }
  yield await checkContentType(client, path)
}

/** A session of an older revision. It is deleted at the end. */
async function * checkSession (client: HttpClient, path: string, opened: WholeReply, revision: string, isModern: boolean): AsyncGenerator<Finding> {
  yield ok('mcp', `initialize answers revision ${revision}`)
  const headers = await openSession(client, path, opened)
  try {
    yield checkTools(await client.send(path, { headers, body: rpc('tools/list', {}) }), 'mcp tools', headers['mcp-session-id'] === undefined
      ? 'let the proxy pass the response header Mcp-Session-Id'
      : 'route all requests of a session to one replica, or share sessions')
    if (!isModern) yield * checkEventStream(client, path, { headers: { ...headers, accept: 'text/event-stream' } }, false)
  } finally {
    await endSession(client, path, headers)
  }
}

function checkTools (reply: WholeReply, check: string, remedy: string): Finding {
  const tools = resultOf(reply)?.tools
  return Array.isArray(tools)
    ? ok(check, `tools/list answers with ${tools.length} tools`)
    : problem(check, `tools/list answers ${reply.status} without tools`, remedy)
}

/** A browser sends text/plain to any origin without asking it first. */
async function checkContentType (client: HttpClient, path: string): Promise<Finding> {
  const body = JSON.stringify(rpc('ping', {}))
  const asText = await client.send(path, { headers: { accept: ACCEPT, 'content-type': 'text/plain' }, body })
  const asPlain = await client.send(path, { headers: { accept: 'text/plain' }, body })
  const text = `JSON as text/plain answers ${asText.status}, Accept: text/plain answers ${asPlain.status}`
  if (asText.status >= 500 || asPlain.status >= 500) return problem('mcp requests', text, 'read the log of the service')
  return resultOf(asText) === undefined
    ? ok('mcp requests', text)
    : warning('mcp requests', `${text}: pages of any origin can send such requests`, 'answer 415 to other types than application/json')
}
