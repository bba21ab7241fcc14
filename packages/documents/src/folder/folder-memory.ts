import { isCorrupt } from '@polyvac/sqlite'
import { join } from 'node:path'
import { VERSION } from '@polyvac/core/basics'
import { unlessAborted } from '@polyvac/core/plugin'
import type { Hit, Memory, MemoryDocument, MemoryQuery } from '@polyvac/core'
import { ClosedError } from '../errors.js'
import { formatOf, isBytes, mimeTypeOf, placeName } from '../formats/table.js'
import { leadsInside, readDocument, UNREADABLE } from './files.js'
import { folderSettings, type FolderOptions, type FolderSettings } from './folder-options.js'
import { FolderEmbedding } from './folder-embedding.js'
import { findExamples } from './example-questions.js'
import { refreshIndex } from './folder-refresh.js'
import { LeftOutCounts, type LeftOut } from './left-out.js'
import { watchFolder } from './folder-watch.js'
import { moveAside, openIndex } from './index-file.js'
import { extract } from '../answer/extraction.js'
import { findModel } from '../model/model-server.js'
import type { PassageIndex } from '../search/passage-index.js'
import { searchArguments, shorten } from '../search/search-arguments.js'
import type { QueryTerms, WeightedMemory } from '../search/query-terms.js'
import type { Meaning } from '../search/vectors.js'

/** Headings that are looked at for examples, and the score of a passage that answers one: that of the interpreter. */
const MAX_EXAMPLES = 40
const EXAMPLE_SCORE = 0.6
const MAX_EXAMPLE_QUESTIONS = 3

export interface IndexStats {
  readonly files: number
  readonly passages: number
  /** Passages with a vector, where a model embeds them. */
  readonly embedded?: number | undefined
  /** Why the others wait for theirs, such as a model server that cannot be reached. */
  readonly embeddingProblem?: string | undefined
  /** Duration of the last index or refresh in ms. */
  readonly indexedInMs: number
}

/**
 * Opens a folder of documents as a memory. It resolves when the index file is open; the first index runs in the
 * background (`ready`).
 * @throws DOCUMENTS_FOLDER_NOT_FOUND where the folder does not exist or is a file; DOCUMENTS_INVALID_OPTION;
 * DOCUMENTS_INDEX_FILE where `indexFile` is set and cannot be used; SQLITE_DRIVER_MISSING
 * @example
 * const memory = await openFolder({ path: 'docs' })
 * const hits = await memory.search({ query: 'how do I cancel a task?' })
 */
export async function openFolder (options: FolderOptions): Promise<FolderMemory> {
  const settings = await folderSettings(options)
  options.signal?.throwIfAborted()
  return new FolderMemory(settings, await openIndex(settings), options)
}

/** An indexed folder of documents, opened by `openFolder`. */
export class FolderMemory implements Memory, WeightedMemory {
  /** Settles with the first index. A search waits for it. */
  readonly ready: Promise<IndexStats>
  /** Passages for an answer. */
  readonly k: number
  readonly #settings: FolderSettings
  readonly #onProgress: FolderOptions['onProgress']
  // @keyed none: the values are functions of the application
  readonly #listeners = new Set<(stats: IndexStats) => void>()
  readonly #closing = new AbortController()
  readonly #embedding: FolderEmbedding | undefined
  #index: PassageIndex
  #refreshing: Promise<IndexStats> | undefined
  #again: Promise<IndexStats> | undefined
  #replacing: Promise<void> | undefined
  #fingerprint: string | undefined
  #example: { readonly fingerprint: string | undefined, readonly questions: Promise<readonly string[]> } | undefined
  #unread = new LeftOutCounts()
  #leftOut = new LeftOutCounts().with(new LeftOutCounts())
  #indexedInMs = 0
  #isReady = false
  #stopWatch: (() => void) | undefined
  #closed: Promise<void> | undefined

