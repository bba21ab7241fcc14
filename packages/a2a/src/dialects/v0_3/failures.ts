import { KINDS, kindOf } from '../../protocol/failure-codes.js'
import type { CodedFailure, DialectError } from '../../protocol/failure.js'

/** Texts whose remedy names a method or header of 0.3. */
const MESSAGES: Readonly<Record<string, string>> = {
  A2A_TASK_NOT_FOUND: 'task not found: none has this id; message/send begins one',
  TASK_NOT_FOUND: 'task not found: none has this id; message/send begins one',
  A2A_PUSH_NOT_SUPPORTED: 'push notifications are switched off here; follow the task with tasks/resubscribe',
  A2A_EXTENSION_REQUIRED: 'this agent requires an extension; name the one of the agent card in X-A2A-Extensions'
}

/** A JSON-RPC error of 0.3. Only -32603 carries the request id, see `toFailure` of 1.0. */
export function toRpcError (failure: CodedFailure): DialectError {
  const { status, code, message, violations, requestId } = failure
  const kind = kindOf('v0_3', failure)
  return {
    code: KINDS[kind].rpc,
    status,
    message: MESSAGES[code] ?? message,
    data: { code, ...(violations === undefined ? {} : { violations }), ...(kind === 'INTERNAL' ? { requestId } : {}) }
  }
}
