import { encodeHeader, encodeParameters, HEADERS, NAME_PARAMETERS, type HeaderParameter } from '@polyvac/mcp-protocol'
import type { RpcMessage } from '../../protocol/json-rpc.js'
import { MODERN_REVISION } from '../../protocol/revision.js'

/** The arguments of a tool that are repeated as headers. */
export type ParametersOf = (tool: string) => readonly HeaderParameter[]

/** The headers that repeat parts of a message in revision 2026-07-28. */
export function paramHeaders ({ method, params }: RpcMessage, parametersOf: ParametersOf): Record<string, string> {
  const headers: Record<string, string> = { [HEADERS.protocolVersion]: MODERN_REVISION }
  if (method === undefined) return headers
  headers[HEADERS.method] = method
  const read = params as Readonly<Record<string, unknown>>
  const name = read[NAME_PARAMETERS.get(method) ?? '']
  if (typeof name === 'string') headers[HEADERS.name] = encodeHeader(name)
  if (method === 'tools/call') Object.assign(headers, encodeParameters(parametersOf(String(name)), read.arguments))
  return headers
}
