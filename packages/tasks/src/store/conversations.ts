import { standsForMany } from '../basics/owner-share.js'
import { MAX_EVENT_CHARS, toJson } from '../log/task-updates.js'
import type { ConversationHistory, ConversationKey, ConversationRecords, ConversationRow, ImportedTurn, TurnAnswer, TurnEdit, TurnRow } from '../contract/conversation-records.js'
import type { TaskState } from '../contract/task.js'
import { decodeCursor, encodeCursor } from './task-query.js'

const MAX_TITLE_CHARS = 80
/** Bytes of the row and the index entries of a turn besides its texts, about. */
export const TURN_BYTES = 300
/** The number of no turn. */
const MAX_NUMBER = 2 ** 31 - 1
/** Stands for the number of the last turn. */
export const LAST = -1
const MAX_PAGE_TURNS = 50
const MAX_PAGE_CHARS = 2 * 1024 * 1024
/** Conversations that one transaction deletes. */
export const DELETED_AT_ONCE = 50
/** How often what an owner has is counted, on average, while it writes as much as it may have. */
const COUNTS = 16
/** How much more the owner of unknown callers may have, who stands for many. */
const CROWD = 10

/** Limits of the conversations of one owner. */
export interface ConversationLimits {
  readonly conversationTtlMs: number
  readonly maxConversations: number
  readonly maxConversationBytes: number
  readonly maxTurns: number
}

/** The columns of a conversation in every store. Times are milliseconds since 1970. */
export interface StoredConversation {
  readonly key: number
  readonly id: string
  readonly title: string
  readonly metadata: string | null
  readonly created_at: number
  readonly updated_at: number
  readonly turns: number
  readonly last: number
}

/** The columns of a turn in every store. */
export interface StoredTurn {
  readonly seq: number
  readonly id: string
  readonly task: string | null
  readonly task_owner: string | null
  readonly question: string
  readonly files: string | null
  readonly answer: string | null
  readonly content: string | null
  readonly state: TaskState
  readonly created_at: number
  readonly ended_at: number | null
}

export interface FoundTurn { readonly row: StoredTurn, readonly conversation: ConversationKey }

export type ImportedRow = Omit<StoredTurn, 'seq' | 'task' | 'task_owner'>

/** @throws TASK_TOO_LARGE */
export function importedRow ({ id, question, files, answer, content, state, createdAt, endedAt }: ImportedTurn): ImportedRow {
  return { id, question, files: filesText(files), answer: answer ?? null, content: content === undefined ? null : contentText(content), state, created_at: createdAt, ended_at: endedAt ?? null }
}

type Awaitable<T> = T | Promise<T>

/** What becomes of the row of a turn; see TurnEdit. */
export interface RowEdit {
  readonly turn: Pick<StoredTurn, 'question' | 'answer' | 'content'> | null | undefined
  readonly added: readonly ImportedRow[]
}

/** Gets the row of a turn. @throws TASK_TOO_LARGE */
export type EditRow = (row: StoredTurn | undefined) => RowEdit

/** What an edit adds to the row of the conversation. */
export interface Growth { readonly turns: number, readonly last: number, readonly bytes: number, readonly title: string }

/** What each store does with its rows. */
export interface ConversationTable {
  find (key: ConversationKey): Awaitable<StoredConversation | undefined>
  locate (owner: string, id: string, vacs: readonly string[]): Awaitable<string | undefined>
  page (owner: string, vac: string, before: readonly [number, number], limit: number): Awaitable<StoredConversation[]>
  turns (row: StoredConversation, before: number, limit: number, chars: number): Awaitable<StoredTurn[]>
  /** The earliest first. */
  turnsAfter (row: StoredConversation, after: number, limit: number, chars: number): Awaitable<StoredTurn[]>
  turnOf (task: string, n: number): Awaitable<FoundTurn | undefined>
  numberOf (row: StoredConversation, id: string): Awaitable<number | undefined>
  questions (row: StoredConversation): Awaitable<StoredTurn[]>
  open (row: StoredConversation): Awaitable<StoredTurn[]>
  history (row: StoredConversation, before: number, limit: number, chars: number): Awaitable<ConversationHistory>
  answer (task: string, n: number, attempt: number, answer: TurnAnswer): Promise<void>
  /** @param metadata null removes it */
  change (key: ConversationKey, title: string | undefined, metadata: string | null | undefined): Promise<boolean>
  move (key: ConversationKey, vac: string): Promise<boolean>
  edit (key: ConversationKey, number: number, edit: EditRow): Promise<boolean>
  delete (key: ConversationKey): Promise<boolean>
  import (key: ConversationKey, title: string, turns: readonly ImportedRow[], metadata: string | null): Promise<boolean>
}

