/** The subscribers to the resources of a server. They outlive connections and changes of the configuration. */
export class ResourceSubscriptions {
  // @keyed URI that a caller subscribed to | holds: the functions of its subscribers | whose: the subscribers |
  //   bound: the subscriptions of the MCP server, which bounds them for each session | share: that of the session:
  //   the memory budget of its owner | test: packages/mcp-server/test/owner-shares.test.ts: subscriptions and
  //   sessions past the memory budget are refused, or end the oldest sessions of their owner
  readonly #byUri = new Map<string, Set<() => void>>()
  // @keyed owner | holds: its subscriptions at a server with per_owner | whose: the owner | bound: owners with a
  //   connection or a subscription; MAX_OWNERS connections | share: the owner | test:
  //   apps/host/test/sign-in-owners.test.ts: an update of a resource reaches the owner in whose name the server sent
  //   it, and no other
  readonly #byOwner = new Map<string, ResourceSubscriptions>()
  /** Called when a resource gets its first subscriber, and when it loses its last one. */
  onWanted: (uri: string, isWanted: boolean) => void = () => {}

  /** The resources with subscribers. */
  get uris (): string[] { return [...this.#byUri.keys()] }

  /** The owners with subscriptions of `of`. */
  get owners (): string[] { return [...this.#byOwner].filter(([, { uris }]) => uris.length > 0).map(([owner]) => owner) }

  /** Those of one owner, for a server to which each owner signs in. */
  of (owner: string): ResourceSubscriptions {
    const known = this.#byOwner.get(owner) ?? new ResourceSubscriptions()
    this.#byOwner.set(owner, known)
    return known
  }

  /** Forgets an owner without a connection, unless it has subscribers. */
  forget (owner: string): void {
    if (this.#byOwner.get(owner)?.uris.length === 0) this.#byOwner.delete(owner)
  }

  /** Calls `changed` with each change of the resource. The function that it returns ends the subscription. */
  add (uri: string, changed: () => void): () => void {
    // @keyed none: it is an entry of `#byUri`
    const listeners = this.#byUri.get(uri) ?? new Set()
    this.#byUri.set(uri, listeners)
    if (listeners.size === 0) this.onWanted(uri, true)
    listeners.add(changed)
    return () => {
      if (!listeners.delete(changed) || listeners.size > 0) return
      this.#byUri.delete(uri)
      this.onWanted(uri, false)
    }
  }

  /** Notifies the subscribers of a resource. */
  notify (uri: string): void {
    for (const changed of this.#byUri.get(uri) ?? []) changed()
  }
}
