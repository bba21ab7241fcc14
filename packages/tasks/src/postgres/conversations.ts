import type { ConversationHistory, ConversationKey, NewTurn, TurnAnswer } from '../contract/conversation-records.js'
import {
  bytesOfTurns, CONVERSATION, DELETED_AT_ONCE, filesText, growthOf, isCounted, LAST, ownerLimits, QUESTION, titleOf, TURN, TURN_BYTES, TURN_CHARS, turnBytes, turnId, turnsWithin,
  type ConversationLimits, type ConversationTable, type EditRow, type FoundTurn, type ImportedRow, type StoredConversation, type StoredTurn
} from '../store/conversations.js'
import { isName } from '../basics/names.js'
import type { NewRow, PreparedTurn } from '../store/new-task.js'
import { int4Array, int8Array, textArray } from './array-parameters.js'
import type { Connection, Session } from './connection.js'

type BegunRow = NewRow & { readonly turn: PreparedTurn }

interface Begun extends Pick<StoredConversation, 'key' | 'last' | 'turns'>, ConversationKey {}

interface AddedTurn extends Pick<StoredTurn, 'seq' | 'id' | 'task' | 'question' | 'files' | 'answer' | 'content' | 'state'> {
  readonly conversation: number
  readonly taskOwner: string | null
  readonly n: number
  readonly at: number
  readonly endedAt: number | null
}

/** The rows of conversations and their turns. */
export class Conversations implements ConversationTable {
  readonly #connection: Connection
  readonly #limits: ConversationLimits
  readonly #sql

