import { isRecord } from '@polyvac/core/plugin'

/** Methods of JSON-RPC that read, or that ask a VAC. Every other one may change something. */
const HARMLESS: ReadonlySet<string> = new Set([
  'GetTask', 'ListTasks', 'SubscribeToTask', 'GetExtendedAgentCard', 'SendMessage', 'SendStreamingMessage',
  'tasks/get', 'tasks/list', 'tasks/result', 'tasks/resubscribe', 'message/send', 'message/stream', 'tasks/send', 'tasks/sendSubscribe',
  'agent/getAuthenticatedExtendedCard', 'initialize', 'notifications/initialized', 'ping', 'server/discover', 'tools/list',
  'resources/list', 'resources/templates/list', 'resources/read', 'prompts/list', 'prompts/get', 'completion/complete'
])
/** Paths of POST that ask a VAC or read, whatever the body is. */
const ASKING = /(?:^|\/)(?:vac\/[^/]+|vac\/streaming\/[^/]+(?:\/sse)?|ai\/[^/]+|ag-ui\/(?:[^/]+|agent\/[^/]+\/(?:run|connect))|chat\/completions(?:\/[^/]+)?|responses|message:(?:send|stream)|mcp\/(?:resources\/read|prompts\/get))$/
/** Paths of JSON-RPC. Those of A2A's description dialect end with the method. */
const JSON_RPC = /(?:^|\/)(?:mcp|a2a|a2a\/vacs\/[^/]+)\/?$/
/** The tools of VACs of a Polyvac's MCP server. */
const VAC_TOOL = /^vac_(?:query|stream)_/

/** What a request may do: `tool` names the tool whose `readOnlyHint` decides, at the MCP server of that path. */
export type Effect = 'none' | 'unknown' | { readonly tool: string, readonly path: string }

/**
 * Whether a request changes something beyond the answer of a VAC. The path and the body decide: what the session
 * states about an exchange is not evidence.
 * @param path normalised, without the query
 */
export function effectOf (method: string, path: string, body: unknown): Effect {
  if (method === 'GET' || method === 'HEAD') return 'none'
  // a webhook makes the service send requests
  if (method !== 'POST' || mentions(body, /pushNotification/i)) return 'unknown'
  if (ASKING.test(path)) return 'none'
  if (path.endsWith('/mcp/call') && isRecord(body)) {
    return { tool: `${String(body.server)}__${String(body.tool)}`, path: path.slice(0, -'/call'.length) }
  }
  const [, mcp, server, tool] = /^(.*\/mcp)\/tools\/([^/]+)\/([^/]+)$/.exec(path) ?? []
  if (mcp !== undefined) return { tool: `${server}__${tool}`, path: mcp }
  if (!isRecord(body) || typeof body.method !== 'string') return 'unknown'
  if (!JSON_RPC.test(path) && !path.endsWith(`/a2a/${body.method}`)) return 'unknown'
  if (body.method !== 'tools/call') return HARMLESS.has(body.method) ? 'none' : 'unknown'
  const name = isRecord(body.params) ? String(body.params.name) : ''
  return VAC_TOOL.test(name) ? 'none' : { tool: name, path }
}

function mentions (value: unknown, key: RegExp): boolean {
  if (typeof value !== 'object' || value === null) return false
  return Object.entries(value).some(([name, inner]) => key.test(name) || mentions(inner, key))
}
