import type { Servers } from '../servers.js'
import { placesOf } from './resources.js'
import type { ResourceSubscriptions } from '../upstream/resource-subscriptions.js'

/**
 * Calls `changed` with each change of the resource, at all servers that have it, also after a change of the
 * configuration.
 * The function that it returns ends the subscription.
 */
export async function subscribeEverywhere (servers: Servers, uri: string, changed: () => void, owner?: string): Promise<() => void> {
  // @keyed none: the keys are servers of the configuration, for one subscription
  const stops = new Map<ResourceSubscriptions, () => void>()
  let names = ''
  let isOver = false

  /** Called when the set of servers changes: lists change often, the set of servers seldom. */
  async function follow (): Promise<void> {
    const now = names = servers.names.join()
    const places = await placesOf(servers, uri, owner === undefined ? undefined : { owner })
    if (isOver || now !== servers.names.join()) return
    const upstreams = places.map(({ server, own }) => ({ upstream: servers.get(server), own }))
    const wanted = new Set(upstreams.map(({ upstream: { listeners } }) => listeners))
    for (const [listeners, stop] of stops) if (!wanted.has(listeners)) { stop(); stops.delete(listeners) }
    for (const { upstream, own } of upstreams) {
      if (!stops.has(upstream.listeners)) stops.set(upstream.listeners, upstream.watch(own, changed, owner))
    }
  }

  const forget = servers.onChange(() => {
    if (servers.names.join() !== names) follow().catch((err: unknown) => { servers.log.warn({ err, uri }, 'the subscription to a resource at other servers failed') })
  })
  await follow()
  return () => {
    isOver = true
    forget()
    for (const stop of stops.values()) stop()
  }
}
