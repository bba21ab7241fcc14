import { errorHandler, failureOf, setRetryAfter, type Failure } from '@polyvac/core/plugin'
import type { FastifyRequest } from 'fastify'

/** The failure as the caller reads it. A 5xx error is logged with its cause. */
export function logFailure (err: unknown, request: FastifyRequest): Failure {
  const failure = failureOf(err, request)
  const { code, message } = failure.body.error
  if (failure.status >= 500) {
    try {
      request.log.error({ err, code }, message)
    } catch {
      // properties of the error throw
      request.log.error({ code }, message)
    }
  }
  return failure
}

/** An error handler that sends failures in the format of one protocol. */
export function failureHandler (shape: (failure: Failure) => object): ReturnType<typeof errorHandler> {
  return errorHandler((err, request, reply) => {
    const failure = logFailure(err, request)
    setRetryAfter(reply, failure.status)
    reply.code(failure.status).type('application/json; charset=utf-8').serializer(JSON.stringify).send(shape(failure))
  })
}
