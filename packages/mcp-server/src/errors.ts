import { createError } from '@polyvac/core/plugin'

/** The plugin is given something that it cannot use. Argument: what and why. */
export const McpServerOptionsError = createError<[string]>('MCP_SERVER_OPTIONS', '%s', 500)

/** The caller may not. Argument: the scopes that are missing. */
export const InsufficientScopeError = createError<[string]>('MCP_INSUFFICIENT_SCOPE', 'the credentials lack %s; get some with that scope', 403)

/** The caller cannot be asked. Arguments: the method of the question, why. */
export const CannotAskError = createError<[string, string]>('MCP_CANNOT_ASK', 'the caller cannot be asked for %s: %s', 400)

/** The caller answered a question with an error. Arguments: the method of the question, what it said. */
export const AskRefusedError = createError<[string, string]>('MCP_ASK_REFUSED', 'the caller refused to answer %s: %s', 400)

/** The caller did not answer a question in time. Arguments: the method of the question, seconds. */
export const AskTimeoutError = createError<[string, number]>('MCP_ASK_TIMEOUT', 'the caller did not answer %s within %s s', 400)
