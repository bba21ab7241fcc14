// The protocols of chats: a live stream and one that is kept, next to a bare stream of the same events; a late reader
// with the published client; a reader that comes back.
import { HttpAgent } from 'ag-ui-client-1'
import { AbstractChat, DefaultChatTransport } from 'ai-6'
import OpenAI from 'openai'
import { asker } from './parts/asker.mjs'
import { awake } from './parts/awake.mjs'
import { figure } from './parts/figure.mjs'
import { inRounds, ratiosOf, summary } from './parts/rounds.mjs'
import { withServers } from './parts/server-process.mjs'
import { countChunks, post } from './parts/sockets.mjs'
import { max, median } from './parts/statistics.mjs'

const CHUNKS = 20_000
const STREAMS = 5
const ROUNDS = 7
const READS = 9
/** About those of a token. */
const TOKEN_CHARS = 5
/** The text that a reader finds when it comes back. */
const SAID = 1_000
const BARS = { polyvac: { atLeast: 80 }, runs: { atLeast: 60 } }
const BASE = port => `http://127.0.0.1:${port}`

let count = 0
const newId = () => `chat-${++count}`
const user = text => ({ id: newId(), role: 'user', parts: [{ type: 'text', text }] })

/** The state of a chat without a page. */
class State {
  status = 'ready'
  error = undefined
  messages = []
  pushMessage (message) { this.messages = [...this.messages, message] }
  popMessage () { this.messages = this.messages.slice(0, -1) }
  replaceMessage (i, message) { this.messages = this.messages.with(i, structuredClone(message)) }
  snapshot (value) { return structuredClone(value) }
}

class Chat extends AbstractChat {
  constructor (port, id) { super({ id, state: new State(), transport: new DefaultChatTransport({ api: `${BASE(port)}/ai/counted` }) }) }
  get text () { return this.messages.at(-1)?.parts.map(({ text = '' }) => text).join('') ?? '' }
}

/**
 * By protocol: `times`, how often its events have the text; `request`, the bytes of a question; `begin` asks and
 * leaves, and resolves to the id; `read` reads an answer with the published client and resolves to its text; `back` is
 * the address of one that a reader comes back to.
 */
const WIRES = {
  Responses: {
    // in the events of its pieces, and in four at its end
    times: 5,
    request: fields => post('/openai/v1/responses', { model: 'counted', input: 'go', stream: true, ...fields }),
    async begin (ask, fields) { return JSON.parse(await ask('POST', '/openai/v1/responses', { model: 'counted', input: 'go', background: true, ...fields })).id },
    isOver: async (ask, id) => JSON.parse(await ask('GET', `/openai/v1/responses/${id}`)).status === 'completed',
    async read (port, id) {
      const client = new OpenAI({ baseURL: `${BASE(port)}/openai/v1`, apiKey: 'none', maxRetries: 0 })
      let text = ''
      for await (const { type, delta } of await client.responses.retrieve(id, { stream: true })) if (type === 'response.output_text.delta') text += delta
      return text
    }
  },
  'AI SDK': {
    times: 1,
    request: fields => post('/ai/counted', { id: newId(), messages: [user('go')], trigger: 'submit-message', ...fields }),
    async begin (ask, fields, port) {
      const id = newId()
      await leave(`${BASE(port)}/ai/counted`, { id, messages: [user('go')], trigger: 'submit-message', ...fields })
      return id
    },
    isOver: isRunOver,
    async read (port, id) {
      const chat = new Chat(port, id)
      await chat.resumeStream()
      if (chat.error !== undefined) throw chat.error
      return chat.text
    },
    back: (port, id) => [`${BASE(port)}/ai/counted/${id}/stream`]
  },
  'AG-UI': {
    times: 1,
    request: fields => post('/ag-ui/counted', runInput(newId(), fields)),
    async begin (ask, fields, port) {
      const id = newId()
      await leave(`${BASE(port)}/ag-ui/counted`, runInput(id, fields))
      return id
    },
    isOver: isRunOver,
    async read (port, id) {
      const agent = new HttpAgent({ url: `${BASE(port)}/ag-ui/counted`, threadId: id })
      await agent.runAgent({ runId: id })
      return agent.messages.at(-1)?.content
    },
    back: (port, id) => [`${BASE(port)}/ag-ui/counted`, { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(runInput(id)) }]
  }
}