  constructor (connection: Connection, limits: ConversationLimits) {
    const [conversation, turn] = [connection.table('conversation'), connection.table('turn')]
    const of = 'owner = $1 AND vac = $2 AND id = $3'
    this.#sql = {
      find: `SELECT ${CONVERSATION} FROM ${conversation} WHERE ${of}`,
      locate: `SELECT vac FROM ${conversation} WHERE owner = $1 AND id = $2 AND vac = ANY($3::text[]) ORDER BY updated_at DESC LIMIT 1`,
      page: `SELECT ${CONVERSATION} FROM ${conversation} WHERE owner = $1 AND vac = $2 AND (updated_at, key) < ($3, $4) ORDER BY updated_at DESC, key DESC LIMIT $5`,
      turns: `SELECT ${TURN} FROM ${turn} WHERE conversation = $1 AND seq < $2 ORDER BY seq DESC LIMIT $3`,
      sizes: `SELECT seq, (${TURN_CHARS})::int AS chars FROM ${turn} WHERE conversation = $1 AND seq < $2 ORDER BY seq DESC LIMIT $3`,
      turn: `SELECT ${TURN} FROM ${turn} WHERE conversation = $1 AND seq = $2`,
      turnsAfter: `SELECT ${TURN} FROM ${turn} WHERE conversation = $1 AND seq > $2 ORDER BY seq LIMIT $3`,
      sizesAfter: `SELECT seq, (${TURN_CHARS})::int AS chars FROM ${turn} WHERE conversation = $1 AND seq > $2 ORDER BY seq LIMIT $3`,
      numberOf: `SELECT seq FROM ${turn} WHERE conversation = $1 AND id = $2`,
      questions: `SELECT ${QUESTION} FROM ${turn} WHERE conversation = $1 ORDER BY seq`,
      open: `SELECT ${QUESTION} FROM ${turn} WHERE conversation = $1 AND ended_at IS NULL ORDER BY seq`,
      isOpen: `SELECT 1 FROM ${turn} WHERE conversation = (SELECT key FROM ${conversation} WHERE ${of}) AND ended_at IS NULL LIMIT 1`,
      later: `SELECT 1 FROM ${turn} WHERE conversation = (SELECT key FROM ${conversation} WHERE ${of}) AND seq > $4 LIMIT 1`,
      history: `SELECT seq, question, answer FROM (SELECT seq, question, answer, sum(length(question) + length(answer)) OVER (ORDER BY seq DESC) AS total
        FROM (SELECT seq, question, answer FROM ${turn} WHERE conversation = $1 AND seq < $2 AND answer IS NOT NULL ORDER BY seq DESC LIMIT $3) l) h WHERE total <= $4 ORDER BY seq`,
      answered: `SELECT count(*) AS turns FROM ${turn} WHERE conversation = $1 AND seq < $2 AND answer IS NOT NULL`,
      turnOf: `SELECT ${TURN.split(', ').map(name => `t.${name}`).join()}, c.owner, c.vac, c.id AS conversation FROM ${turn} t JOIN ${conversation} c ON c.key = t.conversation
        WHERE t.task = $1 AND t.n = $2`,
      // in the order of their keys, as every other transaction locks them
      begin: `INSERT INTO ${conversation} (owner, vac, id, title, created_at, updated_at, turns, last, bytes)
        SELECT owner, vac, id, title, at, at, n, n, bytes FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::bigint[], $6::int[], $7::bigint[]) i(owner, vac, id, title, at, n, bytes)
        ORDER BY owner, vac, id
        ON CONFLICT (owner, vac, id) DO UPDATE SET updated_at = excluded.updated_at, turns = ${conversation}.turns + excluded.turns, last = ${conversation}.last + excluded.last,
          bytes = ${conversation}.bytes + excluded.bytes, title = coalesce(nullif(${conversation}.title, ''), excluded.title) RETURNING key, last, turns, owner, vac, id`,
      addTurns: `INSERT INTO ${turn} (conversation, seq, id, task, task_owner, n, attempt, question, files, answer, content, state, created_at, ended_at)
        SELECT conversation, seq, id, task, task_owner, n, 0, question, files, answer, content, state, created_at, ended_at
        FROM unnest($1::bigint[], $2::int[], $3::text[], $4::text[], $5::text[], $6::int[], $7::text[], $8::text[], $9::text[], $10::text[], $11::text[], $12::bigint[], $13::bigint[])
          i(conversation, seq, id, task, task_owner, n, question, files, answer, content, state, created_at, ended_at)`,
      next: `UPDATE ${conversation} SET updated_at = $1, turns = turns + 1, last = last + 1, bytes = bytes + $2
        WHERE key = (SELECT conversation FROM ${turn} WHERE task = $3 AND n = $4) RETURNING key, last, turns, owner, vac, id`,
      // the conversation first, as every other transaction locks the two
      answer: `WITH c AS (UPDATE ${conversation} c SET updated_at = $6, bytes = c.bytes + length($5) + coalesce(length($4), 0) FROM ${turn} t WHERE t.task = $1 AND t.n = $2 AND t.attempt <= $3
          AND c.key = t.conversation RETURNING c.key, c.owner)
        UPDATE ${turn} t SET answer = $4, content = $5, attempt = $3 FROM c WHERE t.conversation = c.key AND t.task = $1 AND t.n = $2 AND t.attempt <= $3 RETURNING c.owner`,
      first: `SELECT seq, question FROM ${turn} WHERE conversation = $1 ORDER BY seq LIMIT 1`,
      dropFrom: `DELETE FROM ${turn} WHERE conversation = $1 AND seq >= $2 RETURNING seq`,
      dropFirst: `DELETE FROM ${turn} WHERE conversation = $1 AND seq IN (SELECT seq FROM ${turn} WHERE conversation = $1 ORDER BY seq LIMIT $2)`,
      recount: `UPDATE ${conversation} SET (turns, bytes) = (SELECT count(*), coalesce(sum(${TURN_BYTES} + ${TURN_CHARS}), 0) + coalesce(length(metadata), 0) FROM ${turn} WHERE conversation = $1)
        WHERE key = $1`,
      retitle: `UPDATE ${conversation} SET title = $2 WHERE key = $1 AND title = $3`,
      change: `UPDATE ${conversation} SET title = coalesce($4, title), metadata = CASE WHEN $5 THEN $6 WHEN NOT $5 THEN metadata END, updated_at = $7,
        bytes = bytes + coalesce(CASE WHEN $5 THEN coalesce(length($6), 0) - coalesce(length(metadata), 0) END, 0) WHERE ${of} RETURNING key`,
      move: `UPDATE ${conversation} SET vac = $4 WHERE ${of} AND NOT EXISTS (SELECT 1 FROM ${conversation} WHERE owner = $1 AND vac = $4 AND id = $3) RETURNING key`,
      editTurn: `UPDATE ${turn} SET question = $3, answer = $4, content = $5 WHERE conversation = $1 AND seq = $2`,
      dropTurn: `DELETE FROM ${turn} WHERE conversation = $1 AND seq = $2`,
      edited: `UPDATE ${conversation} SET updated_at = $2, turns = turns + $3, last = last + $4, bytes = bytes + $5, title = coalesce(nullif(title, ''), $6) WHERE key = $1
        RETURNING key, last, turns, owner, vac, id`,
      delete: `DELETE FROM ${conversation} WHERE ${of} RETURNING key`,
      create: `INSERT INTO ${conversation} (owner, vac, id, title, metadata, created_at, updated_at, turns, last, bytes) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $8, $9)
        ON CONFLICT DO NOTHING RETURNING key`,
      trim: `DELETE FROM ${conversation} WHERE key IN (SELECT key FROM (SELECT key, row_number() OVER newest AS place, sum(bytes) OVER newest AS total FROM ${conversation} WHERE owner = $1
        WINDOW newest AS (ORDER BY updated_at DESC, key DESC)) c WHERE place > 1 AND (place > $2 OR total > $3) LIMIT ${DELETED_AT_ONCE})`,
      older: `DELETE FROM ${conversation} WHERE key IN (SELECT key FROM ${conversation} WHERE updated_at < $1 LIMIT ${DELETED_AT_ONCE} FOR UPDATE SKIP LOCKED) RETURNING key`
    }
    this.#connection = connection
    this.#limits = limits
  }

  async find ({ owner, vac, id }: ConversationKey): Promise<StoredConversation | undefined> {
    return isName(id) ? (await this.#connection.run<StoredConversation>(this.#sql.find, [owner, vac, id], 'conversation'))[0] : undefined
  }

  async locate (owner: string, id: string, vacs: readonly string[]): Promise<string | undefined> {
    return isName(id) ? (await this.#connection.run<{ vac: string }>(this.#sql.locate, [owner, id, textArray(vacs)]))[0]?.vac : undefined
  }

  async page (owner: string, vac: string, before: readonly [number, number], limit: number): Promise<StoredConversation[]> {
    return await this.#connection.run<StoredConversation>(this.#sql.page, [owner, vac, ...before, limit])
  }

  async turns ({ key }: StoredConversation, before: number, limit: number, chars: number): Promise<StoredTurn[]> {
    return await this.#pageOf('', [key, before, limit], chars)
  }

  async turnsAfter ({ key }: StoredConversation, after: number, limit: number, chars: number): Promise<StoredTurn[]> {
    return await this.#pageOf('After', [key, after, limit], chars)
  }

  async #pageOf (which: '' | 'After', [key, number, limit]: readonly [number, number, number], chars: number): Promise<StoredTurn[]> {
    // the driver reads whole results: first how many fit
    let taken = 0
    const sizes = await this.#connection.run<{ seq: number, chars: number }>(this.#sql[`sizes${which}`], [key, number, limit], `sizes of turns ${which}`)
    const fit = sizes.findIndex(({ chars: some }, i) => (taken += some) > chars && i > 0)
    const rows = await this.#connection.run<StoredTurn>(this.#sql[`turns${which}`], [key, number, fit === -1 ? limit : fit], `turns ${which}`)
    return turnsWithin(rows, chars)
  }

  async numberOf ({ key }: StoredConversation, id: string): Promise<number | undefined> {
    return isName(id) ? (await this.#connection.run<{ seq: number }>(this.#sql.numberOf, [key, id]))[0]?.seq : undefined
  }

  async questions ({ key }: StoredConversation): Promise<StoredTurn[]> {
    return await this.#connection.run<StoredTurn>(this.#sql.questions, [key], 'questions')
  }

  async open ({ key }: StoredConversation): Promise<StoredTurn[]> { return await this.#connection.run<StoredTurn>(this.#sql.open, [key], 'open turns') }

  async history ({ key }: StoredConversation, before: number, limit: number, chars: number): Promise<ConversationHistory> {
    const turns = await this.#connection.run<{ seq: number, question: string, answer: string }>(this.#sql.history, [key, before, limit, chars], 'history')
    const [row] = await this.#connection.run<{ turns: number }>(this.#sql.answered, [key, turns[0]?.seq ?? before], 'answered')
    return { turns, leftOut: row?.turns ?? 0 }
  }

  /** Whether a turn of the conversation has not ended. Until the end of the transaction no other one asks that. */
  async isOpen (session: Session, { owner, vac, id, after }: PreparedTurn): Promise<boolean> {
    await session.run('SELECT pg_advisory_xact_lock($1, hashtext($2))', [this.#connection.listener.lock, JSON.stringify([owner, vac, id])])
    if (after !== undefined && (await session.run(this.#sql.later, [owner, vac, id, after])).length > 0) return true
    return (await session.run(this.#sql.isOpen, [owner, vac, id])).length > 0
  }

  async turnOf (task: string, n: number): Promise<FoundTurn | undefined> {
    if (!isName(task)) return undefined
    const [row] = await this.#connection.run<StoredTurn & { owner: string, vac: string, conversation: string }>(this.#sql.turnOf, [task, n], 'turn of a task')
    return row && { row, conversation: { owner: row.owner, vac: row.vac, id: row.conversation } }
  }

  /** Adds the first turns of new tasks, in their order. */
  async begin (session: Session, rows: readonly BegunRow[]): Promise<void> {
    const groups = new Map<string, BegunRow[]>()
    for (const row of rows) {
      const { owner, vac, id, from, earlier } = row.turn
      if (earlier.length > 0) await this.#importIn(session, row.turn, titleOf(earlier[0]!.question), earlier, null)
      if (from !== undefined) await this.#dropFrom(session, row.turn, from)
      const name = JSON.stringify([owner, vac, id])
      groups.set(name, [...groups.get(name) ?? [], row])
    }
    const firsts = [...groups.values()].map(some => some[0] as BegunRow)
    const sizes = [...groups.values()].map(some => some.reduce((sum, { turn }) => sum + turnBytes(turn.question, turn.files), 0))
    const begun = await session.run<Begun>(this.#sql.begin, [
      textArray(firsts.map(({ turn }) => turn.owner)), textArray(firsts.map(({ turn }) => turn.vac)), textArray(firsts.map(({ turn }) => turn.id)),
      textArray(firsts.map(({ turn }) => titleOf(turn.question))), int8Array([...groups.values()].map(some => (some.at(-1) as BegunRow).first.at)),
      int4Array([...groups.values()].map(({ length }) => length)), int8Array(sizes)
    ], 'begin turns')
    const turns = begun.flatMap(({ key, last, owner, vac, id }) => {
      const some = groups.get(JSON.stringify([owner, vac, id])) ?? []
      return some.map(({ origin, owner: taskOwner, turn: { question, files }, first: { at } }, i) =>
        ({ conversation: key, seq: last - some.length + 1 + i, id: origin.id, task: origin.id, taskOwner, n: 0, question, files, answer: null, content: null, state: 'submitted' as const, at, endedAt: null }))
    })
    await this.#addTurns(session, turns)
    for (const [i, row] of begun.entries()) await this.#keepLimits(session, row, sizes[i] ?? 0)
  }

  /** Adds the next turn of a task that asked back and has an answer, if it is in a conversation. */
  async continue (session: Session, task: string, n: number, { question, files: given }: Pick<NewTurn, 'question' | 'files'>, { taskOwner, at }: { taskOwner: string, at: number }): Promise<void> {
    const files = filesText(given)
    const bytes = turnBytes(question, files)
    const [row] = await session.run<Begun>(this.#sql.next, [at, bytes, task, n - 1])
    if (row === undefined) return
    await this.#addTurns(session, [{ conversation: row.key, seq: row.last, id: turnId(task, n), task, taskOwner, n, question, files, answer: null, content: null, state: 'submitted', at, endedAt: null }])
    await this.#keepLimits(session, row, bytes)
  }

  async answer (task: string, n: number, attempt: number, { answer, content }: TurnAnswer): Promise<void> {
    const [row] = await this.#connection.run<{ owner: string }>(this.#sql.answer, [task, n, attempt, answer, content, this.#connection.now()], 'answer a turn')
    if (row !== undefined && isCounted(row.owner, this.#limits, { bytes: content.length + (answer?.length ?? 0) })) await this.#trim(this.#connection, row.owner)
  }

  async change ({ owner, vac, id }: ConversationKey, title: string | undefined, metadata: string | null | undefined): Promise<boolean> {
    const values = [owner, vac, id, title ?? null, metadata !== undefined, metadata ?? null, this.#connection.now()]
    return isName(id) && (await this.#connection.run(this.#sql.change, values)).length > 0
  }

  async move ({ owner, vac, id }: ConversationKey, to: string): Promise<boolean> {
    return isName(id) && (await this.#connection.run(this.#sql.move, [owner, vac, id, to])).length > 0
  }

  async edit ({ owner, vac, id }: ConversationKey, number: number, edit: EditRow): Promise<boolean> {
    if (!isName(id)) return false
    return await this.#connection.transaction(async session => {
      const [row] = await session.run<StoredConversation>(`${this.#sql.find} FOR UPDATE`, [owner, vac, id])
      if (row === undefined) return false
      const [turn] = number === LAST ? await session.run<StoredTurn>(this.#sql.turns, [row.key, row.last + 1, 1]) : await session.run<StoredTurn>(this.#sql.turn, [row.key, number])
      const change = edit(turn)
      const { turn: changed, added } = change
      if (changed === undefined && added.length === 0) return true
      const { turns, last, bytes, title } = growthOf(turn, change)
      if (turn !== undefined && changed === null) await session.run(this.#sql.dropTurn, [row.key, turn.seq])
      else if (turn !== undefined && changed != null) await session.run(this.#sql.editTurn, [row.key, turn.seq, changed.question, changed.answer, changed.content])
      await this.#addTurns(session, importedTurns(row.key, row.last, added))
      const [grown] = await session.run<Begun>(this.#sql.edited, [row.key, this.#connection.now(), turns, last, bytes, title])
      if (grown !== undefined) await this.#keepLimits(session, grown, bytes)
      return true
    })
  }

  async delete ({ owner, vac, id }: ConversationKey): Promise<boolean> {
    return isName(id) && (await this.#connection.run(this.#sql.delete, [owner, vac, id])).length > 0
  }

  async import (...args: [key: ConversationKey, title: string, turns: readonly ImportedRow[], metadata: string | null]): Promise<boolean> {
    return await this.#connection.transaction(async transaction => await this.#importIn(transaction, ...args))
  }

  async #importIn (session: Session, { owner, vac, id }: ConversationKey, title: string, turns: readonly ImportedRow[], metadata: string | null): Promise<boolean> {
    const bytes = bytesOfTurns(turns) + (metadata?.length ?? 0)
    const now = this.#connection.now()
    const [row] = await session.run<{ key: number }>(this.#sql.create, [owner, vac, id, title, metadata, turns[0]?.created_at ?? now, now, turns.length, bytes])
    if (row === undefined) return false
    await this.#addTurns(session, importedTurns(row.key, 0, turns))
    if (isCounted(owner, this.#limits, { conversations: 1, bytes })) await this.#trim(session, owner)
    return true
  }

  /** Deletes some conversations that had no question since `before`; resolves to their number. */
  async deleteOlder (before: number): Promise<number> { return (await this.#connection.run(this.#sql.older, [before])).length }

  async #addTurns (session: Session, turns: readonly AddedTurn[]): Promise<void> {
    if (turns.length === 0) return
    await session.run(this.#sql.addTurns, [
      int8Array(turns.map(({ conversation }) => conversation)), int4Array(turns.map(({ seq }) => seq)), textArray(turns.map(({ id }) => id)),
      textArray(turns.map(({ task }) => task)), textArray(turns.map(({ taskOwner }) => taskOwner)), int4Array(turns.map(({ n }) => n)),
      textArray(turns.map(({ question }) => question)), textArray(turns.map(({ files }) => files)), textArray(turns.map(({ answer }) => answer)), textArray(turns.map(({ content }) => content)), textArray(turns.map(({ state }) => state)),
      int8Array(turns.map(({ at }) => at)), int8Array(turns.map(({ endedAt }) => endedAt))
    ], 'add turns')
  }

  async #keepLimits (session: Session, { key, turns, owner }: Begun, bytes: number): Promise<void> {
    if (turns > this.#limits.maxTurns) {
      await session.run(this.#sql.dropFirst, [key, turns - this.#limits.maxTurns])
      await session.run(this.#sql.recount, [key])
    }
    if (isCounted(owner, this.#limits, { conversations: turns === 1 ? 1 : 0, bytes })) await this.#trim(session, owner)
  }

  async #trim (session: Session, owner: string): Promise<void> {
    const { conversations, bytes } = ownerLimits(owner, this.#limits)
    await session.run(this.#sql.trim, [owner, conversations, bytes])
  }

  async #dropFrom (session: Session, { owner, vac, id, question }: PreparedTurn, from: number): Promise<void> {
    const [row] = await session.run<StoredConversation>(`${this.#sql.find} FOR UPDATE`, [owner, vac, id])
    if (row === undefined) return
    const [first] = await session.run<{ seq: number, question: string }>(this.#sql.first, [row.key])
    if ((await session.run(this.#sql.dropFrom, [row.key, from])).length === 0) return
    await session.run(this.#sql.recount, [row.key])
    // the title is that of the first question
    if (first !== undefined && from <= first.seq) await session.run(this.#sql.retitle, [row.key, titleOf(question), titleOf(first.question)])
  }
}

function importedTurns (conversation: number, last: number, turns: readonly ImportedRow[]): AddedTurn[] {
  return turns.map(({ id, question, files, answer, content, state, created_at: at, ended_at: endedAt }, i) =>
    ({ conversation, seq: last + 1 + i, id, task: null, taskOwner: null, n: 0, question, files, answer, content, state, at, endedAt }))
}
