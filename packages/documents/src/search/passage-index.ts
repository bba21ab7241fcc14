import { openDatabase, type SqliteDatabase } from '@polyvac/sqlite'
import { migrateIndex, type IndexKey } from './index-tables.js'
import { languageOf, type Language } from '../language/languages.js'
import { rankPassages, type TermWeights, weighTerms } from './ranking.js'
import type { QueryTerms } from './query-terms.js'
import { searchArguments, shorten } from './search-arguments.js'
import { inSlices } from './time-slices.js'
import { indexText } from '../language/terms.js'
import { Vectors, type Meaning } from './vectors.js'
import type { Passage } from '../text/passages.js'
import type { MemoryQuery } from '@polyvac/core'

/** A document for the index. */
export interface IndexedDocument {
  /** Its name, unique in the index; the words of the name count as part of every passage. */
  readonly source: string
  /** A function is called when the document is written. */
  readonly passages: Iterable<Passage> | (() => Iterable<Passage>)
  /** Changes with the document; the index stores it for `stamps()`. */
  readonly stamp?: string | undefined
}

/** A search hit. */
export interface FoundPassage extends Passage {
  readonly source: string
  /** The probability that the passage answers the query, 0 to 1. */
  readonly score: number
  /** How near its meaning is to that of the query, 0 to 1; absent where vectors were not compared. */
  readonly likeness?: number | undefined
}

/**
 * After so many slices a separate slice makes a checkpoint of the write-ahead log: SQLite would make it within a
 * commit, which then takes twice as long.
 */
const SLICES_PER_CHECKPOINT = 8

/**
 * Passages in SQLite FTS5, in any language, each with the probability that it answers a query. All state is in the
 * database, so that several processes can share one file. Reads and writes are synchronous; writes are split into
 * slices of about 10 ms.
 * @example
 * const index = await PassageIndex.open(':memory:')
 * await index.upsert([{ source: 'faq.md', passages: splitDocument('faq.md', text) }])
 * const [best] = index.search({ query: 'cancel a task' })
 */
export class PassageIndex {
  /** @internal the vectors of the passages, where a model embeds them */
  readonly vectors: Vectors
  readonly #database: SqliteDatabase
  readonly #statements: ReturnType<typeof prepareStatements>
  readonly #weights: TermWeights
  readonly #rank: ReturnType<typeof rankPassages>
  #writing: Promise<unknown> = Promise.resolve()
  #closed = false
  #slices = 0

  private constructor (database: SqliteDatabase) {
    this.#database = database
    this.#statements = prepareStatements(database)
    this.#weights = weighTerms(database)
    this.#rank = rankPassages(database, this.#weights)
    this.vectors = new Vectors(database)
  }

  /**
   * Opens an index file, or `:memory:`. An older layout, or one with another `key`, is emptied first. Fails with the
   * driver's error where the file is not a database, and with IndexNotOursError where it belongs to another program.
   */
  static async open (path: string, key: IndexKey = ''): Promise<PassageIndex> {
    // after a lost commit one file is read again, so commits need not wait for the disk; a larger cache is not
    // measurably faster, since the system caches the file
    const database = await openDatabase(path, { synchronous: 'normal', cacheKib: 2_048 })
    try {
      migrateIndex(database, key)
      database.exec('PRAGMA wal_autocheckpoint = 0')
      return new PassageIndex(database)
    } catch (error) {
      database.close()
      throw error
    }
  }

  /** Adds documents, and replaces those of the same source. Resolves to the number of passages written. */
  async upsert (documents: Iterable<IndexedDocument>, options: { signal?: AbortSignal | undefined } = {}): Promise<number> {
    const tally = { passages: 0 }
    await this.#write(this.#upsertSteps(documents, tally), options.signal)
    return tally.passages
  }

  async remove (sources: Iterable<string>, options: { signal?: AbortSignal | undefined } = {}): Promise<void> {
    await this.#write(this.#removeSteps(sources), options.signal)
  }

