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

/** Tools that are found by words of what they do: each is a passage of an index in memory, under its name. */
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

  /** The tools for a query, best first; none that has nothing of it. A query of more than 2,000 characters is cut. */
  search (query: string, limit: number): Tool[] {
    return this.#index.search({ query, limit, threshold: 0 }).map(({ source }) => this.#tools.get(source)!)
  }

  async close (): Promise<void> { await this.#index.close() }
}

function passageOf ({ name, description = '', inputSchema }: SearchableTool) {
  // a tool of a server among many is `<server>__<tool>`
  const heading = withSpaces(name.slice(name.indexOf('__') + 1))
  const { properties } = inputSchema as { properties?: unknown }
  const parameters = Object.keys(Object(properties) as object).slice(0, MAX_PARAMETERS).map(withSpaces)
  return { heading, content: `${heading}. ${description.slice(0, MAX_DESCRIPTION)}\n${parameters.join(', ')}`, first: 1, last: 1 }
}

/** A name with its words apart: `send-mail`, `sendMail`, `_send_mail`. */
function withSpaces (name: string): string {
  return name.replace(/(?<=[a-z])(?=[A-Z])/g, ' ').replace(/[_-]+/g, ' ').trim()
}