export const CONVERSATION = 'key, id, title, metadata, created_at, updated_at, turns, last'
export const TURN = 'seq, id, task, task_owner, question, files, answer, content, state, created_at, ended_at'
export const QUESTION = TURN.replace('files, answer, content', 'NULL AS files, NULL AS answer, NULL AS content')

/** The first question as a title: one line, shortened at a word. */
export function titleOf (question: string): string {
  const line = question.slice(0, 4 * MAX_TITLE_CHARS).replace(/[\s\p{C}]+/gu, ' ').trim()
  if (line.length <= MAX_TITLE_CHARS) return line
  const cut = line.slice(0, MAX_TITLE_CHARS - 1).replace(/[\ud800-\udbff]$/, '')
  const words = cut.replace(/\s+\S*$/u, '')
  // languages without spaces have no word to end at
  return `${words.length > MAX_TITLE_CHARS / 2 ? words : cut}…`
}

/** The title of a conversation that begins with turns, of which some have no question. */
function titleOfTurns (turns: ReadonlyArray<Pick<ImportedTurn, 'question'>>): string {
  return titleOf(turns.find(({ question }) => question.trim() !== '')?.question ?? '')
}

/** @throws TASK_TOO_LARGE */
export function filesText (files: unknown): string | null { return files === undefined ? null : toJson('files', files, MAX_EVENT_CHARS) }

function contentText (content: unknown): string { return toJson('content', content, MAX_EVENT_CHARS) }

/** What a turn takes, in SQL. */
export const TURN_CHARS = 'length(question) + coalesce(length(files), 0) + coalesce(length(answer), 0) + coalesce(length(content), 0)'

/** What turns take. */
export function bytesOfTurns (rows: ReadonlyArray<Pick<StoredTurn, 'question' | 'files' | 'answer' | 'content'>>): number {
  return rows.reduce((sum, { question, files, answer, content }) => sum + turnBytes(question, files, answer, content), 0)
}

export function turnBytes (...texts: readonly (string | null)[]): number {
  return texts.reduce((sum, text) => sum + (text?.length ?? 0), TURN_BYTES)
}

/** What an edit of a turn adds to its conversation. */
export function growthOf (row: StoredTurn | undefined, { turn, added }: RowEdit): Growth {
  const isDropped = row !== undefined && turn === null
  const before = row === undefined || turn === undefined ? [] : [row]
  const after = row === undefined || turn == null ? [] : [{ ...turn, files: row.files }]
  return {
    turns: added.length - (isDropped ? 1 : 0),
    last: added.length,
    bytes: bytesOfTurns([...added, ...after]) - bytesOfTurns(before),
    title: titleOfTurns(added)
  }
}

/** The id of a turn of a task. */
export function turnId (taskId: string, turn: number): string { return turn === 0 ? taskId : `${taskId}-${turn}` }

function viewConversation ({ id, title, metadata, created_at: createdAt, updated_at: updatedAt, turns: turnCount, last }: StoredConversation): ConversationRow {
  return { id, title, ...metadata === null ? {} : { metadata: JSON.parse(metadata) as Record<string, string> }, createdAt, updatedAt, turnCount, last }
}

function viewTurn ({ seq: number, id, task, task_owner: owner, question, files, answer, content, state, created_at: createdAt, ended_at: endedAt }: StoredTurn): TurnRow {
  return {
    number,
    id,
    ...task === null || owner === null ? {} : { task: { owner, id: task } },
    question,
    ...files === null ? {} : { files: JSON.parse(files) as unknown },
    ...answer === null ? {} : { answer },
    ...content === null ? {} : { content: JSON.parse(content) as unknown },
    state,
    createdAt,
    ...endedAt === null ? {} : { endedAt }
  }
}

