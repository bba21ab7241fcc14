import { errorHandler, failureOf, logFailure, setRetryAfter, type Failure } from '@polyvac/core/plugin'
import type { FastifyRequest } from 'fastify'
import type { ChatProtocol } from '../protocol.js'

/** The failure as the caller reads it; it is logged. */
export function loggedFailure (err: unknown, request: FastifyRequest): Failure {
  const failure = failureOf(err, request)
  logFailure(err, request, failure)
  return failure
}

/** An error handler that sends failures in the format of one protocol. */
export function failureHandler ({ toError, errorHeaders }: Pick<ChatProtocol, 'toError' | 'errorHeaders'>): ReturnType<typeof errorHandler> {
  return errorHandler((err, request, reply) => {
    const failure = loggedFailure(err, request)
    setRetryAfter(reply, failure.status)
    if (errorHeaders !== undefined) reply.headers(errorHeaders(failure))
    const body = toError(failure)
    reply.code(failure.status)
    if (typeof body === 'string') return reply.type('text/plain; charset=utf-8').send(body)
    reply.type('application/json; charset=utf-8').serializer(JSON.stringify).send(body)
  })
}
