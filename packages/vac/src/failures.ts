import { failureOf, retryAfter, type Failure } from '@polyvac/core/plugin'
import type { FastifyReply, FastifyRequest } from 'fastify'

/** What the caller is told; what went wrong on our side goes to the log with its cause. */
export function failureFor (err: unknown, request: FastifyRequest): Failure {
  const failure = failureOf(err, request)
  const { code, message } = failure.body.error
  if (failure.status >= 500) {
    try {
      request.log.error({ err, code }, message)
    } catch {
      // an error whose own properties throw cannot be written down
      request.log.error({ code }, message)
    }
  }
  return failure
}

/** An error handler that sends failures in one wire's shape. */
export function failureHandler (shape: (failure: Failure) => object) {
  return (err: unknown, request: FastifyRequest, reply: FastifyReply): void => {
    const failure = failureFor(err, request)
    const wait = retryAfter(failure.status)
    if (wait !== undefined) reply.header('retry-after', wait)
    reply.code(failure.status).type('application/json; charset=utf-8').serializer(JSON.stringify).send(shape(failure))
  }
}