function viewEdit ({ turn, added = [] }: TurnEdit): RowEdit {
  return {
    turn: turn == null ? turn : { question: turn.question, answer: turn.answer ?? null, content: turn.content === undefined ? null : contentText(turn.content) },
    added: added.map(importedRow)
  }
}

/** The part of a page that fits its characters. */
export function turnsWithin (rows: Iterable<StoredTurn>, chars: number): StoredTurn[] {
  const some: StoredTurn[] = []
  let taken = 0
  for (const row of rows) {
    taken += bytesOfTurns([row])
    if (taken > chars && some.length > 0) break
    some.push(row)
  }
  return some
}

/** What an owner may have. */
export function ownerLimits (owner: string, { maxConversations, maxConversationBytes }: ConversationLimits): { readonly conversations: number, readonly bytes: number } {
  const times = standsForMany(owner) ? CROWD : 1
  return { conversations: times * maxConversations, bytes: times * maxConversationBytes }
}

/**
 * Whether to count what an owner has after a write: counting reads a row for each conversation. It is done at random,
 * so that nothing that a caller knows avoids it.
 */
export function isCounted (owner: string, limits: ConversationLimits, written: { readonly conversations?: number, readonly bytes: number }): boolean {
  const { conversations, bytes } = ownerLimits(owner, limits)
  return Math.random() < COUNTS * ((written.conversations ?? 0) / conversations + written.bytes / bytes)
}

/** Conversations in the tables `conversation` and `turn`. `opened` throws while the store is not open. */
export function conversationRecords (opened: () => ConversationTable): ConversationRecords {
  return {
    async get (key) {
      const row = await opened().find(key)
      return row && viewConversation(row)
    },
    async locate (owner, id, vacs) { return await opened().locate(owner, id, vacs) },
    async list (owner, vac, { limit, cursor }) {
      const rows = await opened().page(owner, vac, decodeCursor(cursor), limit + 1)
      const some = rows.slice(0, limit)
      const last = some.at(-1)
      return {
        conversations: some.map(viewConversation),
        ...last === undefined || rows.length === some.length ? {} : { nextCursor: encodeCursor(last.updated_at, last.key) }
      }
    },
    async turns (key, { before = MAX_NUMBER, after, limit = MAX_PAGE_TURNS, chars = MAX_PAGE_CHARS } = {}) {
      const row = await opened().find(key)
      if (row === undefined) return []
      return (await (after === undefined ? opened().turns(row, before, limit, chars) : opened().turnsAfter(row, after, limit, chars))).map(viewTurn)
    },
    async turnOf (taskId, turn) {
      const found = await opened().turnOf(taskId, turn)
      return found && { ...viewTurn(found.row), conversation: found.conversation }
    },
    async numberOf (key, turnId) {
      const row = await opened().find(key)
      return row && await opened().numberOf(row, turnId)
    },
    async questions (key) {
      const row = await opened().find(key)
      return row === undefined ? [] : (await opened().questions(row)).map(viewTurn)
    },
    async open (key) {
      const row = await opened().find(key)
      return row === undefined ? [] : (await opened().open(row)).map(viewTurn)
    },
    async history (key, { before = MAX_NUMBER, limit, chars }) {
      const row = await opened().find(key)
      return row === undefined ? { turns: [], leftOut: 0 } : await opened().history(row, before, limit, chars)
    },
    async answer (...args) { await opened().answer(...args) },
    async change (key, { title, metadata }) { return await opened().change(key, title, metadata == null ? metadata : JSON.stringify(metadata)) },
    async move (key, vac) { return await opened().move(key, vac) },
    async edit (key, number, edit) {
      return await opened().edit(key, number ?? LAST, row => viewEdit(edit(row && viewTurn(row))))
    },
    async delete (key) { return await opened().delete(key) },
    async import (key, { title, metadata, turns }) {
      return await opened().import(key, title || titleOfTurns(turns), turns.map(importedRow), metadata === undefined ? null : JSON.stringify(metadata))
    }
  }
}
