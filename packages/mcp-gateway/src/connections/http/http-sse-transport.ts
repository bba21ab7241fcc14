import { SSEClientTransport, type JSONRPCMessage, type SSEClientTransportOptions } from '@modelcontextprotocol/client'
import type { Id, RpcMessage } from '../../protocol/json-rpc.js'
import { HttpError } from '../http-error.js'
import { cancelled, INITIALIZED, type Transport, type TransportEvents } from '../../session/transport.js'

/** HTTP with SSE of revision 2024-11-05, by the SDK's client. */
export class HttpSseTransport implements Transport {
  readonly isOrdered = true
  readonly #inner: SSEClientTransport
  #events!: TransportEvents

  constructor (url: URL, options: SSEClientTransportOptions) {
    this.#inner = new SSEClientTransport(url, options)
  }

  async open (events: TransportEvents): Promise<void> {
    this.#events = events
    this.#inner.onmessage = message => events.message(message as RpcMessage)
    this.#inner.onerror = err => events.trouble(err)
    this.#inner.onclose = () => events.closed()
    await this.#inner.start()
  }

  send (message: RpcMessage): void {
    const { id, method } = message
    this.#inner.send(message as JSONRPCMessage).catch((err: Error) => {
      if (id !== undefined && method !== undefined) this.#events.failed(id, err, !(err instanceof HttpError) || err.status >= 500)
      else this.#events.trouble(err)
    })
  }

  async initialized (revision: string): Promise<void> {
    this.#inner.setProtocolVersion(revision)
    await this.#inner.send(INITIALIZED as JSONRPCMessage)
  }

  cancel (id: Id, reason: string): void {
    this.send(cancelled(id, reason))
  }

  async close (): Promise<void> {
    await this.#inner.close()
  }
}
