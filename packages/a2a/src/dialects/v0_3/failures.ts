import type { CodedFailure } from '../../protocol/failure.js'

/** Our codes by those of A2A 0.3 (section 8). What is not here is a refusal by the application, or an internal error. */
const CODES: Readonly<Record<string, number>> = {
  INVALID_JSON: -32700,
  A2A_METHOD_NOT_FOUND: -32601,
  A2A_INVALID_PARAMS: -32602,
  TASK_CONFLICT: -32602,
  TASK_INVALID: -32602,
  TASK_TOO_LARGE: -32602,
  TASK_TOO_MANY_PUSH_CONFIGS: -32602,
  PUSH_URL_REFUSED: -32602,
  PUSH_SECRETS_INVALID: -32602,
  A2A_TASK_NOT_FOUND: -32001,
  TASK_NOT_FOUND: -32001,
  A2A_PUSH_CONFIG_NOT_FOUND: -32001,
  A2A_TASK_NOT_CANCELABLE: -32002,
  A2A_PUSH_NOT_SUPPORTED: -32003,
  A2A_UNSUPPORTED_OPERATION: -32004,
  A2A_TASK_NOT_WAITING: -32004,
  A2A_EXTENSION_REQUIRED: -32004,
  A2A_CONTENT_TYPE_NOT_SUPPORTED: -32005,
  UNSUPPORTED_MEDIA_TYPE: -32005,
  A2A_EXTENDED_CARD_NOT_CONFIGURED: -32007
}
const REFUSED = -32600
const INTERNAL = -32603

/** Where the remedy is another method's name here. */
const MESSAGES: Readonly<Record<string, string>> = {
  A2A_TASK_NOT_FOUND: 'there is no task of this id; message/send begins one',
  TASK_NOT_FOUND: 'there is no task of this id; message/send begins one',
  A2A_PUSH_NOT_SUPPORTED: 'push notifications are switched off here; follow the task with tasks/resubscribe',
  A2A_EXTENSION_REQUIRED: 'this agent requires an extension; the agent card says which, name it in X-A2A-Extensions'
}

/** A failure as 0.3 tells it. Only internal ones carry the request id, so that a foreign task looks like none to the byte. */
export function toRpcError ({ status, code: own, message, violations, requestId }: CodedFailure): { code: number, status: number, message: string, data: Record<string, unknown> } {
  const code = CODES[own] ?? (status < 500 ? REFUSED : INTERNAL)
  return {
    code,
    status,
    message: MESSAGES[own] ?? message,
    data: { code: own, ...(violations === undefined ? {} : { violations }), ...(code === INTERNAL ? { requestId } : {}) }
  }
}
