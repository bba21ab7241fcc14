import { isRecord } from '../basics/is-record.js'
import { MAX_STEPS, Uncheckable, type Check } from './check.js'
import type { SchemaDocument, SchemaNode } from './document.js'

/** Levels of the value that is imagined. */
const MAX_LEVELS = 16
const STEPS_PER_SUBSCHEMA = 5

/**
 * Whether one value with a single member in each of a few levels can take more steps than a check has. Subschemas that
 * apply to the same value add up, such as the alternatives of `anyOf`; of those for different members the most
 * expensive counts. A schema that takes too many steps to find out counts as one that can.
 * @param check has the steps for all schemas of one list
 */
export function canExplode (document: SchemaDocument, check: Check): boolean {
  try {
    // without references, the work grows only with the value
    return hasReference(document.root.schema, check) && stepsOf(document.root, MAX_LEVELS, new Map(), check) > MAX_STEPS
  } catch (err) {
    if (!(err instanceof Uncheckable)) throw err
    return err.isCostly
  }
}

function hasReference (schema: unknown, check: Check): boolean {
  const open = [schema]
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    if (Object(next) !== next) continue
    if (Object.hasOwn(next as object, '$ref')) return true
    const children = Object.values(next as object)
    check.spend(children.length * STEPS_PER_SUBSCHEMA)
    for (const child of children) open.push(child)
  }
  return false
}

type Known = Map<SchemaNode, Array<number | undefined>>

function stepsOf (node: SchemaNode, levels: number, known: Known, check: Check): number {
  let ofNode = known.get(node)
  if (ofNode === undefined) known.set(node, ofNode = [])
  const steps = ofNode[levels]
  if (steps !== undefined) return steps
  // a schema that applies itself to the same value
  ofNode[levels] = Infinity
  check.enter()
  let sum = 1
  const { $ref } = node.schema
  if (typeof $ref === 'string') sum += stepsOf(node.resolve($ref, check), levels, known, check)
  for (const applied of subschemas(node, SAME_VALUE, check)) sum += stepsOf(applied, levels, known, check)
  let most = 0
  if (levels > 0) {
    for (const applied of subschemas(node, MEMBERS, check)) most = Math.max(most, stepsOf(applied, levels - 1, known, check))
  }
  check.leave()
  return (ofNode[levels] = sum + most)
}

const SAME_VALUE = /^(?:allOf|anyOf|oneOf|not|if|then|else|dependentSchemas)$/
const MEMBERS = new RegExp('^(?:properties|patternProperties|additionalProperties|propertyNames|unevaluatedProperties|' +
  'items|prefixItems|additionalItems|contains|unevaluatedItems)$')
/** Keywords whose operand is an object of subschemas. */
const MAPS = new Set(['properties', 'patternProperties', 'dependentSchemas'])

function * subschemas (node: SchemaNode, keywords: RegExp, check: Check): Generator<SchemaNode> {
  for (const [keyword, operand] of Object.entries(node.schema)) {
    if (!keywords.test(keyword)) continue
    const schemas = Array.isArray(operand) ? operand : MAPS.has(keyword) && isRecord(operand) ? Object.values(operand) : [operand]
    check.spend(schemas.length * STEPS_PER_SUBSCHEMA)
    for (const schema of schemas) yield node.child(schema)
  }
}
