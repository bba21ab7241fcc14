/** Who wants to know of changes of which resource of a server. It outlives connections, and a configuration that is replaced. */
export class ResourceSubscriptions {
  readonly #byUri = new Map<string, Set<() => void>>()
  /** Called when somebody wants to know of a resource, and when nobody does any more. */
  onWanted: (uri: string, isWanted: boolean) => void = () => {}

  /** The resources that somebody wants to know of. */
  get uris (): string[] { return [...this.#byUri.keys()] }

  /** Calls `changed` whenever the resource does. What it returns ends that. */
  add (uri: string, changed: () => void): () => void {
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

  /** The resource has changed. */
  tell (uri: string): void {
    for (const changed of this.#byUri.get(uri) ?? []) changed()
  }
}
