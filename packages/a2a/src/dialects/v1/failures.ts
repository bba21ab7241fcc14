import type { FieldViolation } from '../../errors.js'
import { PLAIN_STATUSES, type CodedFailure } from '../../protocol/failure.js'

/** What a kind of failure is on each wire (A2A 1.0.1, section 5.4). */
interface Kind { readonly rpc: number, readonly http: number, readonly grpc: string }

/** The errors of the protocol, under the reasons of their ErrorInfo. */
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
} as const satisfies Record<string, Kind>
export type Reason = keyof typeof REASONS

const PARSE: Kind = { rpc: -32700, http: 400, grpc: 'INVALID_ARGUMENT' }
const REQUEST: Kind = { rpc: -32600, http: 400, grpc: 'INVALID_ARGUMENT' }
const METHOD: Kind = { rpc: -32601, http: 404, grpc: 'UNIMPLEMENTED' }
const PARAMS: Kind = { rpc: -32602, http: 400, grpc: 'INVALID_ARGUMENT' }
const INTERNAL: Kind = { rpc: -32603, http: 500, grpc: 'INTERNAL' }

/** Our codes by what they are to a client of 1.0. What is not here is a refusal by the application, or an internal error. */
const CODES: Readonly<Record<string, Reason | Kind>> = {
  A2A_TASK_NOT_FOUND: 'TASK_NOT_FOUND',
  TASK_NOT_FOUND: 'TASK_NOT_FOUND',
  A2A_PUSH_CONFIG_NOT_FOUND: 'TASK_NOT_FOUND',
  A2A_TASK_NOT_CANCELABLE: 'TASK_NOT_CANCELABLE',
  A2A_PUSH_NOT_SUPPORTED: 'PUSH_NOTIFICATION_NOT_SUPPORTED',
  A2A_UNSUPPORTED_OPERATION: 'UNSUPPORTED_OPERATION',
  A2A_TASK_NOT_WAITING: 'UNSUPPORTED_OPERATION',
  A2A_CONTENT_TYPE_NOT_SUPPORTED: 'CONTENT_TYPE_NOT_SUPPORTED',
  UNSUPPORTED_MEDIA_TYPE: 'CONTENT_TYPE_NOT_SUPPORTED',
  A2A_EXTENDED_CARD_NOT_CONFIGURED: 'EXTENDED_AGENT_CARD_NOT_CONFIGURED',
  A2A_EXTENSION_REQUIRED: 'EXTENSION_SUPPORT_REQUIRED',
  A2A_VERSION_NOT_SUPPORTED: 'VERSION_NOT_SUPPORTED',
  INVALID_JSON: PARSE,
  A2A_METHOD_NOT_FOUND: METHOD,
  NOT_FOUND: METHOD,
  A2A_INVALID_PARAMS: PARAMS,
  TASK_CONFLICT: PARAMS,
  TASK_INVALID: PARAMS,
  TASK_INVALID_CURSOR: PARAMS,
  TASK_TOO_LARGE: PARAMS,
  TASK_TOO_MANY_PUSH_CONFIGS: PARAMS,
  PUSH_URL_REFUSED: PARAMS,
  PUSH_SECRETS_INVALID: PARAMS
}

/** Where the remedy is another method's name here. */
const MESSAGES: Readonly<Record<string, string>> = {
  A2A_TASK_NOT_FOUND: 'there is no task of this id; ListTasks names yours',
  TASK_NOT_FOUND: 'there is no task of this id; ListTasks names yours',
  A2A_PUSH_NOT_SUPPORTED: 'push notifications are switched off here; follow the task with SubscribeToTask',
  TASK_INVALID_CURSOR: 'pageToken is not one that a page ended with; leave it out to begin at the first page'
}

/** The fields behind failures that the engine tells without them. */
const FIELDS: Readonly<Record<string, string>> = { TASK_INVALID_CURSOR: 'pageToken', PUSH_URL_REFUSED: 'url' }

export interface V1Failure {
  readonly code: number
  readonly http: number
  readonly grpc: string
  readonly message: string
  readonly details: ReadonlyArray<Record<string, unknown>>
}

/** A failure as 1.0 tells it, on every binding. Only internal ones carry the request id, so that a foreign task looks like none to the byte. */
export function toFailure ({ status, code, message, violations, requestId }: CodedFailure): V1Failure {
  const found = CODES[code] ?? (status < 500 ? REQUEST : INTERNAL)
  const kind = typeof found === 'string' ? REASONS[found] : found
  const plain = PLAIN_STATUSES[status]
  const told = MESSAGES[code] ?? message
  const field = FIELDS[code]
  const fields = violations ?? (field === undefined ? undefined : [{ field, description: told }])
  const metadata = { code, ...(kind === INTERNAL ? { requestId } : {}) }
  return {
    code: kind.rpc,
    http: plain === undefined ? kind.http : status,
    grpc: plain ?? kind.grpc,
    message: told,
    details: [
      { '@type': 'type.googleapis.com/google.rpc.ErrorInfo', reason: typeof found === 'string' ? found : code, domain: typeof found === 'string' ? 'a2a-protocol.org' : 'polyvac', metadata },
      ...(fields === undefined ? [] : [badRequest(fields)])
    ]
  }
}

function badRequest (fieldViolations: readonly FieldViolation[]): Record<string, unknown> {
  return { '@type': 'type.googleapis.com/google.rpc.BadRequest', fieldViolations }
}

/** The name of the gRPC status that a JSON-RPC error is; `status` is the HTTP status that came with it. */
export function grpcStatusOf (rpc: number, status: number): string {
  const kinds: readonly Kind[] = [...Object.values(REASONS), PARSE, REQUEST, METHOD, PARAMS]
  return PLAIN_STATUSES[status] ?? kinds.find(kind => kind.rpc === rpc)?.grpc ?? INTERNAL.grpc
}

/** The body of a failed request over HTTP+JSON (section 11.6). */
export function toHttpBody ({ http, grpc, message, details }: V1Failure): Record<string, unknown> {
  return { error: { code: http, status: grpc, message, details } }
}
