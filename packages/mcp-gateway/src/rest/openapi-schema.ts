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
  [['enum'], value => Array.isArray(value) && value.length > 0],
  [['const', 'default'], () => true],
  [['examples'], Array.isArray],
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

const isPlain = (key: string, value: unknown): boolean =>
  key.startsWith('x-') || PLAIN.some(([keywords, check]) => keywords.includes(key) && check(value))

export const refTo = (component: string): Json => ({ $ref: `#/components/schemas/${component}` })

/**
 * Adds the schema of a tool's arguments to the components of an OpenAPI 3.1 document, under `name`. What it refers to
 * becomes separate components: in the document a reference is relative to the whole document. Values that no
 * validator accepts, and references to what does not exist, are left out.
 */
export function addArguments (schemas: Json, name: string, given: unknown): void {
  const root = isRecord(given) ? given : {}
  const index = new SchemaIndex(root)
  let own = root
  // generators that name the schema write a reference alone at its top
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
      } else if (isPlain(key, value)) written[key] = value
    }
    return written
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

/** A schema with the keywords of 2020-12 in place of those of earlier drafts. */
function modernised (schema: Json): Json {
  const { dependencies, additionalItems, ...rest } = schema
  const modern: Json = rest
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
