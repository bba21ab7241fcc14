import { isRecord } from '@polyvac/core/plugin'
import { LIST_KINDS, LISTS, MODERN_META } from '@polyvac/mcp-protocol'
import type { Call } from '../calls/call.js'
import { RpcError, type Params } from '../protocol/rpc.js'
import type { McpContext } from '../context.js'
import { follower } from './modern-tasks.js'
import { checkTasks } from './task-capability.js'

type Follow = NonNullable<Awaited<ReturnType<typeof follower>>>

/**
 * `subscriptions/listen`: one long answer with the changes that were asked for. The acknowledgement, which names what
 * is honoured, comes first. It ends when the caller leaves, is too slow a reader, or the application closes.
 */
export async function listen (server: McpContext, call: Call): Promise<string> {
  const wanted = call.params.notifications
  if (!isRecord(wanted)) throw new RpcError('invalidParams', '`notifications` must be an object')
  const uris = namesIn(server, wanted, 'resourceSubscriptions')
  const taskIds = namesIn(server, wanted, 'taskIds')
  if (taskIds.length > 0) checkTasks(server, call)
  const release = server.places.take()
  const stops: Array<() => void> = []
  try {
    const { signal } = call
    const declared = server.capabilities(call.protocolVersion) as Record<string, { listChanged?: boolean, subscribe?: boolean } | undefined>
    const kinds = LIST_KINDS.filter(kind => wanted[LISTS[kind].listenKey] === true && declared[LISTS[kind].capability]?.listChanged === true)
    const watched = declared.resources?.subscribe === true ? uris : []
    const followed = await owned(server, call, taskIds)
    const _meta = { [MODERN_META.subscriptionId]: call.id }
    let end = (): void => {}
    const ended = new Promise<void>(resolve => { end = resolve })
    const tell = (method: string, params: Params): void => {
      // who is far behind hears that the stream is over, rather than not hear of a change
      if (call.answer.stream?.isFull === true) end()
      else call.notify(method, { _meta, ...params })
    }
    tell('notifications/subscriptions/acknowledged', {
      notifications: {
        ...Object.fromEntries(kinds.map(kind => [LISTS[kind].listenKey, true])),
        ...watched.length > 0 && { resourceSubscriptions: watched },
        ...followed.size > 0 && { taskIds: [...followed.keys()] }
      }
    })
    stops.push(server.registry.onChange(changed => {
      for (const method of new Set(changed.filter(kind => kinds.includes(kind)).map(kind => LISTS[kind].changed))) tell(method, {})
    }))
    for (const uri of watched) stops.push(server.watch.add(uri, changed => { tell('notifications/resources/updated', { uri: changed }) }))
    for (const [taskId, follow] of followed) {
      follow(task => { tell('notifications/tasks', task) })
        .catch((err: unknown) => { call.log.warn({ err, taskId }, 'a task cannot be followed any more') })
    }
    signal.addEventListener('abort', end)
    if (signal.aborted) end()
    await ended
    return server.texts.complete(call.protocolVersion, { _meta })
  } finally {
    for (const stop of stops) stop()
    release()
  }
}

/** @throws RpcError -32602 */
function namesIn ({ limits: { maxSubscriptions } }: McpContext, wanted: Params, key: string): readonly string[] {
  const { [key]: names = [] } = wanted
  if (!Array.isArray(names) || names.some(name => typeof name !== 'string')) throw new RpcError('invalidParams', `\`${key}\` must be a list of strings`)
  if (names.length > maxSubscriptions) throw new RpcError('invalidParams', `one stream may subscribe to ${maxSubscriptions} of \`${key}\``)
  return [...new Set(names as string[])]
}

/** How those of the ids that are tasks of the caller are followed. */
async function owned (server: McpContext, call: Call, taskIds: readonly string[]): Promise<Map<string, Follow>> {
  const found = await Promise.all(taskIds.map(async id => [id, await follower(server, call, id)] as const))
  return new Map(found.filter((one): one is [string, Follow] => one[1] !== undefined))
}
