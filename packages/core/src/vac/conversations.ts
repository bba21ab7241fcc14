import type { RunCaller, RunState } from './run-caller.js'
import type { SourceDocument } from './schemas.js'
import type { Step, StepOf, StepView } from './step.js'
import type { Answer, ChatTurn } from './vac.js'

/** A conversation of one owner with one VAC, as its caller reads it. Times are milliseconds since 1970. */
export interface ConversationHead {
  readonly id: string
  /** The first question, shortened, or what its owner has called it. */
  readonly title: string
  /** What its owner has written to it. */
  readonly metadata?: Readonly<Record<string, string>> | undefined
  readonly createdAt: number
  /** The time of the last question, answer or change. */
  readonly updatedAt: number
  readonly turnCount: number
}

/** A file of a turn. */
export type TurnFile = StepOf<'file'>['file'] & {
  /** Present where it came with the question. */
  readonly role?: 'user'
}

/** A question with its answer. */
export interface ConversationTurn {
  readonly id: string
  readonly question: string
  /** Undefined where there is none: it is not there yet, it failed, or it was cancelled. */
  readonly answer?: string | undefined
  readonly sourceDocuments: readonly SourceDocument[]
  readonly metadata?: Readonly<Record<string, unknown>> | undefined
  readonly steps: readonly Step[]
  /** Those of the question, then those of the answer. One too large to be kept has neither `url` nor `bytes`. */
  readonly files: readonly TurnFile[]
  readonly state: RunState
  readonly createdAt: number
  /** From the question to the answer, in ms. */
  readonly durationMs?: number | undefined
  /** Why it failed. */
  readonly error?: { readonly code: string, readonly message: string } | undefined
  /** The items that a client has written, in their order; undefined for a question that was asked here. */
  readonly items?: readonly TurnItem[] | undefined
}

/** An item of a turn, in the format of its protocol. */
export interface TurnItem {
  /** Its number in the turn, which it keeps. */
  readonly number: number
  readonly item: Readonly<Record<string, unknown>>
}

/** What becomes of a turn. */
export interface TurnChange {
  /**
   * What it has from now on; null: it is deleted with its run, undefined: it stays. A turn that loses its answer loses
   * the sources and steps, too.
   */
  readonly turn?: Pick<ConversationTurn, 'question' | 'answer' | 'items'> | null | undefined
  /** New turns at the end of the conversation. */
  readonly added?: ConversationExport['turns'] | undefined
}

/** Some turns of a conversation in one order. */
export interface TurnsQuery {
  readonly order: 'asc' | 'desc'
  /** The id of the turn before them in this order. */
  readonly after?: string | undefined
  /** 1 to 200. */
  readonly limit: number
}

/** A conversation with its VAC. */
export interface LocatedConversation extends ConversationHead { readonly vac: string }

export interface Conversation extends ConversationHead {
  /** In the order of the questions. */
  readonly turns: readonly ConversationTurn[]
  /** Earlier turns than these: the id of the first of them is where they end. */
  readonly hasEarlier: boolean
}

/** A conversation that its owner has exported, from this service or from another one. */
export interface ConversationExport {
  readonly id?: string | undefined
  readonly title?: string | undefined
  readonly metadata?: Readonly<Record<string, string>> | undefined
  readonly turns: readonly (Pick<ConversationTurn, 'question' | 'answer' | 'createdAt'> & Partial<Omit<ConversationTurn, 'question' | 'answer' | 'createdAt'>>)[]
}

/** A question that is to become a turn. */
export interface TurnQuestion {
  readonly vac: string
  readonly question: string
  /** What came with the question. */
  readonly files?: readonly StepOf<'file'>['file'][] | undefined
  /** The conversation that the caller names; undefined begins one. */
  readonly conversation?: string | undefined
  /** What the client has sent before the question: a conversation that begins with it has its turns. */
  readonly sent: readonly ChatTurn[]
  /**
   * Whether the client always sends the whole conversation: at the first question that differs from the stored one, or
   * that is asked again, the stored conversation goes on anew.
   */
  readonly sendsAll?: boolean | undefined
  /**
   * The turn whose place the question takes, where its client states that it asks again or edits: the one after the
   * questions of `sent`, or the last one. Default: what `sent` shows.
   */
  readonly replaces?: 'next' | 'last' | undefined
  /** Whether another question of the conversation that has no answer yet refuses this one. */
  readonly isExclusive?: boolean | undefined
  /** The turn of a task that the question follows; see `NewRun.previous`. */
  readonly after?: Omit<TurnTask, 'attempt'> | undefined
}

