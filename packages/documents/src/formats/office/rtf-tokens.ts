/** A token of RTF; `text` is a byte of the code page, or a character. */
export type Token =
  { readonly kind: 'open' } |
  { readonly kind: 'close' } |
  { readonly kind: 'word', readonly word: string, readonly value: number | undefined } |
  { readonly kind: 'symbol', readonly symbol: string } |
  { readonly kind: 'byte', readonly byte: number, /** Written as \'hh. */ readonly escaped: boolean }

const isLetter = (code: number): boolean => (code >= 0x61 && code <= 0x7a) || (code >= 0x41 && code <= 0x5a)
const isDigit = (code: number): boolean => code >= 0x30 && code <= 0x39

/** The tokens of RTF, in order. Binary data is skipped. */
export function * tokensOf (bytes: Uint8Array): Generator<Token> {
  for (let at = 0; at < bytes.length;) {
    const code = bytes[at++] as number
    if (code === 0x7b) yield { kind: 'open' }
    else if (code === 0x7d) yield { kind: 'close' }
    else if (code !== 0x5c) {
      // line ends of the file are not those of the text
      if (code !== 0x0a && code !== 0x0d && code !== 0) yield { kind: 'byte', byte: code, escaped: false }
    } else {
      const next = bytes[at] ?? 0
      if (next === 0x27) {
        const byte = Number.parseInt(String.fromCharCode(bytes[at + 1] ?? 0, bytes[at + 2] ?? 0), 16)
        at += 3
        if (!Number.isNaN(byte)) yield { kind: 'byte', byte, escaped: true }
      } else if (!isLetter(next)) {
        at++
        yield { kind: 'symbol', symbol: String.fromCharCode(next) }
      } else {
        const start = at
        while (at - start < 40 && isLetter(bytes[at] ?? 0)) at++
        const word = Buffer.from(bytes.subarray(start, at)).toString('latin1')
        const first = at
        if (bytes[at] === 0x2d) at++
        while (at - first < 12 && isDigit(bytes[at] ?? 0)) at++
        const digits = Buffer.from(bytes.subarray(first, at)).toString('latin1')
        const value = digits === '' || digits === '-' ? undefined : Number(digits)
        if (bytes[at] === 0x20) at++
        if (word === 'bin') at += Math.max(0, value ?? 0)
        else yield { kind: 'word', word, value }
      }
    }
  }
}
