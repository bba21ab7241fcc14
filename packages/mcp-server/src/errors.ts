import createError from '@fastify/error'

/** The plugin is given something that it cannot use. Argument: what and why. */
export const McpServerOptionsError = createError<[string]>('MCP_SERVER_OPTIONS', '%s', 500)

/** The caller cannot be asked. Arguments: the method of the question, why. */
export const CannotAskError = createError<[string, string]>('MCP_CANNOT_ASK', 'the caller cannot be asked for %s: %s', 400)
