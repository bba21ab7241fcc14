import type { NewPushConfig, TaskPart, TaskState } from '@polyvac/tasks'

/** The message of a caller, in the terms of the engine. */
export interface IncomingMessage {
  readonly id: string
  readonly parts: readonly TaskPart[]
  readonly contextId?: string | undefined
  /** A task that asked for it. */
  readonly taskId?: string | undefined
  readonly metadata?: Readonly<Record<string, unknown>> | undefined
  readonly extensions?: readonly string[] | undefined
  readonly referenceTaskIds?: readonly string[] | undefined
}

export interface SendRequest {
  /** Name of a VAC. */
  readonly tenant?: string | undefined
  readonly message: IncomingMessage
  /** Of the request; that of the message is kept with it. */
  readonly metadata?: Readonly<Record<string, unknown>> | undefined
  /** Whether the caller waits for the end. */
  readonly blocking: boolean
  readonly historyLength?: number | undefined
  readonly push?: NewPushConfig | undefined
}

export interface TaskRequest {
  readonly tenant?: string | undefined
  readonly id: string
  readonly historyLength?: number | undefined
}

export interface ListRequest {
  readonly tenant?: string | undefined
  readonly contextId?: string | undefined
  readonly states?: readonly TaskState[] | undefined
  readonly limit: number
  readonly cursor?: string | undefined
  readonly since?: number | undefined
  readonly historyLength?: number | undefined
  readonly artifacts: boolean
}

export interface PushRequest {
  readonly tenant?: string | undefined
  readonly taskId: string
  /** Undefined: the first one. */
  readonly id?: string | undefined
}

export interface SetPushRequest {
  readonly tenant?: string | undefined
  readonly taskId: string
  readonly config: NewPushConfig
}

export interface ListPushRequest {
  readonly tenant?: string | undefined
  readonly taskId: string
  readonly limit?: number | undefined
  readonly cursor?: string | undefined
}
