// The faults. Those of UNDER_LOAD happen to three replicas with a steady load; `cause` resolves when the fault is over.
// Those of `ALONE` have their own replicas and databases, and resolve to `{ seconds, lost, duplicated, problems }`.
import { setTimeout as delay } from 'node:timers/promises'
import pg from 'pg'
import { query } from '../../test/fixtures/postgres-server.mjs'
import { jsonOf, post, rpc, task } from '../attack/client.mjs'
import { until } from '../attack/host.mjs'
import { checkHistory } from './history.mjs'
import { Load } from './load.mjs'
import { withoutNotifications } from './relay.mjs'
import { ON_POSTGRES, Replicas } from './replicas.mjs'
import { killBeforeAnswers } from './conversations.mjs'
import { disturbResponses } from './responses.mjs'
import { killUnderChats } from './chats.mjs'
import { killUnderAgents, startAgent } from './remote.mjs'
import { killExecutors } from './runs.mjs'

/** Longer than a lease of ten seconds, and longer than a server waits for a lost client. */
const FREEZE_MS = 18_000
const STALL_MS = 15_000
const POOL = 2
const CREATES = 300
const ATTEMPTS = 4
/** Beyond the takeover: the attempt itself, and its clients. */
const TAKEOVER_S = 8
/** All replicas connect anew. */
const RECONNECT_S = 15

const atOnce = (n, work) => Promise.all(Array.from({ length: n }, (_, i) => work(i)))
const others = "FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid() AND backend_type = 'client backend'"

/** Runs statements on a connection that stays open, then `work`. */
async function withSession (url, statements, work) {
  const client = new pg.Client({ connectionString: url })
  client.on('error', () => {})
  await client.connect()
  try {
    for (const sql of statements) await client.query(sql)
    return await work()
  } finally {
    await client.end()
  }
}

export const UNDER_LOAD = [
  {
    name: 'SIGKILL',
    what: 'A replica is killed, and a new process is started.',
    maxSeconds: TAKEOVER_S,
    async cause ({ replicas: { replicas: [first] } }) { first.host.kill() }
  },
  {
    name: 'SIGSTOP and SIGCONT',
    what: `A replica freezes for ${FREEZE_MS / 1000} seconds and wakes up.`,
    maxSeconds: 25,
    async cause ({ replicas: { replicas: [, second] } }) {
      const { host } = second
      host.kill('SIGSTOP')
      await delay(FREEZE_MS)
      host.kill('SIGCONT')
    }
  },
  {
    name: 'database restart',
    what: 'The database crashes (SIGQUIT) and is started.',
    maxSeconds: RECONNECT_S,
    async cause ({ server }) {
      await server.crash()
      await server.start()
    }
  },
  {
    name: 'backend kill',
    what: 'Every connection to the database is terminated.',
    maxSeconds: RECONNECT_S,
    async cause ({ url }) { await query(url, `SELECT pg_terminate_backend(pid) ${others}`) }
  },
  {
    name: 'listener cut',
    what: 'The connections that listen for notifications are terminated, and with them the locks of the replicas.',
    maxSeconds: RECONNECT_S,
    async cause ({ url }) { await query(url, "SELECT pg_terminate_backend(pid) FROM pg_locks WHERE locktype = 'advisory'") }
  },
  {
    name: 'stalled connection',
    what: `No byte passes between a replica and the database for ${STALL_MS / 1000} seconds, and no connection is closed.`,
    maxSeconds: 25,
    async cause ({ replicas: { replicas: [, , third] } }) {
      third.network.stall()
      await delay(STALL_MS)
      third.network.resume()
    }
  },
  {
    name: 'idle-in-transaction blocker',
    what: 'A session locks rows of running tasks and is idle for five seconds.',
    maxSeconds: 20,
    async cause ({ url, schema }) {
      await withSession(url, ['BEGIN', `SELECT 1 FROM ${schema}.task WHERE state = 'working' LIMIT 2 FOR UPDATE`], () => delay(5_000))
    }
  },
  {
    name: 'REPEATABLE READ',
    what: 'The default isolation of the database becomes REPEATABLE READ, all connections are opened anew, and readers hold snapshots.',
    maxSeconds: RECONNECT_S,
    async cause ({ url, schema }) {
      const { pathname } = new URL(url)
      const name = pathname.slice(1)
      await query(url, `ALTER DATABASE "${name}" SET default_transaction_isolation = 'repeatable read'`)
      await query(url, `SELECT pg_terminate_backend(pid) ${others}`)
      await atOnce(4, () => withSession(url, ['BEGIN', `SELECT count(*) FROM ${schema}.event`], () => delay(4_000)))
      await query(url, `ALTER DATABASE "${name}" RESET default_transaction_isolation`)
    }
  },
  {
    name: 'burst of events',
    what: 'Twenty tasks of 300 words without a pause arrive at once.',
    maxSeconds: RECONNECT_S,
    async cause ({ load }) { await atOnce(20, () => load.run('burst')) }
  },
  {
    name: 'poison task',
    what: `A task kills each process that executes it; it must end as failed after ${ATTEMPTS} attempts.`,
    maxSeconds: 90,
    minThroughput: 0.5,
    async cause ({ load }) {
      const state = await load.run('poison')
      if (state !== 'failed') throw new Error(`the poison task is ${state}`)
    }
  },
  {
    name: 'rolling restart',
    what: 'Each replica in turn gets SIGTERM, and a new process is started.',
    maxSeconds: 60,
    async cause ({ replicas }) {
      for (const replica of replicas.replicas) {
        const { code, text } = await replicas.restart(replica)
        if (code !== 0) throw new Error(`a replica ended with ${code}: ${text.slice(-300)}`)
      }
    }
  },
  {
    name: 'clock an hour ahead',
    what: 'A replica is started with a clock that is an hour ahead.',
    maxSeconds: 60,
    async cause ({ replicas }) {
      await replicas.restart(replicas.replicas[0], { ATTACK_CLOCK_MS: '3600000' })
      await delay(3_000)
      await replicas.restart(replicas.replicas[0])
    }
  }
]

