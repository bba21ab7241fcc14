import { SseBody } from '@polyvac/core/plugin'
import type { CallProgress } from '@polyvac/mcp-protocol'
import type { FastifyReply } from 'fastify'

interface Outcome { readonly event: string, readonly data: unknown }

/**
 * Answers a call with server-sent events: `progress` as it is reported, then one event with the outcome. A call that
 * fails before its first event throws. Progress is left out while the reader is far behind; the outcome never is.
 */
export async function sendCallEvents (reply: FastifyReply, call: (onProgress: (progress: CallProgress) => void) => Promise<Outcome>,
  outcomeOf: (err: unknown) => Outcome): Promise<FastifyReply> {
  const body = new SseBody(reply)
  const send = ({ event, data }: Outcome): void => { body.event(event, JSON.stringify(data))?.catch(() => {}) }
  try {
    send(await call(data => { if (!body.isFull) send({ event: 'progress', data }) }))
  } catch (err) {
    if (!body.hasBegun) {
      body.destroy()
      throw err
    }
    send(outcomeOf(err))
  }
  body.finish()
  return reply
}
