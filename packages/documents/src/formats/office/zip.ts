import { createRequire } from 'node:module'
import type JSZip from 'jszip'
import { packageRequire } from '../../package-require.js'
import { tooLarge } from '../too-large.js'

/** Files of an archive; an office file has a few hundred at most. */
const MAX_PARTS = 10_000

/** The first bytes of a compound file, which an encrypted file of Office is, and one of Office 97. */
const COMPOUND = [0xd0, 0xcf, 0x11, 0xe0]

/** A ZIP archive of which some parts are read, each when it is asked for. */
export class Archive {
  readonly #files: Readonly<Record<string, JSZip.JSZipObject>>
  readonly #maxBytes: number
  #left: number

  private constructor (zip: JSZip, maxBytes: number) {
    this.#files = zip.files
    this.#maxBytes = maxBytes
    this.#left = maxBytes
  }

  /**
   * @param maxBytes bound of the parts that are read, inflated, together
   * @throws an error where it is encrypted, damaged or has too many parts; where jszip is missing
   */
  static async open (bytes: Uint8Array, maxBytes: number): Promise<Archive> {
    if (COMPOUND.every((byte, at) => bytes[at] === byte)) {
      throw new Error('it is encrypted, or of Office 97 to 2003: save it without a password, in the current format')
    }
    const zip = await (zipPackage()).loadAsync(bytes)
    const count = Object.keys(zip.files).length
    if (count > MAX_PARTS) throw new Error(`it has ${count} parts, over ${MAX_PARTS}`)
    return new Archive(zip, maxBytes)
  }

  /** The paths of its parts, in the order of the archive. */
  names (): string[] {
    return Object.keys(this.#files).filter(name => this.#files[name]?.dir === false)
  }

  has (name: string): boolean {
    return Object.hasOwn(this.#files, name) && this.#files[name]?.dir === false
  }

  /** The bytes of a part. @throws an error where it is missing, damaged, or all together pass the bound */
  async bytes (name: string): Promise<Buffer> {
    // @keyed none: a list in order, of one part of a document; maxBytes
    const chunks: Uint8Array[] = []
    await this.stream(name, chunk => { chunks.push(chunk) })
    return Buffer.concat(chunks)
  }

  /**
   * Inflates a part. The bytes are counted as they arrive, since the sizes in the archive can be wrong.
   * @throws an error of `take`; where the part is missing, damaged, or all together pass the bound
   */
  async stream (name: string, take: (chunk: Uint8Array) => void): Promise<void> {
    const entry = this.has(name) ? this.#files[name] : undefined
    if (entry === undefined) throw new Error(`it has no ${name}`)
    await new Promise<void>((resolve, reject) => {
      // not nodeStream(), whose buffer grows while its reader waits
      const stream = (entry as unknown as { internalStream: (type: 'uint8array') => JSZipStream }).internalStream('uint8array')
      const stop = (error: Error): void => {
        stream.pause()
        reject(error)
      }
      stream.on('data', chunk => {
        this.#left -= chunk.length
        if (this.#left < 0) {
          stop(tooLarge(this.#maxBytes))
          return
        }
        try {
          take(chunk)
        } catch (error) {
          stop(error as Error)
        }
      }).on('error', reject).on('end', resolve).resume()
    })
  }
}

/** An archive of uncompressed parts. */
export async function archiveOf (parts: ReadonlyMap<string, Uint8Array>): Promise<Buffer> {
  const zip = new (zipPackage())()
  for (const [name, content] of parts) zip.file(name, content)
  return await zip.generateAsync({ type: 'nodebuffer', compression: 'STORE' })
}

/** The package jszip, or the one that mammoth has. @throws where neither is installed */
function zipPackage (): typeof JSZip {
  const load = packageRequire()
  try {
    return load('jszip') as typeof JSZip
  } catch (missing) {
    try {
      return createRequire(load.resolve('mammoth'))('jszip') as typeof JSZip
    } catch {
      throw missing
    }
  }
}

interface JSZipStream {
  on: ((event: 'data', listener: (chunk: Uint8Array) => void) => JSZipStream) &
    ((event: 'error', listener: (error: Error) => void) => JSZipStream) &
    ((event: 'end', listener: () => void) => JSZipStream)
  pause: () => void
  resume: () => void
}
