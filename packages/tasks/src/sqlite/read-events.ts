import { StoreClosedError, TaskNotFoundError } from '../errors.js'
import { isTerminal, type TaskEvent } from '../task.js'
import type { EventsOptions } from '../task-store.js'
import type { StoreContext } from './store-context.js'
import { Bell } from './readers.js'

/** One reader of one log. `getContext` returns undefined once the store is closed. */
export function readEvents (getContext: () => StoreContext | undefined, owner: string, id: string, { after = 0, signal }: EventsOptions): AsyncIterableIterator<TaskEvent> {
  const bell = new Bell()
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
    const opened = getContext()
    if (opened === undefined) throw new StoreClosedError()
    const row = opened.tasks.find(owner, id)
    if (row === undefined) throw new TaskNotFoundError(id)
    const { key } = row
    const { tasks, readers } = opened
    let cursor = Math.max(0, Math.trunc(after) || 0)
    const over = (): boolean => left || signal?.aborted === true || getContext() === undefined
    signal?.addEventListener('abort', bell.ring)
    readers.enter(key, bell)
    try {
      // the row shows that there is nothing to read yet
      if (row.seq <= cursor && !isTerminal(row.state) && !over()) await bell.heard()
      let next: number | undefined
      while (!over()) {
        const tail = readers.tailAfter(key, cursor)
        const page = tail === undefined ? tasks.page(key, cursor, next) : { events: tail, last: true, next }
        next = page.next
        for (const event of page.events) {
          cursor = event.seq
          yield event
          if (over() || isTerminal(event.state ?? 'working')) return
        }
        if (page.events.length === 0) {
          const row = tasks.findKey(key)
          if (row === undefined || (isTerminal(row.state) && row.seq <= cursor)) return
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
