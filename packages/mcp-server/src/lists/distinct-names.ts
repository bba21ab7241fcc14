import { hashedName } from '@polyvac/core/plugin'
import type { ListKind } from '@polyvac/mcp-protocol'
import { McpServerOptionsError } from '../errors.js'
import type { Definitions, ToolDefinition, ToolSource } from '../tool-source.js'
import { Entry, idOf } from './catalog.js'

/**
 * The entries of all sources as one list. If two sources have a tool or prompt of the same name, the earlier one keeps
 * it; the other name gets a hash of its source's position, which is the same at every start. A URI is one resource of
 * all sources.
 */
export function distinctEntries<K extends ListKind> (
  kind: K, lists: ReadonlyArray<ReadonlyArray<Entry<Definitions[K]>>>
): ReadonlyArray<Entry<Definitions[K]>> {
  if (kind === 'resources' || kind === 'templates') return lists.flat()
  const taken = new Set<string>()
  return lists.flatMap((entries, position) => {
    const distinct = entries.map(entry => {
      const name = idOf(kind, entry.definition)
      if (!taken.has(name)) return entry
      return new Entry({ ...entry.definition, name: hashedName(name, `${position}\0${name}`) }, entry.source, entry.sourceName ?? name)
    })
    for (const { definition } of distinct) taken.add(idOf(kind, definition))
    return distinct
  })
}

/**
 * Checks that no two sources that list their tools synchronously have a tool of the same name: a mistake in the
 * program.
 * @throws MCP_SERVER_OPTIONS
 */
export function checkNames (sources: readonly ToolSource[]): void {
  const owners = new Map<string, number>()
  sources.forEach((source, position) => {
    for (const { name } of listSynchronously(source)) {
      const owner = owners.get(name)
      if (owner !== undefined && owner !== position) {
        const both = `sources[${owner}] and sources[${position}] both`
        throw new McpServerOptionsError(`${both} have a tool named ${JSON.stringify(name)}; rename one`)
      }
      owners.set(name, position)
    }
  })
}

/** The tools of a source that lists them synchronously. A failure is logged later, when the list is read. */
function listSynchronously (source: ToolSource): readonly ToolDefinition[] {
  try {
    const listed = source.list()
    if (Array.isArray(listed)) return listed as readonly ToolDefinition[]
    Promise.resolve(listed).catch(() => {})
  } catch {
    // see above
  }
  return []
}
