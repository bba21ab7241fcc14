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
  const ids = new Map(file.toString('latin1', HEADER, HEADER + bytes).split('\n').map((word, id) => [word, id]))
  return {
    dimensions,
    idOf: word => ids.get(word),
    values: new Int8Array(file.buffer, file.byteOffset + HEADER + bytes, count * dimensions),
    scale: file.readFloatLE(12)
  }
}
