import { PAGE_BYTES, PAGE_CHARS } from '../log/log-page.js'
import type { StoredTask, StoredTexts } from '../log/task-row.js'
import type { Connection } from './connection.js'

/** Events that one statement reads for one record. */
export const RECORD_EVENTS = 500
/** Channels of events: a replica hears only of the tasks that share one with a task that it reads. */
const SHARDS = 16
/** Bytes of events in one message. A message about more has their numbers: a follower then reads them together. */
const MESSAGE_BYTES = 1_000
/** Bytes of events in one statement past which its messages have only numbers: joining the texts costs more. */
const BULK_BYTES = 8_000

/** Characters at the beginning of an event, which have its time. */
const HEAD_CHARS = 32

export interface TaskRow extends StoredTask {
  readonly queue: string
  readonly replica: number | null
  readonly job: string
}

/** A row with what its record is built from. */
export interface RecordRow extends TaskRow, StoredTexts { readonly events: readonly string[] }

const ROW = ['key', 'id', 'owner', 'context', 'skill', 'queue', 'hash', 'state', 'turn', 'attempt', 'losses', 'seq', 'status_at', 'replica', 'job', 'bytes', 'pushes']
  .map(name => `t.${name}`).join()

/** Whether the messages about these events, `chars` of each task, have only their numbers. */
export function areLarge (tasks: Iterable<readonly [key: number, chars: number]>): boolean {
  const shards = new Map<number, number>()
  let all = 0
  for (const [key, chars] of tasks) {
    all += chars
    shards.set(key % SHARDS, (shards.get(key % SHARDS) ?? 0) + chars)
  }
  return all > BULK_BYTES || [...shards.values()].every(chars => chars > MESSAGE_BYTES)
}

export function shardOf (key: number): string { return `events ${key % SHARDS}` }

/**
 * Every change of a task is one statement: the row, its events, the wake-up of its webhooks, and the messages to
 * readers, which are sent once per channel and batch.
 */
