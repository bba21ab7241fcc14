import { StoreDatabaseError } from '../basics/errors.js'
import type { Connection, Session } from './connection.js'
import { LINK_TABLES } from './replica-link.js'

/** One step per version, only appended to, never changed once released. `$` is the schema. */
// @keyed (table count) hash of what is counted: an owner or an address | holds: a number and its end | whose: the
//   owner or the address | bound: the names that each replica counts, until their time ends; a name has 43 characters
//   | share: the owner or the address: it is the count | test: apps/host/test/limits.test.ts: replicas with one
//   database add up the requests of a caller, and each counts for itself while it is away
// @keyed (table shared_value) none: the keys are names of the code
// @keyed (table replica) none: the keys are numbers of processes
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
  CREATE TABLE $.task (key bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, id text NOT NULL UNIQUE, owner text NOT NULL, context text,
    skill text NOT NULL, queue text NOT NULL, idem text, hash text, state text NOT NULL, turn integer NOT NULL, attempt integer NOT NULL,
    losses integer NOT NULL, seq integer NOT NULL, status_at bigint NOT NULL, ended_at bigint, replica integer, job uuid NOT NULL,
    bytes bigint NOT NULL, pushes integer NOT NULL) WITH (fillfactor = 70);
  CREATE UNIQUE INDEX task_idem ON $.task (owner, idem) WHERE idem IS NOT NULL;
  CREATE INDEX task_status ON $.task (owner, status_at DESC, key DESC);
  CREATE INDEX task_context ON $.task (owner, context, status_at DESC, key DESC) WHERE context IS NOT NULL;
  CREATE INDEX task_replica ON $.task (replica) WHERE replica IS NOT NULL;
  CREATE INDEX task_waiting ON $.task (status_at) WHERE state IN ('submitted', 'input-required', 'auth-required');
  CREATE INDEX task_ended ON $.task (owner, ended_at) WHERE ended_at IS NOT NULL;
  CREATE TABLE $.origin (task bigint PRIMARY KEY, input text NOT NULL, metadata text NOT NULL);
  CREATE TABLE $.snapshot (task bigint PRIMARY KEY, seq integer NOT NULL, data text NOT NULL);
  CREATE TABLE $.event (task bigint NOT NULL, seq integer NOT NULL, data text NOT NULL, PRIMARY KEY (task, seq));
  CREATE TABLE $.push (task bigint NOT NULL, id text NOT NULL, owner text NOT NULL, host text NOT NULL, url text NOT NULL, settings text NOT NULL,
    secrets text NOT NULL, created_at bigint NOT NULL, cursor integer NOT NULL, tries integer NOT NULL, failing_since bigint, disabled text,
    worker uuid, due bigint, PRIMARY KEY (task, id));
  CREATE INDEX push_due ON $.push (owner, due, host) WHERE due IS NOT NULL;
  CREATE TABLE $.replica (id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY, started_at timestamptz NOT NULL DEFAULT now());
  CREATE TABLE $.probe (id integer PRIMARY KEY, at bigint NOT NULL);
`, `
  CREATE TABLE $.shared_value (name text PRIMARY KEY, value text NOT NULL);
`, LINK_TABLES, `
  ALTER TABLE $.replica ADD COLUMN seen_at timestamptz;
`, `
  CREATE TABLE $.sign_in (owner text NOT NULL, server text NOT NULL, value text NOT NULL, PRIMARY KEY (owner, server));
`, `
  CREATE UNLOGGED TABLE $.count (name text PRIMARY KEY, count bigint NOT NULL, ends_at bigint NOT NULL) WITH (fillfactor = 70);
  CREATE INDEX count_ends ON $.count (ends_at);
`, `
  ALTER TABLE $.task ADD COLUMN claim integer;
