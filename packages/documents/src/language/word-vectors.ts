import { existsSync, readFileSync } from 'node:fs'

/** Vectors of the usual English words, of length 1: the nearer two words are in meaning, the higher their product. */
export interface WordVectors {
  readonly dimensions: number
  /** The number of a word in lower case, the commonest first; undefined for a word without a vector. */
  idOf (word: string): number | undefined
  /** The numbers of all vectors, one after another, each `scale` times as large. */
  readonly values: Int8Array
  readonly scale: number
}

const FILE = '../../data/word-vectors.bin'
const HEADER = 16

let vectors: WordVectors | false | undefined

/** Reads the vectors when they are first needed; undefined in a bundle, which does not have the file. */
export function wordVectors (): WordVectors | undefined {
  vectors ??= readVectors() ?? false
  return vectors === false ? undefined : vectors
}

/** The file: number of words, dimensions, bytes of the words, scale; the words, one in a line; the vectors. */
function readVectors (): WordVectors | undefined {
  // a bundle as CommonJS has no address of its modules
  const url = URL.canParse(FILE, import.meta.url) ? new URL(FILE, import.meta.url) : undefined
  if (url === undefined || !existsSync(url)) return undefined
  const file = readFileSync(url)
  const [count, dimensions, bytes] = [0, 4, 8].map(at => file.readUInt32LE(at)) as [number, number, number]
  return {
    dimensions,
    idOf: idsOf(file.subarray(HEADER, HEADER + bytes), count),
    values: new Int8Array(file.buffer, file.byteOffset + HEADER + bytes, count * dimensions),
    scale: file.readFloatLE(12)
  }
}

const NEWLINE = 10
/** Of FNV-1a, which spreads short words well. */
const HASH = { start: 0x811c9dc5, factor: 0x01000193 }

/**
 * Finds the numbers of words, one in a line, in a hash table over their bytes: it is there in less than half the
 * time that a Map of as many strings takes, and the first question of a process waits for it.
 */
export function idsOf (words: Uint8Array, count: number): WordVectors['idOf'] {
  const mask = 2 ** Math.ceil(Math.log2(2 * count + 1)) - 1
  // each slot has the number of a word plus 1
  const slots = new Uint32Array(mask + 1)
  const starts = new Uint32Array(count + 1)
  let id = 0
  let hash = HASH.start
  for (let at = 0; at <= words.length && id < count; at++) {
    const byte = words[at] ?? NEWLINE
    if (byte !== NEWLINE) {
      hash = Math.imul(hash ^ byte, HASH.factor)
      continue
    }
    let slot = hash & mask
    while (slots[slot] !== 0) slot = (slot + 1) & mask
    slots[slot] = ++id
    starts[id] = at + 1
    hash = HASH.start
  }
  return word => {
    let hash = HASH.start
    for (let at = 0; at < word.length; at++) hash = Math.imul(hash ^ word.charCodeAt(at), HASH.factor)
    for (let slot = hash & mask; slots[slot] !== 0; slot = (slot + 1) & mask) {
      const id = slots[slot] as number - 1
      const start = starts[id] as number
      if (starts[id + 1] as number - 1 - start !== word.length) continue
      let at = 0
      while (at < word.length && words[start + at] === word.charCodeAt(at)) at++
      if (at === word.length) return id
    }
    return undefined
  }
}
