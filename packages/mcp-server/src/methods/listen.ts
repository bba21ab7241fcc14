import { isRecord } from '@polyvac/core/plugin'
import { LIST_KINDS, LISTS, MODERN_META } from '@polyvac/mcp-protocol'
import type { Call } from '../calls/call.js'
import type { McpContext } from '../context.js'
import { invalidParams, MAX_NAME_CHARS, refusal, type Params } from '../protocol/rpc.js'
import { findFollower } from './modern-tasks.js'
import { checkTasks } from './task-capability.js'

type Capabilities = Readonly<Record<string, { listChanged?: boolean, subscribe?: boolean } | undefined>>
type Follow = NonNullable<Awaited<ReturnType<typeof findFollower>>>

/**
 * `subscriptions/listen`: one long stream with the requested notifications. It begins with the acknowledgement, which
 * names what is honoured. It ends when the client disconnects or reads too slowly, or the application closes.
 */
export async function listen (server: McpContext, call: Call): Promise<string> {
  if (!call.response.canStream) throw refusal('send Accept: text/event-stream', 406)
  const requested = call.params.notifications
  if (!isRecord(requested)) throw invalidParams('`notifications` must be an object')
  const uris = stringsIn(server, requested, 'resourceSubscriptions')
  const taskIds = stringsIn(server, requested, 'taskIds')
  if (taskIds.length > 0) checkTasks(server, call)
  const release = server.streams.take(call.principal?.owner)
  const stops: Array<() => void> = []
  try {
    const { signal } = call
    const declared = server.capabilities(call.protocolVersion) as Capabilities
    const kinds = LIST_KINDS.filter(kind => {
      const { listenKey, capability } = LISTS[kind]
      return requested[listenKey] === true && declared[capability]?.listChanged === true
    })
    const subscribed = declared.resources?.subscribe === true ? uris : []
    const may = await Promise.all(subscribed.map(async uri => await server.registry.maySubscribe(uri, call.principal)))
    const followed = await followersOf(server, call, taskIds)
    const _meta = { [MODERN_META.subscriptionId]: call.id }
    let end = (): void => {}
    const ended = new Promise<void>(resolve => { end = resolve })
    const notify = (method: string, params: Params): void => {
      // a client that misses a notification could not know: its stream ends instead
      if (call.response.stream?.isFull === true) end()
      else void call.notify(method, { _meta, ...params })
    }
    notify('notifications/subscriptions/acknowledged', {
      notifications: {
        ...Object.fromEntries(kinds.map(kind => [LISTS[kind].listenKey, true])),
        ...subscribed.length > 0 && { resourceSubscriptions: subscribed },
        ...followed.size > 0 && { taskIds: [...followed.keys()] }
      }
    })
    stops.push(server.registry.onChange((changed, of) => {
      if (of !== undefined && of.owner !== call.principal?.owner) return
      const methods = changed.filter(kind => kinds.includes(kind)).map(kind => LISTS[kind].changed)
      for (const method of new Set(methods)) notify(method, {})
    }))
    const onUpdate = (uri: string): void => { notify('notifications/resources/updated', { uri }) }
    for (const uri of subscribed.filter((_uri, i) => may[i])) stops.push(server.subscriptions.add(uri, call.principal?.owner, onUpdate))
    for (const [taskId, follow] of followed) {
      follow(task => { notify('notifications/tasks', task) })
        .catch((err: unknown) => {
          const suppressed = server.logGate.pass('follow')
          const owner = call.principal?.owner
          if (suppressed !== undefined) call.log.warn({ err, taskId, owner, suppressed }, 'the changes of a task cannot be followed')
        })
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
function stringsIn ({ limits: { maxSubscriptions } }: McpContext, requested: Params, key: string): readonly string[] {
  const { [key]: values = [] } = requested
  if (!Array.isArray(values) || values.some(value => typeof value !== 'string' || value.length > MAX_NAME_CHARS)) {
    throw invalidParams(`\`${key}\` must be a list of strings of at most ${MAX_NAME_CHARS} characters`)
  }
  if (values.length > maxSubscriptions) throw invalidParams(`\`${key}\` may have ${maxSubscriptions} items`)
  return [...new Set(values as string[])]
}

/** The followers of those ids that are tasks of the caller. */
async function followersOf (server: McpContext, call: Call, taskIds: readonly string[]): Promise<Map<string, Follow>> {
  const found = await Promise.all(taskIds.map(async id => [id, await findFollower(server, call, id)] as const))
  return new Map(found.filter((entry): entry is [string, Follow] => entry[1] !== undefined))
}