  /**
   * Best passages first.
   * @param query `context` is the turn before, whose words weigh half; `meaning` compares vectors as well
   * @throws DOCUMENTS_INVALID_SEARCH for an argument out of range
   */
  search (query: Omit<MemoryQuery, 'signal'> & { readonly context?: string | undefined, readonly meaning?: Meaning | undefined }): FoundPassage[] {
    return this.#rank({ ...searchArguments(query), context: query.context, meaning: query.meaning })
  }

  /** The terms of a query with their weights, to weigh parts of a passage. */
  terms (query: string, context?: string): QueryTerms {
    return this.#weights.of(shorten(query), context)
  }

  stats (): { files: number, passages: number } {
    return { files: this.#statements.countFiles.column<number>()[0] ?? 0, passages: this.count() }
  }

  /** Number of passages; unlike `stats` it does not look at each file. */
  count (): number {
    return this.#weights.count()
  }

  /** Source and stamp of every document whose writing was finished. */
  stamps (): Map<string, string> {
    const rows = this.#statements.files.all<{ source: string, stamp: string }>()
    return new Map(rows.map(({ source, stamp }) => [source, stamp]))
  }

  /** The documents with text, by name. */
  sources (): string[] {
    return this.#statements.sources.column<string>()
  }

  /** The first headings, questions before others, each with those above it, separated by ` > `. */
  headings (limit: number): string[] {
    return this.#statements.headings.column<string>(limit)
  }

  /** The text that was kept under a key of the code. */
  kept (key: string): string | undefined {
    return this.#statements.kept.column<string>(key)[0]
  }

  /** Keeps a text in the index until it is emptied. */
  keep (key: string, text: string): void {
    this.#statements.keep.run(key, text)
  }

  /** The passages of a document under their headings, as one text. */
  textOf (source: string): string {
    const parts: string[] = []
    let above: readonly string[] = []
    for (const { heading, content } of this.#statements.textOf.all<Pick<Passage, 'heading' | 'content'>>(source)) {
      const path = heading.split(' > ')
      const differs = path.findIndex((part, at) => part !== above[at])
      if (differs !== -1) parts.push(...path.slice(differs).filter(part => part !== '' && part !== content))
      parts.push(content)
      above = path
    }
    return parts.join('\n\n')
  }

  has (source: string): boolean {
    return this.#statements.passagesOf.column(source).length > 0
  }

  /** Sets the stamp of a document whose text is unchanged. */
  restamp (source: string, stamp: string): void {
    this.#statements.stampFile.run(stamp, source)
  }

  /** Waits for the current slice of a write. May be called twice. */
  async close (): Promise<void> {
    this.#closed = true
    await this.#writing.catch(() => undefined)
    this.#database.close()
  }

  async #write (steps: Generator<void>, signal: AbortSignal | undefined): Promise<void> {
    const slice = (work: () => boolean): boolean => {
      if (this.#closed) return true
      if (++this.#slices % SLICES_PER_CHECKPOINT !== 0) return this.#database.transaction(work)
      this.#database.exec('PRAGMA wal_checkpoint(PASSIVE)')
      return false
    }
    const mine = this.#writing.catch(() => undefined).then(async () => {
      await inSlices(steps, slice, signal)
    })
    this.#writing = mine
    try { await mine } finally { this.#weights.forget() }
  }

  * #upsertSteps (documents: Iterable<IndexedDocument>, tally: { passages: number }): Generator<void> {
    const { stampOfFile, deleteFile, insertFile, isFile, insertPassage, insertTerms, finishFile } = this.#statements
    for (const { source, passages, stamp = '' } of documents) {
      // another process may have written it already
      if (stamp !== '' && stampOfFile.get<{ stamp: string }>(source)?.stamp === stamp) continue
      yield * this.#removeSteps([source])
      // the stamp is set last: a document whose write was interrupted by a crash is written again at the next start
      deleteFile.run(source)
      const file = insertFile.run(source).lastInsertRowid
      const name = source.replace(/\.[^./]*$/, '')
      let heading = ''
      let head = ''
      let language: Language | undefined
      let before: Language | undefined
      for (const passage of typeof passages === 'function' ? passages() : passages) {
        // ids are never reused: without its row, another process writes the document
        if (isFile.get(file) === undefined) break
        const { lastInsertRowid: id } = insertPassage.run(file, passage.heading, passage.first, passage.last, passage.content)
        // a passage without stop words, such as a table, has the language of the one before
        language = languageOf(passage.content) ?? language
        if (language !== undefined && language !== before) this.#addLanguage(language)
        if (head === '' || passage.heading !== heading || language !== before) {
          heading = passage.heading
          head = `${indexText(heading, language)} ${indexText(name, language)}`
        }
        before = language
        insertTerms.run(id, head, indexText(passage.content, language))
        tally.passages++
        yield
      }
      finishFile.run(stamp, file)
      yield
    }
  }

