import type { RpcMessage } from '../../protocol/json-rpc.js'
import { MODERN_VERSION } from '../../protocol/revision.js'

/** The parameter whose value a request's `Mcp-Name` repeats. */
const NAMED: Readonly<Record<string, string>> = {
  'tools/call': 'name', 'prompts/get': 'name', 'resources/read': 'uri', 'tasks/get': 'taskId', 'tasks/update': 'taskId', 'tasks/cancel': 'taskId'
}

type Schema = { readonly properties?: Readonly<Record<string, Schema>>, readonly type?: unknown, readonly 'x-mcp-header'?: unknown }

/** Headers that repeat parts of a request's body, as revision 2026-07-28 wants them over HTTP. */
export function paramHeaders ({ method, params }: RpcMessage, schemaOf: (tool: string) => unknown): Record<string, string> {
  const headers: Record<string, string> = { 'mcp-protocol-version': MODERN_VERSION }
  if (method === undefined) return headers
  headers['mcp-method'] = method
  const read = params as Readonly<Record<string, unknown>>
  const named = read[NAMED[method] ?? '']
  if (typeof named === 'string') headers['mcp-name'] = encoded(named)
  if (method === 'tools/call') addParameters(headers, schemaOf(String(named)) as Schema | undefined, read.arguments)
  return headers
}

/** Arguments that the tool's schema wants as `Mcp-Param-*`, however deep in plain properties. */
function addParameters (headers: Record<string, string>, schema: Schema | undefined, args: unknown, depth = 0): void {
  if (depth > 16 || typeof args !== 'object' || args === null) return
  for (const [key, property] of Object.entries(schema?.properties ?? {})) {
    const value = (args as Record<string, unknown>)[key]
    const { 'x-mcp-header': name } = property
    if (typeof name === 'string' && (typeof value === 'string' || typeof value === 'boolean' || Number.isInteger(value))) {
      headers[`mcp-param-${name.toLowerCase()}`] = encoded(String(value))
    }
    addParameters(headers, property, value, depth + 1)
  }
}

/** A value as a header can carry it. */
function encoded (value: string): string {
  const isPlain = /^[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?$/.test(value) && !/^=\?base64\?.*\?=$/i.test(value)
  return isPlain ? value : `=?base64?${Buffer.from(value).toString('base64')}?=`
}
