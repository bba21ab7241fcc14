import type { Log, Principal } from '@polyvac/core'
import { failureOf, isExposed } from '@polyvac/core/plugin'
import { RpcError, type ErrorObject } from '../protocol/rpc.js'
import type { Call } from './call.js'

/** The call that failed. */
export interface FailedCall {
  readonly request: Parameters<typeof failureOf>[1]
  readonly isOver: boolean
  readonly log: Log
  readonly principal: Principal | undefined
}

/** The text of a failure for its caller. The cause of an internal failure goes only to the log. */
export function failureText (err: unknown, call: FailedCall, tool: string): string {
  const { status, body } = failureOf(err, call.request)
  const owner = call.principal?.owner
  if (status >= 500 && !call.isOver) call.log.error({ err, owner, ...tool !== '' && { tool } }, 'an MCP call failed')
  return status >= 500 ? `${body.error.message} (${body.error.requestId})` : body.error.message
}

/** The JSON-RPC error that a source threw, its own or an upstream server's; undefined for any other failure. */
export function protocolError (err: unknown): RpcError | undefined {
  if (err instanceof RpcError) return err
  const { rpcError } = (err ?? {}) as { rpcError?: ErrorObject }
  return rpcError === undefined ? undefined : RpcError.fromUpstream(rpcError)
}

/** A failure as a JSON-RPC error. */
export function rpcErrorOf (err: unknown, call: Call): RpcError {
  const known = protocolError(err)
  if (known !== undefined) return known
  const isBusy = (err as { statusCode?: unknown } | null | undefined)?.statusCode === 503
  if (isBusy && isExposed(err)) return new RpcError('internalError', err.message, { code: err.code }, 503)
  return new RpcError('internalError', failureText(err, call, ''), undefined, isBusy ? 503 : undefined)
}

/** Whether an error has the status 404. */
export function isNotFound (err: unknown): boolean {
  return typeof err === 'object' && err !== null && (err as { statusCode?: unknown }).statusCode === 404
}
