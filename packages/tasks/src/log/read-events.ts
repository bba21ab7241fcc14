import { StoreClosedError, TaskNotFoundError } from '../basics/errors.js'
import type { LogPage } from './log-page.js'
import { Bell, type Readers } from './readers.js'
import { isTerminal, type TaskEvent, type TaskState } from '../contract/task.js'
import type { EventsOptions } from '../contract/task-store.js'
import { isTurnOver, yieldToEventLoop } from '../basics/turn-time.js'

interface ReadRow { readonly key: number, readonly seq: number, readonly state: TaskState }

/** What readers use of an open store. Its methods may be synchronous. */
export interface EventSource {
  readonly tasks: {
    find (owner: string, id: string): ReadRow | undefined | Promise<ReadRow | undefined>
    findKey (key: number): ReadRow | undefined | Promise<ReadRow | undefined>
    page (key: number, after: number, limit?: number): LogPage | Promise<LogPage>
  }
  readonly readers: Readers
  /** Where a row is older than the reader's registration: resolves once no later commit is missed. */
  readonly follow?: (key: number) => Promise<void>
}

/** One reader of one log. `getSource` returns undefined once the store is closed. */
export function readEvents (getSource: () => EventSource | undefined, owner: string, id: string, { after = 0, signal }: EventsOptions): AsyncIterableIterator<TaskEvent> {
  const bell = new Bell(id)
  let left = false
  const events = read()
  return {
    [Symbol.asyncIterator] () { return this },
    next: async () => await events.next(),
    // not a generator: `return()` of one that waits takes effect only after its next event, which may never come
    async return () {
      left = true
      bell.ring()
      return await events.return(undefined)
    }
  }

  async function * read (): AsyncGenerator<TaskEvent, undefined> {
    const opened = getSource()
    if (opened === undefined) throw new StoreClosedError()
    const { tasks, readers, follow } = opened
    const found = tasks.find(owner, id)
    const row = found instanceof Promise ? await found : found
    if (row === undefined) throw new TaskNotFoundError(id)
    const { key } = row
    bell.cursor = Math.max(0, Math.trunc(after) || 0)
    const over = (): boolean => left || bell.hasEnded || signal?.aborted === true || getSource() === undefined
    signal?.addEventListener('abort', bell.ring)
    readers.enter(key, bell)
    try {
      if (follow !== undefined) await follow(key)
      // the row shows that there is nothing to read yet
      else if (row.seq <= bell.cursor && !isTerminal(row.state) && !over()) await bell.heard()
      let next: number | undefined
      while (!over()) {
        const tail = readers.tailAfter(key, bell.cursor)
        if (tail === undefined && isTurnOver()) await yieldToEventLoop()
        const read = tail === undefined ? tasks.page(key, bell.cursor, next) : { events: tail, last: true, next }
        const page = read instanceof Promise ? await read : read
        next = page.next
        for (const event of page.events) {
          bell.cursor = event.seq
          bell.last = event
          yield event
          if (over() || isTerminal(event.state ?? 'working')) return
        }
        if (page.events.length === 0) {
          const found = tasks.findKey(key)
          const row = found instanceof Promise ? await found : found
          if (row === undefined || (isTerminal(row.state) && row.seq <= bell.cursor)) return
        }
        // where there was no more, the reader is woken later, or was in the meantime
        if (page.last) await bell.heard()
      }
    } finally {
      readers.leave(key, bell)
      signal?.removeEventListener('abort', bell.ring)
    }
  }
}
