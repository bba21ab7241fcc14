// Inputs of the fuzzer: bytes, changed at random from a seed, so that a run can be repeated.

/** Pieces of the formats that the targets read. */
const PIECES = [
  '{', '}', '[', ']', '"', ':', ',', '\n', '\n\n', '\r\n', 'data: ', 'event: ', 'id: ', 'retry: ', 'null', 'true', '-1', '0', '1e309', '9007199254740993',
  '"__proto__"', '"constructor"', '"jsonrpc":"2.0"', '"id":1', '"method":"tools/call"', '"params":{}', '"_meta":{}', '\u0000', '\ufeff', '\ud83d\ude00',
  '\\u0000', '\\ud800', '- ', '  ', '&a ', '*a', '!!', '<<: ', '|', '>', '#', '%', '$' + '{A}', '..', '/', '=', '&', ';'
].map(piece => Buffer.from(piece))

/** Numbers from 0 to 1 (mulberry32). */
export function random (seed) {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

/** A changed copy of one entry of the corpus, at most `maxBytes` long. */
export function mutate (corpus, next, maxBytes) {
  const pick = list => list[Math.floor(next() * list.length)]
  let bytes = pick(corpus)
  for (let changes = 1 + Math.floor(next() * 4); changes > 0; changes--) {
    const at = Math.floor(next() * (bytes.length + 1))
    const end = Math.min(bytes.length, at + Math.floor(next() * 16))
    const put = (piece, to = at) => Buffer.concat([bytes.subarray(0, at), piece, bytes.subarray(to)])
    switch (Math.floor(next() * 7)) {
      case 0: bytes = put(Buffer.from([Math.floor(next() * 256)]), Math.min(bytes.length, at + 1)); break
      case 1: bytes = put(Buffer.alloc(0), end); break
      case 2: bytes = put(pick(PIECES)); break
      case 3: bytes = put(pick(PIECES), end); break
      case 4: bytes = put(bytes.subarray(at, end)); break
      case 5: {
        const other = pick(corpus)
        bytes = Buffer.concat([bytes.subarray(0, at), other.subarray(Math.floor(next() * other.length))])
        break
      }
      default: bytes = put(Buffer.concat(Array(1 + Math.floor(next() * 64)).fill(pick(PIECES))))
    }
    if (bytes.length > maxBytes) bytes = bytes.subarray(0, maxBytes)
  }
  return bytes
}