  /** @internal use `openFolder` */
  constructor (settings: FolderSettings, index: PassageIndex, { onProgress, signal }: FolderOptions) {
    this.#settings = settings
    this.#index = index
    this.#onProgress = onProgress
    this.k = settings.k
    this.#embedding = this.#createEmbedding()
    this.ready = this.#first(signal)
    // a failure that no caller awaits must not be an unhandled rejection
    this.ready.catch(() => undefined)
  }

  /** Waits for the first index, then searches. @throws DOCUMENTS_INVALID_SEARCH, or the signal's reason */
  async search (query: MemoryQuery & { readonly context?: string | undefined }): Promise<Hit[]> {
    searchArguments(query)
    this.#assertOpen()
    await this.#whenReady(query.signal)
    const found = await this.#repairing(async () => this.#index.search({ ...query, meaning: await this.#meaningOf(query) }))
    return found.map(({ content, score, likeness, source, heading, first, last }) => {
      const lines = first === last ? `${first}` : `${first}-${last}`
      const place = { source, heading: heading === '' ? source : heading, [placeName(source)]: lines }
      return { content, score, metadata: { ...place, ...likeness !== undefined && { likeness } } }
    })
  }

  async #meaningOf ({ query, context, signal, owner, onDegraded }: MemoryQuery & { readonly context?: string | undefined }): Promise<Meaning | undefined> {
    if (this.#embedding === undefined || query.trim() === '') return undefined
    const text = shorten(context === undefined ? query : `${context}\n${query}`)
    // AbortSignal.any() leaves about 70 bytes at a signal that lives on, such as that of closing (Node.js 20)
    const stop = new AbortController()
    const closing = this.#closing.signal
    const abort = (): void => { stop.abort(closing.aborted ? closing.reason : signal?.reason) }
    for (const one of [closing, signal]) one?.addEventListener('abort', abort)
    try {
      if (closing.aborted || signal?.aborted === true) abort()
      const { meaning, degraded } = await this.#embedding.meaningOf(text, this.#index.count(), stop.signal, owner)
      if (degraded !== undefined) onDegraded?.(degraded)
      closing.throwIfAborted()
      return meaning
    } catch (error) {
      // a closed index fails with an error of the driver
      closing.throwIfAborted()
      throw error
    } finally {
      for (const one of [closing, signal]) one?.removeEventListener('abort', abort)
    }
  }

  async terms (query: string, context?: string, signal?: AbortSignal): Promise<QueryTerms> {
    await this.#whenReady(signal)
    return await this.#repairing(() => this.#index.terms(query, context))
  }

  /** Every indexed file, by name; `uri` is its path in the folder. */
  async list (): Promise<MemoryDocument[]> {
    await this.#whenReady()
    const sources = await this.#repairing(() => this.#index.sources())
    return sources.map(source => ({ uri: source, name: source, mimeType: mimeTypeOf(source) }))
  }

