import type { Gateway } from '../gateway.js'
import type { ResourceSubscriptions } from '../upstream/resource-subscriptions.js'

/** Calls `changed` whenever the resource does, at whichever servers are configured to have it. What it returns ends that. */
export async function subscribeEverywhere (gateway: Gateway, uri: string, changed: () => void): Promise<() => void> {
  const stops = new Map<ResourceSubscriptions, () => void>()
  let names = ''
  let isOver = false

  /** Lists change often and for many; which servers there are does not. */
  async function follow (): Promise<void> {
    const now = names = gateway.names.join()
    const listed = (await gateway.list('resources')).items.find(({ item }) => item.uri === uri)
    if (isOver || now !== gateway.names.join()) return
    // what no list has may be of any template
    const upstreams = (listed === undefined ? gateway.names : [listed.server]).map(server => gateway.get(server))
    const wanted = new Set(upstreams.map(({ listeners }) => listeners))
    for (const [listeners, stop] of stops) if (!wanted.has(listeners)) { stop(); stops.delete(listeners) }
    for (const upstream of upstreams) if (!stops.has(upstream.listeners)) stops.set(upstream.listeners, upstream.watch(uri, changed))
  }

  const forget = gateway.onChange(() => {
    if (gateway.names.join() !== names) follow().catch((err: unknown) => { gateway.log.warn({ err, uri }, 'changes of a resource cannot be watched at other servers') })
  })
  await follow()
  return () => {
    isOver = true
    forget()
    for (const stop of stops.values()) stop()
  }
}
