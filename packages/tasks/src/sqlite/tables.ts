import type { SqliteDatabase } from '@polyvac/sqlite'
import { StoreFileError } from '../basics/errors.js'
import { TASK_BYTES } from '../store/new-task.js'

/** "PVTK": it distinguishes a file of tasks from databases of other programs. */
const APPLICATION_ID = 0x5056544b

/**
 * One step per version, never changed once released. The rows that every append updates are small: input and snapshot
 * have separate tables, since SQLite rewrites whole rows. `task.key` is never reused, so a reader whose task was
 * purged or lost cannot read events of another one. `due` is null for a task or webhook that needs no work, 0 for one
 * that needs it now, otherwise the end of its lease, or the time of the next try.
 */
// @keyed (table approval) owner and random id | holds: a question about the call of a tool, with the conversation and
//   the state of the interpreter | whose: the owner | bound: MAX_OPEN_APPROVALS of an owner, MAX_STATE_CHARS of core
//   for each, until an hour after it expires | share: the owner: the own oldest one leaves; callers without an
//   identity have ten times as many together | test: packages/tasks/test/conformance.ts: an approval belongs to one
//   owner, and one of two replacements wins
// @keyed (table sign_in) owner, and server of the configuration | holds: the tokens of the owner, encrypted |
//   whose: the owner | bound: one for each owner who signs in and each server with per_owner; a token response has at
//   most 256 KiB | share: the owner: it can fill only its own rows | test: packages/tasks/test/conformance.ts: a
//   sign-in belongs to one owner and server, and one of two replacements wins
// @keyed (table conversation) owner, VAC and an id that a caller may choose | holds: title, metadata, times and
//   counts | whose: the owner | bound: maxConversations of an owner, conversationTtlMs; MAX_NAME for the id | share:
//   the owner: the own oldest one leaves; callers without an identity have ten times as much together | test:
//   packages/tasks/test/conversations.ts: an owner past its limits loses its oldest conversations, and no other owner
// @keyed (table turn) conversation and number; task and its turn | holds: question, answer, steps and state | whose:
//   the owner of the conversation | bound: maxTurns of a conversation, maxConversationBytes of an owner;
//   MAX_EVENT_CHARS | share: that of the conversation | test: packages/tasks/test/conversations.ts: an owner past its
//   limits loses its oldest conversations, and no other owner
// @keyed (table probe) none: the key is a number of the code
// @keyed (table push) task, and id of a push config that a caller chose | holds: URL, settings, secrets and place
//   of a push config | whose: the owner of the task | bound: MAX_CONFIGS for a task; MAX_NAME, and MAX_CHARS for
//   settings and for secrets | share: that of the task | test: packages/tasks/test/conformance.ts: push: a task has
//   at most ten configs; a replaced one keeps its place
// @keyed (table event) task and number | holds: an event as JSON | whose: the owner of the task | bound:
//   maxTaskChars for a task; counted in the size of the store | share: that of the task: OWNER_SHARE of the size |
//   test: packages/tasks/test/conformance.ts: past its size limit, a store deletes ended tasks of the owner with most
// @keyed (table snapshot) task | holds: the record at one event | whose: the owner of the task | bound: one for a
//   task; MAX_SNAPSHOT_CHARS | share: that of the task | test: packages/tasks/test/conformance.ts: past its size
//   limit, a store deletes ended tasks of the owner with most
// @keyed (table origin) task | holds: input and metadata | whose: the owner of the task | bound: MAX_EVENT_CHARS;
//   counted in the size of the store | share: that of the task | test: packages/tasks/test/conformance.ts: past its
//   size limit, a store deletes ended tasks of the owner with most
// @keyed (table task) number of the store; id of the store; owner and idempotency key; owner and context | holds:
//   the state of a task | whose: the owner | bound: maxTasks; MAX_NAME for each text that a caller chose | share: the
//   owner, OWNER_SHARE of them; the own oldest ended one leaves | test: packages/tasks/test/conformance.ts: an owner
//   at its share of the tasks loses its own oldest ended task, never one of another owner
export const STEPS: readonly string[] = [`
  CREATE TABLE task (key INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, owner TEXT NOT NULL, context TEXT,
    skill TEXT NOT NULL, idem TEXT, hash TEXT, state TEXT NOT NULL, turn INTEGER NOT NULL, attempt INTEGER NOT NULL,
    losses INTEGER NOT NULL, seq INTEGER NOT NULL, status_at INTEGER NOT NULL, ended_at INTEGER, worker TEXT, due INTEGER);
  CREATE UNIQUE INDEX task_idem ON task (owner, idem) WHERE idem IS NOT NULL;
  CREATE INDEX task_status ON task (owner, status_at DESC, key DESC);
  CREATE INDEX task_context ON task (owner, context, status_at DESC, key DESC) WHERE context IS NOT NULL;
  CREATE INDEX task_due ON task (due) WHERE due IS NOT NULL;
  CREATE INDEX task_ended ON task (ended_at) WHERE ended_at IS NOT NULL;
  CREATE TABLE origin (task INTEGER PRIMARY KEY REFERENCES task ON DELETE CASCADE, input TEXT NOT NULL, metadata TEXT NOT NULL);
  CREATE TABLE snapshot (task INTEGER PRIMARY KEY REFERENCES task ON DELETE CASCADE, seq INTEGER NOT NULL, data TEXT NOT NULL);
  CREATE TABLE event (task INTEGER NOT NULL REFERENCES task ON DELETE CASCADE, seq INTEGER NOT NULL, data TEXT NOT NULL,
    PRIMARY KEY (task, seq)) WITHOUT ROWID;
  CREATE TABLE push (task INTEGER NOT NULL REFERENCES task ON DELETE CASCADE, id TEXT NOT NULL, url TEXT NOT NULL,
    settings TEXT NOT NULL, secrets TEXT NOT NULL, created_at INTEGER NOT NULL, cursor INTEGER NOT NULL, tries INTEGER NOT NULL,
    failing_since INTEGER, disabled TEXT, worker TEXT, due INTEGER, PRIMARY KEY (task, id)) WITHOUT ROWID;
  CREATE INDEX push_due ON push (due) WHERE due IS NOT NULL;
  CREATE TABLE probe (id INTEGER PRIMARY KEY, at INTEGER NOT NULL);
`, `
  ALTER TABLE task ADD COLUMN queue TEXT NOT NULL DEFAULT '';
  DROP INDEX task_due;
  CREATE INDEX task_due ON task (queue, due) WHERE due IS NOT NULL;
  CREATE INDEX task_waiting ON task (queue, status_at) WHERE state = 'input-required';
`, `
  ALTER TABLE task ADD COLUMN bytes INTEGER NOT NULL DEFAULT 0;
  ALTER TABLE task ADD COLUMN pushes INTEGER NOT NULL DEFAULT 0;
  UPDATE task SET pushes = (SELECT count(*) FROM push WHERE task = key), bytes = ${TASK_BYTES}
    + (SELECT coalesce(sum(length(data)), 0) FROM event WHERE task = key)
    + (SELECT coalesce(sum(length(input) + length(metadata)), 0) FROM origin WHERE task = key);
  DROP INDEX task_due;
  CREATE INDEX task_due ON task (queue, due, owner) WHERE due IS NOT NULL;
  DROP INDEX task_ended;
  CREATE INDEX task_ended ON task (owner, ended_at) WHERE ended_at IS NOT NULL;
  ALTER TABLE push ADD COLUMN owner TEXT NOT NULL DEFAULT '';
  ALTER TABLE push ADD COLUMN host TEXT NOT NULL DEFAULT '';
  UPDATE push SET owner = (SELECT owner FROM task WHERE key = task);
  DROP INDEX push_due;
  CREATE INDEX push_due ON push (owner, due, host) WHERE due IS NOT NULL;
  ALTER TABLE probe ADD COLUMN filler BLOB;
`, `
  CREATE TABLE sign_in (owner TEXT NOT NULL, server TEXT NOT NULL, value TEXT NOT NULL, PRIMARY KEY (owner, server)) WITHOUT ROWID;
`, `
  -- nothing: from this version on, a file that no process has open is not in WAL mode
`, `
  CREATE TABLE conversation (key INTEGER PRIMARY KEY, owner TEXT NOT NULL, vac TEXT NOT NULL, id TEXT NOT NULL, title TEXT NOT NULL, metadata TEXT, created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL, turns INTEGER NOT NULL, last INTEGER NOT NULL, bytes INTEGER NOT NULL, UNIQUE (owner, vac, id));
  CREATE INDEX conversation_updated ON conversation (owner, vac, updated_at DESC, key DESC);
  CREATE INDEX conversation_age ON conversation (updated_at);
  CREATE TABLE turn (conversation INTEGER NOT NULL REFERENCES conversation ON DELETE CASCADE, seq INTEGER NOT NULL, id TEXT NOT NULL, task TEXT, task_owner TEXT,
    n INTEGER NOT NULL, attempt INTEGER NOT NULL, question TEXT NOT NULL, answer TEXT, content TEXT, state TEXT NOT NULL, created_at INTEGER NOT NULL, ended_at INTEGER,
    PRIMARY KEY (conversation, seq));
  CREATE UNIQUE INDEX turn_task ON turn (task, n) WHERE task IS NOT NULL;
  CREATE INDEX turn_open ON turn (conversation) WHERE ended_at IS NULL;
  -- whatever ends a task ends its turn: its worker, its caller, or the store
  CREATE TRIGGER turn_state AFTER UPDATE OF state ON task WHEN NEW.state <> OLD.state AND NEW.context IS NOT NULL BEGIN
    UPDATE turn SET state = NEW.state, ended_at = iif(NEW.state IN ('submitted', 'working'), NULL, NEW.status_at)
      WHERE task = NEW.id AND n = NEW.turn;
  END;
`, `
  ALTER TABLE task ADD COLUMN read_at INTEGER;
`, `
  ALTER TABLE turn ADD COLUMN files TEXT;
`, `
  CREATE TABLE approval (key INTEGER PRIMARY KEY AUTOINCREMENT, owner TEXT NOT NULL, id TEXT NOT NULL, value TEXT NOT NULL, status TEXT NOT NULL, expires_at INTEGER NOT NULL, UNIQUE (id, owner));
  CREATE INDEX approval_owner ON approval (owner, key);
  CREATE INDEX approval_ends ON approval (expires_at);
`]

/** The first version that leaves WAL mode when it closes a file. */
export const CLOSES_FILES = 5

/** Creates or migrates the tables, once even where several processes call it at the same time. */
export function migrate (database: SqliteDatabase, path: string): void {
  database.transaction(() => {
    const [application = 0] = database.prepare('PRAGMA application_id').column<number>()
    const [version = 0] = database.prepare('PRAGMA user_version').column<number>()
    const [tables = 0] = database.prepare('SELECT count(*) FROM sqlite_schema').column<number>()
    if (tables > 0 && application !== APPLICATION_ID) throw new StoreFileError(path, 'it is a database of another program; name another file')
    if (version > STEPS.length) throw new StoreFileError(path, `a newer version of @polyvac/tasks created it (${version}, this one supports ${STEPS.length})`)
    if (version === STEPS.length) return
    for (const step of STEPS.slice(version)) database.exec(step)
    database.exec(`PRAGMA application_id = ${APPLICATION_ID}`)
    database.exec(`PRAGMA user_version = ${STEPS.length}`)
  })
}
