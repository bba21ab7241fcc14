/** States of a task, with the names of 0.3; `unknown` for one that neither version has. */
export const STATES = ['submitted', 'working', 'input-required', 'auth-required', 'completed', 'failed', 'canceled', 'rejected'] as const
export type RemoteState = typeof STATES[number] | 'unknown'

type Metadata = Readonly<Record<string, unknown>>

/** A part of a message or artifact, as both versions have it. */
export type RemotePart = { readonly filename?: string | undefined, readonly mediaType?: string | undefined, readonly metadata?: Metadata | undefined } & (
  | { readonly kind: 'text', readonly text: string }
  | { readonly kind: 'data', readonly data: unknown }
  /** `bytes` in base64. */
  | { readonly kind: 'file', readonly bytes?: string | undefined, readonly url?: string | undefined }
)

export interface RemoteMessage {
  readonly parts: readonly RemotePart[]
  readonly isAgent: boolean
  readonly contextId?: string | undefined
  readonly metadata?: Metadata | undefined
}

export interface RemoteArtifact {
  readonly id: string
  readonly name?: string | undefined
  readonly description?: string | undefined
  readonly parts: readonly RemotePart[]
  readonly metadata?: Metadata | undefined
}

export interface RemoteStatus {
  readonly state: RemoteState
  readonly message?: RemoteMessage | undefined
}

export interface RemoteTask extends RemoteStatus {
  readonly id: string
  readonly contextId?: string | undefined
  readonly artifacts: readonly RemoteArtifact[]
  readonly history: readonly RemoteMessage[]
}

/** What an agent sends about a message. */
export type RemoteEvent =
  | { readonly kind: 'task', readonly task: RemoteTask }
  | { readonly kind: 'message', readonly message: RemoteMessage }
  | { readonly kind: 'status', readonly taskId: string, readonly contextId?: string | undefined, readonly status: RemoteStatus, readonly metadata?: Metadata | undefined }
  | { readonly kind: 'artifact', readonly taskId: string, readonly contextId?: string | undefined, readonly artifact: RemoteArtifact, readonly append: boolean }

/** A message to an agent. */
export interface OutgoingMessage {
  /** The same for the same message: agents that know it do not work twice. */
  readonly messageId: string
  readonly parts: readonly RemotePart[]
  readonly contextId?: string | undefined
  /** Only of a task that waits for the message. */
  readonly taskId?: string | undefined
  readonly metadata?: Metadata | undefined
}

/** Whether the agent does no more for a message by itself: the task has ended, or waits for its caller. */
export function isSettled (state: RemoteState): boolean {
  return state !== 'submitted' && state !== 'working' && state !== 'unknown'
}

/** Whether the task waits for a message. */
export function isInterrupted (state: RemoteState): boolean {
  return state === 'input-required' || state === 'auth-required'
}