`, `
  CREATE TABLE $.conversation (key bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, owner text NOT NULL, vac text NOT NULL, id text NOT NULL, title text NOT NULL, metadata text,
    created_at bigint NOT NULL, updated_at bigint NOT NULL, turns integer NOT NULL, last integer NOT NULL, bytes bigint NOT NULL, UNIQUE (owner, vac, id)) WITH (fillfactor = 70);
  CREATE INDEX conversation_updated ON $.conversation (owner, vac, updated_at DESC, key DESC);
  CREATE INDEX conversation_age ON $.conversation (updated_at);
  CREATE TABLE $.turn (conversation bigint NOT NULL REFERENCES $.conversation ON DELETE CASCADE, seq integer NOT NULL, id text NOT NULL, task text, task_owner text,
    n integer NOT NULL, attempt integer NOT NULL, question text NOT NULL, answer text, content text, state text NOT NULL, created_at bigint NOT NULL, ended_at bigint,
    PRIMARY KEY (conversation, seq)) WITH (fillfactor = 70);
  CREATE UNIQUE INDEX turn_task ON $.turn (task, n) WHERE task IS NOT NULL;
  CREATE INDEX turn_open ON $.turn (conversation) WHERE ended_at IS NULL;
  -- whatever ends a task ends its turn: its worker, its caller, or the store, also of a replica of an earlier version
  CREATE FUNCTION $.follow_task () RETURNS trigger LANGUAGE plpgsql AS 'BEGIN
    UPDATE $.turn SET state = NEW.state, ended_at = CASE WHEN NEW.state NOT IN (''submitted'', ''working'') THEN NEW.status_at END
      WHERE task = NEW.id AND n = NEW.turn;
    RETURN NULL;
  END';
  CREATE TRIGGER turn_state AFTER UPDATE OF state ON $.task FOR EACH ROW WHEN (NEW.state <> OLD.state AND NEW.context IS NOT NULL) EXECUTE FUNCTION $.follow_task();
`, `
  ALTER TABLE $.task ADD COLUMN read_at bigint;
`, `
  ALTER TABLE $.turn ADD COLUMN files text;
`, `
  CREATE TABLE $.approval (key bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, owner text NOT NULL, id text NOT NULL, value text NOT NULL, status text NOT NULL, expires_at bigint NOT NULL, UNIQUE (id, owner));
  CREATE INDEX approval_owner ON $.approval (owner, key);
  CREATE INDEX approval_ends ON $.approval (expires_at);
`]

/**
 * Creates or migrates the tables, once even where several replicas start together, and calls `rest` under the same
 * lock. Without a missing step it changes nothing, so that it needs no right to create.
 * @throws TASK_STORE_DATABASE for a schema of a newer version
 */
export async function migrate (connection: Connection, rest: () => Promise<void>): Promise<void> {
  await connection.transaction(async transaction => {
    // other replicas migrate meanwhile, or `rest` does
    await transaction.run('SET LOCAL lock_timeout = 0; SET LOCAL statement_timeout = 0; SET LOCAL idle_in_transaction_session_timeout = 0')
    await transaction.run('SELECT pg_advisory_xact_lock($1, 0)', [connection.listener.lock])
    const version = await versionOf(transaction, connection.schema)
    if (version > STEPS.length) {
      throw new StoreDatabaseError(`the schema '${connection.schema}'`,
        `a newer version of @polyvac/tasks created it (${version}, this one supports ${STEPS.length}); start the newer version`)
    }
    if (version === 0) {
      await transaction.run(`CREATE SCHEMA IF NOT EXISTS "${connection.schema}"`)
      await transaction.run(`CREATE TABLE ${connection.table('version')} (version integer NOT NULL)`)
      await transaction.run(`INSERT INTO ${connection.table('version')} VALUES (0)`)
    }
    for (const step of STEPS.slice(version)) await transaction.run(step.replaceAll('$.', `"${connection.schema}".`))
    if (version < STEPS.length) await transaction.run(`UPDATE ${connection.table('version')} SET version = $1`, [STEPS.length])
    await rest()
  })
}

/** The version of the schema: how many steps this database has. A schema without the table `version` has version 0. */
async function versionOf (session: Session, schema: string): Promise<number> {
  const table = `"${schema}".version`
  const [found] = await session.run<{ found: string | null }>('SELECT to_regclass($1) AS found', [table])
  if (found?.found == null) return 0
  const [row] = await session.run<{ version: number }>(`SELECT version FROM ${table}`)
  return row?.version ?? 0
}
