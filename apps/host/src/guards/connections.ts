import { LinkedSet, LogGate, memoryBudget } from '@polyvac/core/plugin'
import type { FastifyInstance } from 'fastify'
import { readFileSync } from 'node:fs'
import type { Socket } from 'node:net'
import { getHeapStatistics } from 'node:v8'
import type { ServiceConfig } from '../config/service-config.js'
import { ADDRESS_PART, shareConnections, type IsProxy } from './address-connections.js'

type Connections = NonNullable<ServiceConfig['connections']>

/** Most connections at once, where the heap and the file descriptors suffice for them. */
const MAX_CONNECTIONS = 10_000
/** Heap for one connection, about, with a small request in progress. */
const CONNECTION_BYTES = 64 * 1024
/** Part of the file descriptors for connections; files, child processes and outgoing requests need the others. */
const DESCRIPTOR_PART = 0.75
/** Times in seconds. */
const FIRST_BYTE_TIMEOUT = 20
const HEADERS_TIMEOUT = 20
const BODY_TIMEOUT = 60
const IDLE_TIMEOUT = 72
const STALL_TIMEOUT = 60
/** Most often that the timeouts are checked, in ms. */
const CHECK_MS = 1_000

/** Times and numbers of the connections, with their defaults; times in seconds. */
export function connectionLimits (given: Connections = {}): Required<Connections> {
  const {
    max = defaultMax(), max_per_address: perAddress = Math.ceil(max * ADDRESS_PART), first_byte_timeout: firstByte = FIRST_BYTE_TIMEOUT, headers_timeout: headers = HEADERS_TIMEOUT,
    body_timeout: body = BODY_TIMEOUT, idle_timeout: idle = IDLE_TIMEOUT, stall_timeout: stall = STALL_TIMEOUT
  } = given
  return {
    max, max_per_address: perAddress, first_byte_timeout: firstByte, headers_timeout: headers, body_timeout: Math.max(body, headers), idle_timeout: idle, stall_timeout: stall
  }
}

/** Options of the HTTP server of Node.js, which only its constructor takes. */
export const SERVER_OPTIONS = { connectionsCheckingInterval: CHECK_MS } as const

/**
 * Bounds what sockets can hold, all together and of each address. Node.js closes slow headers, slow bodies and idle
 * sockets, but it waits for ever for the first byte of a connection, and for a reader that takes nothing.
 * @param isProxy whether an address is that of a proxy, which connects for many callers
 */
export function guardConnections (app: FastifyInstance, limits: Required<Connections>, isProxy: IsProxy): void {
  const { server, log } = app
  const firstByteMs = limits.first_byte_timeout * 1000
  const stallMs = limits.stall_timeout * 1000
  server.maxConnections = limits.max
  server.headersTimeout = limits.headers_timeout * 1000
  server.requestTimeout = limits.body_timeout * 1000
  const idleMs = limits.idle_timeout * 1000
  // Node.js sets this time for a socket that waits for its next request: it must differ from the time below
  server.keepAliveTimeout = idleMs === stallMs ? idleMs + 1 : idleMs
  // the socket was inactive: it wrote nothing, although it may have something to write
  server.setTimeout(stallMs, (socket: Socket) => {
    if (socket.writableLength > 0 || socket.timeout !== stallMs) socket.destroy()
    else socket.setTimeout(stallMs)
  })
  const gate = new LogGate()
  server.on('drop', () => {
    const suppressed = gate.pass('drop')
    if (suppressed !== undefined) log.warn({ max: limits.max, suppressed }, 'connections are refused: as many as service.connections.max are open')
  })
  shareConnections(app, limits.max_per_address, isProxy)
  // @keyed none: a list in order, of the open connections that are checked once; `connections.max`
  const silent = new LinkedSet<{ readonly socket: Socket, readonly since: number }>()
  server.on('connection', (socket: Socket) => {
    const node = silent.add({ socket, since: performance.now() })
    socket.once('close', () => { node.remove() })
  })
  const timer = setInterval(() => {
    const before = performance.now() - firstByteMs
    for (let node = silent.first; node !== undefined && node.value.since < before; node = silent.first) {
      node.remove()
      if (node.value.socket.bytesRead === 0) node.value.socket.destroy()
    }
  }, CHECK_MS)
  timer.unref()
  app.addHook('onClose', async () => { clearInterval(timer) })
}

/** Requests that are handled before other work has a turn. */
const MAX_REQUESTS_IN_TURN = 64

/**
 * Handles pipelined requests over several turns of the event loop: a read of 64 KiB may have more than a thousand. It
 * also keeps browsers from taking a text for a page.
 */
export function spreadRequests (app: FastifyInstance): void {
  // @keyed none: a list in order, of requests of one turn of the event loop: those of the open connections
  const waiting: Array<() => void> = []
  let inTurn = 0
  const nextTurn = (): void => {
    const ready = waiting.splice(0, MAX_REQUESTS_IN_TURN)
    inTurn = ready.length
    if (inTurn > 0) setImmediate(nextTurn)
    for (const done of ready) done()
  }
  app.addHook('onRequest', (_request, { raw }, done) => {
    raw.setHeader('X-Content-Type-Options', 'nosniff')
    if (inTurn === 0) setImmediate(nextTurn)
    if (++inTurn <= MAX_REQUESTS_IN_TURN) done()
    else waiting.push(done)
  })
}

/** Logs at most every 10 s that the memory budget refuses something. */
export function logRefusals ({ log }: FastifyInstance): void {
  const gate = new LogGate()
  memoryBudget.onRefusal = (part, owner) => {
    const suppressed = gate.pass(part)
    if (suppressed === undefined) return
    const { used, limit } = memoryBudget
    log.warn({ part, owner, used, limit, suppressed }, 'requests are refused: the memory budget, or the share of their owner, is used up')
  }
}

function defaultMax (): number {
  const ofHeap = getHeapStatistics().heap_size_limit / CONNECTION_BYTES
  return Math.max(1, Math.floor(Math.min(MAX_CONNECTIONS, ofHeap, openFiles() * DESCRIPTOR_PART)))
}

/** The limit of file descriptors of this process; Infinity where the system does not name it. */
function openFiles (): number {
  try {
    return Number(/^Max open files +(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8'))?.[1] ?? Infinity)
  } catch {
    return Infinity
  }
}
