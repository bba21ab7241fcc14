// The public API of @polyvac/core/json-schema: every export here is public and follows semantic versioning.
import { Check, Uncheckable } from './check.js'
import { SchemaDocument } from './document.js'
import { canExplode } from './explosion.js'
import { withoutNulls } from './nulls.js'
import { makeRules } from './rules.js'

export interface JsonSchemaOptions {
  /** Refuses a value that takes too many steps to check. Default: accepts it. */
  readonly refusesUnchecked?: boolean | undefined
}

/**
 * Checks values against a JSON Schema of another server, within a bounded number of steps. A value that takes more, and
 * one whose schema needs what is not supported, such as a reference to the network, is accepted without a check: its
 * receiver checks it.
 */
export class JsonSchema {
  readonly #document: SchemaDocument
  readonly #refusesUnchecked: boolean

  constructor (schema: unknown, { refusesUnchecked = false }: JsonSchemaOptions = {}) {
    this.#document = new SchemaDocument(schema, makeRules)
    this.#refusesUnchecked = refusesUnchecked
  }

  /**
   * The value as its receiver takes it, and its problems: null for an optional member whose schema refuses null is left
   * out. Nothing is left out of a value without problems.
   */
  fit<T> (value: T, root: string): { readonly value: T, readonly problems: string } {
    const problems = this.problems(value, root)
    if (problems === '') return { value, problems }
    let fitted: unknown
    try {
      fitted = withoutNulls(this.#document.root, value, new Check())
    } catch (err) {
      if (!(err instanceof Uncheckable)) throw err
      return { value, problems }
    }
    return fitted === value ? { value, problems } : { value: fitted as T, problems: this.problems(fitted, root) }
  }

  /** The first problems of a value as text, each with its path under `root`; empty for a valid one. */
  problems (value: unknown, root: string): string {
    const { root: node } = this.#document
    try {
      if (node.accepts(value, new Check())) return ''
    } catch (err) {
      if (!(err instanceof Uncheckable)) throw err
      return err.isCostly && this.#refusesUnchecked ? `${root}: takes too long to check against the schema; send less` : ''
    }
    const problems: string[] = []
    try {
      node.accepts(value, new Check(problems))
    } catch (err) {
      if (!(err instanceof Uncheckable)) throw err
    }
    return problems.length === 0 ? `${root}: does not fit the schema` : problems.map(problem => root + problem).join('; ')
  }
}

/**
 * The names of schemas with which nested values of ordinary size can take more steps than a check has, so that such
 * values are not checked. All schemas together get the steps of one check; those after them are left out.
 */
export function findExplosiveSchemas (schemas: Iterable<readonly [name: string, schema: unknown]>): string[] {
  const check = new Check()
  const found: string[] = []
  for (const [name, schema] of schemas) {
    if (canExplode(new SchemaDocument(schema, makeRules), check)) found.push(name)
    if (check.isSpent) break
  }
  return found
}
