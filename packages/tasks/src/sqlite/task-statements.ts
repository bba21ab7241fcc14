import { randomInt } from 'node:crypto'
import type { SqliteDatabase } from '@polyvac/sqlite'
import { MAX_COUNTED } from '../contract/backlog.js'
import type { StoredTask } from '../log/task-row.js'

export interface TaskRow extends StoredTask { readonly worker: string | null, readonly due: number | null }

export const ROW = 'key, id, owner, context, skill, hash, state, turn, attempt, losses, seq, status_at, worker, due, bytes, pushes'
/** The fence. A task that has ended or waits for input is not `working`, so that one condition covers all of them. */
const FENCE = "key = ? AND attempt = ? AND turn = ? AND worker = ? AND state = 'working'"

/** The parameter: a list of the skills that the worker does not serve, or null for none. */
const SERVED = 'skill NOT IN (SELECT value FROM json_each(?))'

/**
 * The key of a new task: its time at least, and after all keys so far. A file that is replaced by an older copy would
 * otherwise give the keys of lost tasks out again, while readers of these are still there.
 */
const NEW_KEY = "max(?, (SELECT coalesce(max(seq), 0) + 1 FROM sqlite_sequence WHERE name = 'task'))"
/** Keys of one millisecond. The last digits are random. */
const KEYS_PER_MS = 2_048

/** The time as a key, at least `ms` since 1970. */
export function keyAt (ms: number): number { return ms * KEYS_PER_MS + randomInt(KEYS_PER_MS) }

export function prepareStatements (database: SqliteDatabase) {
  return {
    find: database.prepare(`SELECT ${ROW} FROM task WHERE owner = ? AND id = ?`),
    head: database.prepare(`SELECT ${ROW}, (SELECT metadata FROM origin WHERE task = key) AS metadata FROM task WHERE owner = ? AND id = ?`),
    findKey: database.prepare(`SELECT ${ROW} FROM task WHERE key = ? AND owner <> ''`),
    findIdempotent: database.prepare(`SELECT ${ROW} FROM task WHERE owner = ? AND idem = ?`),
    ownerOf: database.prepare('SELECT owner FROM task WHERE id = ?'),
    idTaken: database.prepare('SELECT 1 FROM task WHERE id = ?'),
    bytes: database.prepare('SELECT bytes FROM task WHERE key = ?'),
    page: database.prepare('SELECT seq, data FROM event WHERE task = ? AND seq > ? ORDER BY seq LIMIT ?'),
    origin: database.prepare('SELECT input, metadata FROM origin WHERE task = ?'),
    snapshot: database.prepare('SELECT data FROM snapshot WHERE task = ?'),
    insertTask: database.prepare(`INSERT INTO task (key, id, owner, context, skill, idem, hash, queue, state, turn, attempt, losses, seq, status_at, bytes, due)
      VALUES (${NEW_KEY}, ?, ?, ?, ?, ?, ?, ?, 'submitted', 0, -1, 0, 1, ?, ?, 0)`),
    insertClaimed: database.prepare(`INSERT INTO task (key, id, owner, context, skill, idem, hash, queue, state, turn, attempt, losses, seq, status_at, bytes, worker, due)
      VALUES (${NEW_KEY}, ?, ?, ?, ?, ?, ?, ?, 'working', 0, 0, 0, 2, ?, ?, ?, ?)`),
    wakePushes: database.prepare('UPDATE push SET due = 0 WHERE task = ? AND due IS NULL AND disabled IS NULL'),
    insertOrigin: database.prepare('INSERT INTO origin (task, input, metadata) VALUES (?, ?, ?)'),
    insertEvent: database.prepare('INSERT INTO event (task, seq, data) VALUES (?, ?, ?)'),
    insertTwoEvents: database.prepare('INSERT INTO event (task, seq, data) VALUES (?, 1, ?), (?, 2, ?)'),
    // then an update by the key: RETURNING fills a temporary table, which takes longer than both
    held: database.prepare(`SELECT seq, pushes FROM task WHERE ${FENCE}`),
    append: database.prepare('UPDATE task SET seq = ?, bytes = bytes + ? WHERE key = ?'),
    resubmit: database.prepare(`UPDATE task SET seq = ?, bytes = bytes + ?, state = 'submitted', status_at = ?, turn = turn + 1, attempt = -1, losses = 0, due = 0
      WHERE key = ?`),
    endFree: database.prepare('UPDATE task SET seq = ?, bytes = bytes + ?, state = ?, status_at = ?, ended_at = ?, worker = NULL, due = NULL WHERE key = ?'),
    backlog: database.prepare(`SELECT state, count(*) AS tasks, min(status_at) AS since FROM (
      SELECT state, status_at FROM (SELECT state, status_at FROM task WHERE due IS NOT NULL LIMIT ${MAX_COUNTED}) UNION ALL
      SELECT state, status_at FROM (SELECT state, status_at FROM task WHERE state = 'input-required' LIMIT ${MAX_COUNTED})) GROUP BY state`),
    hasExpired: database.prepare(`SELECT 1 FROM task WHERE queue = ? AND due > 0 AND due <= ? AND ${SERVED} LIMIT 1`),
    late: database.prepare('SELECT 1 FROM task WHERE queue = ? AND due > ? LIMIT 1'),
    expireLate: database.prepare('UPDATE task SET due = ? WHERE queue = ? AND due > ?'),
    nextOwner: database.prepare(`SELECT owner FROM task WHERE queue = ? AND due = 0 AND owner > ? AND ${SERVED} ORDER BY owner LIMIT 1`),
    expired: database.prepare(`SELECT ${ROW} FROM task WHERE queue = ? AND due > 0 AND due <= ? AND ${SERVED} ORDER BY due LIMIT ?`),
    ready: database.prepare(`SELECT ${ROW} FROM task WHERE queue = ? AND due = 0 AND owner = ? AND ${SERVED} ORDER BY key LIMIT ?`),
    left: database.prepare(`SELECT ${ROW} FROM task WHERE queue = ? AND due <= ? AND state = 'working' AND status_at < ?
      AND skill IN (SELECT value FROM json_each(?)) LIMIT ?`),
    waitingInput: database.prepare(`SELECT ${ROW} FROM task WHERE queue = ? AND state = 'input-required' AND status_at < ? ORDER BY status_at LIMIT ?`),
    waiting: database.prepare(`SELECT ${ROW} FROM task WHERE key BETWEEN ? AND ? AND state IN ('submitted', 'input-required', 'auth-required')
      AND status_at < ? LIMIT ?`),
    markRead: database.prepare('UPDATE task SET read_at = ? WHERE owner = ? AND id = ?'),
    readAt: database.prepare('SELECT read_at FROM task WHERE owner = ? AND id = ?'),
    claim: database.prepare(`UPDATE task SET seq = ?, state = 'working', attempt = ?, losses = losses + ?, status_at = ?, worker = ?, due = ?
      WHERE key = ?`),
    renew: database.prepare(`UPDATE task SET due = ? WHERE ${FENCE}`),
    saveSnapshot: database.prepare(`INSERT INTO snapshot (seq, data, task) SELECT ?, ?, key FROM task WHERE key = ?
      ON CONFLICT (task) DO UPDATE SET seq = excluded.seq, data = excluded.data WHERE excluded.seq > snapshot.seq`),
    size: database.prepare('SELECT coalesce(sum(length(data)), 0) FROM event WHERE task = ?')
  }
}
