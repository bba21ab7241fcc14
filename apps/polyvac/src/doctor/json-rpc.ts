import { parseEvents } from '@polyvac/client/events'
import { mcpRequest } from '@polyvac/client/mcp'
import { isRecord } from '@polyvac/core/plugin'
import { parseJson, type HttpClient, type HttpRequest, type WholeReply } from '../client/http-client.js'

export const ACCEPT = 'application/json, text/event-stream'
/** The last revision with sessions. */
export const LEGACY = '2025-11-25'
const CLIENT_INFO = { name: 'polyvac', version: '1' }

/** The address of the MCP server: `/mcp`, or the address of the service itself. */
export function mcpPath ({ base }: HttpClient): string {
  return /\/mcp\/$/.test(base.pathname) ? base.href.replace(/\/$/, '') : 'mcp'
}

/** Whether a reply shows that there is no MCP server. */
export const isAbsent = ({ status, json }: WholeReply): boolean => [404, 405, 501].includes(status) && !(isRecord(json) && 'jsonrpc' in json)

export function rpc (method: string, params: object): object {
  return { jsonrpc: '2.0', id: 1, method, params }
}

/** A request of MCP 2026-07-28, which has no session. */
export function modernRequest (method: string, params: Readonly<Record<string, unknown>> = {}): HttpRequest {
  return mcpRequest(method, params, {}, { 'io.modelcontextprotocol/clientInfo': CLIENT_INFO })
}

/** The request that begins a session of an older revision. */
export const INITIALIZE: HttpRequest = {
  headers: { accept: ACCEPT }, body: rpc('initialize', { protocolVersion: LEGACY, capabilities: {}, clientInfo: CLIENT_INFO })
}

/** The headers of the requests of a session, from the reply to `INITIALIZE`; the server knows then that it is begun. */
export async function openSession (client: HttpClient, path: string, opened: WholeReply): Promise<Record<string, string>> {
  const id = opened.headers.get('mcp-session-id')
  const headers = {
    accept: ACCEPT, 'mcp-protocol-version': String(resultOf(opened)?.protocolVersion), ...id === null ? {} : { 'mcp-session-id': id }
  }
  await client.send(path, { headers, body: { jsonrpc: '2.0', method: 'notifications/initialized' } })
  return headers
}

/** Ends a session; a server without sessions has nothing to end. */
export async function endSession (client: HttpClient, path: string, headers: Record<string, string>): Promise<void> {
  if ('mcp-session-id' in headers) await client.send(path, { method: 'DELETE', headers }).catch(() => {})
}

/** The result of a reply in JSON, or in the last event with one. */
export function resultOf ({ json, text }: WholeReply): Record<string, unknown> | undefined {
  for (const data of [json, ...parseEvents(text).map(event => parseJson(event.data))]) {
    if (isRecord(data) && isRecord(data.result)) return data.result
  }
}
