import { isNativeError } from 'node:util/types'
import type { FastifyReply, FastifyRequest, FastifySerializerCompiler } from 'fastify'
import { statusOf } from '../basics/create-error.js'
import { retryAfter } from './error-body.js'
import { lingerOnClose } from './lingering-close.js'

type SendFailure = (err: unknown, request: FastifyRequest, reply: FastifyReply) => void

/**
 * The serializer compiler of a plugin's scope: response schemas describe the routes and do not serialize. A compiled
 * schema would also serialize what a hook of the application sends from the route, and turn its 401 into a 500.
 */
export const jsonSerializer: FastifySerializerCompiler<unknown> = () => JSON.stringify

/**
 * The error handler of a plugin's scope; `send` answers an error in the format of the protocol. It also gets the errors
 * of the application's hooks: those keep their status and their headers. What a hook throws that is not an Error is a
 * body which the application made, such as that of `errorResponseBuilder` of @fastify/rate-limit: it is sent unchanged.
 */
export function errorHandler (send: SendFailure): SendFailure {
  return (err, request, reply) => {
    // Fastify closes the connection after it refused a body, also one that the client still writes
    if (reply.getHeader('connection') === 'close' && request.raw.complete === false) lingerOnClose(reply)
    const sent = reply.statusCode < 400 ? undefined : reply.statusCode
    const status = statusOf(err)
    const isError = err instanceof Error || isNativeError(err)
    if (typeof err === 'object' && err !== null && !isError) {
      reply.code(status ?? sent ?? 500).send(err)
      return
    }
    const { headers } = (err ?? {}) as { headers?: Record<string, string> }
    if (isError && typeof headers === 'object') reply.headers(headers)
    // reply.code(401).send(new Error('no')) gives the status to the reply, not to the error
    const isRefused = isError && status === undefined && sent !== undefined
    send(isRefused ? Object.assign(new Error(err.message, { cause: err }), { statusCode: sent }) : err, request, reply)
  }
}

/** The error handler of a scope whose errors the application answers, in its own shape. */
export function passErrors (toAppError: (err: unknown, request: FastifyRequest, reply: FastifyReply) => unknown = err => err): SendFailure {
  return (err, request, reply) => {
    if (reply.getHeader('connection') === 'close' && request.raw.complete === false) lingerOnClose(reply)
    const status = statusOf(err)
    if (status !== undefined) setRetryAfter(reply, status)
    // Fastify calls the error handler of the scope around this one
    throw toAppError(err, request, reply)
  }
}

/** Sets `Retry-After` where the status asks for it and the application has not set it. */
export function setRetryAfter (reply: FastifyReply, status: number): void {
  const seconds = retryAfter(status)
  if (seconds !== undefined && !reply.hasHeader('retry-after')) reply.header('retry-after', seconds)
}
