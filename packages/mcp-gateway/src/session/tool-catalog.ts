import { JsonSchema } from '@polyvac/core/json-schema'
import type { Item } from '../protocol/lists.js'

/**
 * The tools of one server, as of one list. Compiled schemas belong to this object and go with it when the list changes.
 */
export class ToolCatalog {
  readonly items: readonly Item[]
  readonly names: readonly string[]
  readonly #byName: ReadonlyMap<string, Item>
  readonly #schemas = new Map<string, JsonSchema>()
  readonly #offers: (name: string) => boolean

  constructor (listed: readonly Item[], { allow, deny = [] }: { readonly allow?: readonly string[] | undefined, readonly deny?: readonly string[] | undefined }) {
    this.#offers = name => (allow === undefined || allow.includes(name)) && !deny.includes(name)
    this.items = listed.filter(item => this.#offers(item.name as string))
    this.#byName = new Map(this.items.map(item => [item.name as string, item]))
    this.names = [...this.#byName.keys()]
  }

  get (name: string): Item | undefined {
    return this.#byName.get(name)
  }

  /** What is wrong with the arguments of a tool, in words, each with its path; empty if nothing is. */
  problems (name: string, args: unknown): string {
    let schema = this.#schemas.get(name)
    if (schema === undefined) this.#schemas.set(name, schema = new JsonSchema(this.#byName.get(name)?.inputSchema))
    return schema.problems(args, 'arguments')
  }
}
