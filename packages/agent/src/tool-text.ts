import type { ToolCallResult, ToolContent } from '@polyvac/core'
import { isRecord } from '@polyvac/core/plugin'

/** Longest result of a tool that a model reads, in characters: about 5,000 tokens. */
const MAX_RESULT_CHARS = 20_000

/** The text of a tool's result for a model: of content other than text only its kind. */
export function toolText ({ content, structuredContent, isError }: ToolCallResult<unknown>): string {
  const texts = content.map(textOf).filter(text => text !== '')
  const text = texts.length > 0 ? texts.join('\n') : structuredContent === undefined ? 'The tool gave no result.' : JSON.stringify(structuredContent)
  return cut(isError === true ? `The tool failed: ${text}` : text)
}

/** Any value as a text for a model. */
export function valueText (value: unknown): string {
  if (isRecord(value) && Array.isArray(value.content)) return toolText(value as unknown as ToolCallResult<unknown>)
  return cut(typeof value === 'string' ? value : JSON.stringify(value) ?? 'The tool gave no result.')
}

function textOf (block: ToolContent): string {
  switch (block.type) {
    case 'text': return block.text
    case 'resource': return block.resource.text ?? `(${block.resource.mimeType ?? 'bytes'}: ${block.resource.uri})`
    case 'resource_link': return `(${block.name}: ${block.uri})`
    default: return `(${block.type}: ${block.mimeType})`
  }
}

function cut (text: string): string {
  if (text.length <= MAX_RESULT_CHARS) return text
  return `${text.slice(0, MAX_RESULT_CHARS)}\n(${text.length - MAX_RESULT_CHARS} more characters are left out; ask for a part)`
}
