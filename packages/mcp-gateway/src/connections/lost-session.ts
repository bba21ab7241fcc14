import { CODES } from '@polyvac/mcp-protocol'
import { isRecord } from '@polyvac/core/plugin'
import { RpcError } from '../protocol/json-rpc.js'
import { parseJson } from '../protocol/read-message.js'
import { HttpError } from './http-error.js'

/** Words of servers that do not know a session, or whose process is another one. */
const ABOUT_SESSION = /session|initiali[sz]/i

/** Codes of servers for a request whose sender they do not know. */
const REFUSING: ReadonlySet<number> = new Set([CODES.invalidRequest, -32000, -32001])

/** Statuses about load, or of a proxy whose server is away: the session may be there afterwards. */
const PASSING: ReadonlySet<number> = new Set([429, 502, 503, 504])

/**
 * Whether a server refused a request as it would refuse every request of a session that it does not know. Servers use
 * any status and code for that, so a ping has to show it.
 */
export function mayConcernSession (err: unknown): boolean {
  if (err instanceof HttpError) return !PASSING.has(err.status) || ABOUT_SESSION.test(err.body)
  if (!(err instanceof RpcError) || err.code === CODES.methodNotFound) return false
  return REFUSING.has(err.code) || ABOUT_SESSION.test(err.message) || (err.httpStatus !== undefined && !PASSING.has(err.httpStatus))
}

/** Whether a look met the same refusal as the request before it. A server without pings answers that it has none. */
export function isRefusedAgain (first: unknown, look: unknown): boolean {
  if (look instanceof HttpError) return mayConcernSession(look) && !isUnknownMethod(look.body)
  if (!(look instanceof RpcError) || look.code === CODES.methodNotFound) return false
  return ABOUT_SESSION.test(look.message) || (first instanceof RpcError && first.code === look.code)
}

/** Whether a refusal names the session. */
export function namesSession (err: unknown): boolean {
  return ABOUT_SESSION.test(err instanceof HttpError ? err.body : err instanceof Error ? err.message : '')
}

function isUnknownMethod (body: string): boolean {
  const parsed = parseJson(body)
  return isRecord(parsed) && isRecord(parsed.error) && parsed.error.code === CODES.methodNotFound
}
