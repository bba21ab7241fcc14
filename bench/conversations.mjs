// Conversations by id on a file: among few and many of them, and a question with an id next to one with its history.
import { asker } from './parts/asker.mjs'
import { figure } from './parts/figure.mjs'
import { inRounds, ratiosOf, summary } from './parts/rounds.mjs'
import { withServers } from './parts/server-process.mjs'
import { median } from './parts/statistics.mjs'

const ROUNDS = 7
const REQUESTS = 100
const TURNS = 10
const [FEW, MANY] = [1_000, 100_000]

export const title = `Conversations of ten turns on a file: ${MANY.toLocaleString('en')} of them, and a question with an id`
/** It makes 100,000 conversations first. */
export const longestMs = 600_000

export async function run () {
  return [...await withServers(['talks-few', 'talks-many'], compareCounts), ...await withServers(['talks-few', 'talks-sent'], compareQuestions)]
}

let asked = 0

const REQUESTS_OF = {
  'a page of the list': ask => ask('GET', '/vac/instant/conversations?limit=50'),
  'the next question': ask => ask('POST', '/vac/instant', { user_input: 'What is a VAC?', conversation_id: `chat ${++asked % FEW}` })
}

async function compareCounts (...servers) {
  const figures = []
  for (const [what, send] of Object.entries(REQUESTS_OF)) {
    const taken = await inRounds(servers, ROUNDS, ({ port }) => sendAll(port, send))
    const [few, many] = [taken['talks-few'], taken['talks-many']]
    const ratios = many.cpus.map((cpu, i) => cpu / few.cpus[i])
    figures.push(figure(`${what}, processor time with ${MANY.toLocaleString('en')} conversations, multiple of ${FEW.toLocaleString('en')}`, median(ratios), '×', { atMost: 1.2 }, { ...summary(many), ratios, few: summary(few) }))
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
