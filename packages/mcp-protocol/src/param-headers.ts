import { decodeHeader, encodeHeader } from './headers.js'
import { isRecord } from './is-record.js'

/** An argument of a tool that clients of revision 2026-07-28 repeat as a header, `Mcp-Param-<name>`. */
export interface HeaderParameter {
  /** The whole name of the header, in lower case. */
  readonly header: string
  readonly path: readonly string[]
  readonly type: 'string' | 'integer' | 'boolean'
}

/** What an input schema marks with `x-mcp-header`. */
export interface HeaderParameters {
  /** The marks that follow the rules of the specification. */
  readonly parameters: readonly HeaderParameter[]
  /** The first mark that breaks a rule: an HTTP client must not offer the tool. Undefined if there is none. */
  readonly problem: string | undefined
}

/** Levels of a schema that are searched for marks. */
const MAX_DEPTH = 16

/** An RFC 9110 token. */
const TOKEN = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/

const TYPES: ReadonlySet<unknown> = new Set(['string', 'integer', 'boolean'])

/** Keywords of JSON Schema whose value maps names to schemas. */
const MAPS: ReadonlySet<string> = new Set(['properties', 'patternProperties', 'dependentSchemas', '$defs', 'definitions'])
/** Keywords whose value is data. */
const DATA: ReadonlySet<string> = new Set(['const', 'default', 'enum', 'examples', 'x-mcp-header'])

/** Reads the marks of an input schema. The walk is bounded; read once per tool. */
export function readHeaderParameters (schema: unknown): HeaderParameters {
  const parameters: HeaderParameter[] = []
  const problems: string[] = []
  visit(schema, [], true, { parameters, problems })
  return { parameters, problem: problems[0] }
}

/** @param isReachable whether the schema is reached from the root through `properties` alone */
function visit (schema: unknown, path: readonly string[], isReachable: boolean, found: { readonly parameters: HeaderParameter[], readonly problems: string[] }): void {
  if (path.length > MAX_DEPTH || !isRecord(schema)) return
  const { 'x-mcp-header': name, type } = schema
  if (name !== undefined) {
    const problem = isReachable && path.length > 0 ? problemOf(name, type) : 'x-mcp-header is permitted on properties alone, reached from the root through `properties`'
    const header = `mcp-param-${String(name).toLowerCase()}`
    if (found.parameters.some(other => other.header === header)) found.problems.push(`${path.join('.')}: the x-mcp-header ${String(name)} occurs twice`)
    if (problem === undefined) found.parameters.push({ header, path, type: type as HeaderParameter['type'] })
    else found.problems.push(`${path.join('.')}: ${problem}`)
  }
  for (const [keyword, value] of Object.entries(schema)) {
    if (DATA.has(keyword)) continue
    const isProperties = keyword === 'properties'
    for (const [key, inner] of isRecord(value) && MAPS.has(keyword) ? Object.entries(value) : [value].flat().map(one => [keyword, one] as const)) {
      visit(inner, [...path, key], isReachable && isProperties, found)
    }
  }
}

function problemOf (name: unknown, type: unknown): string | undefined {
  if (typeof name !== 'string' || !TOKEN.test(name)) return `the x-mcp-header ${JSON.stringify(name)} is not an RFC 9110 token`
  return TYPES.has(type) ? undefined : 'x-mcp-header is permitted on the types string, integer and boolean'
}

/** The argument at a path; undefined if it, or an object above it, is absent. */
export function argumentAt (args: unknown, path: readonly string[]): unknown {
  let value: unknown = args
  for (const key of path) value = isRecord(value) && Object.hasOwn(value, key) ? value[key] : undefined
  return value
}

/**
 * The headers that repeat the arguments of a call, for those that are a string, a boolean or a safe integer. A value that
 * is not of the declared type is sent too: the server then reports the type, not the header.
 */
export function encodeParameters (parameters: readonly HeaderParameter[], args: unknown): Record<string, string> {
  const headers: Record<string, string> = {}
  for (const { header, path } of parameters) {
    const value = argumentAt(args, path)
    if (typeof value === 'string' || typeof value === 'boolean' || Number.isSafeInteger(value)) headers[header] = encodeHeader(String(value))
  }
  return headers
}

/** Whether a header repeats an argument. */
export function headerMatches (header: string, value: unknown, type: HeaderParameter['type']): boolean {
  const decoded = decodeHeader(header.trim())
  if (decoded === undefined) return false
  if (type === 'integer' && typeof value === 'number') return /^-?\d+(\.0+)?$/.test(decoded) && Number(decoded) === value
  return decoded === String(value)
}
