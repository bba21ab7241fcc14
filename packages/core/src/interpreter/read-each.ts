import { InterpreterRun, type Take } from './interpreter-run.js'
import type { Chunk } from '../vac/vac.js'

/**
 * Reads items until `take` returns false. An item of an interpreter costs no promise here: those of a loop are a third
 * of the time of a stream.
 */
export function readEach<T> (items: AsyncIterable<T>, take: Take<T>): Promise<void> {
  return items instanceof InterpreterRun ? items.each(take as Take<Chunk | T>) : readInLoop(items, take)
}

async function readInLoop<T> (items: AsyncIterable<T>, take: Take<T>): Promise<void> {
  for await (const item of items) {
    const taken = take(item)
    if (taken !== true && !await taken) return
  }
}