  /** The current text of an indexed file. It reads only files of `list`, so that no path leads out of the folder. */
  async read (uri: string): Promise<string | undefined> {
    await this.#whenReady()
    if (!await this.#repairing(() => this.#index.has(uri))) return undefined
    const path = join(this.#settings.root, uri)
    // a link may have replaced the file since it was indexed
    if (!await leadsInside(path, this.#settings.root)) return undefined
    if (isBytes(formatOf(uri))) return await this.#repairing(() => this.#index.textOf(uri))
    const text = await readDocument({ source: uri, path }, this.#settings)
    return text === UNREADABLE ? undefined : text as string | undefined
  }

  /**
   * At most three questions that the folder answers, for examples, made of its first headings, from as many files as
   * there are. Empty where nothing is indexed yet.
   */
  async exampleQuestions (): Promise<readonly string[]> {
    if (!this.#isReady || this.#closed !== undefined) return []
    if (this.#example?.fingerprint !== this.#fingerprint) this.#example = { fingerprint: this.#fingerprint, questions: this.#findExamples() }
    return await this.#example!.questions
  }

  /**
   * Searches for some hundred ms, therefore once for the same files: the index keeps what was found. The first kept
   * question is asked again, which loads what the first question of a caller would wait for.
   */
  async #findExamples (): Promise<readonly string[]> {
    const index = this.#index
    const of = this.#fingerprint === undefined ? undefined : `${VERSION} ${this.k} ${this.#fingerprint}`
    const kept = JSON.parse(index.kept('examples') ?? '{}') as { of?: string, questions: readonly string[] }
    if (of !== undefined && kept.of === of) {
      const [first] = kept.questions
      if (first === undefined || this.#passageFor(first) !== undefined) return kept.questions
    }
    const headings = index.headings(MAX_EXAMPLES).map(heading => heading.split(' > ').at(-1)!)
    const questions = await findExamples(headings, question => this.#passageFor(question), MAX_EXAMPLE_QUESTIONS)
    try {
      if (of !== undefined) index.keep('examples', JSON.stringify({ of, questions }))
    } catch {
      // they are found again at the next start
    }
    return questions
  }

  /** The passage that answers a question by words only: an example must not wait for a model. */
  #passageFor (question: string): Hit | undefined {
    const found = this.#index.search({ query: question, limit: this.k, threshold: EXAMPLE_SCORE })
    const hits = found.map(({ content, score, source, heading }) => ({ content, score, metadata: { source, heading } }))
    return extract(question, hits, this.#index.terms(question), 1)[0]?.hit
  }

  /** Resolves with the first attempt to embed the passages, also where it fails; without a model with `ready`. */
  async embedded (): Promise<void> {
    await this.ready
    await this.#embedding?.attempted
  }

  stats (): IndexStats & { readonly ready: boolean } {
    this.#assertOpen()
    return { ...this.#counts(), indexedInMs: this.#indexedInMs, ready: this.#isReady }
  }

  /** The files that the last listing and reading left out, by reason, without their names. */
  leftOut (): LeftOut {
    return this.#leftOut
  }

  /** Updates the index from the files. Calls during a refresh share the next one. */
  refresh (): Promise<IndexStats> {
    if (this.#closed !== undefined) return Promise.reject(new ClosedError(this.#settings.root))
    if (this.#refreshing === undefined) {
      this.#refreshing = this.#refresh(this.#closing.signal).finally(() => { this.#refreshing = undefined })
      return this.#refreshing
    }
    this.#again ??= this.#refreshing.catch(() => undefined).then(async () => {
      this.#again = undefined
      return await this.refresh()
    })
    return this.#again
  }

  /** Calls `listener` after every refresh that changed the index. Returns the function that stops it. */
  onChange (listener: (stats: IndexStats) => void): () => void {
    this.#listeners.add(listener)
    return () => { this.#listeners.delete(listener) }
  }

  /** Stops watching and indexing, and closes the file. May be called twice. */
  close (): Promise<void> {
    this.#closed ??= this.#close()
    return this.#closed
  }

  async #close (): Promise<void> {
    this.#stopWatch?.()
    this.#closing.abort(new ClosedError(this.#settings.root))
    this.#listeners.clear()
    await this.ready.catch(() => undefined)
    await this.#refreshing?.catch(() => undefined)
    await this.#embedding?.close()
    await this.#index.close()
  }

  async #first (signal: AbortSignal | undefined): Promise<IndexStats> {
    const both = signal === undefined ? this.#closing.signal : AbortSignal.any([signal, this.#closing.signal])
    this.#refreshing = this.#refresh(both).finally(() => { this.#refreshing = undefined })
    try {
      const stats = await this.#refreshing
      const { root, extensions, log } = this.#settings
      log.info({ folder: root, ...stats }, 'documents indexed')
      const { files: leftOut, text } = this.#leftOut
      if (leftOut > 0) log.warn({ folder: root, left_out: leftOut }, text)
      // otherwise every question is answered with "the documents do not answer this"
      if (stats.files === 0) {
        const problem = 'no documents found: no file of the folder has one of the extensions and contains text'
        log.warn({ folder: root, extensions: [...extensions] }, problem)
      }
      return stats
    } catch (error) {
      if (!both.aborted) this.#settings.log.error({ err: error, folder: this.#settings.root }, 'the documents cannot be indexed')
      throw error
    } finally {
      if (this.#settings.watch && !this.#closing.signal.aborted) {
        this.#stopWatch = watchFolder(this.#settings, () => this.refresh())
      }
    }
  }

  async #refresh (signal: AbortSignal): Promise<IndexStats> {
    const index = this.#index
    try {
      return await this.#bringUpToDate(signal)
    } catch (error) {
      if (!isCorrupt(error)) throw error
      await this.#replaceIndex(index, error as Error)
      return await this.#bringUpToDate(signal)
    }
  }

  async #bringUpToDate (signal: AbortSignal): Promise<IndexStats> {
    const started = performance.now()
    const { changed, fingerprint, unlisted, unread = this.#unread } = await refreshIndex(this.#index, this.#settings, signal, this.#fingerprint,
      progress => { this.#onProgress?.(progress) })
    this.#fingerprint = fingerprint
    this.#unread = unread
    this.#leftOut = unlisted.with(unread)
    const stats = { ...this.#counts(), indexedInMs: Math.round(performance.now() - started) }
    this.#indexedInMs = stats.indexedInMs
    if (changed > 0 || !this.#isReady) this.#embedding?.start()
    this.#isReady = true
    if (changed > 0) for (const listener of this.#listeners) listener(stats)
    return stats
  }

  #counts (): Pick<IndexStats, 'files' | 'passages' | 'embedded' | 'embeddingProblem'> {
    const counts = this.#index.stats()
    if (this.#embedding === undefined) return counts
    const { waitsFor } = this.#embedding
    return { ...counts, embedded: this.#index.vectors.count(), ...waitsFor !== undefined && { embeddingProblem: waitsFor } }
  }

  #createEmbedding (): FolderEmbedding | undefined {
    const { embed, root, log } = this.#settings
    if (embed === undefined) return undefined
    const { model, openai: { base_url, api_key } = {}, ownPort } = embed
    // the model of the entry of a VAC writes texts
    const openai = { ...base_url !== undefined && { base_url }, ...api_key !== undefined && { api_key } }
    return new FolderEmbedding({
      vectors: () => this.#index.vectors,
      findServer: async signal => await findModel({ model, openai }, { ownPort, signal, kind: 'embedding' }),
      isNamed: model !== 'auto',
      folder: root,
      log,
      onProgress: embedded => {
        const { files, passages } = this.#index.stats()
        this.#onProgress?.({ files, done: files, passages, embedded })
      }
    })
  }

  /** Runs a read of the index; a damaged file is rebuilt from the documents, and the read is repeated. */
  async #repairing<T> (read: () => T | Promise<T>): Promise<T> {
    const index = this.#index
    try {
      return await read()
    } catch (error) {
      if (!isCorrupt(error)) throw error
      await this.#replaceIndex(index, error as Error)
      await this.refresh()
      return read()
    }
  }

  /** Concurrent searches that detect the damage replace the index once. */
  async #replaceIndex (damaged: PassageIndex, reason: Error): Promise<void> {
    if (this.#index === damaged) this.#replacing ??= this.#replace(damaged, reason).finally(() => { this.#replacing = undefined })
    await this.#replacing
  }

  async #replace (damaged: PassageIndex, reason: Error): Promise<void> {
    const { indexFile, log } = this.#settings
    log.warn({ indexFile, movedTo: `${indexFile}.replaced`, reason: reason.message }, 'the index file is damaged and is rebuilt')
    await damaged.close()
    if (indexFile !== ':memory:') await moveAside(indexFile)
    this.#index = await openIndex(this.#settings)
    this.#fingerprint = undefined
  }

  /** Once a later refresh has succeeded, a failed first index does not matter. */
  async #whenReady (signal?: AbortSignal): Promise<void> {
    signal?.throwIfAborted()
    if (!this.#isReady) await (signal === undefined ? this.ready : unlessAborted(this.ready, signal))
    this.#assertOpen()
  }

  #assertOpen (): void {
    if (this.#closed !== undefined) throw new ClosedError(this.#settings.root)
  }
}
