import type { HeldBytes } from '@polyvac/core/plugin'
import type { Id, RpcMessage } from '../protocol/json-rpc.js'

/** What a transport reports. */
export interface TransportEvents {
  /**
   * @param related the request whose response stream carried the message, where the binding has such streams
   * @param held the bytes of a long message, not yet counted for its owner
   * @param httpStatus of the response that carried it, where that is not a success
   */
  message (message: RpcMessage, related?: Id, held?: HeldBytes, httpStatus?: number): void
  /**
   * A request was not sent, or its response will not come.
   * @param mayRun whether the server may be working on it
   */
  failed (id: Id, err: Error, mayRun: boolean): void
  closed (): void
  trouble (err: Error): void
}

/** Carries messages of JSON-RPC to one server and back. */
export interface Transport {
  /** Whether all messages of the server come in the order in which it wrote them. */
  readonly isOrdered: boolean
  open (events: TransportEvents): Promise<void>
  /**
   * Sends a message. A request that cannot be sent is reported by `failed`, any other message by `trouble`.
   * @param owner the owner of a request, for whom its response is counted
   */
  send (message: RpcMessage, owner?: string): void
  /** Completes the handshake of a revision up to 2025-11-25. */
  initialized (revision: string): Promise<void>
  /** Cancels a request at the server. */
  cancel (id: Id, reason: string): void
  close (): Promise<void>
}

/** Bytes from which those that are kept of a message are counted in the memory budget. */
export const COUNTED_BYTES = 64 * 1024

export const INITIALIZED: RpcMessage = { jsonrpc: '2.0', method: 'notifications/initialized' }

export function cancelled (requestId: Id, reason: string): RpcMessage {
  return { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId, reason } }
}
