import type { Static, TSchema } from '@sinclair/typebox'
import { InvalidToolsError } from '../basics/errors.js'
import { isRecord } from '../basics/is-record.js'
import { JsonSchema } from '../json-schema/index.js'

/**
 * A schema of zod 4.2 or newer, or of any other library with Standard Schema and Standard JSON Schema
 * (standardschema.dev).
 */
export interface StandardSchema<Input = unknown, Output = Input> {
  readonly '~standard': {
    readonly version: 1
    readonly vendor: string
    readonly types?: { readonly input: Input, readonly output: Output } | undefined
    readonly validate: (value: unknown) => Validation<Output> | Promise<Validation<Output>>
    readonly jsonSchema: { readonly [Side in 'input' | 'output']: (options: Target) => Record<string, unknown> }
  }
}

interface Target { readonly target: 'draft-2020-12' }

type Validation<Output> =
  | { readonly value: Output, readonly issues?: undefined }
  | { readonly issues: readonly Issue[] }

interface Issue {
  readonly message: string
  readonly path?: ReadonlyArray<PropertyKey | { readonly key: PropertyKey }> | undefined
}

/** JSON Schema 2020-12 as a plain object. */
export interface JsonObjectSchema { readonly [keyword: string]: unknown }

/** What defineTools takes as a schema: TypeBox, Standard Schema or JSON Schema. */
export type ToolSchema = TSchema | StandardSchema | JsonObjectSchema

/** The type of a value that a schema has checked. */
export type Checked<S> = S extends TSchema
  ? Static<S>
  : S extends StandardSchema<unknown, infer Output> ? Output : Record<string, unknown>

/** Problems reported about one value. */
const MAX_ISSUES = 20

/** The value as the schema makes it, with defaults for example; or every problem with its path. */
export type Outcome = { readonly value: unknown, readonly problems?: undefined } | { readonly problems: string }

/** A schema of a tool: its JSON Schema for lists, and its check. */
export interface CompiledSchema {
  readonly definition: object
  readonly check: (value: unknown, root: string) => Outcome | Promise<Outcome>
}

/** @throws INVALID_TOOLS for a value that is not a schema, with the remedy */
export function compileSchema (schema: unknown, side: 'input' | 'output', tool: string): CompiledSchema {
  const refuse = (problem: string): never => {
    throw new InvalidToolsError(`the ${side}Schema of the tool ${tool} ${problem}`)
  }
  const standard: unknown = Object(schema)['~standard']
  if (!isRecord(standard)) {
    if (!isRecord(schema)) return refuse(`is missing; ${REMEDY}`)
    if (!isJsonSchema(schema, side)) return refuse(`is not a schema; ${REMEDY}. A zod shape needs z.object(…) around it`)
    // a handler relies on the type of its arguments
    const compiled = new JsonSchema(schema, { refusesUnchecked: side === 'input' })
    const check = (given: unknown, root: string): Outcome => {
      const { value, problems } = compiled.fit(given, root)
      return outcomeOf(value, problems)
    }
    return { definition: schema, check: side === 'input' ? check : (value, root) => outcomeOf(value, compiled.problems(value, root)) }
  }
  const { vendor, validate, jsonSchema } = standard as Partial<StandardSchema['~standard']>
  if (typeof validate !== 'function' || typeof jsonSchema?.[side] !== 'function') {
    return refuse(`is a schema of ${String(vendor)} without JSON Schema; use zod 4.2 or newer, or TypeBox`)
  }
  const definition = convert(() => jsonSchema[side]({ target: 'draft-2020-12' }), refuse)
  if (side === 'input' && definition.type !== 'object') return refuse('must be that of an object, such as z.object(…)')
  // the library has no bound on its steps
  const bounded = new JsonSchema(side === 'input' ? definition : true, { refusesUnchecked: true })
  return {
    definition,
    async check (value, root) {
      const problems = bounded.problems(value, root)
      return problems === '' ? readValidation(await validate(value), root) : { problems }
    }
  }
}

const REMEDY = 'pass z.object({ … }) of zod 4.2 or newer, Type.Object({ … }) of TypeBox, or JSON Schema with "type": "object"'

function isJsonSchema (schema: Record<string, unknown>, side: 'input' | 'output'): boolean {
  if (side === 'input') return schema.type === 'object'
  return ['type', '$ref', 'anyOf', 'oneOf', 'allOf', 'enum', 'const'].some(keyword => keyword in schema) ||
    Object.keys(schema).length === 0
}

function convert (work: () => Record<string, unknown>, refuse: (problem: string) => never): Record<string, unknown> {
  try {
    return work()
  } catch (err) {
    return refuse(`has no JSON Schema: ${err instanceof Error ? err.message : String(err)}; use types that JSON has`)
  }
}

function outcomeOf (value: unknown, problems: string): Outcome {
  return problems === '' ? { value } : { problems }
}

function readValidation (validation: Validation<unknown>, root: string): Outcome {
  if (validation.issues === undefined) return validation
  const problems = validation.issues.slice(0, MAX_ISSUES).map(({ message, path = [] }) => {
    const keys = path.map(part => String(typeof part === 'object' ? part.key : part))
    return `${[root, ...keys].join('/')}: ${message}`
  })
  return { problems: problems.join('; ') }
}
