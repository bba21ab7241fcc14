import { failureOf as failureOfRequest, setRetryAfter } from '@polyvac/core/plugin'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { contextOf } from '../errors.js'
import type { GatewayError } from '../schemas.js'

export interface Failure { readonly status: number, readonly body: GatewayError }

/** The response to a failed request: `{ error, code, … }` of the service description, where `error` is a text. */
export function failureOf (err: unknown, request: FastifyRequest): Failure {
  const { status, body: { error: { code, message, requestId } } } = failureOfRequest(err, request)
  const { server, tool, details = code === 'INTERNAL_ERROR' ? { requestId } : undefined } = contextOf(err) ?? {}
  return {
    status,
    body: { error: message, code, ...server !== undefined && { server }, ...tool !== undefined && { tool }, ...details !== undefined && { details } }
  }
}

/** Answers a failed request of the plugin's scope. */
export function sendFailure (err: unknown, request: FastifyRequest, reply: FastifyReply): void {
  const { status, body } = failureOf(err, request)
  if (status >= 500) {
    const { server, tool } = body
    if (body.code === 'INTERNAL_ERROR') request.log.error({ err, mcpServer: server, tool }, body.error)
    else request.log.warn({ code: body.code, mcpServer: server, tool }, body.error)
  }
  setRetryAfter(reply, status)
  reply.code(status).send(body)
}