/** Starts replicas, and ends them after `work`. */
async function withReplicas (options, work) {
  const replicas = await Replicas.start(options)
  try {
    return await work(replicas)
  } finally {
    await replicas.close()
  }
}

/** Ends of a few tasks over these replicas, as a history. `found` are problems from before. */
async function runTasks (replicas, receiver, count, found) {
  const load = new Load(replicas.url, receiver)
  await atOnce(count, () => load.run('two readers'))
  const { problems, lost, duplicated } = checkHistory([...await load.finish(), ...replicas.executed()])
  return { lost, duplicated, problems: [...found, ...load.problems, ...problems.map(({ guarantee, task, text }) => `${guarantee}: task ${task}: ${text}`)] }
}

export const ALONE = [
  {
    name: 'pool of 2',
    what: `${CREATES} creates arrive at once at a replica with ${POOL} connections; all are acknowledged and end.`,
    maxSeconds: 30,
    async run ({ server, receiver }) {
      const tasks = { ...ON_POSTGRES, pool: POOL }
      return await withReplicas({ count: 1, databaseUrl: await newDatabase(server), tasks }, async replicas => {
        const began = performance.now()
        // without the load balancer: it would leave out a replica that is busy for two seconds
        const { url } = replicas.replicas[0].host
        const answers = await atOnce(CREATES, () => post(url, '/a2a/tasks/send', task('hello'), {}, { alone: true }))
        const seconds = (performance.now() - began) / 1000
        const bad = answers.filter(answer => jsonOf(answer)?.result?.state !== 'completed')
        const ids = new Set(answers.map(answer => jsonOf(answer)?.result?.taskId))
        const refused = bad.map(({ status, text }) => `a create is answered with ${status} ${text.slice(0, 200)}`)
        if (bad.length === 0 && ids.size < CREATES) refused.push(`${CREATES} creates made ${ids.size} tasks`)
        return { seconds, ...await runTasks(replicas, receiver, 10, refused) }
      })
    }
  },
  {
    name: 'five migrations at once',
    what: 'Five replicas start on an empty database at once; the tables are created once.',
    maxSeconds: 30,
    async run ({ server, receiver }) {
      const databaseUrl = await newDatabase(server)
      const began = performance.now()
      return await withReplicas({ count: 5, databaseUrl }, async replicas => {
        const seconds = (performance.now() - began) / 1000
        const failed = replicas.replicas.filter(({ host }) => /"level":[56]0/.test(host.out.text)).map(({ host }) => `a replica logged an error: ${host.out.text.slice(-300)}`)
        const versions = await query(databaseUrl, 'SELECT count(*)::int AS count FROM polyvac.version')
        if (versions[0].count !== 1) failed.push(`the table of the version has ${versions[0].count} rows`)
        return { seconds, ...await runTasks(replicas, receiver, 20, failed) }
      })
    }
  },
  {
    name: 'pooler in transaction mode',
    what: 'No notification arrives, as behind a pooler in transaction mode: the replicas warn, and poll.',
    maxSeconds: 30,
    async run ({ server, receiver }) {
      return await withReplicas({ count: 2, databaseUrl: await newDatabase(server), filter: withoutNotifications }, async replicas => {
        const silent = replicas.replicas.filter(({ host }) => !host.out.text.includes('pooler')).map(() => 'a replica does not warn that notifications do not arrive')
        const began = performance.now()
        const seen = await runTasks(replicas, receiver, 20, silent)
        return { seconds: (performance.now() - began) / 1000, ...seen }
      })
    }
  },
  {
    name: 'database down at the start',
    what: 'A replica starts without its database: it is not ready, refuses tasks with 503 and Retry-After, and is ready once the database is there.',
    maxSeconds: 15,
    async run ({ server, receiver }) {
      const databaseUrl = await newDatabase(server)
      await server.crash()
      let replicas
      let isDown = true
      try {
        replicas = await Replicas.start({ count: 1, databaseUrl })
        const problems = []
        const ready = await fetch(`${replicas.url}/ready`)
        if (ready.status !== 503) problems.push(`/ready answers ${ready.status}`)
        const refused = await post(replicas.url, '/a2a/tasks/send', rpc('tasks/send', { skillName: 'vac_query_demo', input: { query: 'hello' } }))
        if (refused.status !== 503 || refused.headers['retry-after'] === undefined) problems.push(`a task is answered with ${refused.status} ${refused.text.slice(0, 200)}, Retry-After: ${refused.headers['retry-after']}`)
        await server.start()
        isDown = false
        const began = performance.now()
        const isReady = await until(async () => (await fetch(`${replicas.url}/ready`)).status === 200, 30_000)
        if (isReady === undefined) problems.push('it is not ready 30 s after the database')
        const seconds = (performance.now() - began) / 1000
        return { seconds, ...await runTasks(replicas, receiver, 5, problems) }
      } finally {
        if (isDown) await server.start()
        await replicas?.close()
      }
    }
  },
  {
    name: 'SIGKILL under readers of a run',
    what: 'The process that answers a run is killed, on a file and on two replicas with PostgreSQL. Readers come back with their cursor: the run ends once, with the text of an undisturbed one.',
    maxSeconds: 60,
    async run ({ server, runs = 16 }) {
      const began = performance.now()
      const onFile = await withReplicas({ count: 1, tasks: { path: './tasks.db' }, revive: true }, async replicas => await killExecutors(replicas, runs / 2))
      const onPostgres = await withReplicas({ count: 2, databaseUrl: await newDatabase(server), revive: true }, async replicas => await killExecutors(replicas, runs / 2))
      const both = [onFile, onPostgres]
      const sum = field => both.reduce((total, seen) => total + seen[field], 0)
      process.stdout.write(`runs whose process was killed: ${onFile.runs} on a file in ${onFile.seconds.toFixed(1)} s, ${onPostgres.runs} on two replicas in ${onPostgres.seconds.toFixed(1)} s; ${sum('resumed')} times a reader came back\n`)
      return { seconds: (performance.now() - began) / 1000, lost: sum('lost'), duplicated: sum('duplicated'), problems: both.flatMap(({ problems }) => problems) }
    }
  },
  {
    name: 'readers of responses',
    what: 'Streams of responses are read again, read twice, read at another replica, and lose their process by SIGTERM and by SIGKILL, on a file and on two replicas with PostgreSQL. Read on after the last event, each has the text of an undisturbed one.',
    maxSeconds: 240,
    async run ({ server, responses = 10 }) {
      const began = performance.now()
      const onFile = await withReplicas({ count: 1, tasks: { path: './tasks.db' }, revive: true }, async replicas => await disturbResponses(replicas, responses))
      const onPostgres = await withReplicas({ count: 2, databaseUrl: await newDatabase(server), revive: true }, async replicas => await disturbResponses(replicas, responses))
      const both = [onFile, onPostgres]
      const sum = field => both.reduce((total, seen) => total + seen[field], 0)
      process.stdout.write(`streams of responses that were disturbed: ${onFile.streams} on a file in ${onFile.seconds.toFixed(1)} s, ${onPostgres.streams} on two replicas in ${onPostgres.seconds.toFixed(1)} s; ${sum('resumed')} times a reader came back\n`)
      return { seconds: (performance.now() - began) / 1000, lost: sum('lost'), duplicated: sum('duplicated'), problems: both.flatMap(({ problems }) => problems) }
    }
  },
  {
    name: 'SIGKILL under readers of chats',
    what: 'The process that answers a chat over AI SDK or AG-UI is killed, on a file and on two replicas with PostgreSQL. Each reader comes back with its cursor: it has the text of an undisturbed one, once.',
    maxSeconds: 120,
    async run ({ server, chats = 8 }) {
      const began = performance.now()
      const onFile = await withReplicas({ count: 1, tasks: { path: './tasks.db' }, revive: true }, async replicas => await killUnderChats(replicas, chats))
      const onPostgres = await withReplicas({ count: 2, databaseUrl: await newDatabase(server), revive: true }, async replicas => await killUnderChats(replicas, chats))
      const both = [onFile, onPostgres]
      const sum = field => both.reduce((total, seen) => total + seen[field], 0)
      process.stdout.write(`answers of chats whose process was killed: ${onFile.answers} on a file in ${onFile.seconds.toFixed(1)} s, ${onPostgres.answers} on two replicas in ${onPostgres.seconds.toFixed(1)} s\n`)
      return { seconds: (performance.now() - began) / 1000, lost: sum('lost'), duplicated: sum('duplicated'), problems: both.flatMap(({ problems }) => problems) }
    }
  },
  {
    name: 'SIGKILL under remote agents',
    what: 'The process that waits for agents of another service is killed, on a file and on two replicas with PostgreSQL. Each run goes on with its remote tasks: no message is sent twice, no task is canceled, and the answer is whole.',
    maxSeconds: 120,
    async run ({ server, agents = 8 }) {
      const began = performance.now()
      const agent = await startAgent()
      const service = { a2a_agents: [{ name: 'peer', url: agent.url }] }
      try {
        const onFile = await withReplicas({ count: 1, tasks: { path: './tasks.db' }, service, revive: true }, async replicas => await killUnderAgents(replicas, agent, agents))
        const onPostgres = await withReplicas({ count: 2, databaseUrl: await newDatabase(server), service, revive: true }, async replicas => await killUnderAgents(replicas, agent, agents))
        const both = [onFile, onPostgres]
        const sum = field => both.reduce((total, seen) => total + seen[field], 0)
        process.stdout.write(`runs with remote tasks whose process was killed: ${onFile.whole} of ${onFile.runs} whole on a file in ${onFile.seconds.toFixed(1)} s, ${onPostgres.whole} of ${onPostgres.runs} on two replicas in ${onPostgres.seconds.toFixed(1)} s; ${agent.came} messages for ${agent.expected} questions\n`)
        return { seconds: (performance.now() - began) / 1000, lost: sum('lost'), duplicated: sum('duplicated'), problems: both.flatMap(({ problems }) => problems) }
      } finally {
        agent.close()
      }
    }
  },
  {
    name: 'SIGKILL before the answer of a turn',
    what: 'The process that has the question of a conversation is killed, on a file and on two replicas with PostgreSQL. Clients repeat the question with its key: the conversation has each turn once, in the order of the questions, and each answer got the turns before it.',
    maxSeconds: 120,
    async run ({ server, conversations: kills = 16 }) {
      const began = performance.now()
      const onFile = await withReplicas({ count: 1, tasks: { path: './tasks.db' }, revive: true }, async replicas => await killBeforeAnswers(replicas, kills / 2))
      const onPostgres = await withReplicas({ count: 2, databaseUrl: await newDatabase(server), revive: true }, async replicas => await killBeforeAnswers(replicas, kills / 2))
      const both = [onFile, onPostgres]
      const sum = field => both.reduce((total, seen) => total + seen[field], 0)
      process.stdout.write(`questions whose process was killed: ${onFile.killed} of ${onFile.turns} on a file in ${onFile.seconds.toFixed(1)} s, ${onPostgres.killed} of ${onPostgres.turns} on two replicas in ${onPostgres.seconds.toFixed(1)} s\n`)
      return { seconds: (performance.now() - began) / 1000, lost: sum('lost'), duplicated: sum('duplicated'), problems: both.flatMap(({ problems }) => problems) }
    }
  }
]

let databases = 0

/** The address of an empty database. */
export async function newDatabase (server) {
  const name = `faults_${++databases}`
  await query(server.url(), `CREATE DATABASE ${name}`)
  return server.url(name)
}
