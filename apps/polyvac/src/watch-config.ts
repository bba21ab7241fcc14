import { watch, type FSWatcher } from 'node:fs'
import { basename, dirname } from 'node:path'

/** Editors write a file in several steps; it is read this long after the last one, in ms. */
const SETTLE_MS = 100

/** Calls `onChange` after a file changed. It watches folders, since editors replace files. Returns the way to stop. */
export function watchFiles (files: readonly string[], onChange: () => void, onError: (err: unknown) => void): () => void {
  let timer: NodeJS.Timeout | undefined
  const names = groupByFolder(files)
  const watchers: FSWatcher[] = [...names].map(([folder, inside]) => {
    const wanted = new Set(inside.map(file => basename(file)))
    const watcher = watch(folder, (_event, name) => {
      if (name === null || !wanted.has(name)) return
      clearTimeout(timer)
      timer = setTimeout(onChange, SETTLE_MS)
    })
    return watcher.on('error', onError)
  })
  return () => {
    clearTimeout(timer)
    for (const watcher of watchers) watcher.close()
  }
}

function groupByFolder (files: readonly string[]): Map<string, string[]> {
  const folders = new Map<string, string[]>()
  for (const file of files) folders.set(dirname(file), [...folders.get(dirname(file)) ?? [], file])
  return folders
}
