import { isScalar, Lexer, visit, type Document, type Pair, type Scalar } from 'yaml'

/** The largest configuration file, in bytes; a larger one is a mistake, such as the wrong path. */
export const MAX_CONFIG_BYTES = 4 * 1024 * 1024

/** Most tokens of the file; a map entry has about seven, with its spaces. */
const MAX_CONFIG_TOKENS = 300_000

/** Deepest nesting in brackets and braces. The parser of YAML takes quadratic time in it. */
const MAX_FLOW_DEPTH = 64

/** Deepest indentation of a block, in columns: a level of nesting has one column or more. */
const MAX_BLOCK_COLUMN = 200

/** Most values of the file with all its aliases expanded. */
const MAX_CONFIG_VALUES = 100_000

/** What is too much about the text of a file, and where; found in one pass, before the file is parsed. */
export function excessOf (text: string): { readonly at: number, readonly message: string } | undefined {
  if (text.length > MAX_CONFIG_BYTES) return { at: 0, message: 'the file is larger than 4 MiB' }
  let at = 0
  let tokens = 0
  let lineStart = 0
  let flowDepth = 0
  for (const token of new Lexer().lex(text)) {
    if (++tokens > MAX_CONFIG_TOKENS) return { at, message: `the file has more than ${MAX_CONFIG_TOKENS} tokens` }
    const [first] = token
    if (first === '[' || first === '{') flowDepth++
    else if ((first === ']' || first === '}') && flowDepth > 0) flowDepth--
    else if (token === '\n' || token === '\r\n') lineStart = at + token.length
    else if (flowDepth === 0 && at - lineStart > MAX_BLOCK_COLUMN && (token === '-' || token === '?' || token === ':')) {
      return { at, message: `this is nested deeper than ${MAX_BLOCK_COLUMN} columns` }
    }
    if (flowDepth > MAX_FLOW_DEPTH) return { at, message: `this is nested more than ${MAX_FLOW_DEPTH} levels deep` }
    // the lexer marks modes with control characters that are not in the text
    if (first !== '\u0002' && first !== '\u0018' && first !== '\u001f') at += token.length
  }
  return undefined
}

/** Whether a value has too many parts; aliases count as often as they are used, and one may be inside of itself. */
export function isTooLarge (value: unknown): boolean {
  const pending = [value]
  let parts = 1
  while (pending.length > 0) {
    const part = pending.pop()
    if (typeof part !== 'object' || part === null) continue
    const inner = Object.values(part)
    parts += inner.length
    if (parts > MAX_CONFIG_VALUES) return true
    for (const one of inner) pending.push(one)
  }
  return false
}

/** The keys that repeat one of the same map. The check of the parser takes quadratic time. */
export function equalKeys (document: Document): Scalar[] {
  // @keyed none: a list of one check of the configuration
  const repeated: Scalar[] = []
  visit(document, {
    Map: (_key, { items }) => {
      const keys = new Set<unknown>()
      for (const { key } of items as Pair[]) {
        if (!isScalar(key)) continue
        if (keys.has(key.value)) repeated.push(key)
        keys.add(key.value)
      }
    }
  })
  return repeated
}
