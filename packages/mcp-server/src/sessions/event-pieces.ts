import { Bytes, isLargeText, textPieces } from '@polyvac/core/plugin'
import type { Json } from '../protocol/rpc.js'

/** Begin each piece of a large event: others follow, or none. A whole event is an object, and begins with a brace. */
const MORE = '+'
const LAST = '='

/** An event as entries of a stream, made one by one: a large event has several. */
export function cutEvent (json: Json): ReadonlyArray<() => string> {
  const pieces = json instanceof Bytes ? json.pieces : isLargeText(json) ? [...textPieces(json)] : [json]
  if (pieces.length === 1) return [() => String(json)]
  return pieces.map((piece, i) => () => `${i < pieces.length - 1 ? MORE : LAST}${String(piece)}`)
}

/** Joins the entries of a stream to events. */
export class EventPieces {
  // @keyed none: a list in order, of one event; the text of an entry and of a stream of the link are bounded
  #texts: string[] = []

  /** Characters of the event whose last piece has not come. */
  get chars (): number { return this.#texts.reduce((sum, { length }) => sum + length, 0) }

  /** Adds an entry. Returns the pieces of the event that it completes. */
  add (entry: string): readonly string[] | undefined {
    const mark = entry[0]
    if (mark !== MORE && mark !== LAST) return [entry]
    this.#texts.push(entry.slice(1))
    return mark === LAST ? this.#texts.splice(0) : undefined
  }
}
