import { createError } from '@polyvac/core/plugin'

/** An option of the plugin is invalid. Argument: the problem. */
export const McpServerOptionsError = createError<[string]>('MCP_SERVER_OPTIONS', '%s', 500)

/** The caller lacks scopes. Argument: their names. */
export const InsufficientScopeError = createError<[string]>('MCP_INSUFFICIENT_SCOPE',
  'the credentials lack %s; get credentials with that scope', 403)

/** The caller cannot be asked. Arguments: the method of the server request, the reason. */
export const CannotAskError = createError<[string, string]>('MCP_CANNOT_ASK',
  'the caller cannot be asked for %s: %s', 400)

/** The caller answered a server request with an error. Arguments: the method, the message of the error. */
export const AskRefusedError = createError<[string, string]>('MCP_ASK_REFUSED',
  'the caller refused to answer %s: %s', 400)

/** The caller did not answer a server request in time. Arguments: the method, seconds. */
export const AskTimeoutError = createError<[string, number]>('MCP_ASK_TIMEOUT',
  'the caller did not answer %s within %s s', 400)

/** A call names a conversation where no answers are kept. */
export const RunsNotConfiguredError = createError('RUNS_NOT_CONFIGURED',
  'conversations are not kept here; give vacTools() the option `runs`, what createRuns() of @polyvac/runs returns, or leave conversation_id out', 501, { expose: true })
