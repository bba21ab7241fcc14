import type { CallOptions } from '../protocol/call-options.js'
import type { PendingRequest, RequestGroup } from './pending-request.js'

/** A call that the server does as a task: over several requests, also between them. */
export class TaskWork implements RequestGroup {
  readonly method = 'tools/call'
  readonly tool: string
  readonly options: CallOptions
  /** Undefined until the server has answered the call. */
  taskId: string | undefined
  /** Whether the server has reported its end. */
  hasEnded = false
  request: PendingRequest | undefined
  pauses = 0

  constructor (tool: string, options: CallOptions) {
    this.tool = tool
    this.options = options
  }

  get isPaused (): boolean { return this.pauses > 0 }

  pause (): void {
    this.pauses++
    this.request?.pause()
  }

  resume (): void {
    this.pauses--
    this.request?.resume()
  }
}
