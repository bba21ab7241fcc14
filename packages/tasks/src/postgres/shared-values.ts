import type { SharedValues } from '../contract/shared-values.js'
import type { Connection } from './connection.js'

/** Values in the table `shared_value`. `connection` throws while the store is not open. */
export function sharedValues (connection: () => Connection): SharedValues {
  const table = (): string => connection().table('shared_value')
  const get = async (name: string): Promise<string | undefined> =>
    (await connection().run<{ value: string }>(`SELECT value FROM ${table()} WHERE name = $1`, [name]))[0]?.value
  return {
    get,
    async putIfAbsent (name, value) {
      await connection().run(`INSERT INTO ${table()} VALUES ($1, $2) ON CONFLICT DO NOTHING`, [name, value])
      return await get(name) ?? value
    },
    async replace (name, before, value) {
      const changed = await connection().run(`UPDATE ${table()} SET value = $3 WHERE name = $1 AND value = $2 RETURNING name`, [name, before, value])
      return changed.length > 0
    }
  }
}
