import { createHash } from 'node:crypto'
import type { SqliteDatabase } from '@polyvac/sqlite'
import type { Language } from '../language/languages.js'
import { nextTurn } from './time-slices.js'
import { unrelatedCosine, type UnrelatedCosines } from '../language/unrelated-texts.js'
import { bytesOf, cosineOf, VectorCodes, type StoredVector } from './vector-codes.js'

/** A passage without a vector. */
export interface BarePassage {
  readonly id: number
  readonly source: string
  readonly heading: string
  readonly content: string
}

/** How near the passages of an index are to a question in meaning. */
export interface Meaning {
  /** Passages that may be the nearest, by id. */
  readonly nearest: readonly number[]
  /** Of a passage: 1 for the meaning of the question, about 0 for an unrelated one; undefined without a vector. */
  likeness (passage: number): number | undefined
}

/** The vector of the text of a passage; without it, the model has refused the text. */
export interface NewVector {
  readonly passage: number
  readonly text: string
  readonly vector?: readonly number[] | undefined
}

/** The model of the vectors. */
export interface VectorModel {
  readonly name: string
  readonly unrelated: UnrelatedCosines
}

/** Ids that are looked at in one turn. */
const WINDOW = 250
/** Passages whose vectors are compared in full, the nearest ones by their codes. */
const MAX_COMPARED = 200
/** Vectors whose mean the codes are relative to. */
const MAX_SAMPLED = 200
/** Least time in ms between two readings of the codes while vectors are added. Older ones miss the newest passages. */
const READ_AGAIN_MS = 5_000
/** The index makes checkpoints of the write-ahead log itself. */
const ADDS_PER_CHECKPOINT = 64

/**
 * The vectors of the passages of an index. A vector is stored once for each text, with 8 bits for each number: of a
 * changed file only the new passages need new ones. A search compares codes of one bit for each number, and then the
 * vectors of the nearest passages.
 */
export class Vectors {
  readonly #database: SqliteDatabase
  readonly #statements: ReturnType<typeof prepareStatements>
  #codes: { readonly codes: VectorCodes, readonly version: string, readonly readAt: number } | undefined
  #reading: Promise<VectorCodes> | undefined
  #changes = 0

  constructor (database: SqliteDatabase) {
    this.#database = database
    this.#statements = prepareStatements(database)
  }

  /** Undefined before the first vector. */
  model (): VectorModel | undefined {
    const [text] = this.#statements.model.column<string>()
    return text === undefined ? undefined : JSON.parse(text) as VectorModel
  }

