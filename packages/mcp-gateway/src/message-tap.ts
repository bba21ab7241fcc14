import type { Transport, TransportSendOptions } from '@modelcontextprotocol/sdk/shared/transport.js'
import type { JSONRPCMessage, MessageExtraInfo } from '@modelcontextprotocol/sdk/types.js'

type Id = string | number
type Loose = { id?: unknown, method?: unknown, result?: unknown, error?: unknown, params?: unknown }

/** JSON-RPC code for a failure that the gateway found in an answer. */
const INTERNAL_ERROR = -32603

/**
 * Stands between a transport and the SDK's client, which would lose what it does not expect: an answer of an unusual
 * shape would leave its call waiting, and a progress notification that comes together with its answer would be dropped.
 */
export class MessageTap implements Transport {
  onclose?: () => void
  onerror?: (error: Error) => void
  onmessage?: <T extends JSONRPCMessage>(message: T, extra?: MessageExtraInfo) => void
  /** When the server was last heard, as of `performance.now()`. */
  heardAt = performance.now()
  readonly #inner: Transport
  readonly #onCancelled: ((id: Id) => void) | undefined
  readonly #pending = new Set<Id>()
  #afterProgress = false
  #held: Array<[JSONRPCMessage, MessageExtraInfo | undefined]> | undefined

  constructor (inner: Transport, onCancelled?: (id: Id) => void) {
    this.#inner = inner
    this.#onCancelled = onCancelled
  }

  get sessionId (): string | undefined { return this.#inner.sessionId }

  async start (): Promise<void> {
    this.#inner.onclose = () => this.onclose?.()
    this.#inner.onerror = err => this.onerror?.(err)
    this.#inner.onmessage = (message: JSONRPCMessage, extra?: MessageExtraInfo) => this.#deliver(message, extra)
    await this.#inner.start()
  }

  async send (message: JSONRPCMessage, options?: TransportSendOptions): Promise<void> {
    const { id, method, params } = message as Loose
    if (method !== undefined && id !== undefined) this.#pending.add(id as Id)
    if (method === 'notifications/cancelled') {
      const { requestId } = params as { requestId: Id }
      this.#pending.delete(requestId)
      this.#onCancelled?.(requestId)
    }
    await this.#inner.send(message, options)
  }

  async close (): Promise<void> {
    await this.#inner.close()
  }

  setProtocolVersion = (version: string): void => {
    this.#inner.setProtocolVersion?.(version)
  }

  isPending (id: Id): boolean {
    return this.#pending.has(id)
  }

  /** Answers a request in place of the server. Without an id, the only request there is, if there is only one. */
  fail (id: Id | undefined, message: string, data: object): boolean {
    const meant = id ?? (this.#pending.size === 1 ? [...this.#pending][0] : undefined)
    if (meant === undefined || !this.#pending.has(meant)) return false
    this.#deliver({ jsonrpc: '2.0', id: meant, error: { code: INTERNAL_ERROR, message, data } }, undefined)
    return true
  }

  #deliver (message: JSONRPCMessage, extra: MessageExtraInfo | undefined): void {
    this.heardAt = performance.now()
    const { id, method } = message as Loose
    const isAnswer = method === undefined && id !== undefined
    if (isAnswer) this.#pending.delete(id as Id)
    const whole = isAnswer ? wellFormed(message) : message
    if (this.#held !== undefined) {
      this.#held.push([whole, extra])
      return
    }
    if (isAnswer && this.#afterProgress) {
      // the client handles notifications one microtask later than answers, which would forget the progress before
      this.#held = [[whole, extra]]
      queueMicrotask(() => this.#flush())
      return
    }
    this.#afterProgress = method === 'notifications/progress'
    this.onmessage?.(whole, extra)
  }

  #flush (): void {
    const held = this.#held ?? []
    this.#held = undefined
    this.#afterProgress = false
    for (const [message, extra] of held) this.#deliver(message, extra)
  }
}

/** An answer as the client takes it: without foreign keys, with an object as its result or a proper error. */
function wellFormed (message: JSONRPCMessage): JSONRPCMessage {
  const { id, result, error } = message as { id: Id, result?: unknown, error?: { code?: unknown, message?: unknown, data?: unknown } }
  if (typeof error === 'object' && error !== null) {
    const code = Number.isSafeInteger(error.code) ? error.code as number : INTERNAL_ERROR
    const text = typeof error.message === 'string' ? error.message : 'the server answered with an error without a message'
    return { jsonrpc: '2.0', id, error: { code, message: text, ...(error.data !== undefined && { data: error.data }) } }
  }
  if (typeof result !== 'object' || result === null || Array.isArray(result)) {
    return { jsonrpc: '2.0', id, error: { code: INTERNAL_ERROR, message: 'the server answered with a result that is no object', data: { result } } }
  }
  const { _meta: meta, ...rest } = result as Record<string, unknown>
  const good = meta === undefined || (typeof meta === 'object' && meta !== null && !Array.isArray(meta))
  return { jsonrpc: '2.0', id, result: good ? result as Record<string, unknown> : rest }
}
