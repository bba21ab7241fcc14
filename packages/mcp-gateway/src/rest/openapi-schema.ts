import { isRecord } from '@polyvac/core/plugin'
import { LISTS, MAPS, MAX_LEVELS, ONE, SchemaIndex, type Json } from './schema-index.js'

const TYPES: readonly unknown[] = ['null', 'boolean', 'object', 'array', 'number', 'string', 'integer']
/** Keywords for which a Boolean schema is usual. */
const MAY_BE_BOOLEAN: readonly string[] = ['additionalProperties', 'unevaluatedProperties', 'unevaluatedItems']

type Check = (value: unknown) => boolean

const isText: Check = value => typeof value === 'string'
const isTexts: Check = value => Array.isArray(value) && value.every(isText)
const isType: Check = value => [value].flat().every(type => TYPES.includes(type)) && (!Array.isArray(value) || value.length > 0)

/** The other keywords, and the values that they may have. What a schema has besides means nothing to a validator. */
const PLAIN: ReadonlyArray<readonly [keywords: readonly string[], check: Check]> = [
  [['type'], isType],
  [['enum'], value => Array.isArray(value) && value.length > 0 && isData(value)],
  [['const', 'default'], isData],
  [['examples'], value => Array.isArray(value) && isData(value)],
  [['title', 'description', '$comment', 'format', 'contentEncoding', 'contentMediaType'], isText],
  [['pattern'], isPattern],
  [['multipleOf'], value => typeof value === 'number' && value > 0],
  [['maximum', 'minimum', 'exclusiveMaximum', 'exclusiveMinimum'], Number.isFinite],
  [
    ['maxLength', 'minLength', 'maxItems', 'minItems', 'maxContains', 'minContains', 'maxProperties', 'minProperties'],
    value => Number.isSafeInteger(value) && (value as number) >= 0
  ],
  [['required'], isTexts],
  [['uniqueItems', 'deprecated', 'readOnly', 'writeOnly'], value => typeof value === 'boolean'],
  [['dependentRequired'], value => isRecord(value) && Object.values(value).every(isTexts)]
]

/** Keywords whose lists name each text once. */
const NAMES: readonly string[] = ['type', 'required', 'dependentRequired']

/** What may stand next to a reference. */
const NOTES: readonly string[] = ['title', 'description', '$comment', 'default', 'examples', 'deprecated', 'readOnly', 'writeOnly']

/** A schema whose reference is a part of `allOf` if other keywords also apply: importers read only the reference. */
function withParts (schema: Json): Json {
  const { $ref, ...rest } = schema
  if ($ref === undefined || Object.keys(rest).every(key => NOTES.includes(key))) return schema
  return { ...rest, allOf: [{ $ref }, ...rest.allOf as unknown[] | undefined ?? []] }
}

function distinct (value: unknown): unknown {
  if (Array.isArray(value)) return [...new Set<unknown>(value)]
  return isRecord(value) ? Object.fromEntries(Object.entries(value).map(([key, child]) => [key, distinct(child)])) : value
}

const isPlain = (key: string, value: unknown): boolean =>
  key.startsWith('x-') || PLAIN.some(([keywords, check]) => keywords.includes(key) && check(value))

const REF_PREFIX = '#/components/schemas/'

export const refTo = (component: string): Json => ({ $ref: `${REF_PREFIX}${component}` })

/**
 * Adds the schema of a tool's arguments to the components of an OpenAPI 3.1 document, and returns the name that it has
 * there: `wanted`, or one that no component has yet. What it refers to becomes separate components: in the document a
 * reference is relative to the whole document. Values that no validator accepts, and references to what does not
 * exist, are left out.
 */
export function addArguments (schemas: Json, wanted: string, given: unknown): string {
  const name = freeName(schemas, wanted)
  const root = isRecord(given) ? given : {}
  const index = new SchemaIndex(root)
  let own = root
  // generators that name the schema write only a reference at its top
  for (let i = 0; i < MAX_LEVELS && own.properties === undefined; i++) {
    const target = index.target(own)
    if (!isRecord(target)) break
    own = target
  }
  schemas[name] = {}
  const writer = new SchemaWriter(schemas, index, own, name)
  const { type, properties = {}, ...rest } = writer.write(own, 0, true)
  schemas[name] = { type: 'object', properties, ...rest }
  writer.finish()
  return name
}

function freeName (schemas: Json, wanted: string): string {
  let name = wanted
  for (let i = 1; Object.hasOwn(schemas, name); i++) name = `${wanted}_${i}`
  return name
}

class SchemaWriter {
  readonly #schemas: Json
  readonly #index: SchemaIndex
  readonly #name: string
  // @keyed none: the keys are subschemas of one schema
  readonly #components = new Map<Json, string>()
  // @keyed none: a list in order, of subschemas of one schema
  readonly #open: Array<readonly [name: string, schema: Json]> = []

  constructor (schemas: Json, index: SchemaIndex, root: Json, name: string) {
    this.#schemas = schemas
    this.#index = index
    this.#name = name
    this.#components.set(root, name)
  }

