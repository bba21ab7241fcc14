// The processor time of a PostgreSQL server, from /proc.
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import pg from 'pg'

/** Ticks of the clock of the system, as Linux counts processor time. */
const TICK_MS = 10
const NOTIFICATIONS = 3_000
const LISTENERS = 40

/** Processor time in ms of the server and the connections that it has and had; NaN where the system has no /proc. */
export function databaseCpuMs ({ folder }) {
  try {
    const parent = readFileSync(join(folder, 'postmaster.pid'), 'utf8').split('\n')[0]
    let ticks = 0
    for (const pid of readdirSync('/proc').filter(name => /^\d+$/.test(name))) {
      const fields = statOf(pid)
      if (fields === undefined) continue
      const [, ppid, utime, stime, cutime, cstime] = fields
      if (pid === parent) ticks += utime + stime + cutime + cstime
      else if (String(ppid) === parent) ticks += utime + stime
    }
    return ticks * TICK_MS
  } catch {
    return NaN
  }
}

/** Fields 3, 4 and 14 to 17 of /proc/<pid>/stat. */
function statOf (pid) {
  try {
    const rest = readFileSync(`/proc/${pid}/stat`, 'utf8').replace(/^.*\) /, '').split(' ')
    return [rest[0], ...[1, 11, 12, 13, 14].map(i => Number(rest[i]))]
  } catch {
    // it has ended
  }
}

/** What a notification costs the server for each connection that listens, in µs: the difference that listeners make. */
export async function notificationCpuUs (server) {
  const spend = async count => {
    const clients = Array.from({ length: count + 1 }, () => new pg.Client({ connectionString: server.url() }))
    await Promise.all(clients.map(client => client.connect()))
    const [sender, ...listeners] = clients
    await Promise.all(listeners.map(listener => listener.query('LISTEN bench')))
    const before = databaseCpuMs(server)
    for (let i = 0; i < NOTIFICATIONS; i++) await sender.query("NOTIFY bench, 'a task'")
    const spent = databaseCpuMs(server) - before
    await Promise.all(clients.map(client => client.end()))
    return spent
  }
  const without = await spend(0)
  return (await spend(LISTENERS) - without) * 1000 / NOTIFICATIONS / LISTENERS
}
