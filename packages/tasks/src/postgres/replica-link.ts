import { isTaskError, StoreClosedError } from '../basics/errors.js'
import type { TaskLogger } from '../basics/logger.js'
import type { AppendOptions, Following, LinkEntry, ReplicaLink } from '../contract/replica-link.js'
import { int4Array, int8Array, textArray } from './array-parameters.js'
import type { Connection } from './connection.js'
import { WriteBatches } from './write-batches.js'

/** Entries of one stream that are kept, and their text, in characters. */
const MAX_ENTRIES = 500
const MAX_CHARS = 32 * 1024 * 1024
/** A stream is cut once it exceeds its bounds by this factor: not at every entry. */
const SLACK = 1.25
/** Text of all streams, in characters; past it the streams that end soonest are deleted. */
const MAX_ALL_CHARS = 256 * 1024 * 1024
/** What an entry counts besides its text. */
const ENTRY_CHARS = 100
/** Names of streams in one message, which has at most 8,000 bytes. */
const STREAMS_AT_ONCE = 50
const CHARS_AT_ONCE = 1024 * 1024
/** Rows that one read gets, of all streams. */
const ROWS_AT_ONCE = 500
/** Interval in which followers look for entries whose message was lost, in ms. */
const LOOK_MS = 5_000
const PURGE_MS = 30_000
/** Age of the last heartbeat from which on a replica counts as frozen, as its jobs do. */
const FROZEN_MS = 10_000
// @keyed (channel streams) names of streams | holds: the names of streams with new entries, in a message | whose:
//   the owners of the streams | bound: STREAMS_AT_ONCE names and 8,000 bytes for a message; its name has a secret of
//   the replicas | share: of no owner: writes of one turn share a message | test:
//   packages/tasks/test/replica-link.test.ts: an entry whose message was lost comes once the listener is back
const CHANNEL = 'streams'

/** Tables of the link, for the migrations. */
// @keyed (table entry) stream and number | holds: the text of an entry | whose: the owner of the stream | bound:
//   MAX_ENTRIES and MAX_CHARS for a stream | share: that of the stream | test:
//   packages/tasks/test/replica-link.test.ts: streams are deleted by age, and beyond the share of their owner
// @keyed (table stream) name of a stream, which has ids of the process or of a session | holds: its numbers and its
//   end | whose: the owner of the session | bound: MAX_ALL_CHARS over all, in which each entry counts ENTRY_CHARS
//   more; `ttlMs` | share: the owner, OWNER_SHARE of them; those of the owner that end soonest leave, at the next
//   look | test: packages/tasks/test/replica-link.test.ts: streams are deleted by age, and beyond the share of their
//   owner
export const LINK_TABLES = `
  CREATE TABLE $.stream (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, name text NOT NULL UNIQUE, owner text NOT NULL, seq bigint NOT NULL,
    entries integer NOT NULL, chars bigint NOT NULL, followed boolean NOT NULL, expires_at timestamptz NOT NULL) WITH (fillfactor = 70);
  CREATE INDEX stream_expiry ON $.stream (expires_at);
  CREATE TABLE $.entry (stream bigint NOT NULL, seq bigint NOT NULL, data text NOT NULL, PRIMARY KEY (stream, seq));
`

interface Opened {
  readonly connection: Connection
  readonly id: string
  readonly sql: ReturnType<typeof statements>
  readonly timers: readonly NodeJS.Timeout[]
  readonly frozenMs: number
}

interface Append extends AppendOptions { readonly stream: string, readonly texts: readonly string[] }
interface Follower { readonly stream: string, seq: number, readonly onEntries: (entries: readonly LinkEntry[]) => void }
interface Row extends LinkEntry { readonly i: number }
interface Head { readonly id: number, readonly name: string, readonly entries: number, readonly chars: number }

/** Streams in two tables. An append is durable soon after it resolves, not at once: it does not wait for the disk. */
export class PostgresReplicaLink implements ReplicaLink {
  readonly #log: TaskLogger
  readonly #ownerShare: number
  readonly #writes: WriteBatches<Append, undefined>
  // @keyed name of a stream | holds: the functions that read it at this replica | whose: the owner of the session |
  //   bound: one for each open stream; an entry ends with the last one | share: that of the session or the response |
  //   test: packages/mcp-server/test/replicas.test.ts: a client resumes a stream through another replica, which
  //   follows it
  readonly #followers = new Map<string, Set<Follower>>()
  // @keyed none: the values are keys of `#followers`
  readonly #woken = new Set<string>()
  #opened: Opened | undefined
  #isReading = false
  /** The last heartbeat of this replica, and the first before it without a gap: all age while the database is away. */
  #beat = -Infinity
  #beatsSince = Infinity

