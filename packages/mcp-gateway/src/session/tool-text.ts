import type { ToolResult } from '../protocol/call-options.js'
import { cleanText } from '@polyvac/core/plugin'

/** Longest text of a server that becomes the message of an error. */
const MAX_CHARS = 2_000

/** The text blocks of a result. */
export function toolText ({ content }: ToolResult): string {
  const texts = (Array.isArray(content) ? content as Array<{ text?: unknown }> : [])
    .map(block => block?.text).filter(text => typeof text === 'string')
  const text = texts.join('\n').trim()
  return text === '' ? 'it gave no reason' : shortened(text)
}

/** A text of a server for the message of an error. */
export function shortened (text: string): string {
  return cleanText(text, MAX_CHARS)
}
