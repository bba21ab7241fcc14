import type { SignInRecords } from '../contract/sign-in-records.js'
import type { Connection } from './connection.js'

/** Texts in the table `sign_in`. `connection` throws while the store is not open. */
export function signInRecords (connection: () => Connection): SignInRecords {
  const table = (): string => connection().table('sign_in')
  const at = 'owner = $1 AND server = $2'
  return {
    async get (owner, server) {
      return (await connection().run<{ value: string }>(`SELECT value FROM ${table()} WHERE ${at}`, [owner, server]))[0]?.value
    },
    async replace (owner, server, before, after) {
      if (before === undefined && after === undefined) return await this.get(owner, server) === undefined
      const [sql, ...values] = before === undefined
        ? [`INSERT INTO ${table()} VALUES ($1, $2, $3) ON CONFLICT DO NOTHING`, after]
        : after === undefined
          ? [`DELETE FROM ${table()} WHERE ${at} AND value = $3`, before]
          : [`UPDATE ${table()} SET value = $4 WHERE ${at} AND value = $3`, before, after]
      return (await connection().run(`${sql} RETURNING server`, [owner, server, ...values])).length > 0
    }
  }
}