  constructor ({ log, ownerShare }: { readonly log: TaskLogger, readonly ownerShare: number }) {
    this.#log = log
    this.#ownerShare = ownerShare
    this.#writes = new WriteBatches({
      keyOf: ({ stream }) => stream,
      weightOf: ({ texts }) => Math.max(CHARS_AT_ONCE / STREAMS_AT_ONCE, charsOf(texts)),
      capacity: CHARS_AT_ONCE,
      inFlight: 1,
      joins: (before, next) => next.after === (before.after === undefined ? undefined : before.after + before.texts.length)
    }, async appends => {
      await this.#write(appends)
      return appends.map(() => ({ value: undefined }))
    })
  }

  /** @param replica the number of this process in the table `replica` */
  async open (connection: Connection, replica: number, frozenMs = FROZEN_MS): Promise<void> {
    const lookAgain = (): void => { this.#wake(this.#followers.keys()) }
    await connection.listener.listen(CHANNEL, names => { this.#wake(names.split(' ')) })
    connection.listener.onMissed(() => { this.#lookBack().catch(this.#failed).finally(lookAgain) })
    const timers = [
      setInterval(lookAgain, LOOK_MS).unref(),
      setInterval(() => { this.purge().catch(this.#failed) }, PURGE_MS).unref()
    ]
    this.#opened = { connection, id: String(replica), sql: statements(connection), timers, frozenMs }
  }

  get id (): string { return this.#now.id }

  async isAlive (replica: string): Promise<boolean> {
    const { connection, sql, frozenMs } = this.#now
    // without messages, replicas cannot notice each other's end
    if (connection.listener.isDeaf || !/^\d{1,9}$/.test(replica)) return connection.listener.isDeaf
    const canJudge = this.#beat - this.#beatsSince >= frozenMs
    const [row] = await connection.run<{ lives: boolean }>(sql.lives, [replica, canJudge ? frozenMs : null])
    return row?.lives === true
  }

  /** Writes the heartbeat of this replica. */
  async beat (): Promise<void> {
    const { connection, id, sql, frozenMs } = this.#now
    await connection.run(sql.beat, [id])
    const now = performance.now()
    if (now - this.#beat > frozenMs / 2) this.#beatsSince = now
    this.#beat = now
  }

  async append (stream: string, texts: readonly string[], options: AppendOptions): Promise<void> {
    await this.#writes.add({ stream, texts, owner: options.owner, ttlMs: options.ttlMs, after: options.after })
  }

  async follow (stream: string, after: number | undefined, onEntries: (entries: readonly LinkEntry[]) => void): Promise<Following> {
    const { connection, sql } = this.#now
    // from the next statement on, every append to the stream sends a message
    const [head] = await connection.run<{ id: number, seq: number }>(sql.follow, [stream])
    const seq = head?.seq ?? 0
    const entries = head === undefined || after === undefined ? [] : await connection.run<LinkEntry>(sql.read, [head.id, after])
    const follower: Follower = { stream, seq: Math.max(seq, entries.at(-1)?.seq ?? 0), onEntries }
    const before = this.#followers.get(stream)
    if (before === undefined) this.#followers.set(stream, new Set([follower]))
    else before.add(follower)
    // what came since
    this.#wake([stream])
    return { entries, seq: follower.seq, stop: () => { this.#leave(follower) } }
  }

  /** Deletes streams by age, and beyond the bounds of an owner and of all. */
  async purge (): Promise<void> {
    const { connection, sql } = this.#now
    await connection.transaction(async transaction => {
      const gone = await transaction.run<{ id: number }>(sql.purge, [MAX_ALL_CHARS * this.#ownerShare, MAX_ALL_CHARS])
      // a statement that begins later sees what was appended before
      if (gone.length > 0) await transaction.run(sql.purgeEntries, [gone.map(({ id }) => id)])
    })
  }

  /** Writes what waits. */
  async close (): Promise<void> {
    for (const timer of this.#opened?.timers ?? []) clearInterval(timer)
    await this.#writes.close()
    this.#followers.clear()
    this.#opened = undefined
  }

  get #now (): Opened {
    if (this.#opened === undefined) throw new StoreClosedError()
    return this.#opened
  }

  async #write (appends: readonly Append[]): Promise<void> {
    const streams = new Map<string, Append & { readonly texts: string[] }>()
    for (const append of appends) {
      const before = streams.get(append.stream)
      if (before === undefined) streams.set(append.stream, { ...append, texts: [...append.texts] })
      else before.texts.push(...append.texts)
    }
    const all = [...streams.values()].sort((a, b) => a.stream < b.stream ? -1 : 1)
    const { connection, sql } = this.#now
    const heads = await connection.run<Head>(sql.append, [
      textArray(all.map(({ stream }) => stream)), textArray(all.map(({ owner }) => owner)), int8Array(all.map(({ after }) => after ?? null)),
      int4Array(all.map(({ texts }) => texts.length)), int8Array(all.map(({ texts }) => charsOf(texts))), int8Array(all.map(({ ttlMs }) => ttlMs)),
      textArray(all.flatMap(({ stream, texts }) => texts.map(() => stream))), int4Array(all.flatMap(({ texts }) => texts.map((_text, i) => i + 1))),
      textArray(all.flatMap(({ texts }) => texts))
    ])
    for (const { id, entries, chars } of heads) {
      if (entries > MAX_ENTRIES * SLACK || chars > MAX_CHARS * SLACK) await connection.run(sql.trim, [id, MAX_ENTRIES, MAX_CHARS])
    }
  }

  #wake (streams: Iterable<string>): void {
    for (const stream of streams) if (this.#followers.has(stream)) this.#woken.add(stream)
    if (this.#isReading || this.#woken.size === 0) return
    this.#isReading = true
    this.#read().catch(this.#failed).finally(() => { this.#isReading = false })
  }

  async #read (): Promise<void> {
    while (this.#woken.size > 0) {
      const streams = [...this.#woken].slice(0, ROWS_AT_ONCE)
      for (const stream of streams) this.#woken.delete(stream)
      const followers = streams.flatMap(stream => [...this.#followers.get(stream) ?? []])
      const { connection, sql } = this.#now
      const rows = await connection.run<Row>(sql.readAll,
        [followers.map(({ stream }) => stream), followers.map(({ seq }) => seq), ROWS_AT_ONCE])
      const found = new Map<Follower, LinkEntry[]>()
      for (const { i, seq, text } of rows) {
        const follower = followers[i - 1] as Follower
        const entries = found.get(follower)
        if (entries === undefined) found.set(follower, [{ seq, text }])
        else entries.push({ seq, text })
      }
      for (const [follower, entries] of found) {
        follower.seq = (entries.at(-1) as LinkEntry).seq
        if (this.#followers.get(follower.stream)?.has(follower) === true) follower.onEntries(entries)
        if (rows.length === ROWS_AT_ONCE) this.#woken.add(follower.stream)
      }
    }
  }

  /**
   * A server that was behind, or has lost its last moments, gives the numbers of later entries again: a follower that
   * has them would wait behind the end of its stream.
   */
  async #lookBack (): Promise<void> {
    const { connection, sql } = this.#now
    const before = [...this.#followers.values()].flatMap(some => [...some]).map(follower => ({ follower, seq: follower.seq }))
    if (before.length === 0) return
    const rows = await connection.run<{ name: string, seq: number }>(sql.seqs, [[...this.#followers.keys()]])
    const seqs = new Map(rows.map(({ name, seq }) => [name, seq]))
    for (const { follower, seq } of before) {
      const end = seqs.get(follower.stream) ?? 0
      if (end < seq) follower.seq = end
    }
  }

  #leave (follower: Follower): void {
    const others = this.#followers.get(follower.stream)
    others?.delete(follower)
    if (others?.size === 0) this.#followers.delete(follower.stream)
  }

  /** The next look finds what was missed. */
  readonly #failed = (error: unknown): void => {
    if (!isTaskError(error, 'TASK_STORE_CLOSED')) this.#log.debug({ err: error }, 'streams of the replicas could not be read')
  }
}

function charsOf (texts: readonly string[]): number {
  return texts.reduce((sum, { length }) => sum + length + ENTRY_CHARS, 0)
}

function statements (connection: Connection) {
  const [stream, entry] = [connection.table('stream'), connection.table('entry')]
  return {
    // replicas delete the row of one that has ended, with its tasks
    lives: `SELECT EXISTS (SELECT FROM ${connection.table('replica')} WHERE id = $1
      AND ($2::float8 IS NULL OR seen_at IS NULL OR seen_at > now() - $2::float8 * interval '1 ms')) AS lives`,
    beat: `UPDATE ${connection.table('replica')} SET seen_at = now() WHERE id = $1`,
    append: `WITH i AS (SELECT * FROM unnest($1::text[], $2::text[], $3::bigint[], $4::int[], $5::bigint[], $6::bigint[]) i(name, owner, after, n, chars, ttl)),
      head AS (INSERT INTO ${stream} AS s (name, owner, seq, entries, chars, followed, expires_at)
        SELECT name, owner, coalesce(after, 0) + n, n, chars, after IS NULL, now() + ttl * interval '1 ms' FROM i ORDER BY name
        ON CONFLICT (name) DO UPDATE SET seq = CASE WHEN excluded.followed THEN s.seq + excluded.entries WHEN NOT excluded.followed THEN excluded.seq END,
          entries = s.entries + excluded.entries, chars = s.chars + excluded.chars, followed = s.followed OR excluded.followed,
          expires_at = excluded.expires_at
        RETURNING id, name, seq, entries, chars, followed),
      added AS (INSERT INTO ${entry} (stream, seq, data) SELECT head.id, head.seq - i.n + e.number, e.data
        FROM unnest($7::text[], $8::int[], $9::text[]) e(name, number, data) JOIN head USING (name) JOIN i USING (name) ON CONFLICT DO NOTHING),
      sent AS (SELECT pg_notify('${connection.listener.channelOf(CHANNEL)}', string_agg(name, ' ')) FROM head WHERE followed HAVING count(*) > 0)
      SELECT id, entries, chars, (SELECT count(*) FROM sent), set_config('synchronous_commit', 'off', true) FROM head`,
    follow: `WITH marked AS (UPDATE ${stream} SET followed = true WHERE name = $1 AND NOT followed)
      SELECT id, seq FROM ${stream} WHERE name = $1`,
    seqs: `SELECT name, seq FROM ${stream} WHERE name = ANY($1)`,
    read: `SELECT seq, data AS text FROM ${entry} WHERE stream = $1 AND seq > $2 ORDER BY seq`,
    readAll: `SELECT f.i::int AS i, e.seq, e.data AS text FROM unnest($1::text[], $2::bigint[]) WITH ORDINALITY f(name, after, i)
      JOIN ${stream} s USING (name) JOIN ${entry} e ON e.stream = s.id AND e.seq > f.after ORDER BY e.seq LIMIT $3`,
    trim: `WITH sized AS (SELECT seq, row_number() OVER newest AS n, sum(length(data) + ${ENTRY_CHARS}) OVER newest AS chars FROM ${entry}
        WHERE stream = $1 AND seq > 0 WINDOW newest AS (ORDER BY seq DESC)),
      gone AS (DELETE FROM ${entry} WHERE stream = $1 AND seq IN (SELECT seq FROM sized WHERE n > $2 OR chars > $3) RETURNING length(data) + ${ENTRY_CHARS} AS chars),
      total AS (SELECT count(*) AS n, coalesce(sum(chars), 0) AS chars FROM gone)
      UPDATE ${stream} SET entries = entries - total.n, chars = ${stream}.chars - total.chars FROM total WHERE id = $1`,
    purge: `WITH kept AS (SELECT id, owner, expires_at, sum(chars) OVER (PARTITION BY owner ORDER BY expires_at DESC, id DESC) AS owned,
        sum(chars) OVER (ORDER BY expires_at DESC, id DESC) AS whole FROM ${stream})
      DELETE FROM ${stream} WHERE id IN (SELECT id FROM kept WHERE expires_at < now() OR (owned > $1 AND owner <> '') OR whole > $2) RETURNING id`,
    purgeEntries: `DELETE FROM ${entry} WHERE stream = ANY($1)`
  }
}
