import type { A2aCode } from '../errors.js'
import type { CodedFailure } from './failure.js'

/** The errors of A2A by the reason of their ErrorInfo: codes of JSON-RPC, HTTP and gRPC (A2A 1.0.1, section 5.4). */
export const REASONS = {
  TASK_NOT_FOUND: { rpc: -32001, http: 404, grpc: 'NOT_FOUND' },
  TASK_NOT_CANCELABLE: { rpc: -32002, http: 400, grpc: 'FAILED_PRECONDITION' },
  PUSH_NOTIFICATION_NOT_SUPPORTED: { rpc: -32003, http: 400, grpc: 'FAILED_PRECONDITION' },
  UNSUPPORTED_OPERATION: { rpc: -32004, http: 400, grpc: 'FAILED_PRECONDITION' },
  CONTENT_TYPE_NOT_SUPPORTED: { rpc: -32005, http: 400, grpc: 'INVALID_ARGUMENT' },
  INVALID_AGENT_RESPONSE: { rpc: -32006, http: 500, grpc: 'INTERNAL' },
  EXTENDED_AGENT_CARD_NOT_CONFIGURED: { rpc: -32007, http: 400, grpc: 'FAILED_PRECONDITION' },
  EXTENSION_SUPPORT_REQUIRED: { rpc: -32008, http: 400, grpc: 'FAILED_PRECONDITION' },
  VERSION_NOT_SUPPORTED: { rpc: -32009, http: 400, grpc: 'FAILED_PRECONDITION' }
} as const

/** Every kind of error: those of A2A, and those of JSON-RPC 2.0. */
export const KINDS = {
  ...REASONS,
  PARSE: { rpc: -32700, http: 400, grpc: 'INVALID_ARGUMENT' },
  REQUEST: { rpc: -32600, http: 400, grpc: 'INVALID_ARGUMENT' },
  METHOD: { rpc: -32601, http: 404, grpc: 'UNIMPLEMENTED' },
  PARAMS: { rpc: -32602, http: 400, grpc: 'INVALID_ARGUMENT' },
  INTERNAL: { rpc: -32603, http: 500, grpc: 'INTERNAL' }
} as const
export type Kind = keyof typeof KINDS

type CoreCode =
  'BODY_TOO_DEEP' | 'BODY_TOO_LARGE' | 'CONVERSATION_NOT_FOUND' | 'INVALID_BODY' | 'INVALID_JSON' | 'NOT_FOUND' | 'REQUEST_REFUSED' |
  'UNAUTHENTICATED' | 'UNSUPPORTED_MEDIA_TYPE'
type PushCode = 'PUSH_SECRETS_INVALID' | 'PUSH_URL_REFUSED'
type TaskCode =
  'TASK_CONFLICT' | 'TASK_INVALID' | 'TASK_INVALID_CURSOR' | 'TASK_NOT_FOUND' | 'TASK_TOO_LARGE' |
  'TASK_TOO_MANY_PUSH_CONFIGS'

/** The kinds of one failure in the three dialects. */
interface Row { readonly description: Kind, readonly v0_3: Kind, readonly v1: Kind }

/** The same kind in every dialect. */
function every (kind: Kind): Row {
  return { description: kind, v0_3: kind, v1: kind }
}

/** The kind of each failure in each dialect. A code without a row does not compile. */
const FAILURES: Readonly<Record<A2aCode | CoreCode | PushCode | TaskCode, Row>> = {
  INVALID_JSON: every('PARSE'),
  A2A_INVALID_REQUEST: every('REQUEST'),
  BODY_TOO_DEEP: every('REQUEST'),
  BODY_TOO_LARGE: every('REQUEST'),
  INVALID_BODY: every('REQUEST'),
  UNAUTHENTICATED: every('REQUEST'),
  REQUEST_REFUSED: every('REQUEST'),
  A2A_TOO_MANY_STREAMS: every('REQUEST'),
  A2A_WRONG_METHOD: every('METHOD'),
  A2A_METHOD_NOT_FOUND: every('METHOD'),
  A2A_METHOD_NOT_ALLOWED: every('REQUEST'),
  A2A_INVALID_PARAMS: every('PARAMS'),
  CONVERSATION_NOT_FOUND: every('PARAMS'),
  TASK_CONFLICT: every('PARAMS'),
  TASK_INVALID: every('PARAMS'),
  TASK_INVALID_CURSOR: every('PARAMS'),
  TASK_TOO_LARGE: every('PARAMS'),
  TASK_TOO_MANY_PUSH_CONFIGS: every('PARAMS'),
  PUSH_URL_REFUSED: every('PARAMS'),
  PUSH_SECRETS_INVALID: every('PARAMS'),
  A2A_TASK_NOT_FOUND: every('TASK_NOT_FOUND'),
  TASK_NOT_FOUND: every('TASK_NOT_FOUND'),
  A2A_PUSH_CONFIG_NOT_FOUND: every('TASK_NOT_FOUND'),
  A2A_TASK_NOT_CANCELABLE: every('TASK_NOT_CANCELABLE'),
  A2A_PUSH_NOT_SUPPORTED: every('PUSH_NOTIFICATION_NOT_SUPPORTED'),
  NOT_FOUND: { description: 'REQUEST', v0_3: 'REQUEST', v1: 'METHOD' },
  UNSUPPORTED_MEDIA_TYPE: { ...every('CONTENT_TYPE_NOT_SUPPORTED'), description: 'REQUEST' },
  A2A_TASK_NOT_WAITING: { ...every('UNSUPPORTED_OPERATION'), description: 'PARAMS' },
  // the description has no operation that fails with one of these
  A2A_UNSUPPORTED_OPERATION: every('UNSUPPORTED_OPERATION'),
  A2A_CONTENT_TYPE_NOT_SUPPORTED: every('CONTENT_TYPE_NOT_SUPPORTED'),
  A2A_EXTENDED_CARD_NOT_CONFIGURED: every('EXTENDED_AGENT_CARD_NOT_CONFIGURED'),
  A2A_EXTENSION_REQUIRED: { ...every('UNSUPPORTED_OPERATION'), v1: 'EXTENSION_SUPPORT_REQUIRED' },
  A2A_VERSION_NOT_SUPPORTED: { ...every('REQUEST'), v1: 'VERSION_NOT_SUPPORTED' }
}

/**
 * The kind of a failure in a dialect. A code without a row is a refusal by the application around, or an internal
 * error.
 */
export function kindOf (dialect: keyof Row, { code, status }: CodedFailure): Kind {
  const row = Object.hasOwn(FAILURES, code) ? FAILURES[code as keyof typeof FAILURES] : undefined
  return row?.[dialect] ?? (status < 500 ? 'REQUEST' : 'INTERNAL')
}
