import {
  CALL_TOOL, CALL_TOOL_DEFINITION, describeFound, fitSchema, isRecord, MAX_FOUND, quoteName, SEARCH_TOOLS, SEARCH_TOOLS_DEFINITION, suggestion, type FoundTool, type ToolFinder
} from '@polyvac/core/plugin'
import { JsonSchema } from '@polyvac/core/json-schema'
import { indexTools } from '@polyvac/documents'
import type { ToolExecutionOptions, ToolSet } from 'ai'
import { markedData } from './marked-data.js'

type Sdk = typeof import('ai')

/** Longest schema in the answer to wrong arguments, in characters. */
const MAX_SCHEMA_CHARS = 4_000

/** A call that `call_tool` asks for. */
export interface AskedCall {
  readonly name: string
  readonly input: unknown
  /** Why the tool is not called; undefined where it is. */
  readonly problem?: string | undefined
}

/**
 * Tools that are too many for the list of a model, behind `search_tools` and `call_tool`. A call goes through the
 * `execute` of the tool, as if the model had it in its list; a tool that is not among them does not exist.
 */
export class HiddenTools {
  readonly #sdk: Sdk
  readonly #tools: ToolSet
  // @keyed none: the tools of one answer, as they were listed
  readonly #listed: ReadonlyMap<string, FoundTool>
  readonly #signal: AbortSignal
  #index: Promise<ToolFinder<FoundTool>> | undefined

  /** @param tools those of `listed`, by their names */
  constructor (sdk: Sdk, tools: ToolSet, listed: readonly FoundTool[], signal: AbortSignal) {
    this.#sdk = sdk
    this.#tools = tools
    this.#listed = new Map(listed.map(tool => [tool.name, tool]))
    this.#signal = signal
  }

  has (name: string): boolean { return this.#listed.has(name) }

  /** What a model gets in place of the tools. */
  get tools (): ToolSet {
    const { description: search, inputSchema: query } = SEARCH_TOOLS_DEFINITION
    const { description: call, inputSchema: called } = CALL_TOOL_DEFINITION
    const { dynamicTool, jsonSchema } = this.#sdk
    return {
      [SEARCH_TOOLS]: dynamicTool({ description: search, inputSchema: jsonSchema(query as object), execute: async input => await this.#search(input) }),
      [CALL_TOOL]: dynamicTool({ description: call, inputSchema: jsonSchema(called as object), execute: async (input, options) => await this.#call(input, options) })
    }
  }

  /** The call that an input of `call_tool` asks for. */
  asked (given: unknown): AskedCall {
    const { name, arguments: input = {} } = isRecord(given) ? given : {}
    if (typeof name !== 'string') return { name: CALL_TOOL, input: given, problem: 'name: the name of the tool is missing' }
    const tool = this.#listed.get(name)
    if (tool === undefined) {
      const near = suggestion(name, [...this.#listed.keys()], 'some of them')
      return { name, input, problem: `there is no tool ${quoteName(name)}; find one with ${SEARCH_TOOLS}; ${near}` }
    }
    const problems = isRecord(input) ? new JsonSchema(tool.inputSchema).problems(input, 'arguments') : 'arguments: must be an object'
    return { name, input, ...problems !== '' && { problem: `the arguments do not fit the input schema of ${name}: ${problems}` } }
  }

  /** The call of a hidden tool by its own name, as one of `call_tool`; null for another one. */
  repaired<Call extends { readonly toolName: string, readonly input: string }> (call: Call): Call | null {
    if (!this.has(call.toolName)) return null
    try {
      return { ...call, toolName: CALL_TOOL, input: JSON.stringify({ name: call.toolName, arguments: JSON.parse(call.input || '{}') as unknown }) }
    } catch {
      return null
    }
  }

  async close (): Promise<void> {
    await this.#index?.then(index => index.close(), () => {})
  }

  async #search (input: unknown): Promise<string> {
    const { query } = isRecord(input) ? input : {}
    if (typeof query !== 'string' || query.trim() === '') return 'query: words of what the tool has to do are missing'
    this.#index ??= indexTools([...this.#listed.values()], this.#signal)
    const found = (await this.#index).search(query, MAX_FOUND)
    if (found.length === 0) return 'No tool has these words; search with others.'
    return markedData(SEARCH_TOOLS, JSON.stringify(describeFound(found)))
  }

  async #call (given: unknown, options: ToolExecutionOptions): Promise<unknown> {
    const { name, input, problem } = this.asked(given)
    if (problem === undefined) return await this.#tools[name]!.execute!(input as never, options)
    const tool = this.#listed.get(name)
    return tool === undefined ? problem : markedData(name, `${problem}\nIts input schema: ${JSON.stringify(fitSchema(tool.inputSchema, MAX_SCHEMA_CHARS))}`)
  }
}
