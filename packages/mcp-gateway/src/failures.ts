import { contextOf } from './errors.js'
import type { FastifyError, FastifyReply, FastifyRequest } from 'fastify'
import type { GatewayError } from './schemas.js'

/** What Fastify finds wrong with a request, under the codes of this project and with the remedy. */
const FASTIFY_CODES: Readonly<Record<string, readonly [code: string, message: string]>> = {
  FST_ERR_CTP_BODY_TOO_LARGE: ['BODY_TOO_LARGE', 'the body is larger than this service takes; send a smaller one'],
  FST_ERR_CTP_INVALID_JSON_BODY: ['INVALID_JSON', 'the body is not valid JSON, or has a forbidden key (__proto__, constructor.prototype); check it'],
  FST_ERR_CTP_EMPTY_JSON_BODY: ['INVALID_JSON', 'the body is empty; send a JSON object'],
  FST_ERR_CTP_INVALID_CONTENT_LENGTH: ['INVALID_BODY', 'the body is not as long as its Content-Length says'],
  FST_ERR_CTP_INVALID_MEDIA_TYPE: ['UNSUPPORTED_MEDIA_TYPE', 'the body must be JSON; send it with Content-Type: application/json']
}

const OWN = /^(?:MCP_|SHUTTING_DOWN$|CALL_ABORTED$)/

export interface Failure { readonly status: number, readonly body: GatewayError }

/**
 * What to tell a caller about an error: `{ error, code, … }`, `error` being a text as the service description has it.
 * Errors of this package speak for themselves; others below 500 keep their text, the rest is only named.
 */
export function failureOf (err: unknown, request: FastifyRequest): Failure {
  const { code, statusCode, message } = (err ?? {}) as Partial<FastifyError>
  const known = code === undefined ? undefined : FASTIFY_CODES[code]
  if (known !== undefined) return { status: statusCode ?? 400, body: { error: known[1], code: known[0] } }
  if (statusCode !== undefined && code !== undefined && message !== undefined && (statusCode < 500 || OWN.test(code))) {
    const { server, tool, details } = contextOf(err) ?? {}
    return {
      status: statusCode,
      body: { error: message, code, ...server !== undefined && { server }, ...tool !== undefined && { tool }, ...details !== undefined && { details } }
    }
  }
  if (statusCode !== undefined && statusCode >= 400 && statusCode < 500) {
    return { status: statusCode, body: { error: message ?? 'the request was refused', code: 'REQUEST_REFUSED' } }
  }
  return { status: 500, body: { error: 'the request failed; the log has the cause under the request id', code: 'INTERNAL_ERROR', details: { requestId: request.id } } }
}

/** Answers a failed request of the plugin's scope. */
export function sendFailure (err: unknown, request: FastifyRequest, reply: FastifyReply): void {
  const { status, body } = failureOf(err, request)
  if (status >= 500) {
    const { server, tool } = body
    if (body.code === 'INTERNAL_ERROR') request.log.error({ err, mcpServer: server, tool }, body.error)
    else request.log.warn({ code: body.code, mcpServer: server, tool }, body.error)
  }
  if (status === 503) reply.header('retry-after', 1)
  reply.code(status).send(body)
}
