import type { TaskStep } from '@polyvac/runs'
import type { PushConfig, TaskPage, TaskRecord } from '@polyvac/tasks'
import type { PushPayload } from '../push/deliver.js'
import type { CodedFailure, DialectError } from './failure.js'
import type { ListPushRequest, ListRequest, PushRequest, SendRequest, SetPushRequest, TaskRequest } from './requests.js'

/** The operations of A2A, which each version names differently. */
export type Operation =
  'send' | 'stream' | 'get' | 'list' | 'cancel' | 'subscribe' |
  'setPush' | 'getPush' | 'listPush' | 'deletePush' | 'extendedCard'

/** A version of A2A: pure functions between its messages and the engine, without state. */
export interface Dialect {
  /** In the format of `A2A-Version`. */
  readonly version: string
  /** The JSON-RPC methods. */
  readonly methods: Readonly<Record<string, Operation>>
  /** The header in which clients name extensions. */
  readonly extensionsHeader: string
  readonly readSend: (params: unknown) => SendRequest
  readonly readGet: (params: unknown) => TaskRequest
  readonly readTask: (params: unknown) => TaskRequest
  readonly readList: (params: unknown) => ListRequest
  readonly readSetPush: (params: unknown) => SetPushRequest
  readonly readPushId: (params: unknown) => PushRequest
  readonly readListPush: (params: unknown) => ListPushRequest
  readonly readTenant: (params: unknown) => string | undefined
  /** `historyLength`: newest messages of the history; undefined: all of them. */
  readonly toTask: (task: TaskRecord, historyLength?: number) => unknown
  /** The answer to a message. */
  readonly toSendResult: (task: TaskRecord, historyLength?: number) => unknown
  readonly toPage: (page: TaskPage, request: ListRequest) => unknown
  /** The first event of a stream. */
  readonly toSnapshot: (task: TaskRecord, historyLength?: number) => unknown
  /** The events of a stream that one step makes. `ends`: the stream ends with it. */
  readonly toEvents: (step: TaskStep, ends: boolean) => unknown[]
  /** The body of a push notification. */
  readonly toNotification: (step: TaskStep) => PushPayload
  readonly toPushConfig: (config: PushConfig) => unknown
  readonly toPushConfigs: (configs: readonly PushConfig[], next: string) => unknown
  readonly deleteResult: unknown
  readonly toRpcError: (failure: CodedFailure) => DialectError
}

/** The readers of the params of each operation. */
const READERS = {
  send: 'readSend',
  stream: 'readSend',
  get: 'readGet',
  list: 'readList',
  cancel: 'readTask',
  subscribe: 'readTask',
  setPush: 'readSetPush',
  getPush: 'readPushId',
  listPush: 'readListPush',
  deletePush: 'readPushId',
  extendedCard: 'readTenant'
} as const satisfies Record<Operation, keyof Dialect>

/** Checks params and executes nothing. @throws A2A_INVALID_PARAMS */
export function checkParams (dialect: Dialect, operation: Operation, params: unknown): void {
  dialect[READERS[operation]](params)
}
