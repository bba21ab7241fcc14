import type { FastifyRequest } from 'fastify'
import { codedFailure, PLAIN_STATUSES } from '../../protocol/failure.js'
import type { RpcId } from '../../protocol/json-rpc.js'

export interface RpcFailure {
  readonly status: number
  readonly body: { readonly jsonrpc: '2.0', readonly id: RpcId, readonly error: { code: number, message: string, data: Record<string, unknown> } }
}

/** JSON-RPC codes by our own (contract section 3; those of A2A from -32001 on). What is not here is a refusal by the application, or an internal error. */
const CODES: Readonly<Record<string, number>> = {
  INVALID_JSON: -32700,
  A2A_INVALID_REQUEST: -32600,
  BODY_TOO_DEEP: -32600,
  BODY_TOO_LARGE: -32600,
  INVALID_BODY: -32600,
  UNSUPPORTED_MEDIA_TYPE: -32600,
  UNAUTHENTICATED: -32600,
  REQUEST_REFUSED: -32600,
  A2A_TOO_MANY_STREAMS: -32600,
  A2A_WRONG_METHOD: -32601,
  A2A_INVALID_PARAMS: -32602,
  A2A_TASK_NOT_WAITING: -32602,
  TASK_CONFLICT: -32602,
  TASK_INVALID: -32602,
  TASK_INVALID_CURSOR: -32602,
  TASK_TOO_LARGE: -32602,
  TASK_TOO_MANY_PUSH_CONFIGS: -32602,
  PUSH_URL_REFUSED: -32602,
  PUSH_SECRETS_INVALID: -32602,
  A2A_TASK_NOT_FOUND: -32001,
  TASK_NOT_FOUND: -32001,
  A2A_PUSH_CONFIG_NOT_FOUND: -32001,
  A2A_TASK_NOT_CANCELABLE: -32002,
  A2A_PUSH_NOT_SUPPORTED: -32003
}
const REFUSED = -32600
const INTERNAL = -32603

/** A failure as JSON-RPC tells it. Only internal ones carry the request id, so that a foreign task looks like none to the byte. */
export function rpcFailure (err: unknown, request: FastifyRequest, id: RpcId): RpcFailure {
  const { status, code: own, message } = codedFailure(err, request)
  const code = CODES[own] ?? (status < 500 ? REFUSED : INTERNAL)
  const requestId = code === INTERNAL ? { requestId: request.id } : {}
  return {
    status: status in PLAIN_STATUSES ? status : code === -32700 || code === -32600 ? 400 : 200,
    body: { jsonrpc: '2.0', id, error: { code, message, data: { code: own, ...requestId } } }
  }
}
