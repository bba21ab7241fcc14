import type { Log } from '@polyvac/core'
import { failureOf, isExposed } from '@polyvac/core/plugin'
import type { Call } from './call.js'
import { RpcError } from '../protocol/rpc.js'

/** The call that failed. */
export interface Failing {
  readonly request: Parameters<typeof failureOf>[1]
  readonly isOver: boolean
  readonly log: Log
}

/** A failure as its caller may read it. What is nobody's business but ours goes to the log. */
export function wordsFor (err: unknown, call: Failing, what: string): string {
  const { status, body } = failureOf(err, call.request)
  if (status >= 500 && !call.isOver) call.log.error({ err, ...what !== '' && { tool: what } }, 'an MCP call failed')
  return status >= 500 ? `${body.error.message} (${body.error.requestId})` : body.error.message
}

/** The error of the protocol that a source threw, or handed on from another server; undefined for any other failure. */
export function spokenError (err: unknown): RpcError | undefined {
  if (err instanceof RpcError) return err
  const { rpcError } = (err ?? {}) as { rpcError?: { code: number, message: string, data?: unknown } }
  return rpcError === undefined ? undefined : RpcError.handedOn(rpcError)
}

/** A failure as an error of the protocol. */
export function rpcErrorOf (err: unknown, call: Call): RpcError {
  const spoken = spokenError(err)
  if (spoken !== undefined) return spoken
  const isBusy = (err as { statusCode?: unknown } | null | undefined)?.statusCode === 503
  if (isBusy && isExposed(err)) return new RpcError('internalError', err.message, { code: err.code }, 503)
  return new RpcError('internalError', wordsFor(err, call, ''), undefined, isBusy ? 503 : undefined)
}

/** Whether an error says that what was asked for is not there. */
export function saysNotFound (err: unknown): boolean {
  return typeof err === 'object' && err !== null && (err as { statusCode?: unknown }).statusCode === 404
}
