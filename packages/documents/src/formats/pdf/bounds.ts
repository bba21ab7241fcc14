import { tooLarge } from '../too-large.js'

/** Longest part of a PDF file, inflated, in bytes. */
const MAX_PDF_PART_BYTES = 32 * 1024 * 1024

/** The error of the last part that was too large, since pdfjs only logs an error of a part. */
let refused: Error | undefined

/**
 * Bounds what pdfjs inflates of the parts of a file. Call it only in a thread without other work. pdfjs has no option
 * for it; each of its decoders doubles a Uint8Array, so a long one is refused there.
 */
export function boundParts (bytes: Uint8Array): void {
  boundArrays()
  takeRefused()
  // pdfjs copies the file
  longest = Math.max(MAX_PDF_PART_BYTES, bytes.length)
}

/** The error of the last part that was too large since the last call. */
export function takeRefused (): Error | undefined {
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
