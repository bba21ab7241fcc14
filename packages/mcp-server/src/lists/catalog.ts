import { JsonSchema } from '@polyvac/core/json-schema'
import { headerParameters, type HeaderParameter } from '../protocol/param-headers.js'
import type { ListKind, PromptDefinition, ResourceDefinition, TemplateDefinition, ToolDefinition, ToolSource } from '../tool-source.js'

export interface Definitions {
  readonly tools: ToolDefinition
  readonly resources: ResourceDefinition
  readonly templates: TemplateDefinition
  readonly prompts: PromptDefinition
}

/** What is listed, and how: one table for the lists, the capabilities and the notifications. */
export const LISTS = {
  tools: { method: 'tools/list', key: 'tools', id: 'name', capability: 'tools', changed: 'notifications/tools/list_changed', wanted: 'toolsListChanged' },
  resources: { method: 'resources/list', key: 'resources', id: 'uri', capability: 'resources', changed: 'notifications/resources/list_changed', wanted: 'resourcesListChanged' },
  templates: { method: 'resources/templates/list', key: 'resourceTemplates', id: 'uriTemplate', capability: 'resources', changed: 'notifications/resources/list_changed', wanted: 'resourcesListChanged' },
  prompts: { method: 'prompts/list', key: 'prompts', id: 'name', capability: 'prompts', changed: 'notifications/prompts/list_changed', wanted: 'promptsListChanged' }
} as const satisfies Record<ListKind, object>

export const LIST_KINDS = Object.keys(LISTS) as ListKind[]

/** One entry of a list, and where it comes from. What calls need of its schema is made by need and goes with it. */
export class Entry<D extends object> {
  readonly definition: D
  readonly source: ToolSource
  /** Its name at its source, where it is offered under another. */
  readonly own: string | undefined
  #schema: JsonSchema | undefined
  #mirrored: readonly HeaderParameter[] | undefined

  constructor (definition: D, source: ToolSource, own?: string) {
    this.definition = definition
    this.source = source
    this.own = own
  }

  /** The input schema of a tool. */
  get schema (): JsonSchema {
    this.#schema ??= new JsonSchema((this.definition as Partial<ToolDefinition>).inputSchema)
    return this.#schema
  }

  /** The arguments of a tool that its callers repeat as headers. */
  get mirrored (): readonly HeaderParameter[] {
    this.#mirrored ??= headerParameters((this.definition as Partial<ToolDefinition>).inputSchema)
    return this.#mirrored
  }
}

/** One list as of one moment. It is never changed, only replaced. */
export class Catalog<K extends ListKind> {
  readonly kind: K
  readonly entries: ReadonlyArray<Entry<Definitions[K]>>
  readonly #byId: ReadonlyMap<string, Entry<Definitions[K]>>

  constructor (kind: K, entries: ReadonlyArray<Entry<Definitions[K]>>) {
    const byId = new Map<string, Entry<Definitions[K]>>()
    for (const entry of entries) {
      const id = idOf(kind, entry.definition)
      // the first of two with one name counts
      if (!byId.has(id)) byId.set(id, entry)
    }
    this.kind = kind
    this.#byId = byId
    this.entries = [...byId.values()]
  }

  get (id: string): Entry<Definitions[K]> | undefined {
    return this.#byId.get(id)
  }

  get ids (): string[] {
    return [...this.#byId.keys()]
  }
}

export function idOf<K extends ListKind> (kind: K, definition: Definitions[K]): string {
  return (definition as unknown as Record<string, string>)[LISTS[kind].id]!
}
