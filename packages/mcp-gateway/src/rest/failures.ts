import { failureOf as failureOfRequest, retryAfter } from '@polyvac/core/plugin'
import { contextOf } from '../errors.js'
import type { FastifyError, FastifyReply, FastifyRequest } from 'fastify'
import type { GatewayError } from '../schemas.js'

const OWN = /^(?:MCP_|SHUTTING_DOWN$|CALL_ABORTED$)/

export interface Failure { readonly status: number, readonly body: GatewayError }

/**
 * What to tell a caller about an error: `{ error, code, … }`, `error` being a text as the service description has it.
 * Errors of this package speak for themselves, with their server, tool and details; others as on every wire.
 */
export function failureOf (err: unknown, request: FastifyRequest): Failure {
  const { code: own, statusCode, message: text } = (err ?? {}) as Partial<FastifyError>
  if (statusCode !== undefined && text !== undefined && own !== undefined && OWN.test(own)) {
    const { server, tool, details } = contextOf(err) ?? {}
    return {
      status: statusCode,
      body: { error: text, code: own, ...server !== undefined && { server }, ...tool !== undefined && { tool }, ...details !== undefined && { details } }
    }
  }
  const { status, body: { error: { code, message, requestId } } } = failureOfRequest(err, request)
  return { status, body: { error: message, code, ...status === 500 && { details: { requestId } } } }
}

/** Answers a failed request of the plugin's scope. */
export function sendFailure (err: unknown, request: FastifyRequest, reply: FastifyReply): void {
  const { status, body } = failureOf(err, request)
  if (status >= 500) {
    const { server, tool } = body
    if (body.code === 'INTERNAL_ERROR') request.log.error({ err, mcpServer: server, tool }, body.error)
    else request.log.warn({ code: body.code, mcpServer: server, tool }, body.error)
  }
  const seconds = retryAfter(status)
  if (seconds !== undefined) reply.header('retry-after', seconds)
  reply.code(status).send(body)
}
