import type { Servers } from '../servers.js'
import type { ResourceSubscriptions } from '../upstream/resource-subscriptions.js'

/** Calls `changed` whenever the resource does, at whichever servers are configured to have it. What it returns ends that. */
export async function subscribeEverywhere (servers: Servers, uri: string, changed: () => void): Promise<() => void> {
  const stops = new Map<ResourceSubscriptions, () => void>()
  let names = ''
  let isOver = false

  /** Lists change often and for many; which servers there are does not. */
  async function follow (): Promise<void> {
    const now = names = servers.names.join()
    const listed = (await servers.list('resources')).items.find(({ item }) => item.uri === uri)
    if (isOver || now !== servers.names.join()) return
    // what no list has may be of any template
    const upstreams = (listed === undefined ? servers.names : [listed.server]).map(server => servers.get(server))
    const wanted = new Set(upstreams.map(({ listeners }) => listeners))
    for (const [listeners, stop] of stops) if (!wanted.has(listeners)) { stop(); stops.delete(listeners) }
    for (const upstream of upstreams) if (!stops.has(upstream.listeners)) stops.set(upstream.listeners, upstream.watch(uri, changed))
  }

  const forget = servers.onChange(() => {
    if (servers.names.join() !== names) follow().catch((err: unknown) => { servers.log.warn({ err, uri }, 'changes of a resource cannot be watched at other servers') })
  })
  await follow()
  return () => {
    isOver = true
    forget()
    for (const stop of stops.values()) stop()
  }
}
