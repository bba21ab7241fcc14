import { toolWordsOf } from './tool-words.js'
import { PassageIndex } from '../search/passage-index.js'

/** A tool, as a search reads it. */
export interface SearchableTool {
  /** Unique among the tools. */
  readonly name: string
  readonly description?: string | undefined
  /** JSON Schema of an object. */
  readonly inputSchema: object
}

/** The beginning of a description that counts, in characters: the rest is about special cases. */
const MAX_DESCRIPTION = 300
/** Parameters whose names count, the first ones. */
const MAX_PARAMETERS = 50
/** Longest query, in characters. */
const MAX_QUERY = 500

/** Tools that are found by what they are wanted for, in English: each is a passage under its name. */
export class ToolIndex<Tool extends SearchableTool> {
  readonly #index: PassageIndex
  // @keyed none: the tools of a list, made with it and never changed
  readonly #tools: ReadonlyMap<string, Tool>

  private constructor (index: PassageIndex, tools: ReadonlyMap<string, Tool>) {
    this.#index = index
    this.#tools = tools
  }

  /** Rejects with the reason of the signal. */
  static async open<Tool extends SearchableTool> (tools: readonly Tool[], signal?: AbortSignal): Promise<ToolIndex<Tool>> {
    const index = await PassageIndex.open(':memory:')
    try {
      await index.upsert(tools.map(tool => ({ source: tool.name, passages: () => [passageOf(tool)] })), { signal })
      return new ToolIndex(index, new Map(tools.map(tool => [tool.name, tool])))
    } catch (error) {
      await index.close()
      throw error
    }
  }

  /** The tools for a query, best first. */
  search (query: string, limit: number): Tool[] {
    const asked = query.slice(0, MAX_QUERY)
    const context = toolWordsOf(asked)
    const found = this.#find(asked, context, limit)
    const names = found.length > 0 ? found : this.#find(context, '', limit)
    return names.map(name => this.#tools.get(name)!)
  }

  async close (): Promise<void> { await this.#index.close() }

  #find (query: string, context: string, limit: number): string[] {
    return query.trim() === '' ? [] : this.#index.search({ query, context, limit, threshold: 0 }).map(({ source }) => source)
  }
}

function passageOf ({ name, description = '', inputSchema }: SearchableTool) {
  // a tool of a server among many is `<server>__<tool>`
  const heading = withSpaces(name.slice(name.indexOf('__') + 1))
  const { properties } = inputSchema as { properties?: unknown }
  const parameters = Object.keys(Object(properties) as object).slice(0, MAX_PARAMETERS).map(withSpaces)
  return { heading, content: `${heading}. ${description.slice(0, MAX_DESCRIPTION)}\n${parameters.join(', ')}`, first: 1, last: 1 }
}

function withSpaces (name: string): string {
  return name.replace(/(?<=[a-z])(?=[A-Z])/g, ' ').replace(/[_-]+/g, ' ').trim()
}
