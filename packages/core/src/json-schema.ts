import { Ajv, type ErrorObject, type KeywordDefinition, type ValidateFunction } from 'ajv'
import { Ajv2020 } from 'ajv/dist/2020.js'
import formats from 'ajv-formats'
import { RE2JS } from 're2js'

/** Problems told about one value. */
const MAX_PROBLEMS = 20
/** Larger schemas are not checked, as JSON text in characters: compiling takes time that other calls wait for. */
const MAX_SCHEMA_CHARS = 256 * 1024
/** Values up to so many characters are told all their problems; a huge list of wrong items would have as many. */
const MAX_EXPLAINED_CHARS = 64 * 1024

/**
 * Checks values against a JSON Schema that comes from outside. It is compiled with the first value and goes with this
 * object: nothing is kept elsewhere. A schema that cannot be compiled, such as one with a reference to the network,
 * lets every value pass.
 */
export class JsonSchema {
  readonly #schema: unknown
  #check: ValidateFunction | null | undefined
  /** Finds all problems, not the first alone; made by need. */
  #explain: ValidateFunction | undefined

  constructor (schema: unknown) {
    this.#schema = schema
  }

  /** What is wrong with a value, in words, each with its path under `root`; empty if nothing is. */
  problems (value: unknown, root: string): string {
    if (this.#check === undefined) this.#check = compile(this.#schema, false) ?? null
    const check = this.#check
    if (check === null || check(value) as boolean) return ''
    let found = check
    if (JSON.stringify(value).length <= MAX_EXPLAINED_CHARS) {
      found = this.#explain ??= compile(this.#schema, true) ?? check
      found(value)
    }
    const told = (found.errors ?? []).map(error => describe(error, root))
    check.errors = found.errors = null
    return [...new Set(told)].slice(0, MAX_PROBLEMS).join('; ')
  }
}

/**
 * Patterns of a schema from outside, in an engine whose time grows with the text alone: `^(a+)+$` would hold the event loop
 * for minutes over 30 characters. What that engine does not know, such as a look-ahead, is left to whoever made the schema.
 */
const linearRegExp = Object.assign((pattern: string): { test (text: string): boolean } => {
  try {
    const expression = RE2JS.compile(RE2JS.translateRegExp(pattern))
    return { test: text => expression.matcher(text).find() }
  } catch {
    return { test: () => true }
  }
}, { code: '' })

/** Ajv compares each item with each: 20,000 small objects would hold the event loop for ten seconds. */
const linearUniqueItems: KeywordDefinition = {
  keyword: 'uniqueItems',
  type: 'array',
  schemaType: 'boolean',
  error: { message: 'must NOT have duplicate items' },
  validate: (isWanted: boolean, items: readonly unknown[]) => !isWanted || new Set(items.map(canonicalText)).size === items.length
}

/** The same text for the same JSON value, in whatever order its keys are. */
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
    // `$async` is Ajv's own word, and its check would be a promise
    const { $async: _, ...plain } = schema as { $async?: unknown, $schema?: unknown }
    const { $schema: dialect } = plain
    // JSON Schema 2020-12 is MCP's dialect; many servers say that theirs is draft-07
    const Dialect = typeof dialect === 'string' && /draft-0[4-7]/.test(dialect) ? Ajv : Ajv2020
    const ajv = new Dialect({ strict: false, validateSchema: false, addUsedSchema: false, meta: false, allErrors, logger: false, code: { regExp: linearRegExp } })
    ;(formats as unknown as (ajv: Ajv) => void)(ajv)
    ajv.removeKeyword('uniqueItems').addKeyword(linearUniqueItems)
    return ajv.compile(plain as object)
  } catch {
    // a reference to the network, or a schema that is none
    return undefined
  }
}

function describe ({ instancePath, keyword, message = 'is not valid', params }: ErrorObject, root: string): string {
  const { missingProperty, additionalProperty, allowedValues } = params as { missingProperty?: string, additionalProperty?: string, allowedValues?: unknown[] }
  const path = `${root}${instancePath}`
  if (keyword === 'required' && missingProperty !== undefined) return `${path}/${missingProperty}: is missing`
  if (additionalProperty !== undefined) return `${path}/${additionalProperty}: is not known`
  if (allowedValues !== undefined) return `${path}: expected one of ${allowedValues.slice(0, 10).map(value => JSON.stringify(value)).join(', ')}`
  return `${path}: ${message}`
}
