// What a request gives its protocol of the caller: citations, runs, conversations.
import type {
  Chunk, Conversation, ConversationExport, ConversationHead, ConversationTurn, LatestRun, LocatedConversation, Run, RunTurn, TurnChange, TurnHistory, TurnQuestion, TurnsQuery
} from '@polyvac/core'
import type { Failure, RunQuery } from '@polyvac/core/protocol'

/** A place in the text of an answer that names a source. */
export interface Citation {
  /** The source: its place in `source_documents`. */
  readonly index: number
  /** Of the source (http or https), or of this service, where it shows the passage. */
  readonly url: string
  /** Not empty, in one line. */
  readonly title: string
  /** The marker in UTF-16 units, `text.slice(start, end) === '[n]'`; both are the length for a source without one. */
  readonly start: number
  readonly end: number
}

/** A passage of a document of a memory, in its document. */
export interface Passage {
  readonly source: string
  /** What its document counts, with the number that was cited: `lines 3-5`, `page 2`. */
  readonly place: string | undefined
  /** The whole document. */
  readonly text: string
  readonly mediaType: string
  /** Its first and its last line in `text`, from 1; undefined where it is not found there. */
  readonly lines: readonly [first: number, last: number] | undefined
  /**
   * True: the document no longer contains the text of the passage. Undefined where the memory converts the document
   * before it splits it, so that the two texts cannot be compared.
   */
  readonly changed: boolean | undefined
}

/** The conversations of a caller. What does not exist for the caller fails with CONVERSATION_NOT_FOUND (404). */
export interface CallerConversations {
  list (vac: string, page: { readonly limit: number, readonly cursor?: string | undefined }): Promise<{ readonly conversations: readonly ConversationHead[], readonly nextCursor?: string | undefined }>
  get (vac: string, id: string, before?: string): Promise<Conversation>
  /** Of one of the VACs that the caller may use, or of '', as one that begins without a question. */
  locate (id: string): Promise<LocatedConversation>
  turn (vac: string, id: string, turn: string): Promise<ConversationTurn | undefined>
  turns (vac: string, id: string, query: TurnsQuery): Promise<{ readonly turns: readonly ConversationTurn[], readonly hasMore: boolean }>
  change (vac: string, id: string, change: { readonly title?: string | undefined, readonly metadata?: Readonly<Record<string, string>> | null | undefined }): Promise<ConversationHead>
  edit (vac: string, id: string, turn: string | undefined, change: (turn: ConversationTurn | undefined) => TurnChange): Promise<void>
  delete (vac: string, id: string): Promise<void>
  import (vac: string, conversation: ConversationExport): Promise<ConversationHead>
  /** What was said before a question that is not kept. */
  historyFor (question: TurnQuestion): Promise<TurnHistory>
}

/** The runs of a caller. What does not exist for the caller fails with RUN_NOT_FOUND (404). */
export interface CallerRuns {
  list (query: RunQuery): Promise<{ readonly runs: readonly Run[], readonly nextCursor?: string | undefined }>
  /** @param vac the name of its VAC; undefined for any that the caller may use, also below */
  get (vac: string | undefined, id: string): Promise<Run>
  /** The same; for an administrator also that of another owner. */
  read (vac: string, id: string): Promise<Run>
  /** The same; undefined where it does not exist. */
  find (vac: string | undefined, id: string): Promise<Run | undefined>
  /** The run of a `runKey` of this protocol; undefined where the caller has none. */
  named (vac: string, runKey: string): Promise<Run | undefined>
  /** The latest run of a conversation, or the run with this id, without its answer; undefined: there is neither. */
  latest (vac: string, id: string): Promise<LatestRun | undefined>
  cancel (vac: string | undefined, id: string): Promise<Run>
  delete (vac: string | undefined, id: string): Promise<void>
  /**
   * Calls `add` with what a turn of a run has said until now, piece by piece as its log has it, with the number of
   * the last event of each piece. Resolves to how the run failed; undefined where it has not.
   */
  replay (run: RunTurn, add: (item: Chunk | Restart, seq: number) => void): Promise<Failure | undefined>
}

/** The text begins anew, after a crash. */
export interface Restart { readonly restart: true }
