import type { IndexingProgress } from '@polyvac/host/command'
import type { CommandIo } from './command-io.js'

const WIDTH = 30
/** Shortest work with a bar, in ms. */
const PATIENCE_MS = 400
/** Shortest time between two redraws, in ms. */
const REDRAW_MS = 80

/** A progress bar for the indexing of folders. It draws only on a terminal. */
export class ProgressBar {
  readonly #start = Date.now()
  #drawnAt = 0
  #drawn = false

  constructor (readonly out: CommandIo['stderr']) {}

  show ({ vac, files, done, passages, embedded }: IndexingProgress): void {
    const now = Date.now()
    const [part, whole, text] = embedded === undefined
      ? [done, files, `${done} of ${files} files, ${passages} passages`]
      : [embedded, passages, `${embedded} of ${passages} passages embedded`]
    if (!this.out.isTTY || now - this.#start < PATIENCE_MS || (now - this.#drawnAt < REDRAW_MS && part < whole)) return
    this.#drawnAt = now
    this.#drawn = true
    const share = whole === 0 ? 1 : part / whole
    const bar = '█'.repeat(Math.round(share * WIDTH)).padEnd(WIDTH, '░')
    this.out.write(`\r  ${vac}: ${bar} ${text}\x1b[K`)
    if (part >= whole) this.clear()
  }

  clear (): void {
    if (this.#drawn) this.out.write('\r\x1b[K')
    this.#drawn = false
  }
}
