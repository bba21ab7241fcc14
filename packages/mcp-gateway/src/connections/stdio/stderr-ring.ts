import { StringDecoder } from 'node:string_decoder'

/** Characters shown of one line. */
export const LINE_CHARS = 2_000

/** More are kept: half of a secret is not found. */
const KEPT_CHARS = 2 * LINE_CHARS

/** The last lines of a child's stderr. Memory is bounded: new lines replace the oldest. */
export class StderrRing {
  readonly #limit: number
  // @keyed none: a list in order, of one server; `stderrLines` of KEPT_CHARS characters
  readonly #lines: string[] = []
  readonly #decoder = new StringDecoder('utf8')
  #partial = ''

  constructor (limit: number) {
    this.#limit = limit
  }

  push (chunk: Buffer): void {
    const pieces = (this.#partial + this.#decoder.write(chunk)).split(/\r?\n/)
    this.#partial = (pieces.pop() ?? '').slice(0, KEPT_CHARS)
    for (const line of pieces.slice(-this.#limit)) this.add(line)
  }

  add (line: string): void {
    // control characters would act on the terminal that shows the log
    // eslint-disable-next-line no-control-regex
    const text = line.replace(/\u001b\[[0-9;?]*[A-Za-z]/g, '').replace(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g, ' ').trimEnd()
    if (text === '') return
    this.#lines.push(text.slice(0, KEPT_CHARS))
    if (this.#lines.length > this.#limit) this.#lines.shift()
  }

  /** Oldest first, including a last line without its end. */
  lines (): string[] {
    const partial = this.#partial.trimEnd()
    return partial === '' ? [...this.#lines] : [...this.#lines, partial].slice(-this.#limit)
  }
}