  * #removeSteps (sources: Iterable<string>): Generator<void> {
    const { passagesOf, deleteTerms, deletePassage, deleteFile } = this.#statements
    for (const source of sources) {
      // another process may write the document between two slices, until its row is deleted
      for (let ids = passagesOf.column<number>(source); ids.length > 0; ids = passagesOf.column<number>(source)) {
        for (const id of ids) {
          deleteTerms.run(id)
          deletePassage.run(id)
          yield
        }
      }
      deleteFile.run(source)
    }
  }

  /** The languages of the passages, so that a query is stemmed in each; a language stays until the index is emptied. */
  #addLanguage (language: Language): void {
    const known = (this.kept('languages') ?? '').split(' ').filter(one => one !== '')
    if (!known.includes(language)) this.keep('languages', [...known, language].join(' '))
  }
}

const HAS_TEXT = 'EXISTS (SELECT 1 FROM passage WHERE passage.file = file.id)'

function prepareStatements (database: SqliteDatabase) {
  return {
    countFiles: database.prepare(`SELECT count(*) FROM file WHERE ${HAS_TEXT}`),
    sources: database.prepare(`SELECT source FROM file WHERE ${HAS_TEXT} ORDER BY source`),
    files: database.prepare('SELECT source, stamp FROM file'),
    insertFile: database.prepare("INSERT INTO file (source, stamp) VALUES (?, '')"),
    stampOfFile: database.prepare('SELECT stamp FROM file WHERE source = ?'),
    isFile: database.prepare('SELECT 1 FROM file WHERE id = ?'),
    finishFile: database.prepare('UPDATE file SET stamp = ? WHERE id = ?'),
    stampFile: database.prepare('UPDATE file SET stamp = ? WHERE source = ?'),
    deleteFile: database.prepare('DELETE FROM file WHERE source = ?'),
    passagesOf: database.prepare('SELECT p.id FROM passage p JOIN file f ON f.id = p.file WHERE f.source = ?'),
    textOf: database.prepare('SELECT p.heading, p.content FROM passage p JOIN file f ON f.id = p.file WHERE f.source = ? ORDER BY p.id'),
    headings: database.prepare("SELECT heading FROM passage WHERE heading <> '' GROUP BY heading ORDER BY substr(heading, -1) NOT IN ('?', '？', '؟'), min(id) LIMIT ?"),
    insertPassage: database.prepare('INSERT INTO passage (file, heading, first, last, content) VALUES (?, ?, ?, ?, ?)'),
    deletePassage: database.prepare('DELETE FROM passage WHERE id = ?'),
    insertTerms: database.prepare('INSERT INTO term (rowid, head, body) VALUES (?, ?, ?)'),
    deleteTerms: database.prepare('DELETE FROM term WHERE rowid = ?'),
    kept: database.prepare('SELECT value FROM meta WHERE key = ?'),
    keep: database.prepare('INSERT OR REPLACE INTO meta (key, value) VALUES (?, ?)')
  }
}
