/** The error of a part of a file that passes its bound, in bytes. */
export function tooLarge (maxBytes: number): Error {
  return new Error(`it is too large when inflated: over ${Math.round(maxBytes / 1024 / 1024)} MiB`)
}
