import type { ChatTurn, StepView } from '@polyvac/core'
import type { CallerFields } from '@polyvac/core/plugin'
import type { TurnMetadata } from '../conversation/turn.js'

/** What the store keeps of the question of a run. */
export interface RunInput {
  readonly question: string
  readonly history: readonly ChatTurn[]
  readonly extra: Readonly<Record<string, unknown>>
  readonly timeoutMs?: number | undefined
  readonly isWhole: boolean
  /** What the requests with its idempotency key have in common. */
  readonly request?: unknown
  /** Whether `history` comes after the stored turns. Otherwise they stand for it. */
  readonly appends?: boolean | undefined
  /** What the protocol keeps of the question. */
  readonly notes?: unknown
}

/** What the store keeps of the request of a run. */
export interface RunMetadata extends TurnMetadata {
  readonly protocol: string
  readonly requestId: string
  /** Undefined for callers without an identity. */
  readonly owner?: string | undefined
  readonly caller: CallerFields
  readonly steps?: StepView | undefined
  readonly unreadMs?: number | undefined
}
