import { createRequire } from 'node:module'
import { tooLarge } from '../too-large.js'
import type JSZip from 'jszip'

/** Most XML of a DOCX file, inflated, in bytes: its tree takes about 20 times as much memory. */
const MAX_DOCX_BYTES = 16 * 1024 * 1024

/** What mammoth needs of a DOCX file; the images are the rest. */
const PART = /\.(?:xml|rels)$/i

/**
 * The XML of a DOCX file, as an archive of a bounded size. It is inflated by the JSZip that mammoth uses, so that both
 * find the same entries, and counted as it arrives, since the sizes in the archive can be wrong.
 * @throws an error where it is longer than the bound
 */
export async function inflateXml (bytes: Uint8Array): Promise<Buffer> {
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
  // @keyed none: a list in order, of one part of a document; MAX_DOCX_BYTES
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
