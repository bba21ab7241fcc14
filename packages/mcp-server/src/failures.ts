import { failureOf, type Log } from '@polyvac/core'
import type { Call } from './call.js'
import { RpcError } from './rpc.js'

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

/** A failure as an error of the protocol. */
export function rpcErrorOf (err: unknown, call: Call): RpcError {
  if (err instanceof RpcError) return err
  const isBusy = (err as { statusCode?: unknown } | undefined)?.statusCode === 503
  return new RpcError('internalError', wordsFor(err, call, ''), undefined, isBusy ? 503 : undefined)
}

/** Whether an error says that what was asked for is not there. */
export function saysNotFound (err: unknown): boolean {
  return typeof err === 'object' && err !== null && (err as { statusCode?: unknown }).statusCode === 404
}
