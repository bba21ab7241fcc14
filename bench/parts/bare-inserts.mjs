// The rows that a task store wrote, inserted again into equal tables without any of its work: the bar of its writes.
import pg from 'pg'
import { query } from '../../test/fixtures/postgres-server.mjs'

/** The tables of the store and its queue with at least `rows` rows: `{ schema, name }`. */
export async function tablesThatGrew (url, rows) {
  const tables = await query(url, `SELECT nspname AS schema, relname AS name FROM pg_class JOIN pg_namespace n ON n.oid = relnamespace
    WHERE relkind = 'r' AND nspname IN ('polyvac', 'polyvac_jobs')`)
  const grown = []
  for (const table of tables) {
    const [{ n }] = await query(url, `SELECT count(*)::int AS n FROM "${table.schema}"."${table.name}"`)
    if (n >= rows) grown.push(table)
  }
  return grown
}

/**
 * Inserts the last `units` rows of each of these tables into copies of them, with all their indexes. A transaction
 * inserts `batch` rows of each table, with one statement for each. Resolves to the units in a second.
 */
export async function bareInserts (url, tables, { units, batch }) {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    await client.query('DROP SCHEMA IF EXISTS bare CASCADE; CREATE SCHEMA bare')
    const plans = []
    for (const { schema, name } of tables) {
      const from = `"${schema}"."${name}"`
      await client.query(`CREATE TABLE bare."${name}" (LIKE ${from} INCLUDING ALL)`)
      const { rows: columns } = await client.query(`SELECT attname AS name, format_type(atttypid, NULL) AS type FROM pg_attribute
        WHERE attrelid = '${from}'::regclass AND attnum > 0 AND NOT attisdropped AND attgenerated = '' ORDER BY attnum`)
      const list = columns.map(({ name }) => `"${name}"`).join()
      // all values as text, as a client sends them
      const { rows } = await client.query({ text: `SELECT ${columns.map(({ name }) => `"${name}"::text`).join()} FROM ${from}`, rowMode: 'array' })
      const values = columns.map(({ type }, i) => `unnest($${i + 1}::text[])::${type}`).join()
      const text = `INSERT INTO bare."${name}" (${list}) OVERRIDING SYSTEM VALUE SELECT ${values}`
      plans.push({ name, text, rows: rows.slice(-units), width: columns.length })
    }
    const from = performance.now()
    for (let done = 0; done < units; done += batch) {
      await client.query('BEGIN')
      for (const { name, text, rows, width } of plans) {
        const part = rows.slice(done, done + batch)
        await client.query({ name, text, values: Array.from({ length: width }, (_, column) => part.map(row => row[column])) })
      }
      await client.query('COMMIT')
    }
    return units / (performance.now() - from) * 1000
  } finally {
    await client.end()
  }
}
