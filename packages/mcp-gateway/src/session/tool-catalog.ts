import { findExplosiveSchemas, JsonSchema } from '@polyvac/core/json-schema'
import { modelSchema, readHeaderParameters, type HeaderParameter } from '@polyvac/mcp-protocol'
import type { Item, ItemList, LeftOutTool } from '../protocol/lists.js'

export interface ToolCatalogOptions {
  readonly allow?: readonly string[] | undefined
  readonly deny?: readonly string[] | undefined
  /** `model`: lists have schemas that the APIs of language models accept. */
  readonly schemas?: 'server' | 'model' | undefined
  /** Over HTTP from revision 2026-07-28 on: a tool with an invalid `x-mcp-header` is left out. */
  readonly hasHeaders?: boolean | undefined
  /** Receives each new list, what was left out of it, and all names; returns the tools that are held back. */
  readonly review: (items: readonly Item[], leftOut: readonly LeftOutTool[], names: readonly string[]) => readonly LeftOutTool[]
  /** The input schemas of these tools can take too many steps to check. */
  readonly onExplosive?: ((tools: readonly string[]) => void) | undefined
}

/**
 * The tools of one list of a server. Compiled schemas belong to this object and are freed when the list changes.
 */
export class ToolCatalog {
  readonly items: readonly Item[]
  readonly names: readonly string[]
  readonly #heldBack: ReadonlyMap<string, string>
  readonly #byName: ReadonlyMap<string, Item>
  // @keyed tool of a list, which its server wrote | holds: the prepared schema | whose: the server | bound: tools
  //   of the list, MAX_ITEMS and MAX_LIST_CHARS; it ends with the list | share: only the server | test:
  //   packages/mcp-gateway/test/hostile-lists.test.ts: ten thousand tools are listed, and a list without end or of
  //   too many bytes ends with the reason
  readonly #schemas = new Map<string, JsonSchema>()
  // @keyed tool of a list, which its server wrote | holds: arguments that are sent as headers | whose: the server |
  //   bound: tools of the list, MAX_ITEMS and MAX_LIST_CHARS; it ends with the list | share: only the server | test:
  //   packages/mcp-gateway/test/hostile-lists.test.ts: ten thousand tools are listed, and a list without end or of
  //   too many bytes ends with the reason
  readonly #headers = new Map<string, readonly HeaderParameter[]>()

  constructor ({ items: listed, leftOut: unread }: ItemList, { allow, deny = [], schemas, hasHeaders = false, review, onExplosive }: ToolCatalogOptions) {
    const leftOut: LeftOutTool[] = [...unread]
    const usable = listed.filter(({ name, inputSchema }) => {
      if (typeof name !== 'string' || deny.includes(name) || (allow !== undefined && !allow.includes(name))) return false
      if (!hasHeaders) return true
      const { parameters, problem } = readHeaderParameters(inputSchema)
      if (problem !== undefined) leftOut.push({ tool: name, problem })
      else if (parameters.length > 0) this.#headers.set(name, parameters)
      return problem === undefined
    })
    this.#heldBack = new Map(review(usable, leftOut, [...listed.map(({ name }) => String(name)), ...unread.map(({ tool }) => tool)]).map(({ tool, problem }) => [tool, problem]))
    const offered = this.#heldBack.size === 0 ? usable : usable.filter(({ name }) => !this.#heldBack.has(name as string))
    // arguments are checked against the schema of the server
    this.#byName = new Map(offered.map(item => [item.name as string, item]))
    this.items = schemas === 'model' ? offered.map(item => ({ ...item, inputSchema: modelSchema(item.inputSchema) })) : offered
    this.names = [...this.#byName.keys()]
    const explosive = findExplosiveSchemas(offered.map(({ name, inputSchema }) => [name as string, inputSchema]))
    if (explosive.length > 0) onExplosive?.(explosive)
  }

  /** The arguments of a tool that are repeated as headers. */
  headerParameters (name: string): readonly HeaderParameter[] {
    return this.#headers.get(name) ?? []
  }

  /** Why the pin of the server holds a tool back. */
  heldBack (name: string): string | undefined {
    return this.#heldBack.get(name)
  }

  get (name: string): Item | undefined {
    return this.#byName.get(name)
  }

  /** Arguments as the tool takes them, and their problems against the input schema, each with its path. */
  fit<T> (name: string, args: T): { readonly value: T, readonly problems: string } {
    let schema = this.#schemas.get(name)
    if (schema === undefined) this.#schemas.set(name, schema = new JsonSchema(this.#byName.get(name)?.inputSchema))
    return schema.fit(args, 'arguments')
  }
}
