import { failureOf as failureOfRequest, LogGate, mayAdminister, setRetryAfter, type PrincipalOf } from '@polyvac/core/plugin'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { contextOf, shownTo } from '../errors.js'
import type { GatewayError } from '../schemas.js'

export interface Failure { readonly status: number, readonly body: GatewayError }

/** The responses to failed requests: `{ error, code, … }` of the service description, where `error` is a text. */
export class Failures {
  readonly #principalOf: PrincipalOf
  readonly #gate = new LogGate()

  constructor (principalOf: PrincipalOf) {
    this.#principalOf = principalOf
  }

  of (err: unknown, request: FastifyRequest): Failure {
    const { status, body: { error: { code, message, requestId } } } = failureOfRequest(err, request)
    const { server, tool } = contextOf(err) ?? {}
    const shown = shownTo(mayAdminister(request, this.#principalOf(request)), err, message)
    const { details = code === 'INTERNAL_ERROR' ? { requestId } : undefined } = shown
    return {
      status,
      body: { error: shown.message, code, ...server !== undefined && { server }, ...tool !== undefined && { tool }, ...details !== undefined && { details } }
    }
  }

  /** Answers a failed request of the plugin's scope. */
  readonly send = (err: unknown, request: FastifyRequest, reply: FastifyReply): void => {
    const { status, body } = this.of(err, request)
    if (status >= 500) this.#log(err, request, body)
    setRetryAfter(reply, status)
    askForSignIn(reply, body)
    reply.code(status).send(body)
  }

  /** The error for the error handler of the application: with what the caller may read, and the error as its cause. */
  readonly toAppError = (err: unknown, request: FastifyRequest, reply: FastifyReply): unknown => {
    if (contextOf(err) === undefined) return err
    const { status, body } = this.of(err, request)
    askForSignIn(reply, body)
    const { error: message, ...fields } = body
    return Object.assign(new Error(message, { cause: err }), { statusCode: status, ...fields })
  }

  #log (err: unknown, request: FastifyRequest, { server, tool, code }: GatewayError): void {
    const owner = this.#principalOf(request)?.owner
    const suppressed = this.#gate.pass(`${code} ${server} ${owner}`)
    if (suppressed === undefined) return
    // what a server sent, of any length, is only for the caller; its text is in the message
    const { result: _result, data: _data, ...details } = contextOf(err)?.details ?? {}
    const fields = { mcpServer: server, tool, owner, ...suppressed > 0 && { suppressed } }
    if (code === 'INTERNAL_ERROR') request.log.error({ err, ...fields }, 'a request to an MCP server failed')
    else request.log.warn({ code, ...fields, details }, err instanceof Error ? err.message : code)
  }
}

/** RFC 9110 demands the header with 401; the scheme is that of this service, with the address to open. */
function askForSignIn (reply: FastifyReply, { code, details }: GatewayError): void {
  const { url } = (details ?? {}) as { url?: unknown }
  if (code === 'MCP_SIGN_IN_REQUIRED') reply.header('www-authenticate', `Polyvac-Sign-In url="${String(url)}"`)
}
