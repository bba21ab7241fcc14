import { findExplosiveSchemas, JsonSchema } from '@polyvac/core/json-schema'
import { readHeaderParameters, type HeaderParameter } from '@polyvac/mcp-protocol'
import type { Item } from '../protocol/lists.js'

export interface ToolCatalogOptions {
  readonly allow?: readonly string[] | undefined
  readonly deny?: readonly string[] | undefined
  /** Over HTTP from revision 2026-07-28 on: a tool with an invalid `x-mcp-header` is left out, and reported here. */
  readonly onInvalidHeader?: ((leftOut: LeftOutTool) => void) | undefined
  /** The input schemas of these tools can take too many steps to check. */
  readonly onExplosive?: ((tools: readonly string[]) => void) | undefined
}

/** A tool that a server lists and the gateway does not, and the reason. */
export interface LeftOutTool { readonly tool: string, readonly problem: string }

/**
 * The tools of one list of a server. Compiled schemas belong to this object and are freed when the list changes.
 */
export class ToolCatalog {
  readonly items: readonly Item[]
  readonly names: readonly string[]
  /** Tools with an invalid `x-mcp-header`. */
  readonly leftOut: readonly LeftOutTool[]
  readonly #byName: ReadonlyMap<string, Item>
  readonly #schemas = new Map<string, JsonSchema>()
  readonly #headers = new Map<string, readonly HeaderParameter[]>()

  constructor (listed: readonly Item[], { allow, deny = [], onInvalidHeader, onExplosive }: ToolCatalogOptions) {
    const leftOut: LeftOutTool[] = this.leftOut = []
    this.items = listed.filter(({ name, inputSchema }) => {
      if (typeof name !== 'string' || deny.includes(name) || (allow !== undefined && !allow.includes(name))) return false
      if (onInvalidHeader === undefined) return true
      const { parameters, problem } = readHeaderParameters(inputSchema)
      if (problem !== undefined) leftOut.push({ tool: name, problem })
      else if (parameters.length > 0) this.#headers.set(name, parameters)
      return problem === undefined
    })
    for (const tool of leftOut) onInvalidHeader?.(tool)
    this.#byName = new Map(this.items.map(item => [item.name as string, item]))
    this.names = [...this.#byName.keys()]
    const explosive = findExplosiveSchemas(this.items.map(({ name, inputSchema }) => [name as string, inputSchema]))
    if (explosive.length > 0) onExplosive?.(explosive)
  }

  /** The arguments of a tool that are repeated as headers. */
  headerParameters (name: string): readonly HeaderParameter[] {
    return this.#headers.get(name) ?? []
  }

  get (name: string): Item | undefined {
    return this.#byName.get(name)
  }

  /** The problems of arguments against the input schema, each with its path; empty if there are none. */
  problems (name: string, args: unknown): string {
    let schema = this.#schemas.get(name)
    if (schema === undefined) this.#schemas.set(name, schema = new JsonSchema(this.#byName.get(name)?.inputSchema))
    return schema.problems(args, 'arguments')
  }
}
