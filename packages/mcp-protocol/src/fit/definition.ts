import { isRecord } from '../is-record.js'
import { LISTS, type ListKind } from '../lists.js'
import { definitionFields, features } from '../features.js'
import type { Revision } from '../revisions.js'
import { outputSchema } from './output-schema.js'
import { objectSchema } from './schema.js'
import { annotations, fitFields, flag, icons, listOf, number, object, oneOf, record, shapeOf, text, type Fields, type Fit } from './values.js'

/** A definition that every client reads, or why it cannot be one. */
export type FittedDefinition = { readonly definition: Fields } | { readonly problem: string }

const common = { title: text, description: text, icons, _meta: record }
const resource = { ...common, mimeType: text, annotations }
const argument = shapeOf({ title: text, description: text, required: flag })
const namedArgument: Fit = value => isRecord(value) && typeof value.name === 'string' ? fitFields(value, argument) : undefined

/** The optional fields of each kind, and the shapes that servers of other languages miss: null stands for absent. */
const SHAPES = {
  tools: shapeOf({
    ...common,
    outputSchema: value => isRecord(value) ? value : undefined,
    execution: object(shapeOf({ taskSupport: oneOf('required', 'optional', 'forbidden') })),
    taskSupport: oneOf('required', 'optional', 'forbidden'),
    annotations: object(shapeOf({ title: text, readOnlyHint: flag, destructiveHint: flag, idempotentHint: flag, openWorldHint: flag }))
  }),
  resources: shapeOf({ ...resource, size: number }),
  templates: shapeOf(resource),
  prompts: shapeOf({ ...common, arguments: listOf(namedArgument) })
}

/**
 * A definition in the shape that all revisions have in common. Optional fields that are null or of a wrong type are
 * left out; the same object where all fit.
 */
export function fitDefinition (kind: ListKind, value: unknown): FittedDefinition {
  const { id } = LISTS[kind]
  if (!isRecord(value)) return { problem: 'it is not an object' }
  if (typeof value[id] !== 'string' || value[id] === '') return { problem: `it has no ${id}` }
  const fitted = fitFields(value, SHAPES[kind])
  if (kind === 'tools') return fitTool(fitted)
  if (id === 'name' || typeof fitted.name === 'string') return { definition: fitted }
  return { definition: { ...fitted, name: fitted.title ?? fitted[id] } }
}

function fitTool (tool: Fields): FittedDefinition {
  try {
    const inputSchema = objectSchema(tool.inputSchema)
    if (inputSchema === undefined) return { problem: 'its inputSchema permits no object, and arguments are one' }
    // an output schema can be nested deeper than can be read, too
    outputSchema(tool.outputSchema)
    return { definition: inputSchema === tool.inputSchema ? tool : { ...tool, inputSchema } }
  } catch (err) {
    if (err instanceof RangeError) return { problem: err.message }
    throw err
  }
}

/** The fields of a fitted definition that a revision has, in the shape of the revision. */
export function definitionFor (kind: ListKind, definition: Fields, revision: Revision): Fields {
  const projected: Record<string, unknown> = {}
  for (const field of definitionFields[revision][kind]) {
    const value = field === 'outputSchema' ? outputFor(definition.outputSchema, revision) : definition[field]
    if (value !== undefined) projected[field] = value
  }
  return projected
}

function outputFor (schema: unknown, revision: Revision): Fields | undefined {
  const fitted = outputSchema(schema)
  return features[revision].structuredContent === 'any' || fitted?.type === 'object' ? fitted : undefined
}
