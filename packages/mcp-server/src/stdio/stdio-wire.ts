import { MODERN_META } from '../envelope.js'
import { isRecord, type Params } from '../rpc.js'

/** A message of revision 2026-07-28 says so itself; the others belong to the session. */
export function revisionOf (message: unknown): string | undefined {
  if (!isRecord(message) || !isRecord(message.params) || !isRecord(message.params._meta)) return undefined
  const { [MODERN_META.protocolVersion]: version } = message.params._meta
  return typeof version === 'string' ? version : undefined
}

/** The headers that repeat a message of revision 2026-07-28 over HTTP. */
export function headersOf ({ method, params }: Params, revision: string): Record<string, string> {
  const { name, uri, taskId } = isRecord(params) ? params : {}
  const named = method === 'resources/read' ? uri : String(method).startsWith('tasks/') ? taskId : name
  return {
    'mcp-protocol-version': plain(revision),
    'mcp-method': plain(String(method)),
    ...typeof named === 'string' && { 'mcp-name': plain(named) }
  }
}

/** A header value as it is, or in base64 where it could not travel so. */
function plain (value: string): string {
  return /^[\x21-\x7e]([\x20-\x7e]*[\x21-\x7e])?$/.test(value) && !value.startsWith('=?base64?') ? value : `=?base64?${Buffer.from(value).toString('base64')}?=`
}
