import { createHash } from 'node:crypto'
import { DocumentSplitter } from './document-splitter.js'
import { listFiles, readDocument, type FoundFile } from './files.js'
import type { FolderSettings, IndexProgress } from './folder-options.js'
import type { IndexedDocument, PassageIndex } from './passage-index.js'

/** Documents written together, in characters. */
const BATCH_CHARACTERS = 128 * 1024
/** Files read ahead of the one being written, so that reading and indexing overlap. */
const READ_AHEAD = 8

export interface Refresh {
  /** Documents written or removed. */
  readonly changed: number
  /** Equal for folders whose files have equal names, sizes and times. */
  readonly fingerprint: string
}

/**
 * Updates an index from the files of its folder: new and changed ones are read, split and written, missing ones are
 * removed. With the fingerprint of the last refresh, an unchanged folder is only listed.
 */
export async function refreshIndex (index: PassageIndex, settings: FolderSettings, signal: AbortSignal,
  last: string | undefined, onProgress: (progress: IndexProgress) => void): Promise<Refresh> {
  const files = await listFiles(settings, signal)
  const fingerprint = fingerprintOf(files)
  if (fingerprint === last) return { changed: 0, fingerprint }
  const stamps = index.stamps()
  const changed = files.filter(file => stamps.get(file.source)?.startsWith(stampOf(file)) !== true)
  let done = files.length - changed.length
  let written = 0
  let { passages } = index.stats()
  const report = (): void => { onProgress({ files: files.length, done, passages }) }
  report()
  for await (const batch of batches(index, settings, changed, stamps, signal)) {
    passages += await index.upsert(batch.documents, { signal })
    written += batch.documents.length
    done += batch.files
    report()
  }
  for (const file of files) stamps.delete(file.source)
  await index.remove(stamps.keys(), { signal })
  if (written + stamps.size > 0) {
    passages = index.stats().passages
    report()
  }
  return { changed: written + stamps.size, fingerprint }
}

async function * batches (index: PassageIndex, settings: FolderSettings, files: readonly FoundFile[],
  stamps: ReadonlyMap<string, string>, signal: AbortSignal): AsyncGenerator<{ documents: IndexedDocument[], files: number }> {
  const splitter = new DocumentSplitter(settings.log)
  try {
    yield * splitBatches(index, settings, files, stamps, signal, splitter)
  } finally {
    await splitter.close()
  }
}

async function * splitBatches (index: PassageIndex, settings: FolderSettings, files: readonly FoundFile[],
  stamps: ReadonlyMap<string, string>, signal: AbortSignal, splitter: DocumentSplitter): ReturnType<typeof batches> {
  let documents: IndexedDocument[] = []
  let characters = 0
  let count = 0
  for await (const { file, text } of readAhead(files, settings, signal)) {
    signal.throwIfAborted()
    count++
    // a file that is not text is recorded without passages, so that later refreshes do not read it again
    const hash = createHash('sha256').update(text ?? '').digest('base64url').slice(0, 16)
    const stamp = `${stampOf(file)}${hash}`
    if (stamps.get(file.source)?.endsWith(`:${hash}`) === true) {
      index.restamp(file.source, stamp)
      continue
    }
    // a short one is split when it is written: waiting passages would outlive the garbage collector's young generation
    documents.push({ source: file.source, stamp, passages: await splitter.split(file.source, text ?? '', signal) })
    characters += text?.length ?? 0
    if (characters >= BATCH_CHARACTERS) {
      yield { documents, files: count }
      documents = []
      characters = count = 0
    }
  }
  yield { documents, files: count }
}

async function * readAhead (files: readonly FoundFile[], settings: FolderSettings, signal: AbortSignal):
AsyncGenerator<{ file: FoundFile, text: string | Uint8Array | undefined }> {
  const reading: Promise<{ file: FoundFile, text: string | Uint8Array | undefined }>[] = []
  for (const file of files) {
    const one = readDocument(file, settings, signal).then(text => ({ file, text }))
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

function fingerprintOf (files: readonly FoundFile[]): string {
  const hash = createHash('sha256')
  for (const file of files) hash.update(`${file.source}\0${stampOf(file)}\0`)
  return hash.digest('base64url')
}
