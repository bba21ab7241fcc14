import type { AbortSignalLike } from '../basics/light-abort.js'
import type { AnsweredTurn, BegunTurn, Conversations, TurnQuestion, TurnTask } from './conversations.js'
import type { RunCaller, RunState } from './run-caller.js'
import type { StepView } from './step.js'
import type { Answer, ChatTurn, Chunk, Vac } from './vac.js'

/** An answer that a store keeps: it goes on without its reader, is read again, and outlives its process. */
export interface Run {
  readonly id: string
  /** The name of its VAC. */
  readonly vac: string
  /** The conversation; a run that was started without one begins its own. */
  readonly conversation: string
  readonly state: RunState
  /** Milliseconds since 1970. */
  readonly createdAt: number
  readonly updatedAt: number
  /** The number of its last event. */
  readonly seq: number
  /** How often it has asked back and got a reply. */
  readonly turn: number
  /** What was asked in each turn, with what its protocol keeps of it; empty in lists. */
  readonly asked: readonly { readonly question: string, readonly notes?: unknown }[]
  /** The answer, once it is complete or asks back. */
  readonly answer?: Answer | undefined
  /** Why it failed or was cancelled, as its caller may read it. */
  readonly error?: Error & { readonly code: string } | undefined
}

export interface NewRun {
  readonly vac: Vac
  readonly question: string
  /** Files of the question, which its turn keeps. The interpreter gets those in `extra`. */
  readonly files?: TurnQuestion['files'] | undefined
  readonly history: readonly ChatTurn[]
  readonly extra: Readonly<Record<string, unknown>>
  /** The protocol of the question. */
  readonly protocol: string
  /** The id of the request, for the log. */
  readonly requestId: string
  readonly timeoutMs?: number | undefined
  /** Whether the answer is asked for in one piece: then the vac interpreter gives it, where there is one. */
  readonly isWhole: boolean
  /** The conversation that its caller names. Default: the run begins one. */
  readonly conversation?: string | undefined
  /**
   * Whether `history` is the whole conversation as the client has it: stored turns win, and an edit drops turns. False:
   * it comes after the stored turns.
   */
  readonly sendsAll?: boolean | undefined
  /** Where a question of such a client stands; see `TurnQuestion`. */
  readonly replaces?: TurnQuestion['replaces']
  /** False: the question and its answer are not kept in the conversation, which is read only. Default true. */
  readonly store?: boolean | undefined
  /**
   * The answer that the question follows. Its conversation goes on, or, where that has later turns, a new one begins
   * with a copy of the turns until then. `history` comes after them. A run that asks back there gets the question as
   * the reply. @throws RUN_NOT_FOUND
   */
  readonly previous?: RunTurn | undefined
  /** What its protocol keeps of the question, any JSON value. */
  readonly notes?: unknown
  /** What its caller sees of steps, which no reader sees more of. Undefined: none are kept. */
  readonly steps?: StepView | undefined
  /** An idempotency key of the caller, with what its request must have in common with the first one. */
  readonly key?: RunKey | undefined
  /** Cancels it once no reader has followed it or read its state for so long, in ms. Default: it runs to its end. */
  readonly unreadMs?: number | undefined
  /** What a run of the same conversation that has not ended means. Default: nothing. */
  readonly other?: 'refuse' | 'supersede' | undefined
}

/** An idempotency key. */
export interface RunKey {
  readonly name: string
  /** What its request must have in common with the first one. */
  readonly request: unknown
  /** Whether any request with the key means its run; of callers without an identity, one with the same `request`. */
  readonly isId?: boolean | undefined
}

/** A run that a client comes back to. */
export interface LatestRun {
  readonly run: Run
  /** Whether a reader has got its end. A question that waits has none: its readers see it again. */
  readonly isRead: boolean
}

/** A turn of a run, from 0. */
export interface RunTurn { readonly id: string, readonly turn: number }

