import { Uncheckable, type Check } from './check.js'

/** One keyword of a schema, as a check of a value. */
export type Rule = (value: unknown, check: Check) => boolean

type MakeRules = (node: SchemaNode, check: Check) => Rule[]

/** Subschemas of one schema that are prepared; a check that needs more is not made. */
const MAX_NODES = 20_000
const BASE = 'schema:/'
const STEPS_PER_URL = 20
/** Keywords whose operands are values: an `$id` in them is not an identifier. */
const VALUES = new Set(['enum', 'const', 'default', 'examples'])

/** A subschema. Its rules are made when the first value reaches it. */
export class SchemaNode {
  #rules: Rule[] | undefined

  constructor (readonly schema: Readonly<Record<string, unknown>>, readonly base: string,
    readonly document: SchemaDocument) {}

  accepts (value: unknown, check: Check): boolean {
    check.enter()
    let isValid = true
    for (const rule of this.#rules ??= this.document.makeRules(this, check)) {
      if (rule(value, check)) continue
      isValid = false
      if (check.isDone) break
    }
    check.leave()
    return isValid
  }

  child (schema: unknown): SchemaNode {
    return this.document.node(schema, this.base)
  }

  /** The schema that a `$ref` names. @throws Uncheckable for one outside of this document: nothing is fetched */
  resolve (ref: string, check: Check): SchemaNode {
    return this.document.resolve(ref, this.base, check)
  }
}

/** A schema with its subschemas, and their identifiers. */
export class SchemaDocument {
  readonly root: SchemaNode
  readonly makeRules: MakeRules
  // @keyed subschema of a tool, which its server wrote | holds: its prepared rules | whose: the server of the tool
  //   | bound: MAX_NODES for a schema; the text of a schema is bounded where it is read | share: only the schema:
  //   past it, values are not checked here | test: packages/core/test/json-schema.test.ts: a value that takes too
  //   many steps is accepted, or refused where the receiver does not check it
  readonly #nodes = new Map<unknown, SchemaNode>()
  // @keyed `$id` or `$anchor`, which the server of a tool wrote | holds: a reference into the schema | whose: the
  //   server of the tool | bound: MAX_STEPS of the check that reads them | share: only the check | test:
  //   packages/core/test/json-schema.test.ts: no schema and no value keep the event loop, or make the text of
  //   problems long
  #resources: Map<string, unknown> | undefined

  constructor (schema: unknown, makeRules: MakeRules) {
    this.makeRules = makeRules
    this.root = this.node(schema, BASE)
  }

  node (schema: unknown, base: string): SchemaNode {
    let node = this.#nodes.get(schema)
    if (node !== undefined) return node
    if (this.#nodes.size >= MAX_NODES) throw new Uncheckable('too many subschemas', true)
    node = typeof schema === 'object' && schema !== null
      ? new SchemaNode(schema as Record<string, unknown>, baseOf(schema, base), this)
      : new SchemaNode(schema === false ? { not: {} } : {}, base, this)
    this.#nodes.set(schema, node)
    return node
  }

  resolve (ref: string, base: string, check: Check): SchemaNode {
    check.spend(STEPS_PER_URL)
    const [uri = '', fragment = ''] = absolute(ref, base).split('#')
    const isPointer = fragment === '' || fragment.startsWith('/')
    if (uri === this.root.base && isPointer) return this.#at(this.root.schema, fragment, uri, check)
    this.#resources ??= findResources(this.root.schema, check)
    const resource = this.#resources.get(isPointer ? uri : `${uri}#${fragment}`)
    if (resource === undefined) throw new Uncheckable(`the reference ${ref} leads nowhere`)
    return isPointer ? this.#at(resource, fragment, uri, check) : this.node(resource, uri)
  }

  #at (resource: unknown, pointer: string, base: string, check: Check): SchemaNode {
    let found = resource
    for (const part of pointer.split('/').slice(1)) {
      check.spend(1)
      const key = decode(part).replaceAll('~1', '/').replaceAll('~0', '~')
      if (typeof found !== 'object' || found === null || !Object.hasOwn(found, key)) throw new Uncheckable('a reference leads nowhere')
      found = (found as Record<string, unknown>)[key]
    }
    return this.node(found, base)
  }
}

/** Every subschema with `$id` or `$anchor`, by its URI. */
function findResources (root: unknown, check: Check): Map<string, unknown> {
  const found = new Map<string, unknown>()
  const open: Array<[unknown, string]> = [[root, BASE]]
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const [value, outer] = next
    if (typeof value !== 'object' || value === null) continue
    const base = baseOf(value, outer)
    const { $id, $anchor } = value as Record<string, unknown>
    if (typeof $id === 'string') {
      check.spend(STEPS_PER_URL)
      found.set($id.startsWith('#') ? base + $id : base, value)
    }
    if (typeof $anchor === 'string') found.set(`${base}#${$anchor}`, value)
    for (const [key, child] of Object.entries(value)) {
      check.spend(1)
      if (!VALUES.has(key)) open.push([child, base])
    }
  }
  return found
}

function baseOf (schema: object, base: string): string {
  const { $id } = schema as { $id?: unknown }
  if (typeof $id !== 'string' || $id.startsWith('#')) return base
  return absolute($id, base).split('#')[0] as string
}

function absolute (ref: string, base: string): string {
  try {
    return new URL(ref, base).href
  } catch {
    throw new Uncheckable(`${ref} is not a URI`)
  }
}

function decode (text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}
