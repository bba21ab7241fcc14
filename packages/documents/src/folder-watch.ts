import { watch, type FSWatcher } from 'node:fs'
import type { FolderSettings } from './folder-options.js'

/** Changes come in bursts (a checkout, an editor's save): wait until this long after the last one, in ms. */
const QUIET_MS = 150
/** But no longer than this, in ms. */
const MAX_WAIT_MS = 2_000
/** A folder that takes long to look through is looked at less often, so that looking takes one part in this many. */
const LOOKING_SHARE = 20

/**
 * Calls `changed` some time after files change. The system reports changes where it can (macOS, Windows); elsewhere, on
 * Linux above all, where Node would open one watch per folder, the caller is asked to look every `pollMs`. Returns the stop.
 */
export function watchFolder ({ root, pollMs, log }: FolderSettings, changed: () => Promise<unknown>): () => void {
  let stopped = false
  let timer: NodeJS.Timeout | undefined
  let firstChange = 0
  let watcher: FSWatcher | undefined

  let tookMs = 0
  const look = (): void => {
    firstChange = 0
    const started = Date.now()
    changed().catch((error: unknown) => {
      if (!stopped) log.warn({ err: error }, 'the folder cannot be looked at for changes')
    }).finally(() => {
      tookMs = Date.now() - started
      if (watcher === undefined) poll()
    })
  }
  const poll = (): void => {
    if (stopped) return
    timer = setTimeout(look, Math.max(pollMs, tookMs * LOOKING_SHARE))
    timer.unref()
  }
  const noted = (): void => {
    const now = Date.now()
    if (firstChange === 0) firstChange = now
    clearTimeout(timer)
    timer = setTimeout(look, Math.max(0, Math.min(QUIET_MS, firstChange + MAX_WAIT_MS - now)))
    timer.unref()
  }

  if (process.platform === 'darwin' || process.platform === 'win32') {
    try {
      watcher = watch(root, { recursive: true, persistent: false }, noted)
      watcher.on('error', error => {
        log.warn({ err: error }, 'changes are no longer reported; looking for them instead')
        watcher?.close()
        watcher = undefined
        poll()
      })
    } catch (error) {
      log.debug({ err: error }, 'changes cannot be reported here; looking for them instead')
    }
  }
  if (watcher === undefined) poll()
  return () => {
    stopped = true
    clearTimeout(timer)
    watcher?.close()
  }
}
