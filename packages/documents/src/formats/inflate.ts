import { createRequire } from 'node:module'
import type JSZip from 'jszip'

/** Most XML of a DOCX file, inflated, in bytes: its tree takes about 20 times as much memory. */
const MAX_DOCX_BYTES = 16 * 1024 * 1024

/** Longest part of a PDF file, inflated, in bytes. */
const MAX_PDF_PART_BYTES = 32 * 1024 * 1024

/** What mammoth needs of a DOCX file; the images are the rest. */
const PART = /\.(?:xml|rels)$/i

/**
 * The XML of a DOCX file, as an archive of a bounded size. It is inflated by the JSZip that mammoth uses, so that both
 * find the same entries, and counted as it arrives, since the sizes in the archive can be wrong.
 * @throws an error where it is longer than the bound
 */
export async function inflateDocx (bytes: Uint8Array): Promise<Buffer> {
  const Zip = createRequire(createRequire(import.meta.url).resolve('mammoth'))('jszip') as typeof JSZip
  const inflated = new Zip()
  let left = MAX_DOCX_BYTES
  for (const entry of Object.values((await Zip.loadAsync(bytes)).files)) {
    if (entry.dir || !PART.test(entry.name)) continue
    const content = await inflate(entry, left)
    left -= content.length
    inflated.file(entry.name, content)
  }
  return await inflated.generateAsync({ type: 'nodebuffer', compression: 'STORE' })
}

async function inflate (entry: JSZip.JSZipObject, maxBytes: number): Promise<Buffer> {
  // @keyed none: a list in order, of one part of a document; MAX_DOCX_BYTES and MAX_PDF_PART_BYTES
  const chunks: Uint8Array[] = []
  let length = 0
  return await new Promise((resolve, reject) => {
    // not nodeStream(), whose buffer grows while its reader waits
    const stream = (entry as unknown as { internalStream: (type: 'uint8array') => JSZipStream }).internalStream('uint8array')
    stream.on('data', chunk => {
      length += chunk.length
      if (length <= maxBytes) {
        chunks.push(chunk)
        return
      }
      stream.pause()
      reject(tooLarge(MAX_DOCX_BYTES))
    }).on('error', reject).on('end', () => { resolve(Buffer.concat(chunks)) }).resume()
  })
}

interface JSZipStream {
  on: ((event: 'data', listener: (chunk: Uint8Array) => void) => JSZipStream) &
    ((event: 'error', listener: (error: Error) => void) => JSZipStream) &
    ((event: 'end', listener: () => void) => JSZipStream)
  pause: () => void
  resume: () => void
}

/** The error of the last part that was too large, since pdfjs only logs an error of a part. */
let refused: Error | undefined

/**
 * Runs `work`, and fails where pdfjs inflates a part of a PDF file beyond the bound. Call it only in a thread without
 * other work. pdfjs has no option for it; each of its decoders doubles a Uint8Array, so a long one is refused there.
 */
export async function boundPdf<T> (bytes: Uint8Array, work: () => Promise<T>): Promise<T> {
  boundArrays()
  takeRefused()
  // pdfjs copies the file
  longest = Math.max(MAX_PDF_PART_BYTES, bytes.length)
  let result: T
  try {
    result = await work()
  } catch (error) {
    throw takeRefused() ?? (error as Error)
  }
  const error = takeRefused()
  if (error !== undefined) throw error
  return result
}

function takeRefused (): Error | undefined {
  const error = refused
  refused = undefined
  return error
}

let isBounded = false
let longest = MAX_PDF_PART_BYTES

function boundArrays (): void {
  if (isBounded) return
  isBounded = true
  // it would inflate the whole part before its length is known; without it pdfjs uses its own decoder
  Reflect.deleteProperty(globalThis, 'DecompressionStream')
  globalThis.Uint8Array = new Proxy(Uint8Array, {
    construct (target, values: [], newTarget) {
      const [length] = values as unknown[]
      if (typeof length === 'number' && length > longest) {
        const error = tooLarge(longest)
        refused = error
        throw error
      }
      return Reflect.construct(target, values, newTarget) as Uint8Array
    }
  })
}

function tooLarge (maxBytes: number): Error {
  return new Error(`it is too large when inflated: over ${Math.round(maxBytes / 1024 / 1024)} MiB`)
}
