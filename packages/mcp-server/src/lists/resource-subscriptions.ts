import type { Log } from '@polyvac/core'
import { LogGate, quoteName } from '@polyvac/core/plugin'
import type { ToolSource } from '../tool-source.js'

interface Subscription { readonly listeners: Set<(uri: string) => void>, readonly stops: Promise<Array<() => void>> }

/** The subscriptions to resources. Each source is subscribed to once for each URI, for all listeners. */
export class ResourceSubscriptions {
  readonly #sources: readonly ToolSource[]
  readonly #log: Log
  /** Callers choose the URIs. */
  readonly #gate = new LogGate()
  readonly #byUri = new Map<string, Subscription>()

  constructor (sources: readonly ToolSource[], log: Log) {
    this.#sources = sources
    this.#log = log
  }

  /** Calls `onUpdate` whenever the resource changes, until the function that this returns is called. */
  add (uri: string, onUpdate: (uri: string) => void): () => void {
    let subscription = this.#byUri.get(uri)
    if (subscription === undefined) {
      const listeners = new Set<(uri: string) => void>()
      const notify = (): void => { for (const listener of listeners) listener(uri) }
      const stops = Promise.all(this.#sources.map(source => this.#subscribe(source, uri, notify)))
      subscription = { listeners, stops }
      this.#byUri.set(uri, subscription)
    }
    const { listeners } = subscription
    listeners.add(onUpdate)
    return () => {
      if (listeners.delete(onUpdate) && listeners.size === 0) this.#end(uri)
    }
  }

  close (): void {
    for (const uri of [...this.#byUri.keys()]) this.#end(uri)
  }

  async #subscribe ({ resources }: ToolSource, uri: string, notify: () => void): Promise<() => void> {
    try {
      return await resources?.subscribe?.(uri, notify) ?? (() => {})
    } catch (err) {
      const suppressed = this.#gate.pass('refused')
      if (suppressed !== undefined) {
        this.#log.warn({ err, uri: quoteName(uri), suppressed }, 'a tool source refuses a subscription to a resource')
      }
      return () => {}
    }
  }

  #end (uri: string): void {
    const subscription = this.#byUri.get(uri)
    this.#byUri.delete(uri)
    subscription?.listeners.clear()
    subscription?.stops.then(stops => { for (const stop of stops) stop() }, () => {})
  }
}
