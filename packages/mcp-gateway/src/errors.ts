import { createError } from '@polyvac/core/plugin'

/** No configured server has the name. Arguments: the name, near match or the configured names. */
export const ServerNotFoundError = createError<[string, string]>('MCP_SERVER_NOT_FOUND', 'no MCP server is named %s; %s', 404)

/** The server does not list the tool, or `deny` leaves it out. Arguments: server, tool, near match or some names. */
export const ToolNotFoundError = createError<[string, string, string]>('MCP_TOOL_NOT_FOUND', 'the MCP server %s has no tool %s; %s', 404)

/** `pin` holds the tool back. Arguments: tool, server, why, fingerprint of the list. */
export const ToolHeldBackError = createError<[string, string, string, string]>('MCP_TOOL_HELD_BACK',
  'the tool %s of the MCP server %s is %s; an operator who has read the list accepts it with `pin: %s` in the entry of the server', 403)

/** The caller may not restart a server. */
export const RestartRefusedError = createError('MCP_RESTART_REFUSED',
  'callers share the MCP servers, so only an administrator restarts one: a caller with the scope admin, or on this machine where the service authenticates no caller', 403)

/** The server does not list the prompt. Arguments: server, prompt, near match or some names. */
export const PromptNotFoundError = createError<[string, string, string]>('MCP_PROMPT_NOT_FOUND', 'the MCP server %s has no prompt %s; %s', 404)

/** The server does not have the resource. Arguments: server, URI, the server's message. */
export const ResourceNotFoundError = createError<[string, string, string]>('MCP_RESOURCE_NOT_FOUND', 'the MCP server %s has no resource %s: %s', 404)

/** The arguments do not fit the tool's input schema. Arguments: tool, every problem by its path. */
export const InvalidArgumentsError = createError<[string, string]>('MCP_INVALID_ARGUMENTS', 'the arguments do not fit the input schema of %s: %s', 400)

/** `requestState` is forged, of another call, used or expired. Argument: which. */
export const InvalidStateError = createError<[string]>('MCP_INVALID_STATE', 'this call cannot be resumed: %s; call the tool again', 400)

/** The server is not ready. Arguments: server, why, what happens next. */
export const ServerNotReadyError = createError<[string, string, string]>('MCP_SERVER_NOT_READY', 'the MCP server %s is not ready: %s; %s', 500, { expose: true })

/** The server ended during the call. Arguments: server, how it ended. */
export const ServerGoneError = createError<[string, string]>('MCP_SERVER_GONE', 'the MCP server %s ended during the call: %s', 500, { expose: true })

/** The tool returned a result with `isError`. Arguments: tool, its text. */
export const ToolFailedError = createError<[string, string]>('MCP_TOOL_FAILED', 'the tool %s failed: %s', 500, { expose: true })

/** The server answered with a JSON-RPC error. Arguments: server, its message. */
export const CallFailedError = createError<[string, string]>('MCP_CALL_FAILED', 'the MCP server %s refused the call: %s', 500, { expose: true })

/** No response and no progress in time, or no response in all. Arguments: server, what it gave, seconds, key. */
export const CallTimeoutError = createError<[string, string, number, string]>('MCP_CALL_TIMEOUT',
  'the MCP server %s gave %s for %s s; the call was cancelled, and `%s` of its entry gives it more', 500, { expose: true })

/** A message exceeds `max_message_bytes`, or is too deep. Arguments: server, how. */
export const MessageTooLargeError = createError<[string, string]>('MCP_MESSAGE_TOO_LARGE',
  'the answer of the MCP server %s %s; request less, or raise `max_message_bytes` of its entry', 500, { expose: true })

/** Too many calls of one server are in flight. Arguments: server, the limit. */
export const ServerBusyError = createError<[string, number]>('MCP_SERVER_BUSY', 'the MCP server %s has %s calls in flight; try again soon, or raise `max_in_flight` of its entry', 503, { expose: true })

/** A server with a process for each caller has no slot for another one. Arguments: server, what is in use. */
export const ProcessesUsedError = createError<[string, string]>('MCP_PROCESSES_USED',
  'the MCP server %s has %s in use; try again when one has ended, or raise `max_processes` of its entry', 503, { expose: true })

/** The caller has to sign in to the server or agent first. Arguments: which, the address to open. */
export const SignInRequiredError = createError<[string, string]>('MCP_SIGN_IN_REQUIRED',
  '%s needs a sign-in of this caller: open %s in a browser, then call again', 401)

/** A sign-in cannot begin, or its token cannot be renewed. Arguments: the server or agent, why. */
export const SignInFailedError = createError<[string, string]>('MCP_SIGN_IN_FAILED', 'signing in to %s failed: %s', 500, { expose: true })

/** A page of the sign-in cannot be opened. Argument: why. */
export const SignInRefusedError = createError<[string]>('MCP_SIGN_IN_REFUSED', 'this sign-in cannot continue: %s; call the tool again for another address', 400)

/** An option is invalid. Argument: which and why. */
export const GatewayOptionsError = createError<[string]>('MCP_GATEWAY_OPTIONS', '%s', 500)

/** The server and tool of a failed call; `details` of the error body. */
export interface CallContext {
  readonly server: string
  readonly tool?: string | undefined
  readonly details?: Readonly<Record<string, unknown>> | undefined
  /** The message for callers who may not read those of the server's process. */
  readonly brief?: string | undefined
}

/** Details that only administrators read. */
const PROCESS_DETAILS: ReadonlySet<string> = new Set(['stderr', 'exitCode', 'signal'])

// @keyed none: the keys are errors in progress
const contexts = new WeakMap<object, CallContext>()

/** Attaches context to an error, without changing its message. */
export function withContext<E extends Error> (err: E, context: CallContext): E {
  contexts.set(err, { ...contexts.get(err), ...context })
  return err
}

export function contextOf (err: unknown): CallContext | undefined {
  return typeof err === 'object' && err !== null ? contexts.get(err) : undefined
}

/** The message and details of an error for a caller. */
export function shownTo (isAdmin: boolean, err: unknown, message: string): { readonly message: string, readonly details: CallContext['details'] } {
  const { details, brief = message } = contextOf(err) ?? {}
  if (isAdmin || details === undefined) return { message: isAdmin ? message : brief, details }
  const left = Object.entries(details).filter(([key]) => !PROCESS_DETAILS.has(key))
  return { message: brief, details: left.length === 0 ? undefined : Object.fromEntries(left) }
}

/** Adds the JSON-RPC error of the server as `rpcError`, for an MCP server to pass on. */
export function withRpcError (err: unknown): unknown {
  const { rpcCode: code, data } = contextOf(err)?.details ?? {}
  return code === undefined ? err : Object.assign(err as Error, { rpcError: { code, message: (err as Error).message, data } })
}
