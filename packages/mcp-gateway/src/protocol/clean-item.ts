import { cleanText } from '@polyvac/core/plugin'

type Item = Readonly<Record<string, unknown>>

/** Longest name or URI of an entry, in characters: those of tools have 128 at most (MCP 2025-11-25). */
const MAX_NAME_CHARS = 1_000
/** Longest definition of one entry as JSON, in characters. */
const MAX_ITEM_CHARS = 256 * 1024
/** Deepest nesting of a definition. */
const MAX_ITEM_DEPTH = 64

/** A definition whose titles and descriptions are bounded and have no hidden characters, or why it is left out. */
export type CleanItem = { readonly item: Item, readonly chars: number } | { readonly problem: string }

/** @param id the key of its name or URI, which callers repeat: it is not changed */
export function cleanItem (item: Item, id: string): CleanItem {
  const name = item[id] as string
  if (name.length > MAX_NAME_CHARS) return { problem: `its ${id} is longer than ${MAX_NAME_CHARS} characters` }
  if (cleanText(name) !== name || /[\n\t]/.test(name)) return { problem: `its ${id} has characters that are not visible` }
  const state = { isTooDeep: false }
  const clean = cleaned(item, 'definition', state, 0) as Item
  if (state.isTooDeep) return { problem: `its definition is nested deeper than ${MAX_ITEM_DEPTH} levels` }
  const chars = JSON.stringify(clean).length
  return chars > MAX_ITEM_CHARS ? { problem: `its definition is longer than ${MAX_ITEM_CHARS} characters` } : { item: clean, chars }
}

/** Which part of a definition a value is: it decides what is a text for people and models. */
type Part = 'definition' | 'schema' | 'schemas' | 'properties' | 'text' | 'other' | 'data'

/** Texts of a definition. Anything else is data: icons and `_meta` are sent back. */
const TEXTS: ReadonlySet<string> = new Set(['name', 'title', 'description', 'mimeType'])

const PARTS_OF_DEFINITIONS: Readonly<Record<string, Part>> = {
  inputSchema: 'schema', outputSchema: 'schema', arguments: 'definition', annotations: 'definition'
}

/** Keywords that do not hold a text: what they have is sent back, or names a part of the schema. */
const PARTS_OF_SCHEMAS: Readonly<Record<string, Part>> = {
  ...parts('data', ['$schema', '$id', '$ref', '$anchor', '$dynamicRef', '$dynamicAnchor', 'type', 'pattern', 'format', 'contentEncoding', 'contentMediaType']),
  ...parts('schema', [...Object.keys({ if: 1, then: 1, else: 1 }), 'allOf', 'anyOf', 'oneOf', 'not', 'prefixItems', 'items', 'additionalItems', 'unevaluatedItems', 'contains', 'additionalProperties', 'unevaluatedProperties', 'propertyNames', 'contentSchema']),
  enum: 'data',
  const: 'data',
  default: 'data',
  examples: 'data',
  example: 'data',
  required: 'properties',
  dependentRequired: 'properties',
  properties: 'schemas',
  patternProperties: 'schemas',
  $defs: 'schemas',
  definitions: 'schemas',
  dependentSchemas: 'schemas',
  dependencies: 'schemas'
}

/** Keywords whose operands are for people and models: `description`, `enumNames`, `errorMessage`. */
const DESCRIBING = /(?:title|name|description|comment|message|label|hint|help|placeholder)s?$/i

function parts (part: Part, keywords: readonly string[]): Record<string, Part> {
  return Object.fromEntries(keywords.map(keyword => [keyword, part]))
}

/**
 * Tags and variation selectors, which can write a whole text that people do not see. Names of properties, and
 * keywords that are not known, lose only these: other characters may be part of what the server needs.
 */
const SMUGGLED = /[\u{E0000}-\u{E0FFF}]/gu

function withoutTags (text: string): string {
  return text.replace(SMUGGLED, '')
}

function partOf (part: Part, key: string): Part {
  if (part === 'definition') return Object.hasOwn(PARTS_OF_DEFINITIONS, key) ? PARTS_OF_DEFINITIONS[key]! : TEXTS.has(key) ? 'text' : 'data'
  // an unknown keyword may hold schemas that a reference leads to
  if (part === 'schema' || part === 'text' || part === 'other') return Object.hasOwn(PARTS_OF_SCHEMAS, key) ? PARTS_OF_SCHEMAS[key]! : DESCRIBING.test(key) ? 'text' : 'other'
  // a property may have the name of a keyword
  return part === 'schemas' ? 'schema' : part
}

function cleaned (value: unknown, part: Part, state: { isTooDeep: boolean }, depth: number): unknown {
  if (typeof value === 'string') return part === 'text' ? cleanText(value) : part === 'properties' || part === 'other' ? withoutTags(value) : value
  if (typeof value !== 'object' || value === null) return value
  if (depth === MAX_ITEM_DEPTH || state.isTooDeep) {
    state.isTooDeep = true
    return undefined
  }
  if (Array.isArray(value)) return value.map(one => cleaned(one, part, state, depth + 1))
  return Object.fromEntries(Object.entries(value).map(([key, one]) => [
    part === 'schemas' || part === 'properties' ? withoutTags(key) : key,
    cleaned(one, partOf(part, key), state, depth + 1)
  ]))
}
