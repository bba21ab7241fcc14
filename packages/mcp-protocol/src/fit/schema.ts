import { isRecord } from '../is-record.js'
import type { Fields } from './values.js'

/** Subschemas that lie within one another. */
const MAX_DEPTH = 100

/** What depends on who reads a schema: Ajv of the official clients throws for what others ignore. */
export interface SchemaReader {
  /** Replaces the operands of single keywords; undefined leaves the keyword out. */
  readonly operands?: Readonly<Record<string, (operand: unknown, schema: Fields) => unknown>>
  /** Called for each subschema once its keywords fit. */
  readonly finish?: (schema: Fields) => Fields
}

type Descend = (schema: Fields) => Fields
type Operand = (operand: unknown, descend: Descend, schema: Fields) => unknown

const TYPES: ReadonlySet<unknown> = new Set(['string', 'number', 'integer', 'boolean', 'null', 'array', 'object'])

const text: Operand = operand => typeof operand === 'string' ? operand : undefined
const flag: Operand = operand => typeof operand === 'boolean' ? operand : undefined
const number: Operand = operand => typeof operand === 'number' ? operand : undefined
const count: Operand = operand => Number.isInteger(operand) && operand as number >= 0 ? operand : undefined
const texts: Operand = operand => {
  if (!Array.isArray(operand)) return undefined
  const fitted = [...new Set(operand)].filter(one => typeof one === 'string')
  return fitted.length === operand.length ? operand : fitted
}
const subschema: Operand = (operand, descend) => isRecord(operand) ? descend(operand) : flag(operand, descend, {})
/** A schema where there must be one: what is not a schema permits everything, as without it. */
const member: Operand = (operand, descend, schema) => subschema(operand, descend, schema) ?? {}
/** Clients of the first SDK take only objects as schemas of members. */
const property: Operand = (operand, descend) => isRecord(operand) ? descend(operand) : operand === false ? { not: {} } : {}

const list = (one: Operand): Operand => (operand, descend, schema) => {
  if (!Array.isArray(operand) || operand.length === 0) return undefined
  const fitted = operand.map(entry => one(entry, descend, schema))
  return fitted.every((entry, i) => entry === operand[i]) ? operand : fitted
}

const map = (one: Operand): Operand => (operand, descend, schema) => {
  if (!isRecord(operand)) return undefined
  const fitted = Object.entries(operand).map(([key, entry]): [string, unknown] => [key, one(entry, descend, schema)])
  // not by assignment: a member may be named __proto__
  return fitted.every(([key, entry]) => entry === operand[key]) ? operand : Object.fromEntries(fitted.filter(([, entry]) => entry !== undefined))
}

/** `exclusiveMinimum: true` of draft-04 stands for the exclusive bound. */
const bound = (inclusive: string): Operand => (operand, _descend, schema) => typeof operand === 'number'
  ? operand
  : operand === true && typeof schema[inclusive] === 'number' ? schema[inclusive] : undefined

/** What the operand of each keyword may be. An operand of another shape has no meaning, and the keyword is left out. */
const KEYWORDS: Readonly<Record<string, Operand>> = {
  type (operand) {
    if (!Array.isArray(operand)) return TYPES.has(operand) ? operand : undefined
    const names = [...new Set(operand)].filter(name => TYPES.has(name))
    return names.length === operand.length && names.length > 0 ? operand : names.length === 0 ? undefined : names
  },
  enum: operand => Array.isArray(operand) && operand.length > 0 ? operand : undefined,
  examples: operand => Array.isArray(operand) ? operand : undefined,
  required: texts,
  nullable: flag,
  uniqueItems: flag,
  deprecated: flag,
  readOnly: flag,
  writeOnly: flag,
  minimum: number,
  maximum: number,
  exclusiveMinimum: bound('minimum'),
  exclusiveMaximum: bound('maximum'),
  multipleOf: operand => typeof operand === 'number' && operand > 0 ? operand : undefined,
  ...named(['minLength', 'maxLength', 'minItems', 'maxItems', 'minProperties', 'maxProperties', 'minContains', 'maxContains'], count),
  ...named(['$schema', '$id', '$ref', '$anchor', '$dynamicRef', '$dynamicAnchor', '$comment', 'title', 'description', 'pattern', 'format', 'contentEncoding', 'contentMediaType'], text),
  properties: map(property),
  ...named(['patternProperties', '$defs', 'definitions', 'dependentSchemas'], map(member)),
  dependentRequired: map(texts),
  dependencies: map((operand, descend, schema) => texts(operand, descend, schema) ?? subschema(operand, descend, schema)),
  ...named(['allOf', 'anyOf', 'oneOf', 'prefixItems'], list(member)),
  items: (operand, descend, schema) => (Array.isArray(operand) ? list(member) : subschema)(operand, descend, schema),
  ...named(['additionalProperties', 'additionalItems', 'unevaluatedProperties', 'unevaluatedItems', 'contains', 'propertyNames', 'not', 'contentSchema'], subschema),
  if: subschema,
  then: subschema,
  else: subschema
}

function named (keywords: readonly string[], operand: Operand): Record<string, Operand> {
  return Object.fromEntries(keywords.map(keyword => [keyword, operand]))
}

/** Schemas that fit: a list is fitted by each part of the service that passes it on. */
// @keyed none: the keys are schemas of lists that are kept, and an entry ends with its schema
const fitting = new WeakSet<Fields>()

/**
 * The schema without keywords whose operands have the wrong type, so it permits what the schema of the server permits:
 * the same object where all fit.
 * @throws RangeError for one that is nested too deep
 */
export function fitSchema (schema: Fields, reader?: SchemaReader): Fields {
  if (reader === undefined && fitting.has(schema)) return schema
  const fitted = fitNode(schema, reader ?? {}, 0)
  if (reader === undefined) fitting.add(fitted)
  return fitted
}

function fitNode (schema: Fields, reader: SchemaReader, depth: number): Fields {
  if (depth > MAX_DEPTH) throw new RangeError(`a schema is nested deeper than ${MAX_DEPTH} levels`)
  const descend: Descend = child => fitNode(child, reader, depth + 1)
  const { operands, finish } = reader
  let fitted: Record<string, unknown> | undefined
  for (const keyword of Object.keys(schema)) {
    if (!Object.hasOwn(KEYWORDS, keyword) && (operands === undefined || !Object.hasOwn(operands, keyword))) continue
    const before = schema[keyword]
    let after = Object.hasOwn(KEYWORDS, keyword) ? KEYWORDS[keyword]!(before, descend, schema) : before
    const own = operands?.[keyword]
    if (own !== undefined && after !== undefined) after = own(after, schema)
    if (after === before) continue
    fitted ??= { ...schema }
    if (after === undefined) delete fitted[keyword]
    else fitted[keyword] = after
  }
  const whole = fitted ?? schema
  return finish === undefined ? whole : finish(whole)
}

/** The schema as one of an object; undefined where no object fits it. What is not a schema permits every object. */
export function objectSchema (schema: unknown): Fields | undefined {
  if (!isRecord(schema)) return schema === false ? undefined : { type: 'object' }
  const fitted = fitSchema(schema)
  const { type } = fitted
  if (type === 'object') return fitted
  if (type !== undefined && ![type].flat().includes('object')) return undefined
  const typed = { ...fitted, type: 'object' }
  fitting.add(typed)
  return typed
}
