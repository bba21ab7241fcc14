import type { FoundTool, ToolFinder } from '@polyvac/core/plugin'
import { PassageIndex } from '../search/passage-index.js'

/** The beginning of a description that counts, in characters: the rest is about special cases. */
const MAX_DESCRIPTION = 300
/** Parameters whose names count, the first ones. */
const MAX_PARAMETERS = 50

/**
 * An index in memory of tools, which are found by words of what they do: each is a passage under its name. A query of
 * more than 2,000 characters is cut. Rejects with the reason of the signal.
 * @example
 * const index = await indexTools(await listTools())
 * const [best] = index.search('create calendar event', 5)
 * await index.close()
 */
export async function indexTools<Tool extends FoundTool> (tools: readonly Tool[], signal?: AbortSignal): Promise<ToolFinder<Tool>> {
  // @keyed none: the tools of one list, which the index is made of
  const byName = new Map(tools.map(tool => [tool.name, tool]))
  const index = await PassageIndex.open(':memory:')
  try {
    await index.upsert(tools.map(tool => ({ source: tool.name, passages: () => [passageOf(tool)] })), { signal })
  } catch (error) {
    await index.close()
    throw error
  }
  return {
    search: (query, limit) => index.search({ query, limit, threshold: 0 }).map(({ source }) => byName.get(source)!),
    close: () => index.close()
  }
}

function passageOf ({ name, description = '', inputSchema }: FoundTool) {
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
