// The public API of @polyvac/core/json-schema: every export here is public and follows semantic versioning.
import { Ajv, type ErrorObject, type KeywordDefinition, type ValidateFunction } from 'ajv'
import { Ajv2020 } from 'ajv/dist/2020.js'
import formats from 'ajv-formats'
import { RE2JS } from 're2js'

/** Problems reported about one value. */
const MAX_PROBLEMS = 20
/** Larger schemas, in characters of JSON, are not checked: compiling one blocks the event loop. */
const MAX_SCHEMA_CHARS = 256 * 1024
/** Of larger values, in characters of JSON, only the first problem is reported: a long list may have one per item. */
const MAX_EXPLAINED_CHARS = 64 * 1024

/**
 * Checks values against a JSON Schema of another server. The schema is compiled with the first value; there is no
 * cache. A schema that cannot be compiled, such as one with a reference to the network, accepts every value.
 */
export class JsonSchema {
  readonly #schema: unknown
  #check: ValidateFunction | null | undefined
  /** Finds all problems, not only the first; compiled at first use. */
  #explain: ValidateFunction | undefined

  constructor (schema: unknown) {
    this.#schema = schema
  }

  /** The problems of a value as text, each with its path under `root`; empty for a valid one. */
  problems (value: unknown, root: string): string {
    if (this.#check === undefined) this.#check = compile(this.#schema, false) ?? null
    const check = this.#check
    if (check === null || check(value) as boolean) return ''
    let found = check
    if (JSON.stringify(value).length <= MAX_EXPLAINED_CHARS) {
      found = this.#explain ??= compile(this.#schema, true) ?? check
      found(value)
    }
    const problems = (found.errors ?? []).map(error => describe(error, root))
    check.errors = found.errors = null
    return [...new Set(problems)].slice(0, MAX_PROBLEMS).join('; ')
  }
}

/**
 * Patterns of the schema run in an engine with linear time: in V8's, `^(a+)+$` blocks the event loop for minutes over
 * 30 characters. A pattern that this engine does not support, such as a look-ahead, is left to the server of the
 * schema.
 */
const linearRegExp = Object.assign((pattern: string): { test (text: string): boolean } => {
  try {
    const expression = RE2JS.compile(RE2JS.translateRegExp(pattern))
    return { test: text => expression.matcher(text).find() }
  } catch {
    return { test: () => true }
  }
}, { code: '' })

/** Ajv compares every pair of items: 20,000 small objects would block the event loop for ten seconds. */
const linearUniqueItems: KeywordDefinition = {
  keyword: 'uniqueItems',
  type: 'array',
  schemaType: 'boolean',
  error: { message: 'must NOT have duplicate items' },
  validate: (isWanted: boolean, items: readonly unknown[]) => !isWanted || new Set(items.map(canonicalText)).size === items.length
}

/** Equal texts for equal JSON values, independent of the order of keys. */
function canonicalText (value: unknown): string {
  return JSON.stringify(value, (_key, child: unknown) => typeof child !== 'object' || child === null || Array.isArray(child)
    ? child
    : Object.fromEntries(Object.entries(child).sort(([a], [b]) => a < b ? -1 : 1)))
}

/** A schema as a function; undefined where it cannot be compiled. */
function compile (schema: unknown, allErrors: boolean): ValidateFunction | undefined {
  if (typeof schema !== 'object' || schema === null) return undefined
  try {
    if (JSON.stringify(schema).length > MAX_SCHEMA_CHARS) return undefined
    // `$async` is a keyword of Ajv, which would make the check return a promise
    const { $async: _, ...plain } = schema as { $async?: unknown, $schema?: unknown }
    const { $schema: dialect } = plain
    // JSON Schema 2020-12 is MCP's dialect; many servers declare draft-07
    const Dialect = typeof dialect === 'string' && /draft-0[4-7]/.test(dialect) ? Ajv : Ajv2020
    const ajv = new Dialect({
      strict: false, validateSchema: false, addUsedSchema: false, meta: false, allErrors, logger: false, code: { regExp: linearRegExp }
    })
    ;(formats as unknown as (ajv: Ajv) => void)(ajv)
    ajv.removeKeyword('uniqueItems').addKeyword(linearUniqueItems)
    return ajv.compile(plain as object)
  } catch {
    // a reference to the network, or an invalid schema
    return undefined
  }
}

function describe ({ instancePath, keyword, message = 'is not valid', params }: ErrorObject, root: string): string {
  const { missingProperty, additionalProperty, allowedValues } =
    params as { missingProperty?: string, additionalProperty?: string, allowedValues?: unknown[] }
  const path = `${root}${instancePath}`
  if (keyword === 'required' && missingProperty !== undefined) return `${path}/${missingProperty}: is missing`
  if (additionalProperty !== undefined) return `${path}/${additionalProperty}: is not known`
  if (allowedValues !== undefined) {
    return `${path}: expected one of ${allowedValues.slice(0, 10).map(value => JSON.stringify(value)).join(', ')}`
  }
  return `${path}: ${message}`
}
