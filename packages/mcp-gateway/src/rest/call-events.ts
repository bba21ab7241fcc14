import { Readable } from 'node:stream'
import type { FastifyReply } from 'fastify'
import type { CallProgress } from '@polyvac/mcp-protocol'

/** Longest silence of a stream in ms; then a comment goes out, so that nothing on the way takes it for dead. */
const KEEP_ALIVE_MS = 15_000

/** Text that waits for a reader that does not read, in characters; past it, progress is left out. The end never is. */
const MAX_WAITING_CHARS = 1024 * 1024

interface Outcome { readonly event: string, readonly data: unknown }

/**
 * Answers a call as server-sent events: `progress` as it comes, then one event with the outcome. Headers leave with the
 * first event, so a call that fails before it is still an ordinary error.
 */
export async function sendCallEvents (reply: FastifyReply, call: (onProgress: (progress: CallProgress) => void) => Promise<Outcome>, failed: (err: unknown) => Outcome): Promise<FastifyReply> {
  const body = new Readable({ read () {} })
  let begun = false
  const write = (text: string): void => {
    if (!begun) {
      begun = true
      reply.type('text/event-stream; charset=utf-8').header('cache-control', 'no-cache').header('x-accel-buffering', 'no').send(body)
    }
    if (!body.destroyed) body.push(text)
  }
  const timer = setInterval(() => { if (body.readableLength === 0) write(': keep-alive\n\n') }, KEEP_ALIVE_MS)
  let outcome: Outcome
  try {
    outcome = await call(progress => {
      timer.refresh()
      if (body.readableLength < MAX_WAITING_CHARS) write(eventText({ event: 'progress', data: progress }))
    })
  } catch (err) {
    if (!begun) throw err
    outcome = failed(err)
  } finally {
    clearInterval(timer)
  }
  write(eventText(outcome))
  if (!body.destroyed) body.push(null)
  return reply
}

function eventText ({ event, data }: Outcome): string {
  return `event: ${event}\ndata: ${JSON.stringify(data)}\n\n`
}
