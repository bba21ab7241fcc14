// A replica of the scenario `postgres`: a process with a task store on the database, or with DBOS Transact. It does
// what its parent asks for over the channel of Node.js.
import { pathToFileURL } from 'node:url'
import { PEERS_FOLDER } from './mcp-peers.mjs'

const [kind, url] = process.argv.slice(2)

/** Tasks that a replica of the store executes at once. DBOS is fastest without such a limit. */
const CONCURRENCY = 64
/** Of the pool, for both. */
const CONNECTIONS = 20
/** DBOS looks for queued workflows once a second by default; it is fastest with this interval, of 20, 100 and 1,000. */
const DBOS_POLL_MS = 100

const text = i => `a word or two of event ${i}`
/** The same in every process of the machine, in ms. */
const now = () => performance.timeOrigin + performance.now()
const atOnce = (n, work) => Promise.all(Array.from({ length: n }, (_, i) => work(i)))

/** Runs `work` `count` times, `width` at once. */
async function repeat (count, width, work) {
  let next = 0
  await atOnce(width, async () => { while (next < count) await work(next++) })
}

const KINDS = {
  async polyvac () {
    const { postgresTaskStore } = await import('@polyvac/tasks/postgres')
    const store = postgresTaskStore({ url, maxConnections: CONNECTIONS })
    await store.open()
    const streams = { ended () {} }
    const queues = {
      async short ({ input: { events } }, { emit }) {
        for (let i = 0; i < events; i++) await emit({ delta: text(i) })
        await emit({ state: 'completed' })
      },
      /** Batches of events, each once the one before is durable. */
      async batches ({ input: { batches, size } }, { emit }) {
        const batch = Array.from({ length: size }, (_, i) => ({ delta: text(i) }))
        for (let i = 0; i < batches; i++) await emit(batch)
        streams.ended()
      },
      /** Events with the time of their emit, at a steady pace. */
      async paced ({ input: { events, everyMs, offsetMs } }, { emit, signal }) {
        const from = now() + offsetMs
        for (let i = 0; i < events; i++) {
          await new Promise(resolve => setTimeout(resolve, Math.max(0, from + i * everyMs - now())))
          if (signal.aborted) return
          await emit({ delta: String(now()) })
        }
      },
      /** Runs until its process dies. Its parent learns when an attempt begins. */
      async endless (task, { signal, attempt }) {
        process.send({ began: { attempt, at: now() } })
        await new Promise(resolve => signal.addEventListener('abort', resolve))
      }
    }
    const create = (queue, input = null) => store.create('bench', { skill: 'work', input, queue })
    return {
      work ({ queue, concurrency = CONCURRENCY }) {
        store.work(queues[queue], { queue, concurrency, ownerConcurrency: concurrency })
      },
      async create ({ queue, input, count, width }) {
        const from = performance.now()
        await repeat(count, width, () => create(queue, input))
        return count / (performance.now() - from) * 1000
      },
      /** Events in a second, from the first create to the last durable event of `count` streams. */
      async append ({ count, batches, size }) {
        const from = performance.now()
        let left = count
        const over = new Promise(resolve => { streams.ended = () => { if (--left === 0) resolve() } })
        await repeat(count, count, () => create('batches', { batches, size }))
        await over
        return count * batches * size / (performance.now() - from) * 1000
      },
      /** One reader for each of these tasks; resolves to the times from emit to arrival once all have ended. */
      async createAndName ({ queue, inputs }) {
        return await Promise.all(inputs.map(async input => (await create(queue, input)).task.id))
      },
      async read ({ ids, skip }) {
        const times = []
        await Promise.all(ids.map(async id => {
          let seen = 0
          for await (const { delta } of store.events('bench', id)) if (delta !== undefined && ++seen > skip) times.push(now() - Number(delta))
        }))
        return times
      }
    }
  },
  async dbos () {
    const { DBOS } = (await import(pathToFileURL(`${PEERS_FOLDER}/node_modules/@dbos-inc/dbos-sdk/dist/src/index.js`).href)).default
    DBOS.setConfig({ name: 'bench', systemDatabaseUrl: url, systemDatabasePoolSize: CONNECTIONS, logLevel: 'error', executorID: `replica-${process.pid}`, applicationVersion: '1' })
    const short = DBOS.registerWorkflow(async ({ events }) => {
      for (let i = 0; i < events; i++) await DBOS.writeStream('events', text(i))
    }, { name: 'short' })
    await DBOS.launch()
    await DBOS.registerQueue('short', { minPollingIntervalMs: DBOS_POLL_MS })
    return {
      work () {},
      async create ({ input, count, width }) {
        const from = performance.now()
        await repeat(count, width, () => DBOS.startWorkflow(short, { queueName: 'short' })(input))
        return count / (performance.now() - from) * 1000
      }
    }
  }
}

const commands = {
  ...await KINDS[kind](),
  cpuMs () {
    const { user, system } = process.cpuUsage()
    return (user + system) / 1000
  }
}
process.on('message', async ({ id, command, options }) => {
  try {
    process.send({ id, answer: await commands[command](options) })
  } catch (err) {
    process.send({ id, error: err.stack })
  }
})
process.on('disconnect', () => process.exit(0))
process.send({ ready: true })
