import { KINDS, kindOf, REASONS } from '../../protocol/failure-codes.js'
import { PLAIN_STATUSES, type CodedFailure } from '../../protocol/failure.js'

/** Texts whose remedy names a method of 1.0. */
const MESSAGES: Readonly<Record<string, string>> = {
  A2A_TASK_NOT_FOUND: 'there is no task of this id; ListTasks names yours',
  TASK_NOT_FOUND: 'there is no task of this id; ListTasks names yours',
  A2A_PUSH_NOT_SUPPORTED: 'push notifications are switched off here; follow the task with SubscribeToTask',
  TASK_INVALID_CURSOR: 'pageToken is not one that a page ended with; leave it out to begin at the first page'
}

/** The fields of failures that the engine reports without them. */
const FIELDS: Readonly<Record<string, string>> = { TASK_INVALID_CURSOR: 'pageToken', PUSH_URL_REFUSED: 'url' }

const RPC_TYPE = 'type.googleapis.com/google.rpc.'

export interface V1Failure {
  readonly code: number
  readonly http: number
  readonly grpc: string
  readonly message: string
  readonly details: ReadonlyArray<Record<string, unknown>>
}

/**
 * A failure of 1.0, for every binding. Only -32603 carries the request id: the answers for another owner's task and for
 * an unknown one must be byte-identical.
 */
export function toFailure (failure: CodedFailure): V1Failure {
  const { status, code, requestId } = failure
  const kind = kindOf('v1', failure)
  const { rpc, http, grpc } = KINDS[kind]
  const plain = PLAIN_STATUSES[status]
  const message = MESSAGES[code] ?? failure.message
  const field = FIELDS[code]
  const fieldViolations = failure.violations ?? (field === undefined ? undefined : [{ field, description: message }])
  const source = kind in REASONS ? { reason: kind, domain: 'a2a-protocol.org' } : { reason: code, domain: 'polyvac' }
  const metadata = { code, ...(kind === 'INTERNAL' ? { requestId } : {}) }
  return {
    code: rpc,
    http: plain === undefined ? http : status,
    grpc: plain ?? grpc,
    message,
    details: [
      { '@type': `${RPC_TYPE}ErrorInfo`, ...source, metadata },
      ...(fieldViolations === undefined ? [] : [{ '@type': `${RPC_TYPE}BadRequest`, fieldViolations }])
    ]
  }
}

/** The gRPC status of a JSON-RPC error; `status` is the HTTP status that came with it. */
export function grpcStatusOf (rpc: number, status: number): string {
  return PLAIN_STATUSES[status] ?? Object.values(KINDS).find(kind => kind.rpc === rpc)?.grpc ?? KINDS.INTERNAL.grpc
}

/** The body of a failed request over HTTP+JSON (section 11.6). */
export function toHttpBody ({ http, grpc, message, details }: V1Failure): Record<string, unknown> {
  return { error: { code: http, status: grpc, message, details } }
}