function runInput (id, fields = {}) {
  return { threadId: id, runId: id, messages: [{ id: `${id}-1`, role: 'user', content: 'go' }], tools: [], context: [], state: {}, forwardedProps: fields }
}

/** Asks, and leaves when the answer has begun. */
async function leave (url, body) {
  const { body: stream } = await fetch(url, { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) })
  const reader = stream.getReader()
  await reader.read()
  await reader.cancel()
}

async function isRunOver (ask, id) {
  const { runs: [run] } = JSON.parse(await ask('GET', `/vac/counted/runs?conversation_id=${id}`))
  return run?.state === 'completed'
}

export const title = `Chats of ${CHUNKS.toLocaleString('en')} pieces, of 100 bytes where they are streamed`
export const longestMs = 900_000

export async function run () {
  const figures = []
  for (const [name, wire] of Object.entries(WIRES)) {
    figures.push(...await withServers(['bare', 'polyvac', 'runs'], async (...servers) => await compareStreams(name, wire, servers)))
    figures.push(...await withServers(['runs'], async server => [await readLate(name, wire, server), ...wire.back === undefined ? [] : [await comeBack(name, wire, server)]]))
  }
  return figures
}

async function compareStreams (name, wire, servers) {
  const taken = await inRounds(servers, ROUNDS, async server => await streamAll(wire, server))
  return Object.entries(BARS).flatMap(([kind, bar]) => {
    const what = `${name}, ${kind === 'runs' ? 'a stream that is kept in a file' : 'a live stream'}`
    const ratios = ratiosOf(taken[kind], taken.bare)
    const cpus = taken[kind].cpus.map((cpu, i) => taken.bare.cpus[i] / cpu)
    return [
      figure(`${what}: pieces/s, share of a bare stream of the same events`, median(ratios) * 100, '%', bar, { ...summary(taken[kind]), rss: taken[kind].rss, ratios, bare: summary(taken.bare) }),
      figure(`${what}: the same by processor time`, median(cpus) * 100, '%', bar)
    ]
  })
}

async function streamAll ({ times: perPiece, request }, { port, kind }) {
  const start = performance.now()
  const times = []
  for (let i = 0; i < STREAMS; i++) {
    const { chunks, ms } = await countChunks(port, request({ chunks: CHUNKS }))
    if (chunks !== perPiece * CHUNKS) throw new Error(`${kind}: ${chunks} of ${perPiece * CHUNKS} pieces arrived`)
    times.push(ms)
  }
  const count = STREAMS * CHUNKS
  return { perSecond: count / (performance.now() - start) * 1000, times, count }
}

async function readLate (name, { begin, isOver, read }, { port }) {
  const ask = asker(port)
  const times = []
  for (let i = 0; i <= READS; i++) {
    const id = await begin(ask, { chunks: CHUNKS, chars: TOKEN_CHARS }, port)
    while (!await isOver(ask, id));
    const start = performance.now()
    const text = await awake(async () => await read(port, id))
    if (text?.length !== CHUNKS * TOKEN_CHARS) throw new Error(`${name}: ${text?.length} of ${CHUNKS * TOKEN_CHARS} characters were read`)
    // the first only warms up
    if (i > 0) times.push(performance.now() - start)
  }
  return figure(`${name}: a late reader of ${CHUNKS.toLocaleString('en')} tokens through its client`, median(times), 'ms', { atMost: 100 }, { p50: median(times), p99: max(times) })
}

/** The first frame for a reader that comes back in the middle of an answer. */
async function comeBack (name, { begin, back }, { port }) {
  const ask = asker(port)
  const times = []
  for (let i = 0; i <= READS; i++) {
    const id = await begin(ask, { chunks: SAID, chars: TOKEN_CHARS, waits: true }, port)
    const start = performance.now()
    await awake(async () => {
      const { body } = await fetch(...back(port, id))
      const reader = body.getReader()
      await reader.read()
      await reader.cancel()
    })
    if (i > 0) times.push(performance.now() - start)
  }
  return figure(`${name}: first frame for a reader that comes back`, median(times), 'ms', { atMost: 20 }, { p50: median(times), p99: max(times) })
}
