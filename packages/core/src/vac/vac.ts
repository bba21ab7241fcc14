import type { SourceDocument, Answer } from './schemas.js'
import type { VacConfig } from '../config/schema.js'
import type { Step, StepView } from './step.js'
import type { Memory } from './memory.js'
import type { AbortSignalLike } from '../basics/light-abort.js'
import type { Log } from '../basics/log.js'

/** One earlier turn of a conversation, in the format that interpreters get. */
export interface ChatTurn {
  readonly role: 'user' | 'assistant' | 'system'
  readonly content: string
}

/** The protocol of a question: the name of a protocol of @polyvac/vac, `a2a`, `mcp`, or `code` for a call in code. */
export type Protocol = string

/** The caller, as returned by the application's `authenticate`. */
export interface Principal {
  /** Whose the caller's tasks are: 1 to 256 characters without control characters, and no white space at the ends. */
  readonly owner: string
  /** What the caller may use. Undefined: everything except what needs `admin`. */
  readonly scopes?: readonly string[] | undefined
  /** Names the credential for `current` of `authenticate`, which reads its scopes again. It is not the secret. */
  readonly credential?: string | undefined
  /** When the credential expires, in ms since 1970; streams and sessions that it opened end then. */
  readonly expiresAt?: number | undefined
}

/** The progress of the work, from 0 to 1, with a text for people. */
export interface Progress {
  readonly progress: number
  readonly message?: string | undefined
}

/**
 * An item of an answer stream: text as it comes, progress, steps for a call with `steps`, and as the last item the
 * whole Answer. The Answer's `answer` is the complete text, not a remainder.
 */
export type Chunk = string | Progress | Step | Answer

/** One question to a VAC, the same in every protocol. */
export interface VacCall {
  readonly question: string
  readonly history?: readonly ChatTurn[] | undefined
  /** The caller's further fields. The interpreter gets them in its last argument, except the reserved names. */
  readonly extra?: Readonly<Record<string, unknown>> | undefined
  /** The id of the conversation of the question, as `extra.conversation`. */
  readonly conversation?: string | undefined
  /** Aborts the interpreter: the caller disconnected or canceled, or the service closes. Any AbortSignal fits. */
  readonly signal?: AbortSignalLike | undefined
  /** Total time for the interpreter in ms; then it is aborted with VAC_TIMEOUT. Default: no limit. */
  readonly timeoutMs?: number | undefined
  /** Receives the progress of `ask`, which a stream has among its chunks. */
  readonly onProgress?: ((progress: Progress) => void) | undefined
  /** What the reader sees of steps, such as calls of tools. Default: none, and a stream has none. */
  readonly steps?: StepView | undefined
  /** Receives the steps of `ask`, which a stream has among its chunks. */
  readonly onStep?: ((step: Step) => void) | undefined
  readonly log?: Log | undefined
  readonly principal?: Principal | undefined
  readonly protocol?: Protocol | undefined
}

/** A named agent. Every protocol calls it. */
export interface Vac {
  readonly name: string
  readonly config: VacConfig
  /**
   * Answers as a stream. Fails with VAC_TIMEOUT, VAC_INTERPRETER_FAILED (whose `cause` is for the log only),
   * VAC_BUFFER_FULL or the reason of `signal`.
   */
  stream (call: VacCall): AsyncIterable<Chunk>
  /** Answers once: with the vac interpreter where there is one, otherwise with the collected stream. */
  ask (call: VacCall): Promise<Answer>
  /** False: `ask` collects the stream, and has no separate interpreter. */
  readonly asksOnce?: boolean | undefined
  /** What the interpreter takes besides text; see `Interpreter`. */
  readonly takes?: readonly string[] | undefined
  /** The same; the next minor version drops it. */
  readonly openai?: readonly string[] | undefined
  /** The VAC's knowledge base, when `memory` is configured. */
  readonly memory?: Memory | undefined
  /** What is known now of the agent of another service that answers; undefined for a VAC of this one. */
  readonly remote?: (() => RemoteState) | undefined
}

/** What is known of an agent of another service. */
export interface RemoteState {
  /** Whether it can be asked. */
  readonly ready: boolean
  /** The code of what is wrong, also where it can be asked all the same. */
  readonly problem?: string
  /** How it is asked, such as `1.0 JSONRPC`. */
  readonly protocol?: string
}

export type { SourceDocument, Answer }

/** The VACs that a protocol offers now. For callers, a VAC that is not exposed does not exist. */
export interface ExposedVacs {
  has (name: string): boolean
  get (name: string): Vac
  list (): readonly Vac[]
}
