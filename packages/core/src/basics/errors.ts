import { createError } from './create-error.js'

/** Every coded error of this package: code, text, HTTP status. Texts name the thing, the reason and the remedy. */
export const VacNotFoundError = createError<[string, string]>('VAC_NOT_FOUND',
  'no VAC is named %s; %s', 404)
/** For interpreters; arguments: the name, and the names that the caller may use. */
export const AgentNotFoundError = createError<[string, string]>('AGENT_NOT_FOUND',
  'there is no agent %s for this caller; %s', 500)
export const AgentLoopError = createError<[string, number]>('AGENT_LOOP',
  'the agent %s is not asked: the question has passed %s agents; look for agents that ask each other', 508, { expose: true })
export const AgentCallsError = createError<[number]>('AGENT_CALLS',
  'an answer, with the agents that it asks, may ask other agents %s times; ask for less at once', 500, { expose: true })
export const AgentApprovalError = createError<[string]>('AGENT_APPROVAL_REQUIRED',
  'the agent %s waits for an approval, which only a person can give: end the answer with its question', 409)
export const VacTimeoutError = createError<[string, number]>('VAC_TIMEOUT',
  'the VAC %s did not finish within %s s and was stopped; ask for less or raise the timeout', 504, { expose: true })
export const VacInterpreterFailedError = createError<[string]>('VAC_INTERPRETER_FAILED',
  'the interpreter of the VAC %s failed; the log has the cause under the request id', 500, { expose: true })
export const VacInvalidResultError = createError<[string, string]>('VAC_INVALID_RESULT',
  'the interpreter of the VAC %s returned %s; it must return text, or an object with a string `answer`', 500, { expose: true })
export const VacBufferFullError = createError<[string, number]>('VAC_BUFFER_FULL',
  'the interpreter of the VAC %s pushed more than %s characters ahead of the reader; await on_llm_new_token()', 500, { expose: true })
export const VacBusyError = createError<[number]>('VAC_BUSY',
  'all %s slots for answers in progress are taken; try again shortly', 503, { expose: true })
export const CallAbortedError = createError<[string]>('CALL_ABORTED',
  'the call was aborted: %s', 499)
export const ShuttingDownError = createError('SHUTTING_DOWN',
  'the service is shutting down; ask again in a moment', 503, { expose: true })
/** The error of the caller's field `echo_error`. Argument: its text. */
export const EchoError = createError<[string]>('ECHO_FAILED', 'echo was asked to fail: %s', 500)
export const InvalidVacNameError = createError<[string, string, string]>('INVALID_VAC_NAME',
  '%s cannot be the name of a VAC: %s; %s', 500)
export const InvalidStateKeyError = createError<[number]>('INVALID_STATE_KEY',
  '`stateKey` must have 32 bytes or more; it has %s', 500)
export const InvalidVacsError = createError<[string]>('INVALID_VACS', '%s', 500)
export const InvalidToolsError = createError<[string]>('INVALID_TOOLS', '%s', 500)
/** The code is that of a tool of an MCP server. Arguments: tool, every problem by its path. */
export const InvalidArgumentsError = createError<[string, string]>('MCP_INVALID_ARGUMENTS',
  'the arguments do not fit the input schema of %s: %s', 400)
/** JSON cannot represent what a tool returned. Arguments: tool, the reason. */
export const InvalidToolResultError = createError<[string, string]>('MCP_INVALID_RESULT',
  'the result of the tool %s cannot be sent as JSON: %s', 500, { expose: true })
export const WorkerOptionsError = createError<[string]>('WORKER_OPTIONS', '%s', 500)
export const InterpreterModuleError = createError<[string, string]>('INTERPRETER_MODULE',
  'the interpreter %s cannot be used: %s', 500)
export const BodyTooDeepError = createError<[number]>('BODY_TOO_DEEP',
  'the body is nested more than %s levels deep; send a flatter one', 400)
export const TooManyValuesError = createError<[number]>('BODY_TOO_MANY_VALUES',
  'the body has more than %s JSON values; send fewer, or longer texts in place of many short ones', 413)
export const NotUtf8Error = createError('INVALID_JSON',
  'the body is not UTF-8; encode it as UTF-8', 400)
export const InvalidHistoryError = createError<[string]>('INVALID_HISTORY',
  '%s; a turn is {role, content}, {name: Human|AI, content}, {human} and/or {ai}, or [human, ai]', 400)
export const MethodNotAllowedError = createError<[string, string]>('METHOD_NOT_ALLOWED',
  'this path does not have the method %s; use %s', 405)
export const UnauthenticatedError = createError('UNAUTHENTICATED',
  'the caller is not authenticated; send credentials, such as Authorization: Bearer …', 401)
export const InsufficientScopeError = createError<[string]>('INSUFFICIENT_SCOPE',
  'the caller needs the scope %s for this; use credentials that have it', 403)
export const InvalidPrincipalError = createError<[string]>('INVALID_PRINCIPAL',
  '`authenticate` returned a principal %s; return { owner, scopes } with a text and a list of texts, or undefined to refuse', 500)
export const InvalidCurrentError = createError('INVALID_CURRENT',
  '`current` of `authenticate` returned a promise, or no principal; return { owner, scopes } at once, or undefined where the credential does not count any more', 500)
export const OwnerRefusedError = createError<[string]>('OWNER_REFUSED',
  'the name of this caller %s, so it could pass for another one; use an account with another name', 401)
/** The call of a tool waits for an approval. Arguments: the tool, who is asked or how it is given. */
export const ApprovalRequiredError = createError<[string, string]>('APPROVAL_REQUIRED',
  'the call of the tool %s needs an approval; %s', 403)
export const ApprovalDeclinedError = createError<[string]>('APPROVAL_DECLINED',
  'the call of the tool %s was declined, and the tool was not called; do not call it again unless the user asks for that', 403)
/** A call was approved and had begun when its process ended. */
export const ApprovalOutcomeUnknownError = createError<[string]>('APPROVAL_OUTCOME_UNKNOWN',
  'the call of the tool %s was approved and had begun when its process ended: whether it had its effect is unknown, and it is not repeated; find out before you call it again', 500, { expose: true })
/** Arguments: the tool, why it cannot be asked about, and the remedy. */
export const ApprovalTooLargeError = createError<[string, string]>('APPROVAL_TOO_LARGE',
  'the call of the tool %s needs an approval and cannot be asked about: %s', 413)
/** Also for an approval of another caller. */
export const ApprovalNotFoundError = createError('APPROVAL_NOT_FOUND',
  'there is no such approval; it is kept for an hour after it expires', 404)
/** Argument: what became of it. */
export const ApprovalNotOpenError = createError<[string]>('APPROVAL_NOT_OPEN',
  'this approval %s; make the call again without it to ask for another one', 409)
