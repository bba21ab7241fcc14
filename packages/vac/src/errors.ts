import { createError } from '@polyvac/core/plugin'

export const NoSuchPathError = createError<[string, string, string]>('NOT_FOUND',
  'there is no route %s %s; %s', 404)
export const NoMemoryError = createError<[string]>('VAC_HAS_NO_MEMORY',
  'the VAC %s has no memory to search; the list of VACs shows those with one', 404)
export const NoSuchResponseError = createError<[string]>('RESPONSE_NOT_FOUND',
  'Response with id %s not found; this caller has none with this id, it was created with `store: false`, or the store has deleted it', 404)
export const NoPreviousResponseError = createError<[string]>('PREVIOUS_RESPONSE_NOT_FOUND',
  'Previous response with id %s not found; leave previous_response_id out, and send the earlier items in `input`', 400)
export const NoSuchConversationError = createError<[string]>('CONVERSATION_NOT_FOUND',
  'Conversation with id %s not found; this caller has none with this id, or the store has deleted it', 404)
export const NoSuchItemError = createError<[string]>('ITEM_NOT_FOUND',
  'Item with id %s not found; send the item itself', 404)
export const InterruptNotOpenError = createError('INTERRUPT_NOT_OPEN',
  'this interrupt is not open in this thread: it was answered or cancelled, or the store has deleted its run; ask the question again without `resume`', 409)
export const SourceNotFoundError = createError('SOURCE_NOT_FOUND',
  'the address names no passage that this service can show: it may have expired, or its document was changed or removed; ask the VAC again for a new address', 404)
export const InvalidOptionsError = createError<[string]>('VAC_PLUGIN_OPTIONS', '%s', 500)
export const ConversationsNotKeptError = createError('CONVERSATIONS_NOT_KEPT',
  'conversations are not kept here: createRuns() has the option `conversations: false`', 501, { expose: true })
export const RunsNotConfiguredError = createError('RUNS_NOT_CONFIGURED',
  'answers are not kept here; give the plugin the option `runs`, what createRuns() of @polyvac/runs returns', 501, { expose: true })
