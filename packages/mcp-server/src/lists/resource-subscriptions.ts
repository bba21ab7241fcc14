import type { Log } from '@polyvac/core'
import { LogGate, quoteName } from '@polyvac/core/plugin'
import type { ToolSource } from '../tool-source.js'

// @keyed none: it is an entry of `#all`
interface Subscription { readonly listeners: Set<(uri: string) => void>, readonly stops: Promise<Array<() => void>> }

/** The subscriptions to resources. Each source is subscribed to once for each URI and owner, for all listeners. */
export class ResourceSubscriptions {
  readonly #sources: readonly ToolSource[]
  readonly #log: Log
  /** Callers choose the URIs. */
  readonly #gate = new LogGate()
  // @keyed JSON of the URI that a caller subscribed to, and its owner | holds: the functions of its subscribers |
  //   whose: the owner | bound: maxSubscriptions for a session and for a stream; MAX_NAME_CHARS for a URI; an entry
  //   ends with its last subscriber | share: that of the session or stream: the memory budget of its owner | test:
  //   packages/mcp-server/test/owner-shares.test.ts: subscriptions and sessions past the memory budget are refused,
  //   or end the oldest sessions of their owner
  readonly #all = new Map<string, Subscription>()

  constructor (sources: readonly ToolSource[], log: Log) {
    this.#sources = sources
    this.#log = log
  }

  /**
   * Calls `onUpdate` whenever the resource changes for the owner, until the function that this returns is called.
   */
  add (uri: string, owner: string | undefined, onUpdate: (uri: string) => void): () => void {
    const key = JSON.stringify([uri, owner])
    let subscription = this.#all.get(key)
    if (subscription === undefined) {
      // @keyed none: it is an entry of `#all`
      const listeners = new Set<(uri: string) => void>()
      const notify = (): void => { for (const listener of listeners) listener(uri) }
      const stops = Promise.all(this.#sources.map(source => this.#subscribe(source, uri, owner, notify)))
      subscription = { listeners, stops }
      this.#all.set(key, subscription)
    }
    const { listeners } = subscription
    listeners.add(onUpdate)
    return () => {
      if (listeners.delete(onUpdate) && listeners.size === 0) this.#end(key)
    }
  }

  close (): void {
    for (const key of [...this.#all.keys()]) this.#end(key)
  }

  async #subscribe ({ resources }: ToolSource, uri: string, owner: string | undefined, notify: () => void): Promise<() => void> {
    try {
      return await resources?.subscribe?.(uri, notify, owner) ?? (() => {})
    } catch (err) {
      const suppressed = this.#gate.pass('refused')
      if (suppressed !== undefined) {
        this.#log.warn({ err, uri: quoteName(uri), suppressed }, 'a tool source refuses a subscription to a resource')
      }
      return () => {}
    }
  }

  #end (key: string): void {
    const subscription = this.#all.get(key)
    this.#all.delete(key)
    subscription?.listeners.clear()
    subscription?.stops.then(stops => { for (const stop of stops) stop() }, () => {})
  }
}
