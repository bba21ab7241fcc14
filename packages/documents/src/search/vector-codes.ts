import { nextTurn } from './time-slices.js'

/** One bit for each number of a vector, by passage. */
interface Chunk {
  readonly ids: Uint32Array
  /** The codes one after another, each of `words` words. */
  readonly codes: Uint32Array
}

/** A passage and its vector, as bytes with a sign. */
export interface StoredVector {
  readonly passage: number
  readonly value: Uint8Array
}

/** Codes that are compared in one turn. */
const CODES_PER_TURN = 32_768

/**
 * The vectors of an index in so little memory that all of them are compared: 50,000 of 768 numbers need 5 MB and 8 ms.
 * A bit is set where the number is above its mean over the vectors, since many models have numbers of one sign.
 */
export class VectorCodes {
  readonly #mean: Float32Array
  // @keyed none: a list in order, of the vectors of an index
  readonly #chunks: Chunk[] = []
  readonly #words: number
  #count = 0

  /** @param sample some of the vectors; those of another length than the first one are left out of the codes */
  constructor (sample: readonly Uint8Array[]) {
    const length = sample[0]?.length ?? 0
    this.#words = Math.ceil(length / 32)
    this.#mean = new Float32Array(length)
    const same = sample.filter(value => value.length === length)
    for (const value of same) for (const [at, number] of unitOf(value).entries()) this.#mean[at] = (this.#mean[at] as number) + number / same.length
  }

  add (vectors: readonly StoredVector[]): void {
    const same = vectors.filter(({ value }) => value.length === this.#mean.length)
    const codes = new Uint32Array(same.length * this.#words)
    for (const [row, { value }] of same.entries()) {
      const bytes = signed(value)
      this.#encode(bytes, 1 / lengthOf(bytes), codes, row * this.#words)
    }
    this.#chunks.push({ ids: Uint32Array.from(same, ({ passage }) => passage), codes })
    this.#count += same.length
  }

  /** The passages with the most bits of the question, at least `most` of them where there are so many. */
  async nearest (question: Float32Array, most: number): Promise<number[]> {
    if (question.length !== this.#mean.length) return []
    if (this.#count <= most) return this.#chunks.flatMap(({ ids }) => [...ids])
    const asked = new Uint32Array(this.#words)
    this.#encode(question, 1, asked, 0)
    const distances = new Uint16Array(this.#count)
    const histogram = new Uint32Array(this.#words * 32 + 1)
    let row = 0
    for (const { ids, codes } of this.#chunks) {
      for (let at = 0; at < codes.length; row++) {
        let distance = 0
        for (let word = 0; word < this.#words; word++) distance += bitsOf((codes[at++] as number) ^ (asked[word] as number))
        distances[row] = distance
        histogram[distance] = (histogram[distance] as number) + 1
      }
      if (row % CODES_PER_TURN < ids.length) await nextTurn()
    }
    let limit = 0
    for (let found = 0; found < most; limit++) found += histogram[limit] as number
    const found: number[] = []
    row = 0
    for (const { ids } of this.#chunks) for (const id of ids) if ((distances[row++] as number) < limit) found.push(id)
    return found
  }

  #encode (vector: Float32Array | Int8Array, scale: number, codes: Uint32Array, offset: number): void {
    // for each passage: iterators take ten times as long
    for (let at = 0; at < vector.length; at++) {
      if ((vector[at] as number) * scale > (this.#mean[at] as number)) codes[offset + (at >> 5)] = (codes[offset + (at >> 5)] as number) | 1 << (at & 31)
    }
  }
}

/** A vector as bytes: each number as a share of the largest one, in 127ths. */
export function bytesOf (vector: readonly number[]): Uint8Array {
  const largest = vector.reduce((most, number) => Math.max(most, Math.abs(number)), 0)
  const bytes = Int8Array.from(vector, number => Math.round(127 * number / largest))
  return new Uint8Array(bytes.buffer)
}

/** A vector of length 1, of the bytes that `bytesOf` makes. */
export function unitOf (value: Uint8Array): Float32Array {
  const bytes = signed(value)
  const scale = 1 / lengthOf(bytes)
  return Float32Array.from(bytes, number => number * scale)
}

/** The cosine of two vectors, the first one of length 1. */
export function cosineOf (unit: Float32Array, value: Uint8Array): number {
  const bytes = signed(value)
  let product = 0
  for (let at = 0; at < bytes.length; at++) product += (bytes[at] as number) * (unit[at] as number)
  return product / lengthOf(bytes)
}

function signed (value: Uint8Array): Int8Array {
  return new Int8Array(value.buffer, value.byteOffset, value.length)
}

function lengthOf (bytes: Int8Array): number {
  let square = 0
  for (let at = 0; at < bytes.length; at++) square += (bytes[at] as number) ** 2
  return Math.sqrt(square)
}

/** The number of bits of a word that are set. */
function bitsOf (word: number): number {
  let bits = word - ((word >>> 1) & 0x55555555)
  bits = (bits & 0x33333333) + ((bits >>> 2) & 0x33333333)
  return Math.imul((bits + (bits >>> 4)) & 0x0f0f0f0f, 0x01010101) >>> 24
}
