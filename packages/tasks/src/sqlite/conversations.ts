import type { SqliteDatabase } from '@polyvac/sqlite'
import { TurnInProgressError } from '../basics/errors.js'
import type { ConversationHistory, ConversationKey, NewTurn, TurnAnswer } from '../contract/conversation-records.js'
import type { TaskState } from '../contract/task.js'
import {
  bytesOfTurns, CONVERSATION, DELETED_AT_ONCE, filesText, growthOf, isCounted, LAST, ownerLimits, QUESTION, titleOf, TURN, TURN_BYTES, TURN_CHARS, turnBytes, turnId, turnsWithin,
  type ConversationLimits, type ConversationTable, type EditRow, type FoundTurn, type Growth, type ImportedRow, type StoredConversation, type StoredTurn
} from '../store/conversations.js'
import type { PreparedTurn } from '../store/new-task.js'
import type { GroupCommit } from './group-commit.js'
import { overwriting } from './store-file.js'

/** The turn of a task as it is created. */
interface BegunTurn { readonly taskOwner: string, readonly task: string, readonly state: TaskState, readonly at: number }

type Asked = Pick<NewTurn, 'question' | 'files'>

type OwnedConversation = StoredConversation & ConversationKey

type GrownConversation = Pick<StoredConversation, 'key' | 'turns' | 'last'>

/** Where a turn is, and whose it is. */
interface TurnKey { readonly conversation: number, readonly seq: number, readonly owner: string }

/** The rows of conversations and their turns. Synchronous; call methods that write in a group commit. */
export class Conversations {
  readonly #sql
  readonly #database: SqliteDatabase
  readonly #limits: ConversationLimits

