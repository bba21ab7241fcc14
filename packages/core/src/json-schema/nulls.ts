import { isRecord } from '../basics/is-record.js'
import type { Check } from './check.js'
import type { SchemaNode } from './document.js'

/**
 * A value without the members that are null, not required, and whose schema refuses null: clients send null for what a
 * model left out. The same value where there are none.
 * @throws Uncheckable
 */
export function withoutNulls (node: SchemaNode, value: unknown, check: Check): unknown {
  if (!Array.isArray(value) && !isRecord(value)) return value
  check.enter()
  let fitted: unknown = Array.isArray(value) ? itemsWithoutNulls(node, value, check) : membersWithoutNulls(node, value as Record<string, unknown>, check)
  const { $ref, allOf, anyOf, oneOf } = node.schema
  if (typeof $ref === 'string') fitted = withoutNulls(node.resolve($ref, check), fitted, check)
  for (const part of Array.isArray(allOf) ? allOf : []) fitted = withoutNulls(node.child(part), fitted, check)
  for (const choice of [anyOf, oneOf]) if (Array.isArray(choice)) fitted = choiceWithoutNulls(choice.map(part => node.child(part)), fitted, check)
  check.leave()
  return fitted
}

/** The value for the first schema that takes it without nulls. */
function choiceWithoutNulls (nodes: readonly SchemaNode[], value: unknown, check: Check): unknown {
  if (nodes.some(node => check.matches(node, value))) return value
  for (const node of nodes) {
    const fitted = withoutNulls(node, value, check)
    if (fitted !== value && check.matches(node, fitted)) return fitted
  }
  return value
}

function itemsWithoutNulls (node: SchemaNode, value: readonly unknown[], check: Check): readonly unknown[] {
  const { items } = node.schema
  if (!isRecord(items)) return value
  const fitted = value.map(item => withoutNulls(node.child(items), item, check))
  return fitted.every((item, i) => item === value[i]) ? value : fitted
}

function membersWithoutNulls (node: SchemaNode, value: Record<string, unknown>, check: Check): Record<string, unknown> {
  const { properties, additionalProperties: others, required } = node.schema
  if (!isRecord(properties) && !isRecord(others)) return value
  const members = Object.entries(value)
  const fitted = members.flatMap(([key, member]): Array<[string, unknown]> => {
    check.spend(1)
    const schema = isRecord(properties) && Object.hasOwn(properties, key) ? properties[key] : others
    if (schema === undefined || typeof schema === 'boolean') return [[key, member]]
    const child = node.child(schema)
    if (member !== null) return [[key, withoutNulls(child, member, check)]]
    const isKept = (Array.isArray(required) && required.includes(key)) || child.schema.default === null || child.accepts(null, check)
    return isKept ? [[key, member]] : []
  })
  return fitted.length === members.length && fitted.every(([, member], i) => member === members[i]![1]) ? value : Object.fromEntries(fitted)
}
