// without types of `ai`: hosts ask for the names, and read them without it
import { CALL_TOOL, SEARCH_TOOLS } from '@polyvac/core/plugin'

export const ASK_USER = 'ask_user'
export const SEARCH_DOCUMENTS = 'search_documents'

/** The names that other tools of an agent cannot have, also those of the two that it has in place of many tools. */
export function ownToolNames (hasMemory: boolean): readonly string[] {
  return [ASK_USER, SEARCH_TOOLS, CALL_TOOL, ...hasMemory ? [SEARCH_DOCUMENTS] : []]
}