  /** Writes the components that references have made so far: not at once, since each may refer to the next. */
  finish (): void {
    for (const [name, schema] of this.#open) this.#schemas[name] = this.write(schema, 0, true)
    this.#openCircles()
    for (const name of this.#components.values()) this.#schemas[name] = withParts(this.#schemas[name] as Json)
  }

  /** Drops a reference of each circle of components that are references: importers refuse a document with one. */
  #openCircles (): void {
    const done = new Set<string>()
    for (const start of this.#components.values()) {
      const path = new Set<string>()
      for (let name = start; !done.has(name);) {
        path.add(name)
        const { $ref, ...rest } = this.#schemas[name] as Json
        if (typeof $ref !== 'string') break
        const next = $ref.slice(REF_PREFIX.length)
        if (path.has(next)) {
          this.#schemas[name] = rest
          break
        }
        name = next
      }
      for (const name of path) done.add(name)
    }
  }

  write (schema: unknown, level: number, isComponent = false): Json {
    if (schema === false) return { not: {} }
    if (!isRecord(schema) || level > MAX_LEVELS) return {}
    if (!isComponent) {
      const component = this.#components.get(schema)
      if (component !== undefined) return refTo(component)
    }
    const written: Json = {}
    const target = this.#index.target(schema)
    if (target === false) written.not = {}
    else if (isRecord(target)) written.$ref = refTo(this.#componentOf(target)).$ref
    for (const [key, value] of Object.entries(modernised(schema))) {
      if (MAY_BE_BOOLEAN.includes(key) && typeof value === 'boolean') written[key] = value
      else if (ONE.includes(key)) written[key] = this.write(value, level + 1)
      else if (LISTS.includes(key)) {
        if (Array.isArray(value) && value.length > 0) written[key] = value.map(item => this.write(item, level + 1))
      } else if (MAPS.includes(key)) {
        if (isRecord(value)) written[key] = Object.fromEntries(Object.entries(value).map(([name, item]) => [name, this.write(item, level + 1)]))
      } else if (isPlain(key, value)) written[key] = NAMES.includes(key) ? distinct(value) : value
    }
    // of a component when all are written: a circle of references is open then
    return isComponent ? written : withParts(written)
  }

  /** The component of a subschema that a reference means. */
  #componentOf (schema: Json): string {
    const known = this.#components.get(schema)
    if (known !== undefined) return known
    const base = `${this.#name}_${typeof schema.title === 'string' ? schema.title : 'part'}`.replace(/[^A-Za-z0-9_-]/g, '_').slice(0, 100)
    let name = base
    for (let i = this.#components.size; Object.hasOwn(this.#schemas, name); i++) name = `${base}_${i}`
    this.#components.set(schema, name)
    this.#schemas[name] = {}
    this.#open.push([name, schema])
    return name
  }
}

/** Whether a value has no `$ref`, which importers resolve wherever it stands. */
function isData (value: unknown, level = 0): boolean {
  if (typeof value !== 'object' || value === null) return true
  return level < MAX_LEVELS && !(isRecord(value) && typeof value.$ref === 'string') && Object.values(value).every(child => isData(child, level + 1))
}

/** Whether a default has the type of its schema: `null` for a string is usual, and importers refuse it. */
function fits (value: unknown, type: unknown): boolean {
  if (type === undefined || !isType(type)) return true
  const own = value === null ? 'null' : Array.isArray(value) ? 'array' : typeof value
  return [type].flat().some(type => type === own || (type === 'integer' && Number.isInteger(value)))
}

/** A schema with the keywords of 2020-12 in place of those of earlier drafts. */
function modernised (schema: Json): Json {
  const { dependencies, additionalItems, ...rest } = schema
  const modern: Json = rest
  if (rest.nullable === true && isType(rest.type) && rest.type !== undefined) modern.type = [rest.type, 'null'].flat()
  if (!fits(rest.default, rest.type)) delete modern.default
  if (Array.isArray(rest.items)) {
    modern.prefixItems = rest.items
    delete modern.items
    if (additionalItems !== undefined) modern.items = additionalItems
  }
  for (const [bound, exclusive] of [['minimum', 'exclusiveMinimum'], ['maximum', 'exclusiveMaximum']] as const) {
    if (rest[exclusive] !== true) continue
    modern[exclusive] = rest[bound]
    delete modern[bound]
  }
  if (isRecord(dependencies)) {
    const entries = Object.entries(dependencies)
    const texts = entries.filter(([, value]) => isTexts(value))
    const others = entries.filter(([, value]) => !Array.isArray(value))
    if (texts.length > 0) modern.dependentRequired = Object.fromEntries(texts)
    if (others.length > 0) modern.dependentSchemas = Object.fromEntries(others)
  }
  return modern
}

function isPattern (text: unknown): boolean {
  try {
    return typeof text === 'string' && new RegExp(text, 'u') instanceof RegExp
  } catch {
    return false
  }
}
