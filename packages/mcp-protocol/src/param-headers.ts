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

const TYPES: readonly unknown[] = ['string', 'integer', 'boolean']

/** Keywords of JSON Schema whose value maps names to schemas. */
const MAPS: readonly string[] = ['properties', 'patternProperties', 'dependentSchemas', '$defs', 'definitions']
/** Keywords whose value is data. */
const DATA: readonly string[] = ['const', 'default', 'enum', 'examples', 'x-mcp-header']

/** Reads the marks of an input schema. The walk is bounded; read once per tool. */
export function readHeaderParameters (schema: unknown): HeaderParameters {
  // @keyed none: a list of one schema; its walk is bounded
  const parameters: HeaderParameter[] = []
  let problem: string | undefined
  const visit: Visitor = ({ 'x-mcp-header': name, type }, path, isReachable) => {
    if (name === undefined) return
    const header = `mcp-param-${String(name).toLowerCase()}`
    const fault = isReachable && path.length > 0 ? faultOf(name, type) : 'a part other than `properties` leads to it'
    const isTwice = parameters.some(other => other.header === header)
    if (isTwice || fault !== undefined) {
      const what = `the x-mcp-header ${JSON.stringify(name)} of ${path.join('.')}`
      problem ??= `${what} is invalid: ${fault ?? 'another property has the same'}`
    }
    if (fault === undefined) parameters.push({ header, path, type: type as HeaderParameter['type'] })
  }
  walk(schema, [], true, visit)
  return { parameters, problem }
}

type Visitor = (schema: Readonly<Record<string, unknown>>, path: readonly string[], isReachable: boolean) => void

/** Visits a schema and those within it. `isReachable`: from the root only through `properties`. */
function walk (schema: unknown, path: readonly string[], isReachable: boolean, visit: Visitor): void {
  if (path.length > MAX_DEPTH || !isRecord(schema)) return
  visit(schema, path, isReachable)
  for (const [keyword, value] of Object.entries(schema)) {
    if (DATA.includes(keyword)) continue
    const isMap = MAPS.includes(keyword) && isRecord(value)
    const inner = isMap ? Object.entries(value) : [value].flat().map(one => [keyword, one] as const)
    for (const [key, one] of inner) walk(one, [...path, key], isReachable && keyword === 'properties', visit)
  }
}

function faultOf (name: unknown, type: unknown): string | undefined {
  if (typeof name !== 'string' || !TOKEN.test(name)) return 'it is not an RFC 9110 token'
  return TYPES.includes(type) ? undefined : 'the property must have the type string, integer or boolean'
}

/** The argument at a path; undefined if it, or an object above it, is absent. */
export function argumentAt (args: unknown, path: readonly string[]): unknown {
  let value: unknown = args
  for (const key of path) value = isRecord(value) && Object.hasOwn(value, key) ? value[key] : undefined
  return value
}

/**
 * The headers that repeat the arguments of a call, for those that are a string, a boolean or a safe integer. A value
 * that is not of the declared type is sent too: the server then reports the type, not the header.
 */
export function encodeParameters (parameters: readonly HeaderParameter[], args: unknown): Record<string, string> {
  const headers: Record<string, string> = {}
  for (const { header, path } of parameters) {
    const value = argumentAt(args, path)
    const canSend = typeof value === 'string' || typeof value === 'boolean' || Number.isSafeInteger(value)
    if (canSend) headers[header] = encodeHeader(String(value))
  }
  return headers
}

/** Whether a header repeats an argument. */
export function headerMatches (header: string, value: unknown, type: HeaderParameter['type']): boolean {
  const decoded = decodeHeader(header.trim())
  if (decoded === undefined) return false
  const isNumber = type === 'integer' && typeof value === 'number'
  return isNumber ? /^-?\d+(\.0+)?$/.test(decoded) && Number(decoded) === value : decoded === String(value)
}