export function statements (connection: Connection) {
  const [task, event, push, origin, snapshot] = ['task', 'event', 'push', 'origin', 'snapshot'].map(name => connection.table(name)) as [string, string, string, string, string]
  const channel = connection.listener.channelOf('events ')
  const woken = `woken AS (UPDATE ${push} p SET due = coalesce(p.due, 0) FROM change c WHERE c.pushes > 0 AND p.task = c.key AND p.disabled IS NULL)`
  const follow = (added: string): string => `added AS (${added} RETURNING task AS key, seq, data), ${woken},
    sent AS (SELECT pg_notify('${channel}' || shard, coalesce(CASE WHEN bytes <= ${MESSAGE_BYTES} THEN events END,
        (SELECT string_agg(key || ':' || seq, E'\\n') FROM change WHERE key % ${SHARDS} = shard)))
      FROM (SELECT key % ${SHARDS} AS shard, sum(octet_length(data)) AS bytes,
        string_agg(key || ':' || seq || ':' || data, E'\\n' ORDER BY seq) FILTER (WHERE octet_length(data) <= ${MESSAGE_BYTES}) AS events
        FROM added GROUP BY 1) s)
    SELECT c.*, (SELECT count(*) FROM sent) FROM change c`
  /** The same where no message has room for events: aggregating them takes a fifth of the server's time. */
  const followLarge = (added: string): string => `added AS (${added}), ${woken},
    sent AS (SELECT pg_notify('${channel}' || key % ${SHARDS}, string_agg(key || ':' || seq, E'\\n')) FROM change GROUP BY key % ${SHARDS})
    SELECT c.*, (SELECT count(*) FROM sent) FROM change c`
  const held = 'FROM unnest($1::bigint[], $2::int[], $3::int[], $4::int[], $5::int[]) i(key, turn, attempt, claim, last)'
  const fence = "t.key = i.key AND t.turn = i.turn AND t.attempt = i.attempt AND t.claim = i.claim AND t.state = 'working'"
  const append = (follow: (added: string) => string): string => `WITH change AS (UPDATE ${task} t SET seq = t.seq + i.n, bytes = t.bytes + i.chars, state = coalesce(i.state, t.state),
        status_at = coalesce(i.status_at, t.status_at), ended_at = i.ended_at, replica = CASE WHEN i.state IS NULL THEN t.replica END
        FROM unnest($1::bigint[], $2::int[], $3::int[], $4::int[], $5::int[], $6::int[], $7::bigint[], $8::text[], $9::bigint[], $10::bigint[])
          i(key, turn, attempt, claim, last, n, chars, state, status_at, ended_at)
        WHERE t.key = ANY($1) AND ${fence} AND t.seq = i.last RETURNING t.key, t.seq, t.pushes, i.n),
      ${follow(`INSERT INTO ${event} (task, seq, data) SELECT c.key, c.seq - c.n + e.number, e.data
        FROM unnest($11::bigint[], $12::int[], $13::text[]) e(key, number, data) JOIN change c USING (key)`)}`
  const appendFree = (set: string, and = ''): string => `WITH change AS (UPDATE ${task} t SET seq = t.seq + 1, bytes = t.bytes + octet_length($4), status_at = $3, replica = NULL, ${set}
      WHERE t.key = $1 AND t.state = ANY($2)${and} RETURNING ${ROW}),
    ${follow(`INSERT INTO ${event} (task, seq, data) SELECT key, seq, $4 FROM change`)}`
  return {
    row: `SELECT ${ROW} FROM ${task} t`,
    head: `SELECT ${ROW}, o.metadata FROM ${task} t JOIN ${origin} o ON o.task = t.key WHERE t.owner = $1 AND t.id = $2`,
    ownerOf: `SELECT owner FROM ${task} WHERE id = $1`,
    places: `SELECT i.i::int AS i, t.id, t.seq AS last, left(e.data, ${HEAD_CHARS}) AS head FROM unnest($1::bigint[], $2::int[]) WITH ORDINALITY i(key, seq, i)
      JOIN ${task} t ON t.key = i.key LEFT JOIN ${event} e ON e.task = i.key AND e.seq = i.seq`,
    // the driver parses a list slowly: a large log is read in pages
    record: `SELECT ${ROW}, o.input, o.metadata, s.data AS snapshot, ARRAY(SELECT data FROM ${event} WHERE task = t.key AND seq > coalesce(s.seq, 0)
      AND t.bytes <= ${PAGE_CHARS} ORDER BY seq LIMIT ${RECORD_EVENTS}) AS events FROM ${task} t JOIN ${origin} o ON o.task = t.key LEFT JOIN ${snapshot} s ON s.task = t.key`,
    page: `SELECT seq, data FROM (SELECT seq, data, sum(octet_length(data)) OVER (ORDER BY seq) - octet_length(data) AS before FROM ${event}
      WHERE task = $1 AND seq > $2 ORDER BY seq LIMIT $3) e WHERE before < ${PAGE_BYTES} ORDER BY seq`,
    tails: `SELECT key, seq, data, cut FROM (SELECT i.key, i.place, e.seq, e.data, sum(bytes) OVER (ORDER BY i.place, e.seq) - bytes AS before,
          sum(bytes) OVER () > ${PAGE_BYTES} AS cut
        FROM unnest($1::bigint[], $2::int[]) WITH ORDINALITY i(key, after, place),
        LATERAL (SELECT seq, data, octet_length(data) AS bytes FROM ${event} WHERE task = i.key AND seq > i.after ORDER BY seq LIMIT 64) e) e
      WHERE before < ${PAGE_BYTES} ORDER BY place, seq`,
    insert: `WITH i AS (SELECT * FROM unnest($1::bigint[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[], $8::text[], $9::bigint[], $10::bigint[],
        $11::int[], $12::uuid[], $13::text[], $14::text[], $15::text[]) i(key, id, owner, context, skill, queue, idem, hash, at, bytes, pushes, job, input, metadata, first)),
      t AS (INSERT INTO ${task} (key, id, owner, context, skill, queue, idem, hash, state, turn, attempt, losses, seq, status_at, bytes, pushes, job)
        OVERRIDING SYSTEM VALUE SELECT key, id, owner, context, skill, queue, idem, hash, 'submitted', 0, -1, 0, 1, at, bytes, pushes, job FROM i ON CONFLICT DO NOTHING RETURNING key, id),
      o AS (INSERT INTO ${origin} (task, input, metadata) SELECT t.key, i.input, i.metadata FROM t JOIN i USING (key)),
      e AS (INSERT INTO ${event} (task, seq, data) SELECT t.key, 1, i.first FROM t JOIN i USING (key))
      SELECT key, id FROM t`,
    append: append(follow),
    appendLarge: append(followLarge),
    resubmit: appendFree("state = 'submitted', turn = t.turn + 1, attempt = -1, losses = 0, job = gen_random_uuid()"),
    endFree: appendFree('state = $5, ended_at = $3', ' AND t.seq = $6'),
    cancel: `WITH change AS (UPDATE ${task} t SET seq = t.seq + 1, bytes = t.bytes + $8, state = $4, status_at = $5, ended_at = $6, replica = NULL
        WHERE t.owner = $1 AND t.id = $2 AND t.state <> ALL($3) RETURNING ${ROW}),
      canceled AS (SELECT pg_notify('${connection.listener.channelOf('canceled')}', id) FROM change),
      ${follow(`INSERT INTO ${event} (task, seq, data) SELECT key, seq, $7 FROM change`)} WHERE (SELECT count(*) FROM canceled) > 0`,
    claim: `WITH change AS (UPDATE ${task} t SET seq = t.seq + 1, state = i.state, attempt = i.attempt, losses = i.losses, status_at = i.at, ended_at = i.ended_at, replica = i.replica, claim = i.claim
        FROM unnest($1::bigint[], $2::text[], $3::int[], $4::int[], $5::bigint[], $6::bigint[], $7::int[], $8::text[], $9::int[]) i(key, state, attempt, losses, at, ended_at, replica, data, claim)
        WHERE t.key = ANY($1) AND t.key = i.key RETURNING t.key, t.seq, t.pushes, i.data),
      ${follow(`INSERT INTO ${event} (task, seq, data) SELECT key, seq, data FROM change`)}`,
    held: `SELECT t.key FROM ${task} t JOIN (SELECT * ${held}) i ON ${fence} AND t.seq >= i.last`,
    release: `UPDATE ${task} t SET replica = NULL ${held} WHERE ${fence} RETURNING ${ROW}`,
    takeFrom: `UPDATE ${task} t SET replica = 0 WHERE t.key IN (SELECT key FROM ${task} WHERE replica = ANY($1) LIMIT $2 FOR UPDATE SKIP LOCKED) RETURNING ${ROW}`,
    markRead: `UPDATE ${task} SET read_at = $3::bigint WHERE owner = $1 AND id = $2 AND (read_at IS NULL OR read_at NOT BETWEEN $3::bigint - $4::bigint AND $3::bigint)`,
    readAt: `SELECT read_at AS at FROM ${task} WHERE owner = $1 AND id = $2 AND read_at IS NOT NULL`,
    saveSnapshots: `INSERT INTO ${snapshot} (task, seq, data) SELECT i.key, i.seq, i.data FROM unnest($1::bigint[], $2::int[], $3::text[], $4::int[]) i(key, seq, data, claim)
      JOIN ${task} t ON t.key = i.key AND t.claim = i.claim AND t.seq >= i.seq
      ON CONFLICT (task) DO UPDATE SET seq = excluded.seq, data = excluded.data WHERE excluded.seq > snapshot.seq`
  }
}
