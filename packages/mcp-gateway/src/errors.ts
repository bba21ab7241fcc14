import { createError } from '@polyvac/core/plugin'

/** No configured server has the name. Arguments: the name, near match or the names there are. */
export const ServerNotFoundError = createError<[string, string]>('MCP_SERVER_NOT_FOUND', 'no MCP server is named %s; %s', 404)

/** The server has no such tool, or it is not offered. Arguments: server, tool, near match or some names. */
export const ToolNotFoundError = createError<[string, string, string]>('MCP_TOOL_NOT_FOUND', 'the MCP server %s has no tool %s; %s', 404)

/** The server has no such prompt. Arguments: server, prompt, near match or some names. */
export const PromptNotFoundError = createError<[string, string, string]>('MCP_PROMPT_NOT_FOUND', 'the MCP server %s has no prompt %s; %s', 404)

/** The server does not know the resource. Arguments: server, URI, what the server says. */
export const ResourceNotFoundError = createError<[string, string, string]>('MCP_RESOURCE_NOT_FOUND', 'the MCP server %s has no resource %s: %s', 404)

/** The arguments do not fit the tool's input schema. Arguments: tool, every problem by its path. */
export const InvalidArgumentsError = createError<[string, string]>('MCP_INVALID_ARGUMENTS', 'the arguments do not fit the input schema of %s: %s', 400)

/** The `requestState` of a resumed call is not of this gateway, not of this call, used up or too old. Argument: which. */
export const InvalidStateError = createError<[string]>('MCP_INVALID_STATE', 'this call cannot be resumed: %s; call the tool anew', 400)

/** The server does not run at the moment. Arguments: server, why, what happens next. */
export const ServerNotReadyError = createError<[string, string, string]>('MCP_SERVER_NOT_READY', 'the MCP server %s is not ready: %s; %s', 500, { expose: true })

/** The server went away while it worked. Arguments: server, how it ended. */
export const ServerGoneError = createError<[string, string]>('MCP_SERVER_GONE', 'the MCP server %s ended during the call: %s', 500, { expose: true })

/** The tool ran and reported an error. Arguments: tool, its words. */
export const ToolFailedError = createError<[string, string]>('MCP_TOOL_FAILED', 'the tool %s failed: %s', 500, { expose: true })

/** The server answered the call with a protocol error. Arguments: server, its words. */
export const CallFailedError = createError<[string, string]>('MCP_CALL_FAILED', 'the MCP server %s refused the call: %s', 500, { expose: true })

/** No answer and no progress for the time of a call. Arguments: server, seconds. */
export const CallTimeoutError = createError<[string, number]>('MCP_CALL_TIMEOUT',
  'the MCP server %s gave no answer and no progress for %s s; the call was cancelled', 500, { expose: true })

/** A message is longer than the gateway takes. Arguments: server, its bytes, the limit. */
export const MessageTooLargeError = createError<[string, number, number]>('MCP_MESSAGE_TOO_LARGE',
  'the answer of the MCP server %s has %s bytes, and %s are taken; ask for less, or raise maxMessageBytes', 500, { expose: true })

/** Too many calls of one server are in flight. Arguments: server, the limit. */
export const ServerBusyError = createError<[string, number]>('MCP_SERVER_BUSY', 'the MCP server %s has %s calls in flight; try again soon', 503, { expose: true })

/** The gateway is given something that it cannot use. Argument: what and why. */
export const GatewayOptionsError = createError<[string]>('MCP_GATEWAY_OPTIONS', '%s', 500)

/** Where a failed call happened and what is known of its server; `details` of the answer. */
export interface CallContext {
  readonly server: string
  readonly tool?: string | undefined
  readonly details?: Readonly<Record<string, unknown>> | undefined
}

const contexts = new WeakMap<object, CallContext>()

/** Puts the place and the details to an error; they are not part of its message. */
export function withContext<E extends Error> (err: E, context: CallContext): E {
  contexts.set(err, { ...contexts.get(err), ...context })
  return err
}

export function contextOf (err: unknown): CallContext | undefined {
  return typeof err === 'object' && err !== null ? contexts.get(err) : undefined
}

/** The error with the protocol's error that the server answered with, as `rpcError`, for an MCP server to hand on. */
export function handedOn (err: unknown): unknown {
  const { rpcCode: code, data } = contextOf(err)?.details ?? {}
  return code === undefined ? err : Object.assign(err as Error, { rpcError: { code, message: (err as Error).message, data } })
}
