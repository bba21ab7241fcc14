import { isRecord } from '@polyvac/core/plugin'

export type Json = Record<string, unknown>

/** Keywords whose value is a schema, a list of them, or a map of them. */
export const ONE: readonly string[] = [
  'additionalProperties', 'unevaluatedProperties', 'unevaluatedItems', 'additionalItems', 'items', 'contains', 'propertyNames', 'contentSchema',
  ...Object.keys({ not: 1, if: 1, then: 1, else: 1 })
]
export const LISTS: readonly string[] = ['allOf', 'anyOf', 'oneOf', 'prefixItems']
export const MAPS: readonly string[] = ['properties', 'patternProperties', 'dependentSchemas']
const DEFINITIONS: readonly string[] = ['$defs', 'definitions', 'dependencies']

/** Levels of a schema that are read; what is below them allows everything. */
export const MAX_LEVELS = 64

const NO_ADDRESS = 'https://schema.invalid/'

/** A schema with an `$id`: references within it are relative to that. */
interface Resource { readonly root: Json, readonly base: string }

/** The references of one schema, with the subschema that each of them means. */
export class SchemaIndex {
  // @keyed $id of a server's schema | holds: the subschema | whose: the server | bound: the schema, part of a list
  //   of at most MAX_LIST_CHARS | share: of no owner: it ends with the document | test:
  //   packages/mcp-gateway/test/openapi.test.ts: a schema that is too deep or has references in a circle is documented
  readonly #resources = new Map<string, Resource>()
  // @keyed none: the keys are subschemas of one schema
  readonly #of = new Map<Json, Resource>()
  // @keyed $anchor of a server's schema | holds: the subschema | whose: the server | bound: the schema, part of a
  //   list of at most MAX_LIST_CHARS | share: of no owner: it ends with the document | test:
  //   packages/mcp-gateway/test/openapi.test.ts: a schema that is too deep or has references in a circle is documented
  readonly #anchors = new Map<string, Json>()

  constructor (root: Json) {
    this.#visit(root, { root, base: NO_ADDRESS }, 0)
  }

  /** The subschema that `$ref`, `$dynamicRef` or `$recursiveRef` means; undefined without one, or if there is none. */
  target (schema: Json): unknown {
    let target: unknown = this.#direct(schema)
    // a definition that is only a reference stands for its target; those in a circle have none
    for (let i = 0; isReference(target); i++) {
      if (i === MAX_LEVELS) return undefined
      target = this.#direct(target)
    }
    return target
  }

  #direct (schema: Json): unknown {
    const ref = schema.$ref ?? schema.$dynamicRef ?? schema.$recursiveRef
    const within = this.#of.get(schema)
    if (typeof ref !== 'string' || within === undefined) return undefined
    const [address, fragment] = this.#split(ref, within)
    const resource = address === undefined ? within : this.#resources.get(address)
    if (resource === undefined) return undefined
    if (fragment === '') return resource.root
    if (!fragment.startsWith('/')) return this.#anchors.get(`${resource.base}#${fragment}`)
    const found = at(resource.root, fragment)
    // it may stand where no keyword is, such as `components`
    if (isRecord(found) && !this.#of.has(found)) this.#visit(found, resource, 0)
    return isRecord(found) || typeof found === 'boolean' ? found : undefined
  }

  #split (ref: string, { base }: Resource): [address: string | undefined, fragment: string] {
    const i = ref.indexOf('#')
    const fragment = i < 0 ? '' : decoded(ref.slice(i + 1))
    return [i === 0 ? undefined : withoutFragment(ref, base), fragment]
  }

  #visit (schema: unknown, outer: Resource, level: number): void {
    if (!isRecord(schema) || this.#of.has(schema) || level > MAX_LEVELS) return
    const { $id, $anchor, $dynamicAnchor } = schema
    let resource = outer
    if (typeof $id === 'string' && $id.startsWith('#')) this.#anchors.set(`${outer.base}${$id}`, schema)
    else if (typeof $id === 'string') resource = { root: schema, base: withoutFragment($id, outer.base) ?? outer.base }
    if (resource !== outer || level === 0) this.#resources.set(resource.base, resource)
    for (const anchor of [$anchor, $dynamicAnchor]) if (typeof anchor === 'string') this.#anchors.set(`${resource.base}#${anchor}`, schema)
    this.#of.set(schema, resource)
    for (const child of childrenOf(schema)) this.#visit(child, resource, level + 1)
  }
}

function isReference (target: unknown): target is Json {
  return isRecord(target) && typeof target.$ref === 'string' && Object.keys(target).length === 1
}

function * childrenOf (schema: Json): Iterable<unknown> {
  for (const key of ONE) {
    const value = schema[key]
    if (Array.isArray(value)) yield * value
    else yield value
  }
  for (const key of LISTS) if (Array.isArray(schema[key])) yield * schema[key] as unknown[]
  for (const key of [...MAPS, ...DEFINITIONS]) if (isRecord(schema[key])) yield * Object.values(schema[key])
}

/** The value at a JSON pointer (RFC 6901). */
function at (root: unknown, pointer: string): unknown {
  let value = root
  for (const part of pointer.slice(1).split('/')) {
    const key = part.replaceAll('~1', '/').replaceAll('~0', '~')
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, key)) return undefined
    value = (value as Json)[key]
  }
  return value
}

function withoutFragment (address: string, base: string): string | undefined {
  if (!URL.canParse(address, base)) return undefined
  const url = new URL(address, base)
  url.hash = ''
  return url.href
}

function decoded (text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}
