/** A text without its inline code, which is in `code`: a NUL, its index and a NUL mark each place. */
export interface WithoutCode {
  readonly text: string
  readonly code: readonly string[]
}

/** Removes inline code. A run of backticks is closed by the next one of equal length, in one pass from the end. */
export function takeCode (text: string): WithoutCode {
  if (!text.includes('`')) return { text, code: [] }
  const runs = Array.from(text.matchAll(/`+/g), ({ index, 0: { length } }) => ({ start: index, end: index + length, length }))
  const nearest = new Map<number, number>()
  const closing: (number | undefined)[] = []
  for (let index = runs.length - 1; index >= 0; index--) {
    const { length } = runs[index] as typeof runs[number]
    closing[index] = nearest.get(length)
    nearest.set(length, index)
  }
  const code: string[] = []
  let out = ''
  let last = 0
  for (let index = 0; index < runs.length; index++) {
    const close = closing[index]
    if (close === undefined) continue
    const { start } = runs[index] as typeof runs[number]
    const { end } = runs[close] as typeof runs[number]
    out += `${text.slice(last, start)}\u0000${code.push(text.slice(start, end)) - 1}\u0000`
    last = end
    index = close
  }
  return { text: out + text.slice(last), code }
}

export function putBackCode (text: string, code: readonly string[]): string {
  if (code.length === 0) return text
  // eslint-disable-next-line no-control-regex -- the marks of takeCode; texts of documents contain no NUL
  return text.replace(/\u0000(\d+)\u0000/g, (_, index: string) => code[Number(index)] ?? '')
}
