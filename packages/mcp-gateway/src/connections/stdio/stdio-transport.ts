import { idOfEdges, LineReader, memoryBudget, yieldToEventLoop, type HeldBytes } from '@polyvac/core/plugin'
import type { Id, RpcMessage } from '../../protocol/json-rpc.js'
import { parseJson, parseProblem } from '../../protocol/read-message.js'
import { refused, tooLong } from '../../session/rpc-channel.js'
import { cancelled, COUNTED_BYTES, INITIALIZED, type Transport, type TransportEvents } from '../../session/transport.js'
import { repaired, withoutMarks } from './odd-lines.js'
import { ServerProcess, type Command } from './server-process.js'
import type { OrphanWatchdog } from './orphan-watchdog.js'

export interface StdioOptions {
  readonly maxMessageBytes: number
  /** A message is not parsed; the id of the request that it answers, if it could be read. */
  readonly onRefused: (id: string | number | undefined, err: Error) => void
  /** The server runs, but closed a pipe; it is ended. */
  readonly onMute: (problem: string) => void
  /** A line that is not a message. */
  readonly onGarbage: (line: string) => void
}

/** Length from which parsing a line blocks the event loop for some ms. */
const LONG_CHARS = 1024 * 1024

/** Characters of each end of a refused message that may hold its id. */
const EDGE_CHARS = 1024

/** A line that is longer by this factor than a message may be counts as one without an end. */
const ENDLESS_FACTOR = 64

/** Characters of messages that are written together. */
const BATCH_CHARS = 64 * 1024

/** Wait in ms for the exit of a process that closed a pipe. */
const MUTE_GRACE_MS = 300

/** Unread bytes from which calls fail: a child that does not read must not exhaust the memory. */
const MAX_WAITING_BYTES = 64 * 1024 * 1024

const holdLine = (): HeldBytes => memoryBudget.hold('answers of MCP servers')

/** One JSON message per line over a child's standard streams (MCP, stdio binding). */
export class StdioTransport implements Transport {
  readonly isOrdered = true
  readonly #command: Command
  readonly #watch: OrphanWatchdog
  readonly #options: StdioOptions
  #events: TransportEvents | undefined
  #child: ServerProcess | undefined
  #closed = false
  #batch = ''
  #isDue = false
  #isMute = false
  /** Whether all messages of the server had to be repaired so far; undefined before the first. */
  #isOdd: boolean | undefined
  /** The line whose end has not arrived. */
  #held = holdLine()
  /** Resolves when all long lines that arrived are delivered. */
  #longRead: Promise<void> = Promise.resolve()

  constructor (command: Command, watch: OrphanWatchdog, options: StdioOptions) {
    this.#command = command
    this.#watch = watch
    this.#options = options
  }

