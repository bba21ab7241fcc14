import { peerJsonProblem, wellFormedJson } from '@polyvac/core/plugin'

/**
 * Deepest nesting of a message. From about 5,000 levels on values overflow the stack of code that walks or prints them.
 */
export const MAX_MESSAGE_DEPTH = 2_500

/** Why a message is not parsed. */
export function parseProblem (text: string, maxBytes: number): string | undefined {
  return peerJsonProblem(text, maxBytes, MAX_MESSAGE_DEPTH)
}

export function parseJson (text: string): unknown {
  try {
    return wellFormedJson(text, JSON.parse(text))
  } catch {
    return undefined
  }
}
