import type { Log } from '@polyvac/core'
import type { ToolSource } from '../tool-source.js'

interface Watched { readonly listeners: Set<(uri: string) => void>, readonly stops: Promise<Array<() => void>> }

/** Who wants to know of changes of which resource. A source is asked once for each, however many want to know. */
export class ResourceSubscriptions {
  readonly #sources: readonly ToolSource[]
  readonly #log: Log
  readonly #watched = new Map<string, Watched>()

  constructor (sources: readonly ToolSource[], log: Log) {
    this.#sources = sources
    this.#log = log
  }

  /** Calls `changed` whenever the resource does. What it returns ends that. */
  add (uri: string, changed: (uri: string) => void): () => void {
    let watched = this.#watched.get(uri)
    if (watched === undefined) {
      const listeners = new Set<(uri: string) => void>()
      const tell = (): void => { for (const listener of listeners) listener(uri) }
      this.#watched.set(uri, watched = { listeners, stops: Promise.all(this.#sources.map(source => this.#subscribe(source, uri, tell))) })
    }
    const { listeners } = watched
    listeners.add(changed)
    return () => {
      if (listeners.delete(changed) && listeners.size === 0) this.#forget(uri)
    }
  }

  close (): void {
    for (const uri of [...this.#watched.keys()]) this.#forget(uri)
  }

  async #subscribe ({ resources }: ToolSource, uri: string, tell: () => void): Promise<() => void> {
    try {
      return await resources?.subscribe?.(uri, tell) ?? (() => {})
    } catch (err) {
      this.#log.warn({ err, uri }, 'changes of a resource cannot be watched')
      return () => {}
    }
  }

  #forget (uri: string): void {
    const watched = this.#watched.get(uri)
    this.#watched.delete(uri)
    watched?.listeners.clear()
    watched?.stops.then(stops => { for (const stop of stops) stop() }, () => {})
  }
}
