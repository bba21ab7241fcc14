import { tooLarge } from '../too-large.js'

/** Longest part of a PDF file, inflated, in bytes. */
const MAX_PDF_PART_BYTES = 32 * 1024 * 1024

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
