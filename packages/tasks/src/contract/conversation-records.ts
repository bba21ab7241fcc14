import type { TaskState } from './task.js'

/** A conversation: one of its owner with one VAC. */
export interface ConversationKey { readonly owner: string, readonly vac: string, readonly id: string }

/** The question of a new task as a turn of a conversation, written in one transaction with the task. */
export interface NewTurn {
  /** The owner of the conversation, who may have other keys for tasks. */
  readonly owner: string
  readonly vac: string
  /** The id of a conversation that the service begins; it becomes the context of a task that names none. */
  readonly conversation?: string | undefined
  readonly question: string
  /** The files that came with the question, as a JSON value. */
  readonly files?: unknown
  /** The number of a turn: it and the later ones are deleted before. */
  readonly from?: number | undefined
  /** What was said before, for a conversation that begins with this turn. */
  readonly earlier?: readonly ImportedTurn[] | undefined
  /** Refuses the question with TASK_TURN_IN_PROGRESS while another turn of the conversation has not ended. */
  readonly isExclusive?: boolean | undefined
  /** The same where the conversation has a turn with a larger number. */
  readonly after?: number | undefined
}

export interface ConversationRow {
  readonly id: string
  readonly title: string
  /** What its owner has written to it. */
  readonly metadata?: Readonly<Record<string, string>>
  readonly createdAt: number
  /** The time of the last question, answer or change. */
  readonly updatedAt: number
  readonly turnCount: number
  /** The number of the last turn, of all that there ever were. */
  readonly last: number
}

/** A question with its answer. Turns outlive their tasks. */
export interface TurnRow {
  /** Its place among the turns of the conversation, in the order of the questions, with gaps. */
  readonly number: number
  readonly id: string
  /** The task that answers; undefined for a turn that was imported. The task may be deleted. */
  readonly task?: { readonly owner: string, readonly id: string }
  readonly question: string
  /** The files that came with the question. */
  readonly files?: unknown
  /** The text of the answer, or of what the answer asks back. */
  readonly answer?: string
  /** What else its answer has written. */
  readonly content?: unknown
  /** The state of the turn of its task. */
  readonly state: TaskState
  readonly createdAt: number
  /** When it ended or asked back. */
  readonly endedAt?: number
}

/** What a turn has besides its question, as `turnAnswer` makes it. */
export interface TurnAnswer {
  /** The text, which belongs to the history of later turns; null: the turn has none. */
  readonly answer: string | null
  /** JSON of what else it has. */
  readonly content: string
}

export interface ImportedTurn extends Pick<TurnRow, 'id' | 'question' | 'files' | 'answer' | 'content' | 'createdAt' | 'endedAt'> {
  readonly state: 'completed' | 'failed' | 'canceled'
}

/** What becomes of a turn. */
export interface TurnEdit {
  /** What it has from now on; null: it is deleted, undefined: it stays. */
  readonly turn?: { readonly question: string, readonly answer?: string | undefined, readonly content?: unknown } | null | undefined
  /** New turns at the end of the conversation, in their order. */
  readonly added?: readonly ImportedTurn[] | undefined
}

export interface TurnQuery {
  /** Only turns with a smaller number. Default: all. */
  readonly before?: number | undefined
  /** Only turns with a larger number, the earliest first, and not those before one. */
  readonly after?: number | undefined
  /** Default 50. */
  readonly limit?: number | undefined
  /** Characters of questions and contents at which the page ends; it has one turn at least. Default 2 Mi. */
  readonly chars?: number | undefined
}

export interface HistoryQuery {
  /** Only turns with a smaller number. Default: all. */
  readonly before?: number | undefined
  /** Most turns. */
  readonly limit: number
  /** Most characters of questions and answers. */
  readonly chars: number
}

/** The latest turns with an answer that fit, oldest first. */
export interface ConversationHistory {
  readonly turns: readonly { readonly question: string, readonly answer: string }[]
  /** How many earlier turns with an answer did not fit. */
  readonly leftOut: number
}

/**
 * Conversations, with their turns, which all processes of a store share. A conversation of another owner or VAC does
 * not exist. `create` and `provideInput` of the store write the questions; the states follow those of the tasks.
 */
export interface ConversationRecords {
  get (key: ConversationKey): Promise<ConversationRow | undefined>
  /** The VAC, of some, with which an owner has a conversation of an id: that of the last change. */
  locate (owner: string, id: string, vacs: readonly string[]): Promise<string | undefined>
  /** Latest change first. TASK_INVALID_CURSOR (400) for an invalid cursor. @param limit 1 to 100 */
  list (owner: string, vac: string, page: { readonly limit: number, readonly cursor?: string | undefined }): Promise<{ readonly conversations: ConversationRow[], readonly nextCursor?: string }>
  /** Latest turns first, except those after one. */
  turns (key: ConversationKey, query?: TurnQuery): Promise<TurnRow[]>
  /** The number of the turn with an id. */
  numberOf (key: ConversationKey, turnId: string): Promise<number | undefined>
  /** All turns without their answers and contents, in their order. */
  questions (key: ConversationKey): Promise<TurnRow[]>
  /** Turns that have not ended, without their contents, in their order. */
  open (key: ConversationKey): Promise<TurnRow[]>
  history (key: ConversationKey, query: HistoryQuery): Promise<ConversationHistory>
  /** The turn of a task. @param turn the turn of the task, from 0 */
  turnOf (taskId: string, turn: number): Promise<(TurnRow & { readonly conversation: ConversationKey }) | undefined>
  /**
   * Writes what the turn has besides its question, where no update of its task does: after a cancel. A later attempt
   * replaces what an earlier one wrote, and an earlier one changes nothing any more.
   */
  answer (taskId: string, turn: number, attempt: number, answer: TurnAnswer): Promise<void>
  /** @param change `metadata`: null removes it */
  change (key: ConversationKey, change: { readonly title?: string | undefined, readonly metadata?: Readonly<Record<string, string>> | null | undefined }): Promise<boolean>
  /** Gives a conversation to another VAC. False: there is none, or that VAC has one with this id. */
  move (key: ConversationKey, vac: string): Promise<boolean>
  /**
   * Changes a turn and adds turns, in one transaction. The first question with a text is the title of a conversation
   * without one.
   * @param number that of the turn; undefined: the last one
   * @param edit gets the turn; undefined where there is none. It may be called again, and does not throw
   * @throws TASK_TOO_LARGE; then nothing is changed
   */
  edit (key: ConversationKey, number: number | undefined, edit: (turn: TurnRow | undefined) => TurnEdit): Promise<boolean>
  /** Deletes the conversation with its turns. Their tasks remain. */
  delete (key: ConversationKey): Promise<boolean>
  /**
   * Creates a conversation with turns in their order. False: there is one with this key, and it stays.
   * @param conversation `title`: without one, that of the first question with a text
   */
  import (key: ConversationKey, conversation: { readonly title: string, readonly metadata?: Readonly<Record<string, string>> | undefined, readonly turns: readonly ImportedTurn[] }): Promise<boolean>
}
