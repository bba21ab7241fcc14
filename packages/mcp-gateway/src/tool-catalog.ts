import { Ajv, type ErrorObject, type ValidateFunction } from 'ajv'
import { Ajv2020 } from 'ajv/dist/2020.js'
import formats from 'ajv-formats'
import type { Item } from './lists.js'

/** Problems told about one call. */
const MAX_PROBLEMS = 20
/** Larger schemas are left to their server, as JSON text in characters: compiling takes time that other calls wait for. */
const MAX_SCHEMA_CHARS = 256 * 1024

/** Arguments up to so many characters are told all their problems; a huge list of wrong items would have as many. */
const MAX_EXPLAINED_CHARS = 64 * 1024

interface Checker {
  readonly check: ValidateFunction | undefined
  /** Finds all problems, not the first alone; made by need. */
  explain?: ValidateFunction | undefined
}

/**
 * The tools of one server, as of one list. Compiled schemas belong to this object and go with it when the list changes.
 */
export class ToolCatalog {
  readonly items: readonly Item[]
  readonly names: readonly string[]
  readonly #byName: ReadonlyMap<string, Item>
  readonly #checkers = new Map<string, Checker>()
  readonly #offers: (name: string) => boolean

  constructor (listed: readonly Item[], { allow, deny = [] }: { readonly allow?: readonly string[] | undefined, readonly deny?: readonly string[] | undefined }) {
    this.#offers = name => (allow === undefined || allow.includes(name)) && !deny.includes(name)
    this.items = listed.filter(item => this.#offers(item.name as string))
    this.#byName = new Map(this.items.map(item => [item.name as string, item]))
    this.names = [...this.#byName.keys()]
  }

  get (name: string): Item | undefined {
    return this.#byName.get(name)
  }

  /** What is wrong with the arguments of a tool, in words, each with its path; empty if nothing is. */
  problems (name: string, args: unknown): string {
    let checker = this.#checkers.get(name)
    if (checker === undefined) {
      checker = { check: compile(this.#byName.get(name)?.inputSchema, false) }
      this.#checkers.set(name, checker)
    }
    const { check } = checker
    if (check === undefined || check(args) as boolean) return ''
    let found = check
    if (JSON.stringify(args).length <= MAX_EXPLAINED_CHARS) {
      found = checker.explain ??= compile(this.#byName.get(name)?.inputSchema, true) ?? check
      found(args)
    }
    const told = (found.errors ?? []).map(describe)
    check.errors = found.errors = null
    return [...new Set(told)].slice(0, MAX_PROBLEMS).join('; ')
  }
}

/** A schema as a function; undefined where it cannot be compiled, which leaves the check to the server. */
function compile (schema: unknown, allErrors: boolean): ValidateFunction | undefined {
  if (typeof schema !== 'object' || schema === null) return undefined
  try {
    if (JSON.stringify(schema).length > MAX_SCHEMA_CHARS) return undefined
    const { $schema: dialect } = schema as { $schema?: unknown }
    // JSON Schema 2020-12 is the protocol's dialect; many servers say that theirs is draft-07
    const Dialect = typeof dialect === 'string' && /draft-0[4-7]/.test(dialect) ? Ajv : Ajv2020
    const ajv = new Dialect({ strict: false, validateSchema: false, addUsedSchema: false, meta: false, allErrors, logger: false })
    ;(formats as unknown as (ajv: Ajv) => void)(ajv)
    return ajv.compile(schema)
  } catch {
    // a reference to the network, or a schema that is none
    return undefined
  }
}

function describe ({ instancePath, keyword, message = 'is not valid', params }: ErrorObject): string {
  const { missingProperty, additionalProperty, allowedValues } = params as { missingProperty?: string, additionalProperty?: string, allowedValues?: unknown[] }
  const path = `arguments${instancePath}`
  if (keyword === 'required' && missingProperty !== undefined) return `${path}/${missingProperty}: is missing`
  if (additionalProperty !== undefined) return `${path}/${additionalProperty}: is not known`
  if (allowedValues !== undefined) return `${path}: expected one of ${allowedValues.slice(0, 10).map(value => JSON.stringify(value)).join(', ')}`
  return `${path}: ${message}`
}
