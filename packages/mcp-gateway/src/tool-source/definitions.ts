import { serverToolName } from '@polyvac/core/plugin'
import { LISTS, type ListKind } from '@polyvac/mcp-protocol'
import type { Item } from '../protocol/lists.js'
import type { ServerItem, Servers } from '../servers.js'
import { collisions, qualifiedUri, type Place } from './resource-uris.js'
import { withPages } from './resources.js'

/** An entry as the source offers it, and where it is. */
export interface Offered { readonly place: Place, readonly definition: Item }

/** The definition that was made of an item last: callers compare definitions by identity. */
const made = new WeakMap<Item, Item>()

/**
 * The entries of a list under names that are unique over all servers. A URI that several servers list has its server as
 * the authority.
 */
export async function definitionsOf (servers: Servers, kind: ListKind, items: readonly ServerItem[]): Promise<Offered[]> {
  const { id } = LISTS[kind]
  const isNamed = id === 'name'
  const listed = kind === 'tools' ? await withPages(servers, items) : items
  const twice = isNamed ? undefined : collisions(kind === 'templates' ? kind : 'resources', (await servers.listForAll(kind)).items)
  return listed.map(({ server, item }) => {
    const own = String(item[id])
    const offered = isNamed ? serverToolName(server, own) : twice?.has(own) === true ? qualifiedUri(server, own) : own
    let definition = made.get(item)
    if (definition?.[id] !== offered) made.set(item, definition = definitionOf(kind, item, offered))
    return { place: { server, own }, definition }
  })
}

function definitionOf (kind: ListKind, item: Item, offered: string): Item {
  if (kind === 'prompts') return { ...item, name: offered }
  if (kind !== 'tools') return { ...item, [LISTS[kind].id]: offered, name: String(item.name ?? item[LISTS[kind].id]) }
  // `execution` is between the server and this gateway, which calls the tool as a task if needed
  const { execution: _execution, inputSchema, ...tool } = item
  // clients refuse a whole list for one tool whose schema is not an object
  return { ...tool, name: offered, inputSchema: { ...(typeof inputSchema === 'object' ? inputSchema : {}), type: 'object' } }
}
