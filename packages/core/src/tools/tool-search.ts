import { beginning } from '../basics/well-formed.js'
import { isRecord } from '../basics/is-record.js'

/** The names of the two tools that stand for many. */
export const SEARCH_TOOLS = 'search_tools'
export const CALL_TOOL = 'call_tool'

/** Tools that one search gives. */
export const MAX_FOUND = 5
/** Most JSON about the tools of one search, in characters: about 3,000 tokens; and the longest description in it. */
const MAX_FOUND_CHARS = 12_000
const MAX_DESCRIPTION_CHARS = 1_000

/** A tool that a search may give. */
export interface FoundTool {
  readonly name: string
  readonly description?: string | undefined
  /** JSON Schema of an object. */
  readonly inputSchema: object
}

/** An index of tools: `search` gives the best first. */
export interface ToolFinder<Tool> {
  search (query: string, limit: number): readonly Tool[]
  close (): Promise<void>
}

/** Makes an index of tools, whose names are unique. Rejects with the reason of the signal. */
export type IndexTools = <Tool extends FoundTool> (tools: readonly Tool[], signal?: AbortSignal) => Promise<ToolFinder<Tool>>

/** The two tools, as lists have them. */
export const SEARCH_TOOLS_DEFINITION = {
  name: SEARCH_TOOLS,
  description: `Find tools by what they do. Most tools are not in your list: search before you say that something cannot be done. Gives the names, descriptions and input schemas of up to ${MAX_FOUND} tools; call them with ${CALL_TOOL}. Search again with other words where none fits.`,
  inputSchema: {
    type: 'object',
    properties: {
      query: {
        type: 'string',
        minLength: 1,
        maxLength: 500,
        description: 'the action and the thing in English, in words that the name or description of such a tool may have rather than those of the user, such as: create calendar event'
      }
    },
    required: ['query'],
    additionalProperties: false
  },
  annotations: { readOnlyHint: true }
} as const

export const CALL_TOOL_DEFINITION = {
  name: CALL_TOOL,
  description: `Call a tool that ${SEARCH_TOOLS} found.`,
  inputSchema: {
    type: 'object',
    properties: {
      name: { type: 'string', description: 'its name' },
      arguments: { type: 'object', description: 'its arguments, which fit its input schema' }
    },
    required: ['name'],
    additionalProperties: false
  }
} as const

/**
 * Tools for a model, with bounds: a long description is cut, and a large schema loses its inner parts, of which it has
 * a note.
 */
export function describeFound (tools: readonly FoundTool[]): FoundTool[] {
  let left = MAX_FOUND_CHARS
  return tools.map(({ name, description = '', inputSchema }, i) => {
    const share = Math.floor(left / (tools.length - i))
    let short = beginning(description, MAX_DESCRIPTION_CHARS)
    // JSON writes some characters as six
    while (JSON.stringify(short).length > share / 2) short = beginning(short, Math.floor(short.length / 2))
    const head = JSON.stringify({ name, description: short }).length
    const schema = fitSchema(inputSchema, share - head)
    left -= head + JSON.stringify(schema).length
    return { name, description: short, inputSchema: schema }
  })
}

/** How much of a schema stays, from all to nothing: levels of it, and characters of each text in it. */
const CUTS = [{ levels: 12, chars: 400 }, { levels: 8, chars: 120 }, { levels: 5, chars: 60 }, { levels: 3, chars: 40 }, { levels: 3, chars: 0 }] as const
/** Members of an object or a list in a schema that is cut. */
const MAX_MEMBERS = 40
const NOTE = 'parts of this schema are left out; a call whose arguments do not fit names what is wrong'

/** The schema, or as much of it as has at most so many characters. */
export function fitSchema (schema: object, most: number): object {
  if (JSON.stringify(schema).length <= most) return schema
  for (const { levels, chars } of CUTS) {
    const cut = { ...cutValue(schema, levels, chars) as object, $comment: NOTE }
    if (JSON.stringify(cut).length <= most) return cut
  }
  return { type: 'object', $comment: NOTE }
}

function cutValue (value: unknown, levels: number, chars: number): unknown {
  if (typeof value === 'string') return beginning(value, Math.max(chars, 40))
  if (Array.isArray(value)) return value.slice(0, MAX_MEMBERS).map(one => cutValue(one, levels - 1, chars))
  if (!isRecord(value)) return value
  if (levels <= 0) return typeof value.type === 'string' ? { type: value.type } : {}
  const members = Object.entries(value).filter(([key, member]) => chars > 0 || key !== 'description' || typeof member !== 'string')
  return Object.fromEntries(members.slice(0, MAX_MEMBERS).map(([key, member]) => [key, cutValue(member, levels - 1, chars)]))
}
