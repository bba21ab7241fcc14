import { StoreDatabaseError } from '../errors.js'
import type { Connection, Session } from './connection.js'
import { LINK_TABLES } from './replica-link.js'

/** One step per version, only appended to, never changed once released. `$` is the schema. */
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
