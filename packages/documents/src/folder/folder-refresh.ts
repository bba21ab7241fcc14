import { createHash } from 'node:crypto'
import { DocumentSplitter } from './document-splitter.js'
import { findFurniture, withoutFurniture } from './furniture.js'
import { listFiles, readDocument, UNREADABLE, type FoundFile } from './files.js'
import type { FolderSettings, IndexProgress } from './folder-options.js'
import { LeftOutCounts, reasonOf, type Reason } from './left-out.js'
import type { IndexedDocument, PassageIndex } from '../search/passage-index.js'

/** Documents written together, in characters. */
const BATCH_CHARACTERS = 128 * 1024
/** Files read ahead of the one being written, so that reading and indexing overlap. */
const READ_AHEAD = 8
/** Ends the stamp of a file that took too long to split, perhaps since the machine was busy. */
const LATE = 'late'
/** Before the reason in the stamp of a file that is left out, so that the next start knows it. */
const LEFT_OUT = ' left out: '

export interface Refresh {
  /** Documents written or removed. */
  readonly changed: number
  /** Equal for folders whose files have equal names, sizes and times; undefined where a file could not be read. */
  readonly fingerprint: string | undefined
  /** What the listing left out. */
  readonly unlisted: LeftOutCounts
  /** What could not be read; undefined where nothing has changed. */
  readonly unread: LeftOutCounts | undefined
}

/**
 * Updates an index from the files of its folder: new and changed ones are read, split and written, missing ones are
 * removed. With the fingerprint of the last refresh, an unchanged folder is only listed.
 */
export async function refreshIndex (index: PassageIndex, settings: FolderSettings, signal: AbortSignal,
  last: string | undefined, onProgress: (progress: IndexProgress) => void): Promise<Refresh> {
  const unlisted = new LeftOutCounts()
  const files = await listFiles(settings, unlisted, signal)
  const fingerprint = fingerprintOf(files)
  if (fingerprint === last) return { changed: 0, fingerprint, unlisted, unread: undefined }
  const stamps = index.stamps()
  const changed = files.filter(file => {
    const stamp = stamps.get(file.source)
    return stamp?.startsWith(stampOf(file)) !== true || (stamp === stampOf(file) + LATE && !settings.late.has(file.source + stamp))
  })
  const unread = new LeftOutCounts()
  let missed = 0
  let done = files.length - changed.length
  let written = 0
  let { passages } = index.stats()
  const report = (): void => { onProgress({ files: files.length, done, passages }) }
  report()
  for await (const batch of batches(index, settings, { all: files, changed }, stamps, signal)) {
    passages += await index.upsert(batch.documents, { signal })
    written += batch.documents.length
    done += batch.files
    missed += batch.unread
    report()
  }
  unread.add(missed === 0 ? undefined : 'unreadable', missed)
  const now = written === 0 ? stamps : index.stamps()
  for (const { source } of files) {
    unread.add(reasonIn(now.get(source)))
    stamps.delete(source)
  }
  await index.remove(stamps.keys(), { signal })
  if (written + stamps.size > 0) {
    passages = index.stats().passages
    report()
  }
  return { changed: written + stamps.size, fingerprint: missed > 0 ? undefined : fingerprint, unlisted, unread }
}

interface Files { readonly all: readonly FoundFile[], readonly changed: readonly FoundFile[] }

async function * batches (index: PassageIndex, settings: FolderSettings, files: Files,
  stamps: ReadonlyMap<string, string>, signal: AbortSignal): AsyncGenerator<{ documents: IndexedDocument[], files: number, unread: number }> {
  const splitter = new DocumentSplitter(settings.log)
  try {
    yield * splitBatches(index, settings, files, stamps, signal, splitter)
  } finally {
    await splitter.close()
  }
}

async function * splitBatches (index: PassageIndex, settings: FolderSettings, { all, changed }: Files,
  stamps: ReadonlyMap<string, string>, signal: AbortSignal, splitter: DocumentSplitter): ReturnType<typeof batches> {
  let documents: IndexedDocument[] = []
  let characters = 0
  let count = 0
  let unread = 0
  const furniture = changed.length === 0 ? new Set<string>() : await findFurniture(all, settings, splitter, signal)
  for await (const { file, text } of readAhead(changed, settings, signal)) {
    signal.throwIfAborted()
    count++
    if (text === UNREADABLE) {
      // without a new stamp the next refresh reads it
      unread++
      continue
    }
    // a file that is not text is recorded without passages, so that later refreshes do not read it again
    const hash = createHash('sha256').update(text ?? '').digest('base64url').slice(0, 16)
    const stamp = `${stampOf(file)}${hash}`
    if (stamps.get(file.source)?.endsWith(`:${hash}`) === true) {
      index.restamp(file.source, stamp)
      continue
    }
    // a short one is split when it is written: waiting passages would outlive the garbage collector's young generation
    const { passages, problem, isLate = false } = text === undefined ? { passages: [] } : await splitter.split(file.source, text, signal)
    const late = stampOf(file) + LATE
    // tried again by each process once: a hostile document takes as long at each refresh
    if (isLate) settings.late.add(file.source + late)
    const reason = text === undefined ? 'not text' satisfies Reason : problem && reasonOf(problem)
    documents.push({ source: file.source, stamp: isLate ? late : stamp + (reason === undefined ? '' : LEFT_OUT + reason), passages: withoutFurniture(file.source, passages, furniture) })
    characters += text?.length ?? 0
    if (characters >= BATCH_CHARACTERS) {
      yield { documents, files: count, unread }
      documents = []
      characters = count = unread = 0
    }
  }
  yield { documents, files: count, unread }
}

interface ReadFile { readonly file: FoundFile, readonly text: Awaited<ReturnType<typeof readDocument>> }

async function * readAhead (files: readonly FoundFile[], settings: FolderSettings, signal: AbortSignal):
AsyncGenerator<ReadFile> {
  const reading: Promise<ReadFile>[] = []
  for (const file of files) {
    const one = readDocument(file, settings, signal).then((text): ReadFile => ({ file, text }))
    one.catch(() => undefined)
    reading.push(one)
    if (reading.length >= READ_AHEAD) yield await (reading.shift() as typeof one)
  }
  for (const one of reading) yield await one
}

/** Size and time show most changes; the hash after them avoids a rewrite where only the time changed. */
function stampOf (file: FoundFile): string {
  return `${file.size}:${file.mtime}:`
}

function reasonIn (stamp: string | undefined): string | undefined {
  return stamp?.endsWith(`:${LATE}`) === true ? 'too slow to read' satisfies Reason : stamp?.split(LEFT_OUT)[1]
}

function fingerprintOf (files: readonly FoundFile[]): string {
  const hash = createHash('sha256')
  for (const file of files) hash.update(`${file.source}\0${stampOf(file)}\0`)
  return hash.digest('base64url')
}
