import { isRecord } from '../is-record.js'
import { fitSchema, type SchemaReader } from './schema.js'
import type { Fields } from './values.js'

/** The dialects that the official clients compile. */
const DIALECT = /^https?:\/\/json-schema\.org\/(?:draft\/(?:2020-12|2019-09)|draft-0[67])\/schema#?$/
const OLDER = /draft\/2019|draft-0/

/** Leaves a keyword out. */
export const gone = (): undefined => undefined

/**
 * The operands of a schema that is read by itself: without identifiers and references by them, with patterns that
 * compile.
 */
export const ALONE: SchemaReader['operands'] = {
  $id: gone,
  id: gone,
  $anchor: gone,
  $dynamicAnchor: gone,
  $dynamicRef: gone,
  $recursiveRef: gone,
  $recursiveAnchor: gone,
  pattern: operand => isPattern(operand as string) ? operand : undefined,
  patternProperties: withPatterns
}

/** Schemas that clients compile: a list is fitted for each revision. */
// @keyed none: the keys are schemas of lists that are kept, and an entry ends with its schema
const known = new WeakMap<Fields, Fields | undefined>()

/**
 * An output schema that clients can compile: the first SDK refuses the whole list for one that it cannot. Identifiers
 * are left out, since clients keep one schema of each over all tools. Undefined for a schema with a reference that
 * leads out of it or nowhere.
 */
export function outputSchema (schema: unknown): Fields | undefined {
  if (!isRecord(schema)) return undefined
  if (!known.has(schema)) known.set(schema, compilable(schema))
  return known.get(schema)
}

function compilable (schema: Fields): Fields | undefined {
  let isBroken = false
  const isOlder = typeof schema.$schema === 'string' && DIALECT.test(schema.$schema) && OLDER.test(schema.$schema)
  const reader: SchemaReader = {
    operands: {
      ...ALONE,
      $async: gone,
      $schema: operand => DIALECT.test(operand as string) ? operand : undefined,
      $ref (operand) {
        if (!isRecord(at(schema, operand as string))) isBroken = true
        return operand
      },
      items: operand => Array.isArray(operand) && !isOlder ? undefined : operand
    },
    finish ({ nullable, ...schema }) {
      if (nullable === undefined) return schema
      return nullable === true && schema.type !== undefined ? { ...schema, nullable } : schema
    }
  }
  const fitted = fitSchema(schema, reader)
  return isBroken ? undefined : fitted
}

/** What a reference within a schema leads to. */
export function at (root: Fields, ref: string): unknown {
  if (ref !== '#' && !ref.startsWith('#/')) return undefined
  let found: unknown = root
  for (const part of ref.split('/').slice(1)) {
    const key = decode(part).replaceAll('~1', '/').replaceAll('~0', '~')
    if (typeof found !== 'object' || found === null || !Object.hasOwn(found, key)) return undefined
    found = (found as Fields)[key]
  }
  return found
}

function decode (text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

/** Members whose names are patterns. */
function withPatterns (operand: unknown): unknown {
  const entries = Object.entries(operand as Fields)
  return entries.every(([pattern]) => isPattern(pattern)) ? operand : Object.fromEntries(entries.filter(([pattern]) => isPattern(pattern)))
}

function isPattern (pattern: string): boolean {
  try {
    return new RegExp(pattern, 'u') instanceof RegExp
  } catch {
    return false
  }
}