/** How a run is read. */
export interface RunReading {
  /** Only this turn. Default: the first one that ends later. */
  readonly turn?: number | undefined
  /** Gives each piece of text as the log has it, instead of joining what is there already. */
  readonly isExact?: boolean | undefined
  /**
   * Begins with the text that stands now: what an attempt before a crash has said, and the present one has not, is left
   * out. Where there is such text, a `restart` comes first.
   */
  readonly isLatest?: boolean | undefined
  /** Ends with what is there now. */
  readonly isSnapshot?: boolean | undefined
}

export interface StartedRun {
  readonly run: Run
  /** False where an earlier request with the same idempotency key has started it. */
  readonly isNew: boolean
  /** The run once it has ended or asks back, or as it stands when `signal` fires. */
  settle (signal: AbortSignalLike): Promise<Run>
}

export interface RunQuery {
  readonly vac: string
  readonly states?: readonly RunState[] | undefined
  readonly conversation?: string | undefined
  /** 1 to 100. */
  readonly limit?: number | undefined
  readonly cursor?: string | undefined
}

/** An item of a run with the number of its last event, a cursor. `restart`: the text begins anew, after a crash. */
export type RunItem = { readonly seq: number, readonly chunk: Chunk } | { readonly seq: number, readonly restart: true }

/**
 * Durable answers, made by `createRuns()` of @polyvac/runs. A run of another owner, or of a VAC that the caller may not
 * use, does not exist: RUN_NOT_FOUND (404).
 */
export interface Runs {
  /** Undefined where the service keeps none. */
  readonly conversations: Conversations | undefined
  /**
   * Starts a run; it is durable when this resolves.
   * @throws RUN_IN_PROGRESS (409) for `other: 'refuse'`; CONVERSATION_NOT_FOUND (404); CONVERSATIONS_NOT_KEPT (501);
   *   IDEMPOTENCY_KEY_REUSED (422) for a key of another request
   */
  start (caller: RunCaller, run: NewRun): Promise<StartedRun>
  /** @param vac the name of its VAC; undefined for any that the caller may use, also below */
  get (caller: RunCaller, vac: string | undefined, id: string): Promise<Run>
  /**
   * The run of a key that is its id, of a question of a protocol. Undefined also for callers without an identity, whose
   * keys any other one could name.
   */
  named (caller: RunCaller, vac: string, protocol: string, key: string): Promise<Run | undefined>
  /** The latest run of a conversation, or the run with this id, without its answer; undefined: there is neither. */
  latest (caller: RunCaller, vac: string, id: string): Promise<LatestRun | undefined>
  /** Notes that a reader has got the end of a run, or its question. */
  noteEnd (caller: RunCaller, id: string): Promise<void>
  /** Newest first, without answers. */
  list (caller: RunCaller, query: RunQuery): Promise<{ readonly runs: readonly Run[], readonly nextCursor?: string | undefined }>
  /**
   * The text after event number `after`, joined where it is there already, then as it comes; the Answer last. It fails
   * with the error of the run.
   */
  follow (caller: RunCaller, vac: string | undefined, id: string, after: number, signal: AbortSignalLike, reading?: RunReading): AsyncIterable<RunItem>
  /** Cancels a run that has not ended. */
  cancel (caller: RunCaller, vac: string | undefined, id: string): Promise<Run>
  /** Cancels a run that has not ended, and deletes it with all that it has said. */
  delete (caller: RunCaller, vac: string | undefined, id: string): Promise<void>
  /** Answers the question of a run that asks back; its next turn begins. @throws RUN_NOT_WAITING (409) */
  continue (caller: RunCaller, vac: string | undefined, id: string, text: string): Promise<Run>
  /**
   * Makes a question that the task of another plugin answers a turn of the conversation that its caller names.
   * @throws CONVERSATION_NOT_FOUND (404), CONVERSATIONS_NOT_KEPT (501)
   */
  beginTurn (caller: RunCaller, question: Pick<NewRun, 'vac' | 'question'> & { readonly conversation: string }): Promise<BegunTurn>
  /** The turn that an attempt at such a task answers. @param metadata of the task */
  answeredTurn (task: TurnTask, metadata: Readonly<Record<string, unknown>>): Promise<AnsweredTurn>
}
