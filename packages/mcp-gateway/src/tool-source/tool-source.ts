import type { Principal } from '@polyvac/core'
import { auditRefusal, formerServerToolName, mayUse as mayUseThing, quoteName, serverToolName, suggestion } from '@polyvac/core/plugin'
import { LISTS, UI_EXTENSION, type CompletionRef, type ListKind } from '@polyvac/mcp-protocol'
import { ResourceNotFoundError, ToolNotFoundError } from '../errors.js'
import { InteractiveCalls } from '../input/interactive-calls.js'
import type { Item } from '../protocol/lists.js'
import { entriesFor } from '../rights.js'
import type { ServerItem, Servers } from '../servers.js'
import { SIGN_IN_TOOL } from '../upstream/owned-upstream.js'
import { callFor, requestFor } from './call.js'
import { definitionsOf, type Offered } from './definitions.js'
import { withMessageLinks } from './links.js'
import { placeOf, pageOf, type Place } from './resource-uris.js'
import { readResource } from './resources.js'
import { SourceTasks } from './tasks.js'
import { subscribeEverywhere } from './subscribe.js'
import type { GatewayToolSource, SourceItem, SourceTool } from './types.js'

/** Between a server and its tool, in names of `serverToolName`. */
const SEPARATOR = '__'

export function toolSource (servers: Servers): GatewayToolSource {
  // of servers without sign-ins; a name always maps to the same server and tool: a stale list can miss entries but not
  // misroute
  const places = {
    tools: new Map<string, Place>(), prompts: new Map<string, Place>(), resources: new Map<string, Place>(), templates: new Map<string, Place>()
  }
  const interactive = new InteractiveCalls(servers)
  const tasks = new SourceTasks(servers)
  // whether a tool of the last list has a page, of MCP Apps
  let hasPages = false
  let isStale = false
  let refreshing: Promise<void> | undefined

  async function listed (kind: ListKind): Promise<Item[]> {
    const { items } = await servers.listShared(kind)
    if (kind === 'tools') hasPages = items.some(({ item }) => pageOf(item) !== undefined)
    const offered = await definitionsOf(kind, { items, resources: async () => (await servers.listShared('resources')).items })
    // a name of now before one of then
    const former = offered.flatMap(({ place, definition: { formerName } }) => typeof formerName === 'string' ? [[formerName, place] as const] : [])
    places[kind] = new Map([...former, ...offered.map(({ place, definition }) => [String(definition[LISTS[kind].id]), place] as const)])
    return offered.map(({ definition }) => definition)
  }

  /** Lists the tools before a client asks for the extensions; once at a time, however many changes there are. */
  function refresh (): void {
    isStale = true
    refreshing ??= relist().finally(() => { refreshing = undefined })
  }

  async function relist (): Promise<void> {
    while (isStale) {
      isStale = false
      await listed('tools').catch((err: unknown) => { servers.log.warn({ err }, 'the tools of MCP servers cannot be listed') })
    }
  }

  /** Where an entry is. What a server offers to an owner who has not signed in yet is known only by the name. */
  function placeFor (kind: ListKind, id: string): Place | undefined {
    const known = places[kind].get(id)
    if (known !== undefined) return known
    if (LISTS[kind].id !== 'name') return placeOf(id, servers.names)
    for (const server of servers.names) {
      const own = id.slice(server.length + SEPARATOR.length)
      if (own !== '' && [serverToolName(server, own), formerServerToolName(server, own)].includes(id) && servers.get(server).isPerOwner) return { server, own }
    }
    return undefined
  }

  /** What a caller may use of a list, or of some of its entries. */
  async function offeredTo (kind: ListKind, principal: Principal | undefined, some?: readonly ServerItem[]): Promise<Offered[]> {
    const items = some ?? (await entriesFor(servers, kind, principal)).items
    return await definitionsOf(kind, { items, resources: async () => (await entriesFor(servers, 'resources', principal)).items })
  }

  // compared with the list of the caller, not split at the separator, which may occur in a name
  async function find (kind: 'tools' | 'prompts', name: string, principal: Principal | undefined): Promise<Place> {
    const known = placeFor(kind, name)
    if (known !== undefined) return known
    const offered = await offeredTo(kind, principal)
    const found = offered.find(({ definition }) => definition.name === name) ?? offered.find(({ definition }) => definition.formerName === name)
    if (found !== undefined) return found.place
    throw new ToolNotFoundError('gateway', quoteName(name), suggestion(name, offered.map(({ definition }) => String(definition.name)), `its ${kind}`))
  }

  async function listFor (kind: ListKind, principal: Principal | undefined, id?: string): Promise<Item[] | undefined> {
    if (!servers.hasSignIns) return undefined
    if (id === undefined) return (await offeredTo(kind, principal)).map(({ definition }) => definition)
    const place = placeFor(kind, id)
    if (place !== undefined) return servers.get(place.server).isPerOwner ? await entryFor(kind, principal, id, place) : undefined
    // the name of a long one has a hash in place of its end
    const cut = (await offeredTo(kind, principal)).find(({ place: { server }, definition }) => definition[LISTS[kind].id] === id && servers.get(server).isPerOwner)
    return cut === undefined ? undefined : [cut.definition]
  }

  /** The entry of a server with sign-ins, for one owner. */
  async function entryFor (kind: ListKind, principal: Principal | undefined, id: string, { server, own }: Place): Promise<Item[]> {
    const upstream = servers.get(server)
    const item = (await upstream.list(kind, principal?.owner)).find(({ name }) => name === own)
    if (!mayUseThing(principal, { server, tool: kind === 'tools' ? own : undefined })) {
      if (item !== undefined) auditRefusal(servers.log, { reason: 'SCOPE', owner: principal?.owner, what: `${kind}:${id}` })
      return []
    }
    if (item !== undefined) return (await offeredTo(kind, principal, [{ server, item }])).map(({ definition }) => definition)
    // before the sign-in every name leads to it, and after it the tool that asks for it
    const leads = own === SIGN_IN_TOOL || (await upstream.list('tools', principal?.owner)).some(({ name }) => name === SIGN_IN_TOOL)
    return leads ? [{ name: id, inputSchema: { type: 'object' } }] : []
  }

  function mayUse (kind: ListKind, id: string, principal: Principal | undefined): boolean {
    const place = placeFor(kind, id)
    if (place !== undefined) return mayUseThing(principal, { server: place.server, tool: kind === 'tools' ? place.own : undefined })
    // a resource of a template may be at any server
    return servers.names.every(server => mayUseThing(principal, { server }))
  }

  async function behind (ref: CompletionRef, principal: Principal | undefined): Promise<Place> {
    if (ref.type === 'ref/prompt') return await find('prompts', ref.name, principal)
    for (const kind of ['templates', 'resources'] as const) {
      const listed = (await entriesFor(servers, kind, principal)).items.find(({ item }) => item[LISTS[kind].id] === ref.uri)
      if (listed !== undefined) return { server: listed.server, own: ref.uri }
    }
    const place = placeOf(ref.uri, servers.names)
    if (place !== undefined) return place
    throw new ResourceNotFoundError('gateway', quoteName(ref.uri), 'no server has it')
  }

  return {
    isUpstream: true,
    list: async () => await listed('tools') as SourceTool[],
    async call (name, args, context) {
      const { server, own: tool } = places.tools.get(name) ?? await find('tools', name, context?.principal)
      return await callFor({ servers, interactive, tasks, server, tool, args, context })
    },
    listFor: async (kind, principal, id) => await listFor(kind, principal, id) as never,
    resources: {
      list: async () => await listed('resources') as never,
      templates: async () => await listed('templates') as never,
      read: async (uri, context) => await readResource(servers, uri, context) as never,
      async subscribe (uri, changed, owner) {
        return await subscribeEverywhere(servers, uri, changed, owner)
      }
    },
    prompts: {
      list: async () => await listed('prompts') as SourceItem[],
      async get (name, args, context) {
        const { server, own } = await find('prompts', name, context?.principal)
        const upstream = servers.get(server)
        const result = await requestFor(servers, upstream, context, async options => await upstream.getPrompt(own, args, options))
        return await withMessageLinks({ servers, server, principal: context?.principal }, result) as never
      }
    },
    tasks,
    async complete (ref, { name, value, given }, context) {
      const { server, own } = await behind(ref, context?.principal)
      const upstream = servers.get(server)
      const params = { ref: ref.type === 'ref/prompt' ? { ...ref, name: own } : { ...ref, uri: own }, argument: { name, value }, ...Object.keys(given).length > 0 && { context: { arguments: given } } }
      const { completion } = await requestFor(servers, upstream, context, async options => await upstream.complete(params, options))
      return completion as never
    },
    mayUse,
    extensions: (): Record<string, object> => hasPages || servers.hasSignIns ? { [UI_EXTENSION]: {} } : {},
    sessionEnded: sessionId => { for (const name of servers.names) servers.get(name).endSession(sessionId) },
    onChange: listener => servers.onChange((kinds, of) => {
      if (of === undefined && kinds.includes('tools')) refresh()
      listener(kinds, of)
    })
  }
}
