import type { Log } from '@polyvac/core'
import { isTerminal, isWaiting, type TaskHead, type TaskStore } from '@polyvac/tasks'

/** How often readers note that they read a run, in the time that ends it unread. */
const NOTES = 4

/** Notes that a run has a reader, now and until the returned function is called, where it ends without readers. */
export function noteReader (tasks: TaskStore, { owner, id, state, metadata }: TaskHead): () => void {
  const { unreadMs } = metadata as { unreadMs?: number }
  if (unreadMs === undefined || isTerminal(state) || isWaiting(state)) return () => {}
  const everyMs = unreadMs / NOTES
  // an attached reader that was a little early would otherwise leave out every second note
  const note = (): void => { tasks.markRead(owner, id, everyMs / 2).catch(() => { /* the next note may succeed; reading goes on */ }) }
  note()
  const timer = setInterval(note, everyMs).unref()
  return () => { clearInterval(timer) }
}

/**
 * Cancels a run that has had no reader for `unreadMs`, and at most a quarter longer, in any process. Without one from
 * the beginning the time begins with the attempt: no process could be asked before. Returns how to stop looking.
 */
export function cancelUnread (tasks: TaskStore, { owner, id }: TaskHead, unreadMs: number, log: Log): () => void {
  const start = performance.now()
  const longest = unreadMs * (1 + 1 / NOTES)
  let isOver = false
  let timer: NodeJS.Timeout | undefined
  const lookIn = (ms: number): void => { timer = setTimeout(() => { void look() }, ms).unref() }

  async function look (): Promise<void> {
    let next = unreadMs / NOTES
    try {
      const unread = Math.min(performance.now() - start, (await tasks.lastRead(owner, id))?.agoMs ?? Infinity)
      next = longest - unread
      if (next <= 0) {
        await tasks.cancel(owner, id, `no reader has followed it or read its state for ${unreadMs / 1000} s`)
        return
      }
    } catch (err) {
      log.warn({ err }, 'whether a run has a reader could not be read')
    }
    if (!isOver) lookIn(next)
  }

  lookIn(longest)
  return () => {
    isOver = true
    clearTimeout(timer)
  }
}
