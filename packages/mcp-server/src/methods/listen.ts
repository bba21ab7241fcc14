import type { Call } from '../call.js'
import { LIST_KINDS, LISTS } from '../catalog.js'
import { MODERN_META } from '../envelope.js'
import { isRecord, RpcError, type Params } from '../rpc.js'
import type { Server } from '../server.js'

/**
 * `subscriptions/listen`: one long answer with the changes that were asked for. The acknowledgement, which names what
 * is honoured, comes first. It ends when the caller leaves or the application closes.
 */
export async function listen (server: Server, call: Call): Promise<string> {
  const wanted = call.params.notifications
  if (!isRecord(wanted)) throw new RpcError('invalidParams', '`notifications` must be an object')
  const uris = urisOf(server, wanted)
  const release = server.places.take()
  const stops: Array<() => void> = []
  try {
    const { signal } = call
    const declared = server.capabilities('modern') as Record<string, { listChanged?: boolean, subscribe?: boolean } | undefined>
    const kinds = LIST_KINDS.filter(kind => wanted[LISTS[kind].wanted] === true && declared[LISTS[kind].capability]?.listChanged === true)
    const watched = declared.resources?.subscribe === true ? uris : []
    const _meta = { [MODERN_META.subscriptionId]: call.id }
    const tell = (method: string, params: Params): void => { call.notify(method, { _meta, ...params }) }
    tell('notifications/subscriptions/acknowledged', {
      notifications: {
        ...Object.fromEntries(kinds.map(kind => [LISTS[kind].wanted, true])),
        ...watched.length > 0 && { resourceSubscriptions: watched }
      }
    })
    stops.push(server.registry.onChange(changed => {
      for (const method of new Set(changed.filter(kind => kinds.includes(kind)).map(kind => LISTS[kind].changed))) tell(method, {})
    }))
    for (const uri of watched) stops.push(server.watch.add(uri, changed => { tell('notifications/resources/updated', { uri: changed }) }))
    await new Promise<void>(resolve => {
      signal.addEventListener('abort', resolve)
      if (signal.aborted) resolve()
    })
    return server.texts.complete(call.protocolVersion, { _meta })
  } finally {
    for (const stop of stops) stop()
    release()
  }
}

/** @throws RpcError -32602 */
function urisOf ({ limits: { maxSubscriptions } }: Server, { resourceSubscriptions = [] }: Params): readonly string[] {
  if (!Array.isArray(resourceSubscriptions) || resourceSubscriptions.some(uri => typeof uri !== 'string')) throw new RpcError('invalidParams', '`resourceSubscriptions` must be a list of URIs')
  if (resourceSubscriptions.length > maxSubscriptions) throw new RpcError('invalidParams', `one stream may subscribe to ${maxSubscriptions} resources`)
  return [...new Set(resourceSubscriptions as string[])]
}
