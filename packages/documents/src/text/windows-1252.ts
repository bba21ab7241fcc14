/** The characters of windows-1252 that Latin-1 does not have, from 0x80 on. */
const WINDOWS_1252 = '€\x81‚ƒ„…†‡ˆ‰Š‹Œ\x8dŽ\x8f\x90‘’“”•–—˜™š›œ\x9džŸ'

/** Some releases of Node.js decode 0x80 to 0x9f as Latin-1. */
export function decodeWindows1252 (bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('latin1').replace(/[\x80-\x9f]/g, control => WINDOWS_1252[control.charCodeAt(0) - 0x80] as string)
}