/** Where a question goes, as the store takes it with its task. */
export interface TurnPlace {
  /** The owner of the conversation in the store. */
  readonly owner: string
  readonly vac: string
  readonly conversation: string
  readonly question: string
  readonly files?: readonly StepOf<'file'>['file'][] | undefined
  /** The number of a stored turn: it and the later ones are dropped for the question. */
  readonly from?: number | undefined
  /** The tasks of those turns. */
  readonly dropped?: readonly { readonly owner: string, readonly id: string }[] | undefined
  /** What was said before, in a conversation that begins with the question. */
  readonly sent: readonly ChatTurn[]
  readonly isExclusive?: boolean | undefined
  /** The number of the turn that the question follows: a later turn refuses it. */
  readonly after?: number | undefined
  /** The conversation that this one begins as a copy of, with the number at which the copy ends. */
  readonly branchOf?: { readonly vac: string, readonly id: string, readonly before: number } | undefined
  /** Its turns. */
  readonly copied?: ConversationExport['turns'] | undefined
}

/** The task of a turn. */
export interface TurnTask {
  readonly id: string
  readonly turn: number
  readonly attempt: number
}

/** What a task is created with to be a turn: the store takes it with the task. */
export interface BegunTurn {
  readonly turn: TurnPlace
  readonly metadata: Readonly<Record<string, unknown>>
}

/** The turn of a conversation that an attempt at a task answers. For a task that is not a turn they do nothing. */
export interface AnsweredTurn {
  /** What it keeps of steps; undefined: none. */
  readonly steps: StepView | undefined
  /** What was said before; undefined where nothing is stored, and the history that was sent counts. */
  history (): Promise<TurnHistory | undefined>
  /** Adds a step of the answer. */
  add (step: Step): void
  /** The answer with the number of turns that its interpreter did not get. */
  withHistory (answer: Answer): Answer
  /** Keeps the answer. Call it before the update that ends the task. */
  answer (answer: Answer): Promise<void>
  /** The same for a failure, as its caller may read it. */
  fail (error: { readonly code: string, readonly message: string }): Promise<void>
}

/** What was said before a question, as interpreters get it. */
export interface TurnHistory {
  readonly turns: readonly ChatTurn[]
  /** How many earlier turns, pairs of question and answer, did not fit. */
  readonly leftOut: number
}

/**
 * Conversations by id, of every protocol, made by `createRuns()` of @polyvac/runs. One of another owner or VAC does not
 * exist: CONVERSATION_NOT_FOUND (404). One that begins without a question has the VAC '' until its first question.
 */
export interface Conversations {
  /** Latest change first. Unknown callers on other machines have no list. @param limit 1 to 100 */
  list (caller: RunCaller, vac: string, page: { readonly limit: number, readonly cursor?: string | undefined }):
  Promise<{ readonly conversations: readonly ConversationHead[], readonly nextCursor?: string | undefined }>
  /** With its latest turns, or those before one. @param before the id of a turn of an earlier answer of this method */
  get (caller: RunCaller, vac: string, id: string, before?: string): Promise<Conversation>
  /** The conversation of an id with one of some VACs: that of the last change. @throws CONVERSATION_NOT_FOUND */
  locate (caller: RunCaller, vacs: readonly string[], id: string): Promise<LocatedConversation>
  /** One turn; undefined where there is none with this id. */
  turn (caller: RunCaller, vac: string, id: string, turn: string): Promise<ConversationTurn | undefined>
  /**
   * At most `limit` turns; an empty list where the conversation has no turn with the id `after`. `hasMore`: whether it
   * has further turns in this order.
   */
  turns (caller: RunCaller, vac: string, id: string, query: TurnsQuery): Promise<{ readonly turns: readonly ConversationTurn[], readonly hasMore: boolean }>
  /** @param change `metadata`: null removes it */
  change (caller: RunCaller, vac: string, id: string, change: { readonly title?: string | undefined, readonly metadata?: Readonly<Record<string, string>> | null | undefined }): Promise<ConversationHead>
  /**
   * Changes a turn and adds turns.
   * @param turn its id; undefined: the last one
   * @param change gets the turn; undefined where there is none. It may be called again, and does not throw
   */
  edit (caller: RunCaller, vac: string, id: string, turn: string | undefined, change: (turn: ConversationTurn | undefined) => TurnChange): Promise<void>
  /** Deletes it with its turns, and with their runs, which are cancelled before. */
  delete (caller: RunCaller, vac: string, id: string): Promise<void>
  /**
   * Creates a conversation, under the id of the export where the caller may use it and it is free.
   * @param vac '': that of the first question
   */
  import (caller: RunCaller, vac: string, conversation: ConversationExport): Promise<ConversationHead>

  /**
   * Where a question goes. A conversation of the VAC '' has that of the question from now on.
   * @throws CONVERSATION_NOT_FOUND
   */
  place (caller: RunCaller, question: TurnQuestion): Promise<TurnPlace>
  /** The turns before that of a task; none for a task outside of conversations. */
  historyOf (task: TurnTask): Promise<TurnHistory>
  /** The turns of the conversation of a question that is not kept. */
  historyAt (place: TurnPlace): Promise<TurnHistory>
  /** Writes the answer into the turn of its task, before the task ends. @param steps all that its readers may see */
  answer (task: TurnTask, answer: Answer, steps: readonly Step[]): Promise<void>
  /** The same for a failure, as its caller may read it. */
  fail (task: TurnTask, error: { readonly code: string, readonly message: string }, steps: readonly Step[]): Promise<void>
}
