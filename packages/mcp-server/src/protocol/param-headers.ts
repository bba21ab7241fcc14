import { isRecord } from './rpc.js'

/** An argument of a tool that callers of revision 2026-07-28 repeat as a header, `Mcp-Param-<name>`. */
export interface HeaderParameter {
  /** The whole name of the header, in lower case. */
  readonly header: string
  readonly path: readonly string[]
  readonly type: 'string' | 'integer' | 'boolean'
}

/** Properties of a schema are looked through so deep. */
const MAX_DEPTH = 16

/** An RFC 9110 token. */
const TOKEN = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/

/**
 * The arguments that a schema wants as headers (`x-mcp-header`). Marks that break the specification's rules do not count: a
 * client leaves such a tool out.
 */
export function headerParameters (schema: unknown): readonly HeaderParameter[] {
  const found: HeaderParameter[] = []
  collect(schema, [], found)
  return found
}

function collect (schema: unknown, path: readonly string[], found: HeaderParameter[]): void {
  if (path.length > MAX_DEPTH || !isRecord(schema) || !isRecord(schema.properties)) return
  for (const [key, property] of Object.entries(schema.properties)) {
    if (!isRecord(property)) continue
    const { 'x-mcp-header': name, type } = property
    if (typeof name === 'string' && TOKEN.test(name) && (type === 'string' || type === 'integer' || type === 'boolean')) {
      found.push({ header: `mcp-param-${name.toLowerCase()}`, path: [...path, key], type })
    }
    collect(property, [...path, key], found)
  }
}

/** The argument at a path; undefined where it, or something above it, is not there. */
export function argumentAt (args: unknown, path: readonly string[]): unknown {
  let value: unknown = args
  for (const key of path) value = isRecord(value) && Object.hasOwn(value, key) ? value[key] : undefined
  return value
}

/** A header as the value it stands for; undefined where its base64 is none. */
export function decodeHeader (text: string): string | undefined {
  const match = /^=\?base64\?(.*)\?=$/.exec(text)
  if (match === null) return text
  const bytes = Buffer.from(match[1]!, 'base64')
  // Buffer reads what it can; what it made must be what was sent
  if (bytes.toString('base64') !== match[1]) return undefined
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch {
    return undefined
  }
}

/** Whether a header repeats an argument. */
export function headerMatches (header: string, value: unknown, type: HeaderParameter['type']): boolean {
  const decoded = decodeHeader(header.trim())
  if (decoded === undefined) return false
  if (type === 'integer' && typeof value === 'number') return /^-?\d+(\.0+)?$/.test(decoded) && Number(decoded) === value
  return decoded === String(value)
}
