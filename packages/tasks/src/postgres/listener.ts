import { setTimeout as delay } from 'node:timers/promises'
import type pg from 'pg'
import type { TaskLogger } from '../basics/logger.js'

/** Interval of heartbeats, and the longest wait for their answer: a half-open connection is detected within 5 s. */
const BEAT_MS = 2_000
const ANSWER_MS = 2_500
const RECONNECT_MS = 250
const MAX_RECONNECT_MS = 2_000
const SELF_TEST_MS = 1_000

type Handler = (payload: string) => void

/**
 * The connection of LISTEN. It also holds the advisory lock of this replica, which the server releases when the
 * connection ends: that is how other replicas notice its death.
 */
export class Listener {
  readonly #connect: () => pg.Client
  readonly #lock: number
  readonly #log: TaskLogger
  // @keyed name of a channel, of the code or a shard of the keys of tasks | holds: the functions that hear it |
  //   whose: all tasks of a shard | bound: the channels of the code and the shards, a fixed number; they are never
  //   left | share: of no owner: a message has at most 8,000 bytes | test: packages/tasks/test/postgres-open.test.ts:
  //   a reader on another replica gets events of every size and text in their order
  readonly #channels = new Map<string, { readonly handlers: Set<Handler>, readonly listens: Promise<unknown> }>()
  // @keyed none: the values are functions of the store
  readonly #missed = new Set<() => void>()
  #client: pg.Client | undefined
  #backend = 0
  #sent: Promise<unknown> = Promise.resolve()
  readonly #stopped = new AbortController()
  #running: Promise<void> | undefined
  #isDeaf = false
  #replica: number | undefined
  #prefix = ''
  #register: (() => Promise<void>) | undefined
  #epoch = 0

  constructor (connect: () => pg.Client, lock: number, log: TaskLogger) {
    this.#connect = connect
    this.#lock = lock
    this.#log = log
  }

