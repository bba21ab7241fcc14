import { hashedName } from '@polyvac/core/plugin'
import type { ListKind } from '@polyvac/mcp-protocol'
import { Entry, idOf } from './catalog.js'
import { McpServerOptionsError } from '../errors.js'
import type { Definitions, ToolDefinition, ToolSource } from '../tool-source.js'

/**
 * Several sources' entries as one list. Of two tools or prompts with one name, that of the earlier source keeps it; a
 * later one's gets a hash of its source's place at its end, the same at every start. A URI is one resource, whoever has it.
 */
export function distinctEntries<K extends ListKind> (kind: K, lists: ReadonlyArray<ReadonlyArray<Entry<Definitions[K]>>>): ReadonlyArray<Entry<Definitions[K]>> {
  if (kind === 'resources' || kind === 'templates') return lists.flat()
  const taken = new Set<string>()
  return lists.flatMap((entries, place) => {
    const named = entries.map(entry => {
      const name = idOf(kind, entry.definition)
      if (!taken.has(name)) return entry
      return new Entry({ ...entry.definition, name: hashedName(name, `${place}\0${name}`) }, entry.source, name)
    })
    for (const { definition } of named) taken.add(idOf(kind, definition))
    return named
  })
}

/**
 * Sources that can say at once what they have must not have a tool of one name, which would be a mistake of the program.
 * @throws MCP_SERVER_OPTIONS
 */
export function checkNames (sources: readonly ToolSource[]): void {
  const owners = new Map<string, number>()
  sources.forEach((source, place) => {
    for (const { name } of listedAtOnce(source)) {
      const owner = owners.get(name)
      if (owner !== undefined && owner !== place) throw new McpServerOptionsError(`sources[${owner}] and sources[${place}] both have a tool named ${JSON.stringify(name)}; rename one`)
      owners.set(name, place)
    }
  })
}

/** What a source says it has without waiting. Any failure is told when its list is needed. */
function listedAtOnce (source: ToolSource): readonly ToolDefinition[] {
  try {
    const listed = source.list()
    if (Array.isArray(listed)) return listed as readonly ToolDefinition[]
    Promise.resolve(listed).catch(() => {})
  } catch {
    // as it would be by the time it is needed
  }
  return []
}
