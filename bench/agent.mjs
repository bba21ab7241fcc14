// An agent with a model that answers at once with one token, next to `ai` called by hand; and many conversations.
import { once } from 'node:events'
import { createServer } from 'node:http'
import { asker } from './parts/asker.mjs'
import { figure, toMb } from './parts/figure.mjs'
import { inRounds, summary } from './parts/rounds.mjs'
import { withServers } from './parts/server-process.mjs'
import { max, median } from './parts/statistics.mjs'

const ROUNDS = 9
const REQUESTS = 100
const CONVERSATIONS = 1_000
const TURNS = 10
const PATH = '/vac/streaming/help/sse'

export const title = `The agent with a model that answers with one token, and ${CONVERSATIONS.toLocaleString('en')} conversations of ${TURNS} turns at once`
/** It asks 10,000 questions. */
export const longestMs = 1_800_000

export async function run () {
  const model = await startModel()
  process.env.BENCH_MODEL_URL = `http://127.0.0.1:${model.address().port}/v1`
  try {
    return [...await withServers(['agent-ai', 'agent'], compare), ...await withServers(['agent'], converse)]
  } finally {
    model.closeAllConnections()
    model.close()
  }
}

/** Processor time of one answer of one token, which is what passes until the first token and its end. */
async function compare (...servers) {
  const taken = await inRounds(servers, ROUNDS, ({ port }) => sendAll(port))
  const [ai, agent] = [taken['agent-ai'], taken.agent]
  const more = agent.cpus.map((cpu, i) => (cpu - ai.cpus[i]) / 1000)
  const ratios = agent.cpus.map((cpu, i) => cpu / ai.cpus[i])
  return [
    figure('processor time of an answer of one token, more than by hand', median(more), 'ms', { atMost: 3 }, { ...summary(agent), more, ai: summary(ai) }),
    figure('the same, multiple of that by hand', median(ratios), '×', {}, { ratios })
  ]
}

async function sendAll (port) {
  const ask = asker(port)
  const times = []
  const start = performance.now()
  for (let i = 0; i < REQUESTS; i++) {
    const at = performance.now()
    await ask('POST', PATH, { user_input: 'What is a VAC?' })
    times.push(performance.now() - at)
  }
  return { perSecond: REQUESTS / (performance.now() - start) * 1000, times, count: REQUESTS }
}

/** Each conversation sends its turns so far with each question; all go on at once. */
async function converse (server) {
  await asker(server.port)('POST', PATH, { user_input: 'Warm up' })
  const before = await server.ask('rssAfterGc')
  const failed = []
  let most = before
  const watch = setInterval(() => { server.ask('rss').then(rss => { most = max([most, rss]) }, () => {}) }, 250)
  await Promise.all(Array.from({ length: CONVERSATIONS }, async () => {
    const ask = asker(server.port)
    const history = []
    for (let turn = 0; turn < TURNS; turn++) {
      const question = `Question number ${turn} of this conversation. `.repeat(5)
      const text = await ask('POST', PATH, { user_input: question, chat_history: history }).catch(err => err.message)
      if (!text.includes('[DONE]') || !text.includes('"chunk":"Yes."')) failed.push(text.slice(0, 300))
      history.push({ role: 'user', content: question }, { role: 'assistant', content: 'Yes.' })
    }
  }))
  clearInterval(watch)
  const after = await server.ask('rssAfterGc')
  return [
    figure(`${(CONVERSATIONS * TURNS).toLocaleString('en')} questions of ${CONVERSATIONS.toLocaleString('en')} conversations at once, refused or failed`, failed.length, '', { atMost: 0 }, { failed }),
    figure('memory of the process meanwhile, more than before', toMb(most - before), 'MB', {}, { after: toMb(after - before) })
  ]
}

/** Chat completions of one token. */
async function startModel () {
  const chunk = (delta, finish, more) => `data: ${JSON.stringify({ id: 'c', object: 'chat.completion.chunk', created: 0, model: 'instant', choices: [{ index: 0, delta, finish_reason: finish }], ...more })}\n\n`
  const body = `${chunk({ role: 'assistant', content: 'Yes.' }, null)}${chunk({}, 'stop', { usage: { prompt_tokens: 10, completion_tokens: 1, total_tokens: 11 } })}data: [DONE]\n\n`
  const server = createServer((request, response) => {
    request.resume().on('end', () => { response.writeHead(200, { 'content-type': 'text/event-stream' }).end(body) })
  }).listen({ port: 0, host: '127.0.0.1', backlog: 4 * CONVERSATIONS })
  await once(server, 'listening')
  return server
}