  /** Deletes the vectors of the model before. */
  setModel (model: VectorModel): void {
    this.#database.transaction(() => {
      this.#database.exec('DELETE FROM embedded; DELETE FROM vector')
      this.#statements.setModel.run(JSON.stringify(model))
    })
    this.#codes = undefined
  }

  /** Number of passages with a vector. */
  count (): number {
    return this.#statements.count.column<number>()[0] ?? 0
  }

  /** The passages without a vector, in lists; the event loop turns between them. */
  async * bare (): AsyncGenerator<BarePassage[]> {
    const [last = 0] = this.#statements.lastPassage.column<number>()
    for (let after = 0; after < last; after += WINDOW) {
      const passages = this.#statements.bare.all<BarePassage & Record<string, never>>(after, after + WINDOW)
      if (passages.length > 0) yield passages
      await nextTurn()
    }
  }

  /** Gives a passage the vector of its text; returns false where the text has none. */
  reuse (passage: number, text: string): boolean {
    const isKnown = this.#statements.link.run(passage, digestOf(text)).changes > 0
    if (isKnown) this.#changes++
    return isKnown
  }

  /** Stores vectors of texts, each for a passage. */
  add (vectors: readonly NewVector[]): void {
    this.#changes++
    this.#database.transaction(() => {
      for (const { passage, text, vector } of vectors) {
        const digest = digestOf(text)
        this.#statements.insert.run(digest, vector === undefined ? new Uint8Array() : bytesOf(vector))
        this.#statements.link.run(passage, digest)
      }
    })
    if (this.#changes % ADDS_PER_CHECKPOINT === 0) this.#database.exec('PRAGMA wal_checkpoint(PASSIVE)')
  }

  /** Deletes the vectors of texts that no passage has. */
  async sweep (): Promise<void> {
    const [last = 0] = this.#statements.lastVector.column<number>()
    for (let after = 0; after < last; after += WINDOW) {
      this.#statements.sweep.run(after, after + WINDOW)
      await nextTurn()
    }
    this.#database.exec('PRAGMA wal_checkpoint(PASSIVE)')
  }

  /**
   * Undefined where the model does not know the language of the question.
   * @param vector of the question, in the model of the index
   */
  async meaningOf (question: string, vector: readonly number[], model: VectorModel): Promise<Meaning | undefined> {
    const [languages = ''] = this.#statements.languages.column<string>()
    const unrelated = unrelatedCosine(model.unrelated, question, ['en', ...languages.split(' ') as Language[]])
    if (unrelated === undefined) return undefined
    const length = Math.hypot(...vector)
    const asked = Float32Array.from(vector, number => number / length)
    const nearest = await (await this.#currentCodes()).nearest(asked, MAX_COMPARED)
    return {
      nearest,
      likeness: passage => {
        const [value] = this.#statements.valueOf.column<Uint8Array>(passage)
        if (value === undefined || value.length !== asked.length) return undefined
        return Math.max(0, (cosineOf(asked, value) - unrelated) / (1 - unrelated))
      }
    }
  }

  /** A question waits for the first reading of the codes, and not for a later one. */
  async #currentCodes (): Promise<VectorCodes> {
    const version = `${String(this.#statements.dataVersion.column<number>()[0])}.${this.#changes}`
    const isOld = this.#codes === undefined || (this.#codes.version !== version && performance.now() - this.#codes.readAt > READ_AGAIN_MS)
    if (isOld && this.#reading === undefined) {
      this.#reading = this.#readCodes(version).finally(() => { this.#reading = undefined })
      this.#reading.catch(() => undefined)
    }
    return this.#codes?.codes ?? await (this.#reading as Promise<VectorCodes>)
  }

  async #readCodes (version: string): Promise<VectorCodes> {
    const [last = 0] = this.#statements.lastEmbedded.column<number>()
    const step = Math.max(1, Math.floor(last / MAX_SAMPLED))
    const sample: Uint8Array[] = []
    for (let at = 1; at <= last && sample.length < MAX_SAMPLED; at += step) sample.push(...this.#statements.firstFrom.column<Uint8Array>(at))
    const codes = new VectorCodes(sample)
    for (let after = 0; after < last; after += WINDOW) {
      codes.add(this.#statements.values.all<StoredVector & Record<string, never>>(after, after + WINDOW))
      await nextTurn()
    }
    this.#codes = { codes, version, readAt: performance.now() }
    return codes
  }
}

function digestOf (text: string): Uint8Array {
  return createHash('sha256').update(text).digest().subarray(0, 16)
}

function prepareStatements (database: SqliteDatabase) {
  return {
    model: database.prepare("SELECT value FROM meta WHERE key = 'embedding model'"),
    setModel: database.prepare("INSERT OR REPLACE INTO meta (key, value) VALUES ('embedding model', ?)"),
    languages: database.prepare("SELECT value FROM meta WHERE key = 'languages'"),
    dataVersion: database.prepare('PRAGMA data_version'),
    count: database.prepare('SELECT count(*) FROM embedded'),
    lastPassage: database.prepare('SELECT max(id) FROM passage'),
    lastVector: database.prepare('SELECT max(id) FROM vector'),
    lastEmbedded: database.prepare('SELECT max(passage) FROM embedded'),
    bare: database.prepare(`SELECT p.id, f.source, p.heading, p.content FROM passage p JOIN file f ON f.id = p.file
      WHERE p.id > ? AND p.id <= ? AND NOT EXISTS (SELECT 1 FROM embedded e WHERE e.passage = p.id)`),
    // another process may have stored it
    insert: database.prepare('INSERT OR IGNORE INTO vector (digest, value) VALUES (?, ?)'),
    // a passage that was removed meanwhile gets none
    link: database.prepare('INSERT OR REPLACE INTO embedded (passage, vector) SELECT p.id, v.id FROM passage p, vector v WHERE p.id = ? AND v.digest = ?'),
    sweep: database.prepare('DELETE FROM vector WHERE id > ? AND id <= ? AND NOT EXISTS (SELECT 1 FROM embedded e WHERE e.vector = vector.id)'),
    valueOf: database.prepare('SELECT v.value FROM embedded e JOIN vector v ON v.id = e.vector WHERE e.passage = ? AND length(v.value) > 0'),
    firstFrom: database.prepare('SELECT v.value FROM embedded e JOIN vector v ON v.id = e.vector WHERE e.passage >= ? AND length(v.value) > 0 ORDER BY e.passage LIMIT 1'),
    values: database.prepare('SELECT e.passage, v.value FROM embedded e JOIN vector v ON v.id = e.vector WHERE e.passage > ? AND e.passage <= ? AND length(v.value) > 0')
  }
}