  constructor (database: SqliteDatabase, limits: ConversationLimits) {
    const of = 'owner = ? AND vac = ? AND id = ?'
    this.#sql = {
      find: database.prepare(`SELECT ${CONVERSATION} FROM conversation WHERE ${of}`),
      locate: database.prepare('SELECT vac FROM conversation WHERE owner = ? AND id = ? AND vac IN (SELECT value FROM json_each(?)) ORDER BY updated_at DESC LIMIT 1'),
      page: database.prepare(`SELECT ${CONVERSATION} FROM conversation WHERE owner = ? AND vac = ? AND (updated_at, key) < (?, ?) ORDER BY updated_at DESC, key DESC LIMIT ?`),
      begin: database.prepare('INSERT INTO conversation (owner, vac, id, title, created_at, updated_at, turns, last, bytes) VALUES (?, ?, ?, ?, ?, ?, 1, 1, ?) ON CONFLICT DO NOTHING'),
      create: database.prepare(`INSERT INTO conversation (owner, vac, id, title, metadata, created_at, updated_at, turns, last, bytes) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
        ON CONFLICT DO NOTHING`),
      addTurn: database.prepare(`INSERT INTO turn (conversation, seq, id, task, task_owner, n, attempt, question, files, answer, content, state, created_at, ended_at)
        VALUES (?, ?, ?, ?, ?, ?, 0, ?, ?, ?, ?, ?, ?, ?)`),
      turns: database.prepare(`SELECT ${TURN} FROM turn WHERE conversation = ? AND seq < ? ORDER BY seq DESC LIMIT ?`),
      turnsAfter: database.prepare(`SELECT ${TURN} FROM turn WHERE conversation = ? AND seq > ? ORDER BY seq LIMIT ?`),
      numberOf: database.prepare('SELECT seq FROM turn WHERE conversation = ? AND id = ?'),
      questions: database.prepare(`SELECT ${QUESTION} FROM turn WHERE conversation = ? ORDER BY seq`),
      open: database.prepare(`SELECT ${QUESTION} FROM turn WHERE conversation = ? AND ended_at IS NULL ORDER BY seq`),
      isOpen: database.prepare(`SELECT 1 FROM turn WHERE conversation = (SELECT key FROM conversation WHERE ${of}) AND ended_at IS NULL LIMIT 1`),
      later: database.prepare(`SELECT 1 FROM turn WHERE conversation = (SELECT key FROM conversation WHERE ${of}) AND seq > ? LIMIT 1`),
      history: database.prepare(`SELECT seq, question, answer FROM (SELECT seq, question, answer, sum(length(question) + length(answer)) OVER (ORDER BY seq DESC) AS total
        FROM (SELECT seq, question, answer FROM turn WHERE conversation = ? AND seq < ? AND answer IS NOT NULL ORDER BY seq DESC LIMIT ?)) WHERE total <= ? ORDER BY seq`),
      answered: database.prepare('SELECT count(*) FROM turn WHERE conversation = ? AND seq < ? AND answer IS NOT NULL'),
      ofTask: database.prepare('SELECT conversation, seq, (SELECT owner FROM conversation WHERE key = conversation) AS owner FROM turn WHERE task = ? AND n = ?'),
      ofKey: database.prepare(`SELECT ${CONVERSATION}, owner, vac FROM conversation WHERE key = ?`),
      turn: database.prepare(`SELECT ${TURN} FROM turn WHERE conversation = ? AND seq = ?`),
      answer: database.prepare('UPDATE turn SET answer = ?, content = ?, attempt = ? WHERE conversation = ? AND seq = ? AND attempt <= ?'),
      grow: database.prepare("UPDATE conversation SET updated_at = ?, turns = ?, last = ?, bytes = bytes + ?, title = coalesce(nullif(title, ''), ?) WHERE key = ?"),
      write: database.prepare('UPDATE conversation SET updated_at = ?, bytes = bytes + ? WHERE key = ?'),
      first: database.prepare('SELECT seq, question FROM turn WHERE conversation = ? ORDER BY seq LIMIT 1'),
      dropFrom: database.prepare('DELETE FROM turn WHERE conversation = ? AND seq >= ?'),
      dropFirst: database.prepare('DELETE FROM turn WHERE conversation = ? AND seq IN (SELECT seq FROM turn WHERE conversation = ? ORDER BY seq LIMIT ?)'),
      recount: database.prepare(`UPDATE conversation SET turns = c.turns, bytes = c.bytes + coalesce(length(metadata), 0) FROM (
        SELECT count(*) AS turns, coalesce(sum(${TURN_BYTES} + ${TURN_CHARS}), 0) AS bytes FROM turn WHERE conversation = ?) AS c WHERE key = ?`),
      retitle: database.prepare('UPDATE conversation SET title = ? WHERE key = ? AND title = ?'),
      change: database.prepare('UPDATE conversation SET title = coalesce(?, title), metadata = iif(?, ?, metadata), updated_at = ?, bytes = bytes + ? WHERE key = ?'),
      move: database.prepare(`UPDATE OR IGNORE conversation SET vac = ? WHERE ${of}`),
      editTurn: database.prepare('UPDATE turn SET question = ?, answer = ?, content = ? WHERE conversation = ? AND seq = ?'),
      dropTurn: database.prepare('DELETE FROM turn WHERE conversation = ? AND seq = ?'),
      delete: database.prepare('DELETE FROM conversation WHERE key = ?'),
      excess: database.prepare(`SELECT key FROM (SELECT key, row_number() OVER newest AS place, sum(bytes) OVER newest AS total FROM conversation WHERE owner = ?
        WINDOW newest AS (ORDER BY updated_at DESC, key DESC)) WHERE place > 1 AND (place > ? OR total > ?) LIMIT ${DELETED_AT_ONCE}`),
      older: database.prepare(`SELECT key FROM conversation WHERE updated_at < ? LIMIT ${DELETED_AT_ONCE}`)
    }
    this.#database = database
    this.#limits = limits
  }

  find ({ owner, vac, id }: ConversationKey): StoredConversation | undefined { return this.#sql.find.get<StoredConversation>(owner, vac, id) }

  locate (owner: string, id: string, vacs: readonly string[]): string | undefined { return this.#sql.locate.column<string>(owner, id, JSON.stringify(vacs))[0] }

  page (owner: string, vac: string, before: readonly [number, number], limit: number): StoredConversation[] {
    return this.#sql.page.all<StoredConversation>(owner, vac, ...before, limit)
  }

  turns ({ key }: StoredConversation, before: number, limit: number, chars: number): StoredTurn[] {
    return turnsWithin(this.#sql.turns.iterate<StoredTurn>(key, before, limit), chars)
  }

  turnsAfter ({ key }: StoredConversation, after: number, limit: number, chars: number): StoredTurn[] {
    return turnsWithin(this.#sql.turnsAfter.iterate<StoredTurn>(key, after, limit), chars)
  }

  numberOf ({ key }: StoredConversation, id: string): number | undefined { return this.#sql.numberOf.column<number>(key, id)[0] }

  questions ({ key }: StoredConversation): StoredTurn[] { return this.#sql.questions.all<StoredTurn>(key) }

  open ({ key }: StoredConversation): StoredTurn[] { return this.#sql.open.all<StoredTurn>(key) }

  history ({ key }: StoredConversation, before: number, limit: number, chars: number): ConversationHistory {
    const turns = this.#sql.history.all<{ seq: number, question: string, answer: string }>(key, before, limit, chars)
    return { turns, leftOut: this.#sql.answered.column<number>(key, turns[0]?.seq ?? before)[0] ?? 0 }
  }

  /** Before a task is created. @throws TASK_TURN_IN_PROGRESS */
  checkOpen ({ owner, vac, id, isExclusive, after }: PreparedTurn): void {
    if (!isExclusive) return
    const isLate = after !== undefined && this.#sql.later.get(owner, vac, id, after) !== undefined
    if (isLate || this.#sql.isOpen.get(owner, vac, id) !== undefined) throw new TurnInProgressError()
  }

  turnOf (task: string, n: number): FoundTurn | undefined {
    const found = this.#sql.ofTask.get<TurnKey>(task, n)
    if (found === undefined) return undefined
    const row = this.#sql.turn.get<StoredTurn>(found.conversation, found.seq)
    const conversation = this.#sql.ofKey.get<OwnedConversation>(found.conversation)
    if (row === undefined || conversation === undefined) return undefined
    const { owner, vac, id } = conversation
    return { row, conversation: { owner, vac, id } }
  }

  /** Adds the first turn of a new task. */
  begin (turn: PreparedTurn, { task, taskOwner, state, at }: BegunTurn): void {
    const { owner, vac, id, question, files, from, earlier } = turn
    if (earlier.length > 0) this.import(turn, titleOf(earlier[0]!.question), earlier, null, at)
    if (from !== undefined) this.#dropFrom(turn, from)
    const bytes = turnBytes(question, files)
    const title = titleOf(question)
    const begun = this.#sql.begin.run(owner, vac, id, title, at, at, bytes)
    const row = begun.changes > 0 ? { key: begun.lastInsertRowid, last: 1, turns: 1 } : this.#grow(this.find(turn)!, { turns: 1, last: 1, bytes, title }, at)
    this.#sql.addTurn.run(row.key, row.last, task, task, taskOwner, 0, question, files, null, null, state, at, null)
    this.#keepLimits(row, owner, bytes)
  }

  /** Adds the next turn of a task that asked back and has an answer, if it is in a conversation. */
  continue (task: string, n: number, { question, files: given }: Asked, { taskOwner, at }: Omit<BegunTurn, 'task' | 'state'>): void {
    const found = this.#sql.ofTask.get<TurnKey>(task, n - 1)
    if (found === undefined) return
    const files = filesText(given)
    const bytes = turnBytes(question, files)
    const before = this.#sql.ofKey.get<OwnedConversation>(found.conversation)
    if (before === undefined) return
    const row = this.#grow(before, { turns: 1, last: 1, bytes, title: before.title }, at)
    this.#sql.addTurn.run(row.key, row.last, turnId(task, n), task, taskOwner, n, question, files, null, null, 'submitted', at, null)
    this.#keepLimits(row, found.owner, bytes)
  }

  answer (task: string, n: number, attempt: number, { answer, content }: TurnAnswer, at: number): void {
    const found = this.#sql.ofTask.get<TurnKey>(task, n)
    if (found === undefined || this.#sql.answer.run(answer, content, attempt, found.conversation, found.seq, attempt).changes === 0) return
    const bytes = content.length + (answer?.length ?? 0)
    this.#sql.write.run(at, bytes, found.conversation)
    if (isCounted(found.owner, this.#limits, { bytes })) this.trim(found.owner)
  }

  change (key: ConversationKey, title: string | undefined, metadata: string | null | undefined, at: number): boolean {
    const row = this.find(key)
    if (row === undefined) return false
    const bytes = metadata === undefined ? 0 : (metadata?.length ?? 0) - (row.metadata?.length ?? 0)
    overwriting(this.#database, () => { this.#sql.change.run(title ?? null, metadata === undefined ? 0 : 1, metadata ?? null, at, bytes, row.key) })
    return true
  }

  move ({ owner, vac, id }: ConversationKey, to: string): boolean { return this.#sql.move.run(to, owner, vac, id).changes > 0 }

  edit (key: ConversationKey, number: number, edit: EditRow, at: number): boolean {
    const row = this.find(key)
    if (row === undefined) return false
    const turn = number === LAST ? this.turns(row, row.last + 1, 1, 0)[0] : this.#sql.turn.get<StoredTurn>(row.key, number)
    const change = edit(turn)
    const growth = growthOf(turn, change)
    const { turn: changed, added } = change
    if (changed === undefined && added.length === 0) return true
    if (turn !== undefined && changed !== undefined) {
      overwriting(this.#database, () => {
        if (changed === null) this.#sql.dropTurn.run(row.key, turn.seq)
        else this.#sql.editTurn.run(changed.question, changed.answer, changed.content, row.key, turn.seq)
      })
    }
    this.#addImported(row.key, row.last, added)
    this.#keepLimits(this.#grow(row, growth, at), key.owner, growth.bytes)
    return true
  }

  #grow ({ key, turns, last }: StoredConversation, growth: Growth, at: number): GrownConversation {
    const grown = { key, turns: turns + growth.turns, last: last + growth.last }
    this.#sql.grow.run(at, grown.turns, grown.last, growth.bytes, growth.title, key)
    return grown
  }

  delete (key: ConversationKey): boolean {
    const row = this.find(key)
    if (row === undefined) return false
    overwriting(this.#database, () => { this.#sql.delete.run(row.key) })
    return true
  }

  import ({ owner, vac, id }: ConversationKey, title: string, turns: readonly ImportedRow[], metadata: string | null, at: number): boolean {
    const bytes = bytesOfTurns(turns) + (metadata?.length ?? 0)
    const created = turns[0]?.created_at ?? at
    const { changes, lastInsertRowid: key } = this.#sql.create.run(owner, vac, id, title, metadata, created, at, turns.length, turns.length, bytes)
    if (changes === 0) return false
    this.#addImported(Number(key), 0, turns)
    if (isCounted(owner, this.#limits, { conversations: 1, bytes })) this.trim(owner)
    return true
  }

  #addImported (key: number, last: number, turns: readonly ImportedRow[]): void {
    for (const [i, { id, question, files, answer, content, state, created_at: createdAt, ended_at: endedAt }] of turns.entries()) {
      this.#sql.addTurn.run(key, last + 1 + i, id, null, null, 0, question, files, answer, content, state, createdAt, endedAt)
    }
  }

  /** Deletes the conversations past the limits of an owner, those without a question for longest first. */
  trim (owner: string): void {
    const { conversations, bytes } = ownerLimits(owner, this.#limits)
    for (const key of this.#sql.excess.column<number>(owner, conversations, bytes)) this.#sql.delete.run(key)
  }

  /** Deletes some conversations that had no question since `before`; resolves to their number. */
  deleteOlder (before: number): number {
    const keys = this.#sql.older.column<number>(before)
    for (const key of keys) this.#sql.delete.run(key)
    return keys.length
  }

  #keepLimits ({ key, turns }: GrownConversation, owner: string, bytes: number): void {
    if (turns > this.#limits.maxTurns) {
      this.#sql.dropFirst.run(key, key, turns - this.#limits.maxTurns)
      this.#sql.recount.run(key, key)
    }
    if (isCounted(owner, this.#limits, { conversations: turns === 1 ? 1 : 0, bytes })) this.trim(owner)
  }

  #dropFrom (conversation: PreparedTurn, from: number): void {
    const row = this.find(conversation)
    if (row === undefined) return
    const first = this.#sql.first.get<{ seq: number, question: string }>(row.key)
    let dropped = 0
    overwriting(this.#database, () => { dropped = this.#sql.dropFrom.run(row.key, from).changes })
    if (dropped === 0) return
    this.#sql.recount.run(row.key, row.key)
    // the title is that of the first question
    if (first !== undefined && from <= first.seq) this.#sql.retitle.run(titleOf(conversation.question), row.key, titleOf(first.question))
  }
}

/** The same for the records: their writes are group commits. */
export function conversationTable (commit: GroupCommit, talks: Conversations): ConversationTable {
  return {
    find: key => talks.find(key),
    locate: (...args) => talks.locate(...args),
    page: (...args) => talks.page(...args),
    turns: (...args) => talks.turns(...args),
    turnsAfter: (...args) => talks.turnsAfter(...args),
    numberOf: (...args) => talks.numberOf(...args),
    questions: row => talks.questions(row),
    open: row => talks.open(row),
    history: (...args) => talks.history(...args),
    turnOf: (...args) => talks.turnOf(...args),
    answer: async (...args) => { await commit.write(() => { talks.answer(...args, Date.now()) }) },
    change: async (...args) => await commit.write(() => talks.change(...args, Date.now())),
    move: async (...args) => await commit.write(() => talks.move(...args)),
    edit: async (...args) => await commit.write(() => talks.edit(...args, Date.now())),
    delete: async key => await commit.write(() => talks.delete(key)),
    import: async (...args) => await commit.write(() => talks.import(...args, Date.now()))
  }
}
