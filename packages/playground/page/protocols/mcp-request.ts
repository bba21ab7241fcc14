import { settings } from '../shared/settings.js'

const REVISION = '2026-07-28'

/** What the page sends, and shows to copy. */
export interface PageRequest { readonly path: string, readonly headers: Record<string, string>, readonly body: object }

/**
 * A request of MCP 2026-07-28 to the service, where each request names the revision and what the client can do.
 * @param elicitation the questions that the page can show
 */
export function mcpRequest (method: string, params: Readonly<Record<string, unknown>>, elicitation: object, meta: object = {}): PageRequest {
  const name = params.name ?? params.uri
  const _meta = { ...meta, 'io.modelcontextprotocol/protocolVersion': REVISION, 'io.modelcontextprotocol/clientCapabilities': { elicitation } }
  return {
    path: settings.value.routes.mcp!,
    headers: {
      accept: 'application/json, text/event-stream',
      'mcp-protocol-version': REVISION,
      'mcp-method': method,
      ...typeof name === 'string' && { 'mcp-name': /^[\x20-\x7e]*$/.test(name) ? name : `=?base64?${btoa(String.fromCharCode(...new TextEncoder().encode(name)))}?=` }
    },
    body: { jsonrpc: '2.0', id: 1, method, params: { ...params, _meta } }
  }
}
