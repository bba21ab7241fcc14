import type { FastifyInstance } from 'fastify'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Readable } from 'node:stream'
import { inject } from 'light-my-request'

/** One request to the application, which leaves when `signal` fires. */
export interface Question {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly remoteAddress: string
  readonly payload: string
  readonly signal: AbortSignal
}

export interface Answer {
  readonly status: number
  readonly headers: Readonly<Record<string, unknown>>
  readonly body: Readable
}

/**
 * Asks the application within the process, so that its hooks, limits and authentication hold for every wire alike. A reader of `body` that
 * takes nothing holds the answer up, as one of a socket does.
 */
export async function ask (app: FastifyInstance, { signal, ...question }: Question): Promise<Answer> {
  const leave = (socket: IncomingMessage['socket']): void => {
    Object.assign(socket, { destroyed: true })
    socket.emit('close')
  }
  const dispatch = (request: unknown, response: unknown): void => {
    const { socket } = request as IncomingMessage
    signal.addEventListener('abort', () => { leave(socket) }, { once: true })
    app.routing(request as IncomingMessage, response as ServerResponse)
  }
  const { statusCode, headers, stream } = await inject(dispatch, { method: 'POST', ...question, payloadAsStream: true })
  return { status: statusCode, headers, body: stream() }
}
