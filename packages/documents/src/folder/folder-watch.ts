import { watch, type FSWatcher } from 'node:fs'
import type { FolderSettings } from './folder-options.js'

/** Changes come in bursts (a checkout, an editor's save): wait this long after the last one, in ms. */
const QUIET_MS = 150
/** Longest wait after the first change of a burst, in ms. */
const MAX_WAIT_MS = 2_000
/** Shortest pause after a check, as a multiple of its duration: a large folder is checked less often. */
const CHECK_PAUSE_FACTOR = 20

/**
 * Calls `refresh` after files changed. On macOS and Windows the system reports changes; elsewhere, above all on Linux,
 * where Node opens one watch per folder, it calls `refresh` every `pollMs`. Returns the function that stops it.
 */
export function watchFolder ({ root, pollMs, log }: FolderSettings, refresh: () => Promise<unknown>): () => void {
  let stopped = false
  let timer: NodeJS.Timeout | undefined
  let firstChange = 0
  let watcher: FSWatcher | undefined

  let tookMs = 0
  /** Why the last check failed: a folder that is gone fails each of them. */
  let problem: string | undefined
  const check = (): void => {
    firstChange = 0
    const started = Date.now()
    refresh().then(() => { problem = undefined }, (error: unknown) => {
      const { message } = error as Error
      if (!stopped && message !== problem) log.warn({ err: error }, 'the folder cannot be checked for changes')
      problem = message
    }).finally(() => {
      tookMs = Date.now() - started
      if (watcher === undefined) poll()
    })
  }
  const poll = (): void => {
    if (stopped) return
    timer = setTimeout(check, Math.max(pollMs, tookMs * CHECK_PAUSE_FACTOR))
    timer.unref()
  }
  const onChange = (): void => {
    const now = Date.now()
    if (firstChange === 0) firstChange = now
    clearTimeout(timer)
    timer = setTimeout(check, Math.max(0, Math.min(QUIET_MS, firstChange + MAX_WAIT_MS - now)))
    timer.unref()
  }

  if (process.platform === 'darwin' || process.platform === 'win32') {
    try {
      watcher = watch(root, { recursive: true, persistent: false }, onChange)
      watcher.on('error', error => {
        log.warn({ err: error }, 'the system no longer reports changes; polling instead')
        watcher?.close()
        watcher = undefined
        poll()
      })
    } catch (error) {
      log.debug({ err: error }, 'the system does not report changes here; polling instead')
    }
  }
  if (watcher === undefined) poll()
  return () => {
    stopped = true
    clearTimeout(timer)
    watcher?.close()
  }
}
