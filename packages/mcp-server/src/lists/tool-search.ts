import type { Principal } from '@polyvac/core'
import {
  CALL_TOOL_DEFINITION, describeFound, MAX_FOUND, SEARCH_TOOLS, SEARCH_TOOLS_DEFINITION, type IndexTools, type ToolFinder
} from '@polyvac/core/plugin'
import type { ToolDefinition, ToolSource } from '../tool-source.js'
import type { Catalog } from './catalog.js'

export interface ToolSearchOptions {
  /** Tools of other servers that a list may have. */
  readonly above: number
  /** `indexTools` of @polyvac/documents. */
  readonly indexTools: IndexTools
}

type Tools = Catalog<'tools'>

/** Lists whose indexes are kept: callers with other rights have other lists. */
const MAX_INDEXES = 8

/** Tools of other servers behind `search_tools` and `call_tool`, where a caller has many. */
export class ToolSearch {
  /** The source of the two tools. `call_tool` becomes the call of the tool that it names before it gets here. */
  readonly source: ToolSource
  readonly #options: ToolSearchOptions
  // @keyed list of tools that callers see | holds: its index | whose: the callers with the same rights | bound:
  //   MAX_INDEXES, then the oldest one leaves | share: of no owner: an index that left is made again | test:
  //   packages/mcp-server/test/tool-search.test.ts: the indexes of callers with other rights are kept up to a bound
  readonly #indexes = new Map<Tools, Promise<ToolFinder<ToolDefinition>>>()

  /** @param shownTo the tools that a caller may use */
  constructor (options: ToolSearchOptions, shownTo: (principal: Principal | undefined) => Promise<Tools>) {
    this.#options = options
    this.source = {
      list: () => [SEARCH_TOOLS_DEFINITION, CALL_TOOL_DEFINITION],
      call: async (name, { query }, { principal }) => {
        if (name !== SEARCH_TOOLS) return { content: [{ type: 'text', text: `${name} calls other tools than itself` }], isError: true }
        const index = await this.#indexOf(await shownTo(principal))
        const tools = describeFound(index.search(String(query), MAX_FOUND))
        return { content: [{ type: 'text', text: JSON.stringify({ tools }) }] }
      }
    }
  }

  /** What a list of tools has, of those that its reader may use. */
  listed (shown: Tools): Tools {
    const isHiding = hiddenOf(shown).length > this.#options.above
    return shown.part(shown.entries.filter(({ source }) => isHiding ? source.isUpstream !== true : source !== this.source))
  }

  async close (): Promise<void> {
    await Promise.all([...this.#indexes.keys()].map(async list => { await this.#forget(list) }))
  }

  #indexOf (shown: Tools): Promise<ToolFinder<ToolDefinition>> {
    let index = this.#indexes.get(shown)
    if (index === undefined) {
      const [oldest] = this.#indexes.keys()
      if (oldest !== undefined && this.#indexes.size >= MAX_INDEXES) this.#forget(oldest).catch(() => {})
      index = this.#options.indexTools(hiddenOf(shown))
      this.#indexes.set(shown, index)
      index.catch(() => this.#indexes.delete(shown))
    }
    return index
  }

  /** A search that waits for the index has it first. */
  async #forget (list: Tools): Promise<void> {
    const index = this.#indexes.get(list)
    this.#indexes.delete(list)
    await index?.then(index => index.close(), () => {})
  }
}

function hiddenOf ({ entries }: Tools): ToolDefinition[] {
  return entries.filter(({ source }) => source.isUpstream === true).map(({ definition }) => definition)
}
