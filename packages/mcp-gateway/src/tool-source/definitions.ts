import { formerServerToolName, serverToolName, yieldToEventLoop } from '@polyvac/core/plugin'
import { LISTS, type ListKind } from '@polyvac/mcp-protocol'
import type { Item } from '../protocol/lists.js'
import type { ServerItem } from '../servers.js'
import { collisions, qualifiedUri, type Place } from './resource-uris.js'
import { withPages } from './resources.js'

/** An entry as the source offers it, and where it is. */
export interface Offered { readonly place: Place, readonly definition: Item }

/** Entries that one turn of the event loop handles, in about 5 ms. */
const TURN_ENTRIES = 1_000

/**
 * The definitions that were made of an item, under its own id and under one with its server: callers compare
 * definitions by identity.
 */
// @keyed none: the keys are entries of lists that are kept, and an entry ends with its list
const made = { own: new WeakMap<Item, Item>(), qualified: new WeakMap<Item, Item>() }

/** A list as its reader sees it: the resources are those of the same reader. */
export interface ReadList {
  readonly items: readonly ServerItem[]
  readonly resources: () => Promise<readonly ServerItem[]>
}

/**
 * The entries of a list under names that are unique over all servers. A URI that several servers list has its server as
 * the authority.
 */
export async function definitionsOf (kind: ListKind, { items, resources }: ReadList): Promise<Offered[]> {
  const { id } = LISTS[kind]
  const isNamed = id === 'name'
  const listed = kind === 'tools' ? await withPages(items, resources) : items
  const twice = isNamed ? undefined : collisions(kind === 'templates' ? kind : 'resources', items)
  const offered: Offered[] = []
  for (const { server, item } of listed) {
    const own = String(item[id])
    // a URI depends on the lists of the other servers
    const isTwice = twice?.has(own) === true
    const known = isTwice ? made.qualified : made.own
    let definition = known.get(item)
    if (definition === undefined) {
      const unique = isNamed ? serverToolName(server, own) : isTwice ? qualifiedUri(server, own) : own
      const former = isNamed ? formerServerToolName(server, own) : unique
      known.set(item, definition = definitionOf(kind, item, unique, former === unique ? undefined : former))
    }
    if (offered.push({ place: { server, own }, definition }) % TURN_ENTRIES === 0) await yieldToEventLoop()
  }
  return offered
}

function definitionOf (kind: ListKind, { formerName: _foreign, ...item }: Item, offered: string, former: string | undefined): Item {
  const formerName = former === undefined ? {} : { formerName: former }
  if (kind === 'prompts') return { ...item, name: offered, ...formerName }
  if (kind !== 'tools') return { ...item, [LISTS[kind].id]: offered }
  // `execution` is between the server and this gateway, which calls the tool as a task if needed
  const { execution: _execution, ...tool } = item
  return { ...tool, name: offered, ...formerName }
}