  /** Why messages do not arrive at present, or undefined. */
  get problem (): string | undefined {
    if (this.#isDeaf) return undefined
    return this.#client === undefined ? 'the connection that listens for messages is lost' : undefined
  }

  /** Whether messages never arrive, as behind a pooler in transaction mode. */
  get isDeaf (): boolean { return this.#isDeaf }

  /**
   * Changes whenever the connection is lost, and before messages arrive again: the server may then be another one,
   * which lacks what the first had.
   */
  get epoch (): number { return this.#epoch }

  /** Every role of a database may listen to every channel and send to it, if it knows the name. */
  channelOf (channel: string): string { return `polyvac.${this.#prefix}.${channel}` }

  get lock (): number { return this.#lock }

  /**
   * Connects, and tests whether messages arrive: behind a pooler in transaction mode they do not, and the store polls.
   * @param prefix of the names of channels: a secret of the replicas
   * @param register writes the row of the replica; called after each time that its lock was taken
   */
  async start (replica: number, prefix: string, register: () => Promise<void>): Promise<void> {
    this.#replica = replica
    this.#prefix = prefix
    this.#register = register
    const client = await this.#open()
    await this.#selfTest(client)
    await this.#begin(client)
    this.#running = this.#run(client)
  }

  async stop (): Promise<void> {
    this.#stopped.abort()
    this.#client?.end().catch(() => {})
    await this.#running
    this.#client = undefined
  }

  /** Calls `handler` for every message of the channel that is committed after this promise has resolved. */
  async listen (channel: string, handler: Handler): Promise<void> {
    const name = this.channelOf(channel)
    let known = this.#channels.get(name)
    if (known === undefined) {
      // a lost connection listens when it is back, and calls all `onMissed` then
      const listens = this.#client === undefined ? Promise.resolve() : this.#send(this.#client, `LISTEN "${name}"`).catch(() => {})
      this.#channels.set(name, known = { handlers: new Set(), listens })
    }
    known.handlers.add(handler)
    await known.listens
  }

  /** Calls `look` when messages may have been missed: after a reconnection. */
  onMissed (look: () => void): void { this.#missed.add(look) }

  async #open (): Promise<pg.Client> {
    const client = this.#connect()
    client.on('error', () => {})
    try {
      await client.connect()
      await client.query("SET default_transaction_isolation = 'read committed'; SET statement_timeout = 5000")
      return client
    } catch (error) {
      client.end().catch(() => {})
      throw error
    }
  }

  async #selfTest (client: pg.Client): Promise<void> {
    const name = this.channelOf(`test ${String(this.#replica)}`)
    let hear = (): void => {}
    const heard = new Promise<boolean>(resolve => { hear = () => { resolve(true) } })
    client.on('notification', hear)
    await client.query(`LISTEN "${name}"`)
    await client.query('SELECT pg_notify($1, $2)', [name, ''])
    // a pooler in transaction mode gives each statement another connection, so that only a message shows the truth
    const timer = new AbortController()
    const works = await Promise.race([heard, delay(SELF_TEST_MS, false, { signal: timer.signal }).catch(() => false)])
    timer.abort()
    client.off('notification', hear)
    await client.query(`UNLISTEN "${name}"`)
    if (works) return
    this.#isDeaf = true
    this.#log.warn({}, 'messages of the database do not arrive, as behind a pooler in transaction mode; the task store polls instead, which is slower')
  }

  /** Takes the lock of the replica and listens to all channels. */
  async #begin (client: pg.Client): Promise<void> {
    this.#epoch++
    client.on('notification', ({ channel, payload = '' }) => {
      for (const handler of this.#channels.get(channel)?.handlers ?? []) handler(payload)
    })
    if (this.#isDeaf) {
      this.#client = client
      return
    }
    const { rows: [row] } = await client.query<{ pid: number }>('SELECT pg_backend_pid() AS pid')
    while (!await this.#takeLock(client)) {
      // an earlier connection, which the server has not noticed to be dead
      if (this.#backend !== 0) await client.query('SELECT pg_terminate_backend($1)', [this.#backend])
      await delay(100, undefined, { signal: this.#stopped.signal })
    }
    this.#backend = row?.pid ?? 0
    this.#sent = Promise.resolve()
    this.#client = client
    for (const name of this.#channels.keys()) await this.#send(client, `LISTEN "${name}"`)
    await this.#register?.()
  }

  /** One statement after the other: the driver takes them only so. */
  #send (client: pg.Client, sql: string): Promise<unknown> {
    const sent = this.#sent.then(async () => await client.query(sql))
    this.#sent = sent.catch(() => {})
    return sent
  }

  async #takeLock (client: pg.Client): Promise<boolean> {
    const { rows } = await client.query<{ taken: boolean }>('SELECT pg_try_advisory_lock($1, $2) AS taken', [this.#lock, this.#replica])
    return rows[0]?.taken === true
  }

  async #run (first: pg.Client): Promise<void> {
    const { signal } = this.#stopped
    for (let client: pg.Client | undefined = first, pause = RECONNECT_MS; !signal.aborted;) {
      try {
        if (client === undefined) {
          client = await this.#open()
          await this.#begin(client)
          this.#log.warn({}, 'the connection that listens for messages of the database is back')
          for (const look of this.#missed) look()
        }
        pause = RECONNECT_MS
        await this.#watch(client)
      } catch (error) {
        if (!signal.aborted) this.#log.warn({ err: error }, 'the connection that listens for messages of the database is lost')
      }
      this.#client = undefined
      this.#epoch++
      client?.removeAllListeners('notification')
      client?.end().catch(() => {})
      ;(client as unknown as { connection?: { stream?: { destroy (): void } } } | undefined)?.connection?.stream?.destroy()
      client = undefined
      await delay(pause, undefined, { signal }).catch(() => {})
      pause = Math.min(MAX_RECONNECT_MS, pause * 2)
    }
  }

  /** Ends with an error once the connection is lost. */
  async #watch (client: pg.Client): Promise<void> {
    const { signal } = this.#stopped
    const ended = new Promise<never>((_resolve, reject) => { client.once('end', () => { reject(new Error('the connection ended')) }) })
    ended.catch(() => {})
    while (!signal.aborted) {
      await Promise.race([ended, delay(BEAT_MS, undefined, { signal })])
      const timer = new AbortController()
      const late = delay(ANSWER_MS, undefined, { signal: timer.signal }).then(() => { throw new Error('no answer in time') })
      late.catch(() => {})
      await Promise.race([ended, late, this.#send(client, 'SELECT 1')]).finally(() => { timer.abort() })
    }
  }
}
