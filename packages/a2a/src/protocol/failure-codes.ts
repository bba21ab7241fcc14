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

type CoreCode = 'BODY_TOO_DEEP' | 'BODY_TOO_LARGE' | 'INVALID_BODY' | 'INVALID_JSON' | 'NOT_FOUND' | 'REQUEST_REFUSED' | 'UNAUTHENTICATED' | 'UNSUPPORTED_MEDIA_TYPE'
type PushCode = 'PUSH_SECRETS_INVALID' | 'PUSH_URL_REFUSED'
type TaskCode = 'TASK_CONFLICT' | 'TASK_INVALID' | 'TASK_INVALID_CURSOR' | 'TASK_NOT_FOUND' | 'TASK_TOO_LARGE' | 'TASK_TOO_MANY_PUSH_CONFIGS'

/** The kind of each failure in each dialect. The type makes a code without a row an error of the compiler. */
const FAILURES = {
  INVALID_JSON: { description: 'PARSE', v0_3: 'PARSE', v1: 'PARSE' },
  A2A_INVALID_REQUEST: { description: 'REQUEST', v0_3: 'REQUEST', v1: 'REQUEST' },
  BODY_TOO_DEEP: { description: 'REQUEST', v0_3: 'REQUEST', v1: 'REQUEST' },
  BODY_TOO_LARGE: { description: 'REQUEST', v0_3: 'REQUEST', v1: 'REQUEST' },
  INVALID_BODY: { description: 'REQUEST', v0_3: 'REQUEST', v1: 'REQUEST' },
  UNAUTHENTICATED: { description: 'REQUEST', v0_3: 'REQUEST', v1: 'REQUEST' },
  REQUEST_REFUSED: { description: 'REQUEST', v0_3: 'REQUEST', v1: 'REQUEST' },
  A2A_TOO_MANY_STREAMS: { description: 'REQUEST', v0_3: 'REQUEST', v1: 'REQUEST' },
  NOT_FOUND: { description: 'REQUEST', v0_3: 'REQUEST', v1: 'METHOD' },
  A2A_WRONG_METHOD: { description: 'METHOD', v0_3: 'METHOD', v1: 'METHOD' },
  A2A_METHOD_NOT_FOUND: { description: 'METHOD', v0_3: 'METHOD', v1: 'METHOD' },
  A2A_INVALID_PARAMS: { description: 'PARAMS', v0_3: 'PARAMS', v1: 'PARAMS' },
  TASK_CONFLICT: { description: 'PARAMS', v0_3: 'PARAMS', v1: 'PARAMS' },
  TASK_INVALID: { description: 'PARAMS', v0_3: 'PARAMS', v1: 'PARAMS' },
  TASK_INVALID_CURSOR: { description: 'PARAMS', v0_3: 'PARAMS', v1: 'PARAMS' },
  TASK_TOO_LARGE: { description: 'PARAMS', v0_3: 'PARAMS', v1: 'PARAMS' },
  TASK_TOO_MANY_PUSH_CONFIGS: { description: 'PARAMS', v0_3: 'PARAMS', v1: 'PARAMS' },
  PUSH_URL_REFUSED: { description: 'PARAMS', v0_3: 'PARAMS', v1: 'PARAMS' },
  PUSH_SECRETS_INVALID: { description: 'PARAMS', v0_3: 'PARAMS', v1: 'PARAMS' },
  A2A_TASK_NOT_FOUND: { description: 'TASK_NOT_FOUND', v0_3: 'TASK_NOT_FOUND', v1: 'TASK_NOT_FOUND' },
  TASK_NOT_FOUND: { description: 'TASK_NOT_FOUND', v0_3: 'TASK_NOT_FOUND', v1: 'TASK_NOT_FOUND' },
  A2A_PUSH_CONFIG_NOT_FOUND: { description: 'TASK_NOT_FOUND', v0_3: 'TASK_NOT_FOUND', v1: 'TASK_NOT_FOUND' },
  A2A_TASK_NOT_CANCELABLE: { description: 'TASK_NOT_CANCELABLE', v0_3: 'TASK_NOT_CANCELABLE', v1: 'TASK_NOT_CANCELABLE' },
  A2A_PUSH_NOT_SUPPORTED: {
    description: 'PUSH_NOTIFICATION_NOT_SUPPORTED', v0_3: 'PUSH_NOTIFICATION_NOT_SUPPORTED', v1: 'PUSH_NOTIFICATION_NOT_SUPPORTED'
  },
  A2A_TASK_NOT_WAITING: { description: 'PARAMS', v0_3: 'UNSUPPORTED_OPERATION', v1: 'UNSUPPORTED_OPERATION' },
  A2A_UNSUPPORTED_OPERATION: { description: 'REQUEST', v0_3: 'UNSUPPORTED_OPERATION', v1: 'UNSUPPORTED_OPERATION' },
  A2A_EXTENSION_REQUIRED: { description: 'REQUEST', v0_3: 'UNSUPPORTED_OPERATION', v1: 'EXTENSION_SUPPORT_REQUIRED' },
  A2A_CONTENT_TYPE_NOT_SUPPORTED: { description: 'REQUEST', v0_3: 'CONTENT_TYPE_NOT_SUPPORTED', v1: 'CONTENT_TYPE_NOT_SUPPORTED' },
  UNSUPPORTED_MEDIA_TYPE: { description: 'REQUEST', v0_3: 'CONTENT_TYPE_NOT_SUPPORTED', v1: 'CONTENT_TYPE_NOT_SUPPORTED' },
  A2A_EXTENDED_CARD_NOT_CONFIGURED: {
    description: 'REQUEST', v0_3: 'EXTENDED_AGENT_CARD_NOT_CONFIGURED', v1: 'EXTENDED_AGENT_CARD_NOT_CONFIGURED'
  },
  A2A_VERSION_NOT_SUPPORTED: { description: 'REQUEST', v0_3: 'REQUEST', v1: 'VERSION_NOT_SUPPORTED' }
} as const satisfies Record<A2aCode | CoreCode | PushCode | TaskCode, Readonly<Record<'description' | 'v0_3' | 'v1', Kind>>>

/** The kind of a failure in a dialect. A code without a row is one of the application around, or an internal error. */
export function kindOf (dialect: 'description' | 'v0_3' | 'v1', { code, status }: CodedFailure): Kind {
  const row = Object.hasOwn(FAILURES, code) ? FAILURES[code as keyof typeof FAILURES] : undefined
  return row?.[dialect] ?? (status < 500 ? 'REQUEST' : 'INTERNAL')
}
