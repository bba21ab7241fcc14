import { isTerminal, type TaskState } from '@polyvac/tasks'
import { createParser } from 'eventsource-parser'
import type { Readable } from 'node:stream'
import { STATES } from '../dialects/v1/names.js'

/** The data of server-sent events. */
export async function * readEvents (body: Readable): AsyncGenerator<string, void> {
  // @keyed none: a list in order, of the events in one piece of one stream
  const parsed: string[] = []
  const parser = createParser({ onEvent: ({ data }) => { parsed.push(data) } })
  for await (const piece of body.setEncoding('utf8') as AsyncIterable<string>) {
    parser.feed(piece)
    for (const data of parsed.splice(0)) yield data
  }
}

/** States that end a stream. */
const LAST_STATES: readonly string[] = (Object.keys(STATES) as TaskState[])
  .filter(state => isTerminal(state) || state === 'input-required').map(state => STATES[state])

interface WithStatus { readonly status?: { readonly state: string } }

/** Whether nothing has to come after an event of 1.0: a message, or a task that has ended or asks. */
export function endsStream (event: unknown): boolean {
  const { message, task, statusUpdate } = event as { message?: unknown, task?: WithStatus, statusUpdate?: WithStatus }
  return message !== undefined || LAST_STATES.includes((task ?? statusUpdate)?.status?.state ?? '')
}
