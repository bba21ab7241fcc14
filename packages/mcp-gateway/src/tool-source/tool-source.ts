import type { Principal } from '@polyvac/core'
import { mayUseTool, quoteName, serverToolName, suggestion } from '@polyvac/core/plugin'
import { LISTS, UI_EXTENSION, type CompletionRef, type ListKind } from '@polyvac/mcp-protocol'
import { ResourceNotFoundError, ToolNotFoundError } from '../errors.js'
import type { Servers } from '../servers.js'
import { callFor, requestFor } from './call.js'
import { collisions, placeOf, pageOf, qualifiedUri, type Place } from './resource-uris.js'
import { listResources, readResource, withPages } from './resources.js'
import { SourceTasks } from './tasks.js'
import { subscribeEverywhere } from './subscribe.js'
import type { GatewayToolSource, SourceItem } from './types.js'
import { InteractiveCalls } from '../input/interactive-calls.js'

export function toolSource (servers: Servers): GatewayToolSource {
  // a name always maps to the same server and tool: a stale list can miss entries but not misroute
  const places = {
    tools: new Map<string, Place>(), prompts: new Map<string, Place>(), resources: new Map<string, Place>(), templates: new Map<string, Place>()
  }
  const interactive = new InteractiveCalls(servers)
  const tasks = new SourceTasks(servers)
  // whether a tool of the last list has a page, of MCP Apps
  let hasPages = false
  let isStale = false
  let refreshing: Promise<void> | undefined

  async function named (kind: 'tools' | 'prompts'): Promise<SourceItem[]> {
    const { items } = await servers.listForAll(kind)
    const found = new Map<string, Place>()
    if (kind === 'tools') hasPages = items.some(({ item }) => pageOf(item) !== undefined)
    const listed = (await withPages(servers, items)).map(({ server, item }): SourceItem => {
      const own = String(item.name)
      const name = serverToolName(server, own)
      found.set(name, { server, own })
      return { ...item, name }
    })
    places[kind] = found
    return listed
  }

  async function listed (kind: 'resources' | 'templates'): Promise<object[]> {
    const found = await listResources(servers, kind)
    places[kind] = new Map(found.map(({ server, item }) => [String(item[LISTS[kind].id]), { server, own: '' }]))
    return found.map(({ item }) => item)
  }

  /** Lists the tools before a client asks for the extensions; once at a time, however many changes there are. */
  function refresh (): void {
    isStale = true
    refreshing ??= relist().finally(() => { refreshing = undefined })
  }

  async function relist (): Promise<void> {
    while (isStale) {
      isStale = false
      await named('tools').catch((err: unknown) => { servers.log.warn({ err }, 'the tools of MCP servers cannot be listed') })
    }
  }

  // compared with the list, not split at the separator, which may occur in a name
  async function find (kind: 'tools' | 'prompts', name: string, principal: Principal | undefined): Promise<Place> {
    const known = places[kind].get(name)
    if (known !== undefined) return known
    const all = await named(kind)
    const found = places[kind].get(name)
    if (found !== undefined) return found
    const isSeen = await listedFor(servers, kind, principal?.owner)
    const names = all.map(entry => entry.name).filter(name => mayUse(kind, name, principal) && isSeen?.(name) !== false)
    throw new ToolNotFoundError('gateway', quoteName(name), suggestion(name, names, `its ${kind}`))
  }

  function mayUse (kind: ListKind, id: string, principal: Principal | undefined): boolean {
    const place = places[kind].get(id) ?? (kind === 'tools' || kind === 'prompts' ? undefined : placeOf(id, servers.names))
    if (place !== undefined) return mayUseTool(principal, place.server, kind === 'tools' ? place.own : undefined)
    // a resource of a template may be at any server
    return servers.names.every(server => mayUseTool(principal, server))
  }

  async function behind (ref: CompletionRef, principal: Principal | undefined): Promise<Place> {
    if (ref.type === 'ref/prompt') return await find('prompts', ref.name, principal)
    for (const kind of ['templates', 'resources'] as const) {
      const listed = (await servers.listForAll(kind)).items.find(({ item }) => item[LISTS[kind].id] === ref.uri)
      if (listed !== undefined) return { server: listed.server, own: ref.uri }
    }
    const place = placeOf(ref.uri, servers.names)
    if (place !== undefined) return place
    throw new ResourceNotFoundError('gateway', quoteName(ref.uri), 'no server has it')
  }

  return {
    // `execution` is between the server and this gateway, which calls the tool as a task if needed
    list: async () => (await named('tools')).map(({ execution: _execution, ...tool }) => ({ ...tool, name: tool.name as string, inputSchema: objectSchema(tool.inputSchema) })),
    async call (name, args, context) {
      const { server, own: tool } = places.tools.get(name) ?? await find('tools', name, context?.principal)
      return await callFor({ servers, interactive, tasks, server, tool, args, context })
    },
    listedFor: async (kind, principal) => await listedFor(servers, kind, principal?.owner),
    resources: {
      list: async () => await listed('resources') as never,
      templates: async () => await listed('templates') as never,
      read: async (uri, context) => await readResource(servers, uri, context) as never,
      async subscribe (uri, changed) {
        return await subscribeEverywhere(servers, uri, changed)
      }
    },
    prompts: {
      list: () => named('prompts'),
      async get (name, args, context) {
        const { server, own } = await find('prompts', name, context?.principal)
        const upstream = servers.get(server)
        return await requestFor(servers, upstream, context, async options => await upstream.getPrompt(own, args, options)) as never
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
    extensions: (): Record<string, object> => hasPages ? { [UI_EXTENSION]: {} } : {},
    onChange: listener => servers.onChange(kinds => {
      if (kinds.includes('tools')) refresh()
      listener(kinds)
    })
  }
}

/** The names that an owner sees of a list with servers to which owners sign in. */
async function listedFor (servers: Servers, kind: ListKind, owner: string | undefined): Promise<((id: string) => boolean) | undefined> {
  if (!servers.hasSignIns) return undefined
  const { items } = await servers.list(kind, owner)
  const { id } = LISTS[kind]
  const twice = collisions(kind === 'templates' ? kind : 'resources', (await servers.listForAll(kind)).items)
  const seen = new Set(items.map(({ server, item }) => {
    const own = String(item[id])
    if (kind === 'tools' || kind === 'prompts') return serverToolName(server, own)
    return twice.has(own) ? qualifiedUri(server, own) : own
  }))
  return name => seen.has(name)
}

/** Clients refuse a whole list for one tool whose schema is not an object. */
function objectSchema (schema: unknown): object {
  return { ...(typeof schema === 'object' ? schema : {}), type: 'object' }
}
