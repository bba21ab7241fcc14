import { isTerminal, type TaskState } from '@polyvac/tasks'
import type { Readable } from 'node:stream'
import { STATES } from '../dialects/v1/names.js'

/** The data of the server-sent events that `eventText` writes: one line each. */
export async function * dataOf (body: Readable): AsyncGenerator<string, void> {
  let rest = ''
  for await (const piece of body.setEncoding('utf8') as AsyncIterable<string>) {
    const lines = (rest + piece).split('\n')
    rest = lines.pop() ?? ''
    for (const line of lines) if (line.startsWith('data: ')) yield line.slice('data: '.length)
  }
}

/** States that end a stream. */
const LAST: readonly string[] = (Object.keys(STATES) as TaskState[]).filter(state => isTerminal(state) || state === 'input-required').map(state => STATES[state])

interface Told { readonly status?: { readonly state: string } }

/** Whether nothing has to come after an event of 1.0: a message, or a task that has ended or asks. */
export function endsStream (event: unknown): boolean {
  const { message, task, statusUpdate } = event as { message?: unknown, task?: Told, statusUpdate?: Told }
  return message !== undefined || LAST.includes((task ?? statusUpdate)?.status?.state ?? '')
}
