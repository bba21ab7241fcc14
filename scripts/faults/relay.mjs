// A relay of TCP connections over loopback: a load balancer before replicas, or the network between a replica and its
// database, which can stall or be cut.
import { request } from 'node:http'
import { connect, createServer } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'

/** A replica that answers no health check for so long gets no connections, and those that it has are closed. */
const MAX_HEALTH_MS = 2_000
const CHECK_MS = 300

export class Relay {
  #server = createServer({ pauseOnConnect: true }, socket => this.#accept(socket))
  #pairs = new Set()
  #next = 0
  #stalled = false
  #isOpen = true
  #unhealthy = new Set()
  #filter
  targets

  /**
   * @param targets a function that returns the ports of the targets; connections go to them in turn
   * @param checks whether targets are asked for `/health`, and left out while they do not answer
   * @param filter makes a function for a connection that changes the bytes from the target
   */
  static async start (targets, { checks = false, filter } = {}) {
    const relay = new Relay()
    relay.targets = targets
    relay.#filter = filter
    relay.#server.listen(0, '127.0.0.1')
    await new Promise(resolve => relay.#server.once('listening', resolve))
    if (checks) relay.#check()
    return relay
  }

  get port () { return this.#server.address().port }
  get url () { return `http://127.0.0.1:${this.port}` }

  /** No byte passes in either direction, and no connection is closed, until `resume`. */
  stall () {
    this.#stalled = true
    for (const pair of this.#pairs) for (const socket of pair.sockets) socket.pause()
  }

  resume () {
    this.#stalled = false
    for (const pair of this.#pairs) for (const socket of pair.sockets) socket.resume()
  }

  /** Resets all connections, or those to one target. */
  cut (port) {
    for (const pair of this.#pairs) if (port === undefined || pair.port === port) for (const socket of pair.sockets) socket.resetAndDestroy()
  }

  async close () {
    this.#isOpen = false
    this.cut()
    await new Promise(resolve => this.#server.close(resolve))
  }

  /** The targets in turn, as a load balancer that knows the healthy ones. */
  #order () {
    const ports = this.targets()
    const from = this.#next++ % Math.max(1, ports.length)
    const inTurn = [...ports.slice(from), ...ports.slice(0, from)]
    const healthy = inTurn.filter(port => !this.#unhealthy.has(port))
    return healthy.length > 0 ? healthy : inTurn
  }

  async #accept (client) {
    client.on('error', () => {})
    for (const port of this.#order()) {
      const target = connect({ port, host: '127.0.0.1', noDelay: true })
      const isConnected = await new Promise(resolve => target.once('connect', () => resolve(true)).once('error', () => resolve(false)))
      if (!isConnected) continue
      client.setNoDelay(true)
      const pair = { port, sockets: [client, target] }
      this.#pairs.add(pair)
      const end = () => {
        this.#pairs.delete(pair)
        client.destroy()
        target.destroy()
      }
      client.on('close', end)
      target.on('error', () => {}).on('close', end)
      client.on('data', chunk => { if (!target.write(chunk)) { client.pause(); target.once('drain', () => this.#flow(client)) } })
      const change = this.#filter?.() ?? (chunk => chunk)
      target.on('data', chunk => { if (!client.write(change(chunk))) { target.pause(); client.once('drain', () => this.#flow(target)) } })
      client.on('end', () => target.end())
      target.on('end', () => client.end())
      if (this.#stalled) target.pause()
      else client.resume()
      return
    }
    client.resetAndDestroy()
  }

  #flow (socket) { if (!this.#stalled) socket.resume() }

  async #check () {
    while (this.#isOpen) {
      await Promise.all(this.targets().map(async port => {
        if (await isHealthy(port)) this.#unhealthy.delete(port)
        else {
          this.#unhealthy.add(port)
          this.cut(port)
        }
      }))
      await delay(CHECK_MS, undefined, { ref: false })
    }
  }
}

const NOTIFICATION = 'A'.charCodeAt(0)

/**
 * A filter of the messages of a PostgreSQL server that leaves out notifications: what LISTEN does behind a pooler in
 * transaction mode, which gives each statement another connection.
 */
export function withoutNotifications () {
  let rest = Buffer.alloc(0)
  return chunk => {
    rest = Buffer.concat([rest, chunk])
    const kept = []
    let from = 0
    for (let end; rest.length - from >= 5 && (end = from + 1 + rest.readInt32BE(from + 1)) <= rest.length; from = end) {
      if (rest[from] !== NOTIFICATION) kept.push(rest.subarray(from, end))
    }
    rest = rest.subarray(from)
    return Buffer.concat(kept)
  }
}

function isHealthy (port) {
  return new Promise(resolve => {
    const asked = request({ host: '127.0.0.1', port, path: '/health', agent: false, timeout: MAX_HEALTH_MS })
    asked.on('timeout', () => asked.destroy()).on('error', () => resolve(false))
    asked.on('response', response => { response.resume(); resolve(response.statusCode === 200) })
    asked.end()
  })
}
