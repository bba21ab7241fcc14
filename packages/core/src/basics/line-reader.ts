/** Bytes kept of each end of an oversized line, to read its id: servers write it as the first or as the last key. */
const EDGE_BYTES = 1024

const NEWLINE = 10
const CARRIAGE_RETURN = 13

export interface LineHandlers {
  /** One whole line, without its end. */
  line (text: string): void
  /** A line longer than the limit, or than may be kept, was dropped: its first and last bytes, and its length. */
  oversized (head: string, tail: string, bytes: number): void
  /** Whether the first `bytes` of a line whose end has not arrived may be kept. Without it, all up to the limit. */
  keep? (bytes: number): boolean
}

/**
 * Splits a stream of bytes into lines in linear time: the chunks of a line are kept in a list and joined once. A line
 * longer than `maxBytes` is read to its end and dropped, so that only its own message is lost. Bytes that are not UTF-8
 * become U+FFFD.
 */
export class LineReader {
  readonly #maxBytes: number
  readonly #handlers: LineHandlers
  // @keyed none: a list in order, of one line; the limit of a message, and the memory budget where `keep` counts it
  #chunks: Buffer[] = []
  #bytes = 0
  #head: Buffer | undefined
  #tail: Buffer = Buffer.alloc(0)

  constructor (maxBytes: number, handlers: LineHandlers) {
    this.#maxBytes = maxBytes
    this.#handlers = handlers
  }

  /** Bytes kept of a line whose end has not arrived. */
  get held (): number {
    return this.#head === undefined ? this.#bytes : this.#head.length + this.#tail.length
  }

  /** Bytes read of a line whose end has not arrived, also those that are not kept. */
  get bytes (): number { return this.#bytes }

  push (chunk: Buffer): void {
    let from = 0
    for (let at = chunk.indexOf(NEWLINE); at !== -1; at = chunk.indexOf(NEWLINE, from)) {
      this.#take(chunk.subarray(from, at))
      this.#finish()
      from = at + 1
    }
    if (from < chunk.length) this.#take(chunk.subarray(from), this.#handlers.keep)
  }

  #take (part: Buffer, keep?: LineHandlers['keep']): void {
    this.#bytes += part.length
    if (this.#head === undefined && this.#bytes <= this.#maxBytes && keep?.(this.#bytes) !== false) {
      this.#chunks.push(part)
      return
    }
    if (this.#head === undefined) {
      // a copy, since a view would keep the whole chunk
      const held = Buffer.concat([...this.#chunks, part])
      this.#head = Buffer.from(held.subarray(0, EDGE_BYTES))
      this.#tail = Buffer.from(held.subarray(-EDGE_BYTES))
      this.#chunks = []
    } else {
      this.#tail = Buffer.from(Buffer.concat([this.#tail, part.subarray(-EDGE_BYTES)]).subarray(-EDGE_BYTES))
    }
  }

  #finish (): void {
    const [chunks, bytes, head, tail] = [this.#chunks, this.#bytes, this.#head, this.#tail]
    this.#chunks = []
    this.#bytes = 0
    this.#head = undefined
    if (head !== undefined) {
      this.#handlers.oversized(head.toString(), tail.toString(), bytes)
      return
    }
    const line = chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks, bytes)
    const end = line.length > 0 && line[line.length - 1] === CARRIAGE_RETURN ? line.length - 1 : line.length
    this.#handlers.line(line.toString('utf8', 0, end))
  }
}

const ID_FIRST = /^\s*\{\s*(?:"jsonrpc"\s*:\s*"[^"]*"\s*,\s*)?"id"\s*:\s*(\d+|"[^"\\]*")\s*,/
const ID_LAST = /,\s*"id"\s*:\s*(\d+|"[^"\\]*")\s*(?:,\s*"jsonrpc"\s*:\s*"[^"]*"\s*)?\}\s*$/

/** The id of a response of which only both ends are known. Undefined for requests and notifications. */
export function idOfEdges (head: string, tail: string): string | number | undefined {
  const text = ID_FIRST.exec(head)?.[1] ?? ID_LAST.exec(tail)?.[1]
  return text === undefined ? undefined : JSON.parse(text) as string | number
}
