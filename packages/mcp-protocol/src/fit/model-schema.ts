import { isRecord } from '../is-record.js'
import { ALONE, at, gone } from './output-schema.js'
import { fitSchema, objectSchema, type SchemaReader } from './schema.js'
import type { Fields } from './values.js'

/** The names of arguments that Anthropic accepts. */
const PROPERTY = /^[a-zA-Z0-9_.-]{1,64}$/
/** What OpenAI and Anthropic refuse at the top of a schema. */
const REFUSED_AT_TOP = Object.keys({ allOf: 1, anyOf: 1, oneOf: 1, not: 1, if: 1, then: 1, else: 1, enum: 1, const: 1, $ref: 1, dependentSchemas: 1 })
/** Schemas that are read for the arguments of one tool: those of a reference count each time. */
const MAX_PARTS = 200

/**
 * The schema of a tool's arguments as the APIs of language models accept it. It permits all that the server's own
 * permits, and more: alternatives at the top become optional properties, which the description names.
 */
export function modelSchema (schema: unknown): Fields {
  const root = objectSchema(schema) ?? { type: 'object' }
  const parts = { left: MAX_PARTS }
  const { properties, required, alternatives } = membersOf(root, root, parts)
  const { description, ...rest } = Object.fromEntries(Object.entries(root).filter(([keyword]) => !REFUSED_AT_TOP.includes(keyword)))
  const isMerged = REFUSED_AT_TOP.some(keyword => keyword in root)
  // the properties of an alternative were not those that the rule was about
  if (isMerged) for (const keyword of ['additionalProperties', 'unevaluatedProperties', 'minProperties', 'maxProperties']) delete rest[keyword]
  const hint = alternatives.length < 2 ? undefined : `Give one of these: ${alternatives.map(names => names.join(' and ')).join('; ')}.`
  const texts = [description, hint].filter(text => typeof text === 'string')
  const whole = { ...rest, type: 'object', ...texts.length > 0 && { description: texts.join(' ') }, properties, ...required.length > 0 && { required } }
  return fitSchema(whole, readerOf(whole))
}

interface Members {
  readonly properties: Fields
  readonly required: readonly string[]
  /** The names that each alternative requires. */
  readonly alternatives: ReadonlyArray<readonly string[]>
}

/** The properties of a schema and of all that it combines; those that every value must have are required. */
function membersOf (schema: Fields, root: Fields, parts: { left: number }): Members {
  // @keyed none: a map of one call, whose keys are in a definition that is bounded where it is read
  const properties = new Map<string, unknown>(Object.entries(isRecord(schema.properties) ? schema.properties : {}))
  // @keyed none: as the map before
  const required = new Set<string>(Array.isArray(schema.required) ? schema.required.filter(name => typeof name === 'string') : [])
  const alternatives: Array<readonly string[]> = []
  const read = (part: unknown): Members | undefined => isRecord(part) && parts.left-- > 0 ? membersOf(part, root, parts) : undefined
  const add = (members: Members | undefined, isCommon: boolean): void => {
    for (const [name, property] of Object.entries(members?.properties ?? {})) {
      const known = properties.get(name)
      const isSame = known === undefined || JSON.stringify(known) === JSON.stringify(property)
      properties.set(name, isSame ? property : { anyOf: [known, property] })
    }
    if (isCommon) for (const name of members?.required ?? []) required.add(name)
  }
  const all = [...typeof schema.$ref === 'string' ? [at(root, schema.$ref)] : [], ...Array.isArray(schema.allOf) ? schema.allOf : []]
  for (const part of all) {
    const members = read(part)
    add(members, true)
    alternatives.push(...members?.alternatives ?? [])
  }
  for (const keyword of ['anyOf', 'oneOf'] as const) {
    const options = schema[keyword]
    for (const part of Array.isArray(options) ? options : []) {
      const members = read(part)
      add(members, false)
      if (members !== undefined && members.required.length > 0) alternatives.push(members.required)
    }
  }
  for (const part of [schema.if, schema.then, schema.else]) add(read(part), false)
  return { properties: Object.fromEntries(properties), required: [...required], alternatives }
}

/** Mends the subschemas: only JSON Schema 2020-12, no reference that leads nowhere, items of arrays. */
function readerOf (root: Fields): SchemaReader {
  return {
    operands: {
      ...ALONE,
      $schema: gone,
      $vocabulary: gone,
      dependencies: gone,
      $ref: operand => isRecord(at(root, operand as string)) ? operand : undefined,
      items: operand => Array.isArray(operand) ? {} : operand
    },
    finish ({ nullable, ...schema }) {
      const fitted: Record<string, unknown> = { ...schema }
      const types = [schema.type].flat()
      if (nullable === true && schema.type !== undefined && !types.includes('null')) {
        fitted.type = [...types, 'null']
        if (Array.isArray(schema.enum)) fitted.enum = [...schema.enum, null]
      }
      if (types.includes('array') && !('items' in schema)) fitted.items = {}
      if (types.includes('object')) withProperties(fitted)
      return fitted
    }
  }
}

/** Properties that have a name for models, with one for each that is required. */
function withProperties (schema: Record<string, unknown>): void {
  const all = Object.entries(isRecord(schema.properties) ? schema.properties : {})
  const named = all.filter(([name]) => PROPERTY.test(name))
  const required = Array.isArray(schema.required) ? schema.required.filter(name => PROPERTY.test(name as string)) as string[] : []
  const known = new Set(named.map(([name]) => name))
  schema.properties = Object.fromEntries([...named, ...required.filter(name => !known.has(name)).map((name): [string, unknown] => [name, {}])])
  if (Array.isArray(schema.required)) schema.required = required
  // a property without a name for models is still permitted
  if (named.length < all.length) delete schema.additionalProperties
}
