import type { Transport, TransportSendOptions } from '@modelcontextprotocol/sdk/shared/transport.js'
import { LATEST_PROTOCOL_VERSION, type JSONRPCMessage, type MessageExtraInfo } from '@modelcontextprotocol/sdk/types.js'
import { setTimeout as delay } from 'node:timers/promises'
import { backoff } from '../backoff.js'
import { ENVELOPE, META_PREFIX, MODERN_VERSION, UNSUPPORTED_VERSION } from '../protocol/revision.js'

const METHOD_NOT_FOUND = -32601

/** Wait in ms before a subscription that ended is asked for again; it doubles with each time that it was not taken. */
const LISTEN_AGAIN_MS = 2_000
const LISTEN_AGAIN_MAX_MS = 60_000

type Id = string | number
type Loose = { id?: Id, method?: string, params?: Record<string, unknown>, result?: Record<string, unknown>, error?: { readonly code?: unknown, readonly message?: string } }

/**
 * Makes a server of revision 2026-07-28 look to the SDK's client like one of the era before: the handshake becomes a
 * discovery, a ping too, every request carries its envelope, and list changes are subscribed to.
 */
export class ModernAdapter implements Transport {
  onclose?: () => void
  onerror?: (error: Error) => void
  onmessage?: <T extends JSONRPCMessage>(message: T, extra?: MessageExtraInfo) => void
  readonly #inner: Transport
  readonly #handshakes = new Set<Id>()
  readonly #pings = new Set<Id>()
  readonly #closed = new AbortController()
  readonly #cut: ((id: Id) => void) | undefined
  /** Resources whose changes are wanted. */
  readonly #watched = new Set<string>()
  #listens = 0
  /** Streams that the newest is to take the place of. */
  #old: Id[] = []
  /** How often in a row a subscription was not taken. */
  #refusals = 0
  /** Whether there is no subscription at the moment, and a new one is on its way. */
  #isDue = false

  /** @param cut ends the stream of a request; over stdio a message does that */
  constructor (inner: Transport, cut?: (id: Id) => void) {
    this.#inner = inner
    this.#cut = cut
  }

  async start (): Promise<void> {
    this.#inner.onclose = () => {
      this.#closed.abort()
      this.onclose?.()
    }
    this.#inner.onerror = err => this.onerror?.(err)
    this.#inner.onmessage = (message: JSONRPCMessage, extra?: MessageExtraInfo) => this.#read(message as Loose, extra)
    await this.#inner.start()
  }

  async send (message: JSONRPCMessage, options?: TransportSendOptions): Promise<void> {
    const { id, method, params } = message as Loose
    if (method === 'notifications/initialized') return this.#listen()
    if (method === 'resources/subscribe' || method === 'resources/unsubscribe') return this.#watch(id as Id, method === 'resources/subscribe', String(params?.uri))
    if (id === undefined || method === undefined) return await this.#inner.send(message, options)
    if (method === 'initialize') this.#handshakes.add(id)
    if (method === 'ping') this.#pings.add(id)
    const isDiscovery = method === 'initialize' || method === 'ping'
    const { _meta: meta, ...rest } = isDiscovery ? {} as Record<string, unknown> : params ?? {}
    await this.#inner.send({ jsonrpc: '2.0', id, method: isDiscovery ? 'server/discover' : method, params: { ...rest, _meta: { ...ENVELOPE, ...meta as object } } }, options)
  }

  /** The answer to this request will not come any more. Changes are listened to anew. */
  lost (id: Id): void {
    if (id !== this.#newest || this.#isDue) return
    this.#isDue = true
    const ms = backoff(++this.#refusals, { firstMs: LISTEN_AGAIN_MS, maxMs: LISTEN_AGAIN_MAX_MS })
    delay(ms, undefined, { signal: this.#closed.signal, ref: false }).then(() => { if (this.#isDue) this.#listen() }, () => {})
  }

  async close (): Promise<void> {
    this.#closed.abort()
    await this.#inner.close()
  }

  #read ({ id, ...message }: Loose, extra: MessageExtraInfo | undefined): void {
    if (typeof id === 'string' && id.startsWith('listen-') && message.method === undefined) {
      // one that knows no subscriptions has its lists read by age
      if (message.error?.code !== METHOD_NOT_FOUND) this.lost(id)
      return
    }
    if (message.method === 'notifications/subscriptions/acknowledged') {
      this.#refusals = 0
      for (const old of this.#old.splice(0)) this.#end(old)
      return
    }
    const whole = { ...message, ...id !== undefined && { id } } as Loose
    if (id !== undefined && message.method === undefined && message.result !== undefined) {
      if (this.#handshakes.delete(id)) {
        const { supportedVersions: versions } = message.result
        if (Array.isArray(versions) && versions.includes(MODERN_VERSION)) whole.result = handshakeOf(message.result)
        else {
          delete whole.result
          whole.error = { code: UNSUPPORTED_VERSION, message: `it serves ${JSON.stringify(versions)}, not ${MODERN_VERSION}` }
        }
      }
      if (this.#pings.delete(id)) whole.result = {}
    }
    this.onmessage?.(whole as JSONRPCMessage, extra)
  }

  get #newest (): string { return `listen-${this.#listens}` }

  #watch (id: Id, isWatched: boolean, uri: string): void {
    if (isWatched) this.#watched.add(uri)
    else this.#watched.delete(uri)
    this.#old.push(this.#newest)
    this.#listen()
    // as the other era has it
    queueMicrotask(() => this.onmessage?.({ jsonrpc: '2.0', id, result: {} }))
  }

  /** Changes come on a stream of their own. */
  #listen (): void {
    this.#isDue = false
    const id = `listen-${++this.#listens}`
    const notifications = { toolsListChanged: true, promptsListChanged: true, resourcesListChanged: true, ...this.#watched.size > 0 && { resourceSubscriptions: [...this.#watched] } }
    this.#inner.send({ jsonrpc: '2.0', id, method: 'subscriptions/listen', params: { notifications, _meta: ENVELOPE } } as JSONRPCMessage).catch((err: Error) => {
      this.onerror?.(err)
      this.lost(id)
    })
  }

  #end (listen: Id): void {
    if (this.#cut !== undefined) return this.#cut(listen)
    this.#inner.send({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: listen } }).catch((err: Error) => this.onerror?.(err))
  }
}

function handshakeOf ({ capabilities, instructions, _meta: meta }: Record<string, unknown>): Record<string, unknown> {
  const info = (meta as Record<string, unknown> | undefined)?.[`${META_PREFIX}serverInfo`] ?? { name: 'unnamed', version: '0' }
  return {
    // the client takes no version that it does not know
    protocolVersion: LATEST_PROTOCOL_VERSION,
    capabilities: capabilities ?? {},
    serverInfo: info,
    ...typeof instructions === 'string' && { instructions }
  }
}
