// Runs in a thread of document-splitter.ts: it splits one document after the other, and sends the passages in parts.
import { parentPort } from 'node:worker_threads'
import { isMissingModule } from '@polyvac/core/plugin'
import type { Emit, SplitFile } from './format.js'
import { splitDocument } from './split-document.js'
import { damageOf, formatOf, isBytes } from './table.js'
import type { Passage } from '../text/passages.js'

/** Passages of one message: reading a message blocks the event loop of the receiver. */
const PART = 200

/** Most passages of a document; an index of millions of headings without text has no use. */
const MAX_PASSAGES = 20_000

/** The text of a file, or its bytes where a parser reads it. */
export interface SplitJob { readonly source: string, readonly text: string | Uint8Array }

/** The last part of a document has `end`. */
export interface SplitPart { readonly passages: Passage[], readonly end: boolean, readonly leftOut: number, readonly missing?: string | undefined, readonly problem?: string }

parentPort?.on('message', (job: SplitJob) => { void split(job) })

/** Posts the passages of a document in parts, or its problem. It never rejects. */
async function split ({ source, text }: SplitJob): Promise<void> {
  let sent = 0
  let leftOut = 0
  const take = (passages: Passage[]): Passage[] => {
    const taken = passages.slice(0, MAX_PASSAGES - sent)
    leftOut += passages.length - taken.length
    sent += taken.length
    return taken
  }
  // an empty part, too, shows that the file is being read
  const emit = (passages: Passage[]): void => { parentPort?.postMessage({ passages: take(passages), end: false, leftOut: 0 } satisfies SplitPart) }
  let rest: SplitFile
  try {
    rest = typeof text === 'string' ? splitText(source, text) : await splitBytes(source, text, emit)
  } catch (err) {
    const format = formatOf(source)
    const parser = isBytes(format) ? format.package : undefined
    // a parser that is installed may itself lack a package
    const problem = parser !== undefined && isMissingModule(err, parser) ? `install ${parser} to read it` : (err as Error).message
    parentPort?.postMessage({ passages: [], end: true, leftOut: 0, problem } satisfies SplitPart)
    return
  }
  const all = take(rest.passages)
  for (let at = 0; ; at += PART) {
    const end = at + PART >= all.length
    parentPort?.postMessage({ passages: all.slice(at, at + PART), end, leftOut, missing: end ? rest.missing : undefined } satisfies SplitPart)
    if (end) return
  }
}

function splitText (source: string, text: string): SplitFile {
  const damage = damageOf(source, text)
  if (damage !== undefined) throw new Error(damage)
  return { passages: splitDocument(source, text) }
}

async function splitBytes (source: string, bytes: Uint8Array, emit: Emit): Promise<SplitFile> {
  const format = formatOf(source)
  if (!isBytes(format)) throw new TypeError(`${source} is a file of text`)
  return await (await format.load())(bytes, emit)
}
