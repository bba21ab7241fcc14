import type { FastifyRequest } from 'fastify'
import { KINDS, kindOf } from '../../protocol/failure-codes.js'
import { codedFailure, PLAIN_STATUSES } from '../../protocol/failure.js'
import type { RpcId } from '../../protocol/json-rpc.js'

interface RpcError { readonly code: number, readonly message: string, readonly data: Record<string, unknown> }

export interface RpcFailure {
  readonly status: number
  readonly body: { readonly jsonrpc: '2.0', readonly id: RpcId, readonly error: RpcError }
}

/** A JSON-RPC error of the service description. Only -32603 carries the request id, see `toFailure` of 1.0. */
export function rpcFailure (err: unknown, request: FastifyRequest, id: RpcId): RpcFailure {
  const failure = codedFailure(err, request)
  const { status, code, message, requestId } = failure
  const kind = kindOf('description', failure)
  const data = { code, ...(kind === 'INTERNAL' ? { requestId } : {}) }
  return {
    status: status in PLAIN_STATUSES ? status : kind === 'PARSE' || kind === 'REQUEST' ? 400 : 200,
    body: { jsonrpc: '2.0', id, error: { code: KINDS[kind].rpc, message, data } }
  }
}
