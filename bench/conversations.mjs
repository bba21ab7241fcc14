// Conversations by id: among few and many of them on a file and in PostgreSQL, and a question with an id next to one
// with its history.
import { PostgresServer, query } from '../test/fixtures/postgres-server.mjs'
import { asker } from './parts/asker.mjs'
import { databaseCpuMs } from './parts/database-cpu.mjs'
import { figure } from './parts/figure.mjs'
import { inRounds, ratiosOf, summary } from './parts/rounds.mjs'
import { withServers } from './parts/server-process.mjs'
import { median } from './parts/statistics.mjs'

const ROUNDS = 7
const REQUESTS = 100
const TURNS = 10
const [FEW, MANY] = [1_000, 100_000]

export const title = `Conversations of ten turns, on a file and in PostgreSQL: ${MANY.toLocaleString('en')} of them, and a question with an id`
/** It makes 100,000 conversations first, twice. */
export const longestMs = 1_200_000

export async function run () {
  return [
    ...await withServers(['talks-few', 'talks-many'], async (...servers) => await compareCounts(servers)),
    ...await inPostgres(),
    ...await withServers(['talks-few', 'talks-sent'], compareQuestions)
  ]
}

/** The same in PostgreSQL, whose processor time counts too: there the rows are looked for. */
async function inPostgres () {
  const database = await PostgresServer.start()
  process.env.BENCH_DATABASE_URL = database.url('')
  try {
    return await withServers(['talks-few-postgres', 'talks-many-postgres'], async (...servers) => {
      // as autovacuum does in a database that has been used for some time
      for (const name of ['few', 'many']) await query(database.url(name), 'VACUUM ANALYZE')
      return await compareCounts(servers, database)
    })
  } finally {
    await database.stop()
  }
}

let asked = 0

const REQUESTS_OF = {
  'a page of the list': ask => ask('GET', '/vac/instant/conversations?limit=50'),
  'the next question': ask => ask('POST', '/vac/instant', { user_input: 'What is a VAC?', conversation_id: `chat ${++asked % FEW}` })
}

async function compareCounts (servers, database) {
  const figures = []
  const [fewer, more] = servers.map(({ kind }) => kind)
  for (const [what, send] of Object.entries(REQUESTS_OF)) {
    // by kind: what the database spends in each round, in µs for a request; the first round is not counted
    const spent = { [fewer]: [], [more]: [] }
    const taken = await inRounds(servers, ROUNDS, async ({ port, kind }) => {
      if (database === undefined) return await sendAll(port, send)
      const before = databaseCpuMs(database)
      const sent = await sendAll(port, send)
      spent[kind].push((databaseCpuMs(database) - before) * 1000 / REQUESTS)
      return sent
    })
    const [few, many] = [fewer, more].map(kind => ({ ...taken[kind], cpus: taken[kind].cpus.map((cpu, i) => cpu + (spent[kind][i + 1] ?? 0)) }))
    const ratios = many.cpus.map((cpu, i) => cpu / few.cpus[i])
    figures.push(figure(`${database === undefined ? '' : 'PostgreSQL: '}${what}, processor time with ${MANY.toLocaleString('en')} conversations, multiple of ${FEW.toLocaleString('en')}`, median(ratios), '×', { atMost: 1.2 }, { ...summary(many), ratios, few: summary(few) }))
  }
  return figures
}

async function compareQuestions (...servers) {
  const history = Array.from({ length: TURNS }, (_, i) => [
    { role: 'user', content: `What is VAC number ${i}?` }, { role: 'assistant', content: `It is an agent with the number ${i}. `.repeat(5) }
  ]).flat()
  const taken = await inRounds(servers, ROUNDS, ({ port, kind }) => sendAll(port, kind === 'talks-sent'
    ? ask => ask('POST', '/vac/instant', { user_input: 'What is a VAC?', chat_history: history })
    : REQUESTS_OF['the next question']))
  const [kept, sent] = [taken['talks-few'], taken['talks-sent']]
  const ratios = kept.cpus.map((cpu, i) => cpu / sent.cpus[i])
  return [figure('a question with the id of a conversation, processor time, multiple of one that sends the same history', median(ratios), '×', { atMost: 1.15 }, { ...summary(kept), ratios, sent: summary(sent), rates: ratiosOf(kept, sent) })]
}

async function sendAll (port, send) {
  const ask = asker(port)
  const times = []
  const start = performance.now()
  for (let i = 0; i < REQUESTS; i++) {
    const at = performance.now()
    await send(ask)
    times.push(performance.now() - at)
  }
  return { perSecond: REQUESTS / (performance.now() - start) * 1000, times, count: REQUESTS }
}