  get child (): ServerProcess | undefined { return this.#child }

  async open (events: TransportEvents): Promise<void> {
    this.#events = events
    const child = this.#child = new ServerProcess(this.#command, this.#watch)
    const { stdout } = child
    const reader = new LineReader(this.#options.maxMessageBytes, {
      line: text => {
        if (text.length >= LONG_CHARS) {
          const read = this.#readLong(text, child).catch((err: Error) => { events.trouble(err) })
          this.#longRead = this.#longRead.then(() => read)
          return
        }
        this.#held.release()
        this.#read(text)
      },
      oversized: (head, tail, bytes) => {
        const { maxMessageBytes, onRefused } = this.#options
        this.#held.release()
        onRefused(idOfEdges(head, tail), bytes > maxMessageBytes ? refused(tooLong(bytes, maxMessageBytes)) : this.#held.refusal())
      },
      keep: bytes => bytes - this.#held.bytes < COUNTED_BYTES || this.#held.tryResize(bytes)
    })
    stdout?.on('data', (chunk: Buffer) => {
      reader.push(chunk)
      if (reader.bytes > ENDLESS_FACTOR * this.#options.maxMessageBytes) this.#endless(child)
    })
    stdout?.on('error', err => events.trouble(err))
    stdout?.on('end', () => this.#mute(child, 'it closed its standard output'))
    child.stdin?.on('error', () => this.#mute(child, 'it closed its standard input'))
    // a child may end while its last answer waits for its turn
    child.ended.then(async () => { await this.#longRead }).then(() => this.#end(), () => {})
  }

  /** A server that closed a pipe is exiting or unusable: it is killed unless it exits soon. */
  #mute (child: ServerProcess, problem: string): void {
    if (this.#closed || this.#isMute) return
    this.#isMute = true
    setTimeout(() => {
      if (this.#closed || child.exit !== undefined) return
      this.#options.onMute(problem)
      child.kill()
    }, MUTE_GRACE_MS).unref()
  }

  /** No message can come after a line that does not end. */
  #endless (child: ServerProcess): void {
    if (this.#isMute) return
    this.#isMute = true
    this.#options.onMute('it wrote a line without an end')
    child.kill()
  }

  send (message: RpcMessage): void {
    const stdin = this.#child?.stdin
    if (this.#closed || stdin == null || !stdin.writable) return this.#fail(message, 'the server has ended')
    const { writableLength = 0 } = stdin as { writableLength?: number }
    if (writableLength > MAX_WAITING_BYTES) return this.#fail(message, 'the server does not read its input')
    this.#batch += `${JSON.stringify(message)}\n`
    if (!this.#isDue) {
      this.#isDue = true
      setImmediate(this.#endTurn)
      this.#flush()
    } else if (this.#batch.length > BATCH_CHARS) this.#flush()
  }

  async initialized (): Promise<void> {
    this.send(INITIALIZED)
  }

  cancel (id: Id, reason: string): void {
    this.send(cancelled(id, reason))
  }

  #fail ({ id, method }: RpcMessage, problem: string): void {
    if (id !== undefined && method !== undefined) this.#events?.failed(id, new Error(problem), false)
    else this.#events?.trouble(new Error(problem))
  }

  /**
   * The first message of a turn of the event loop is written at once, the following ones together: a write is
   * expensive.
   */
  readonly #endTurn = (): void => {
    this.#isDue = false
    this.#flush()
  }

  #flush (): void {
    const text = this.#batch
    this.#batch = ''
    // not awaited: the write may never finish if the child exits meanwhile
    if (text !== '') this.#child?.stdin?.write(text)
  }

  /** Ends the child and its group; resolves when they are gone. */
  async close (): Promise<void> {
    this.#flush()
    await this.#child?.close()
    this.#end()
  }

  #read (given: string): void {
    const line = withoutMarks(given)
    if (line !== '' && this.#isAccepted(line)) this.#deliver(line, parseJson(line))
  }

  #isAccepted (line: string): boolean {
    const problem = parseProblem(line, this.#options.maxMessageBytes)
    if (problem !== undefined) this.#options.onRefused(idOfEdges(line.slice(0, EDGE_CHARS), line.slice(-EDGE_CHARS)), refused(problem))
    return problem === undefined
  }

  /**
   * Checks, parses and delivers a long line in separate turns of the event loop. The line is counted, and the server
   * waits, until it is delivered: the text and the value of one line are held, not those of all that it can write
   * meanwhile. Shorter lines that were read with it overtake it.
   */
  async #readLong (line: string, { exit, stdout }: ServerProcess): Promise<void> {
    const held = this.#held
    this.#held = holdLine()
    // what a child wrote before its end is read within a short time
    if (exit === undefined) stdout?.pause()
    try {
      if (!this.#isAccepted(line)) return
      await yieldToEventLoop()
      if (this.#closed) return
      const message = parseJson(line)
      await yieldToEventLoop()
      this.#deliver(line, message, held)
    } finally {
      // the receiver counts what it keeps of the message, for its owner
      held.release()
      stdout?.resume()
    }
  }

  #deliver (line: string, message: unknown, held?: HeldBytes): void {
    // batches belong to revision 2025-03-26
    for (const one of Array.isArray(message) ? message as unknown[] : [message]) {
      if (typeof one === 'object' && one !== null && (one as { jsonrpc?: unknown }).jsonrpc === '2.0') {
        this.#isOdd = false
        this.#events?.message(one as RpcMessage, undefined, held)
      } else this.#repair(line, held)
    }
  }

  /**
   * Only a server whose messages are odd from the first on may write such: in the log lines of any other one, callers
   * could have their texts read as messages.
   */
  #repair (line: string, held: HeldBytes | undefined): void {
    const messages = this.#isOdd === false ? [] : repaired(line)
    // the first one answers the handshake
    const isFirst = this.#isOdd === undefined
    if (messages.length === 0 || (isFirst && messages[0]!.method !== undefined)) return this.#options.onGarbage(line)
    this.#isOdd = true
    for (const message of messages) this.#events?.message(message, undefined, held)
  }

  #end (): void {
    if (this.#closed) return
    this.#closed = true
    this.#held.release()
    this.#events?.closed()
  }
}
