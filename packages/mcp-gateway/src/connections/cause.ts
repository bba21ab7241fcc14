import { RpcError } from '../protocol/json-rpc.js'

/** Why a server is not ready, for callers who may not read its messages: a code, and a fixed text. */
export const CAUSES = {
  MISSING_VARIABLE: 'a variable that its entry names is not set',
  COMMAND_NOT_FOUND: 'its command was not found',
  COMMAND_NOT_EXECUTABLE: 'its command may not be executed',
  EXITED: 'its process ended',
  NO_ANSWER: 'it did not answer in time',
  UNREACHABLE: 'its address cannot be reached',
  UNAUTHORIZED: 'it refused the credentials of its entry',
  SIGN_IN_REQUIRED: 'its owner has to sign in first',
  HTTP_ERROR: 'it answered with an HTTP error',
  REFUSED: 'it refused the handshake',
  CLOSED: 'its connection was closed',
  RESTARTED: 'an administrator restarted it',
  FAILED: 'it could not be started'
} as const

export type Cause = keyof typeof CAUSES

/** Failures to connect. A response that is cut short shows nothing about other requests. */
const UNREACHABLE: ReadonlySet<unknown> = new Set([
  'ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'EHOSTUNREACH', 'ENETUNREACH', 'EHOSTDOWN', 'UND_ERR_CONNECT_TIMEOUT'
])

/** Whether an error shows that a connection could not be established. */
export function isUnreachable (err: unknown): boolean {
  const { code, cause } = (err ?? {}) as { code?: unknown, cause?: { code?: unknown } }
  return UNREACHABLE.has(code) || UNREACHABLE.has(cause?.code)
}

export function causeOf (err: unknown): Cause {
  const { code, status } = (err ?? {}) as { code?: unknown, status?: unknown }
  if (status === 401 || status === 403) return 'UNAUTHORIZED'
  if (typeof status === 'number') return 'HTTP_ERROR'
  if (err instanceof RpcError) return 'REFUSED'
  if (code === 'MCP_CALL_TIMEOUT') return 'NO_ANSWER'
  if (code === 'ENOENT') return 'COMMAND_NOT_FOUND'
  if (code === 'EACCES') return 'COMMAND_NOT_EXECUTABLE'
  return isUnreachable(err) ? 'UNREACHABLE' : 'FAILED'
}
