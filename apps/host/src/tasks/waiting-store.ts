import { within } from '@polyvac/core/plugin'
import type { ApprovalRecords, ConversationRecords, DeliverOptions, DeliveryHandler, ReplicaLink, SharedCounts, SharedValues, SignInRecords, TaskHandler, TaskStore, TaskWorker, WorkOptions } from '@polyvac/tasks'
import { setTimeout as delay } from 'node:timers/promises'
import { forwardTo } from './forward-to.js'
import { ForwardingStore } from './forwarding-store.js'

/** First and longest pause between two attempts to open the store, in ms. */
const RETRY_MS = 250
const MAX_RETRY_MS = 5_000
/** Longest wait for an attempt when the host stops, in ms. */
const CLOSE_MS = 500

export interface Attempts {
  /** An attempt failed; throws where another one cannot succeed. */
  readonly onFailure: (error: Error) => void
  /** Called before the store counts as open. */
  readonly onOpen: () => Promise<void>
  /** The error of a call to a store that is not open yet. */
  readonly makeRefusal: () => Error
}

/**
 * A store whose database may not be reachable when the host starts: it is opened again until it opens. Until then each
 * call fails with 503, and workers wait.
 */
export class WaitingStore extends ForwardingStore {
  readonly #store: TaskStore
  readonly #attempts: Attempts
  readonly #stop = new AbortController()
  #opening: Promise<void> | undefined
  #isOpen = false

  constructor (store: TaskStore, attempts: Attempts) {
    super()
    this.#store = store
    this.#attempts = attempts
  }

  /** Resolves when the store is open, also where that takes for ever; rejects where waiting cannot help. */
  override open (): Promise<void> {
    this.#opening ??= this.#open()
    return this.#opening
  }

  async #open (): Promise<void> {
    for (let pause = RETRY_MS; !this.#stop.signal.aborted; pause = Math.min(MAX_RETRY_MS, pause * 2)) {
      try {
        await this.#store.open()
        await this.#attempts.onOpen()
        this.#isOpen = true
        return
      } catch (err) {
        if (!this.#stop.signal.aborted) this.#attempts.onFailure(err as Error)
      }
      await delay(pause, undefined, { signal: this.#stop.signal }).catch(() => { /* closed */ })
    }
  }

  override async close (): Promise<void> {
    this.#stop.abort()
    // an attempt may wait for a server that does not answer
    const closing = this.#store.close()
    await (this.#isOpen ? closing : within(closing, CLOSE_MS))
  }

  override async health (): ReturnType<TaskStore['health']> {
    return this.#isOpen ? await this.#store.health() : { ok: false, detail: this.#attempts.makeRefusal().message }
  }

  override async backlog (): ReturnType<TaskStore['backlog']> {
    return this.#isOpen ? await this.#store.backlog() : []
  }

  readonly #shared = forwardTo(() => this.inner.shared!)
  readonly #counts = forwardTo(() => this.inner.counts!)
  readonly #approvals = forwardTo(() => this.inner.approvals!)
  readonly #signIns = forwardTo(() => this.inner.signIns!)
  readonly #conversations = forwardTo(() => this.inner.conversations!)

  protected get inner (): TaskStore {
    if (!this.#isOpen) throw this.#attempts.makeRefusal()
    return this.#store
  }

  // handed out before the store is open
  override get shared (): SharedValues { return this.#shared }
  override get counts (): SharedCounts { return this.#counts }
  override get approvals (): ApprovalRecords { return this.#approvals }
  override get signIns (): SignInRecords { return this.#signIns }
  override get conversations (): ConversationRecords { return this.#conversations }
  override get replicas (): ReplicaLink | undefined { return this.#store.replicas }

  override work (handler: TaskHandler, options?: WorkOptions): TaskWorker {
    return this.#startLater(() => this.#store.work(handler, options))
  }

  override deliver (handler: DeliveryHandler, options?: DeliverOptions): TaskWorker {
    return this.#startLater(() => this.#store.deliver(handler, options))
  }

  #startLater (start: () => TaskWorker): TaskWorker {
    if (this.#isOpen) return start()
    let worker: TaskWorker | undefined
    let isStopped = false
    this.open().then(() => { if (this.#isOpen && !isStopped) worker = start() }).catch(() => { /* the host ends, or reports it */ })
    return {
      async stop (options) {
        isStopped = true
        await worker?.stop(options)
      }
    }
  }
}
