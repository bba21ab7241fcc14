import { isRecord } from '../is-record.js'
import type { Check } from './check.js'
import type { SchemaNode } from './document.js'

/**
 * A value without the members that are null, not required, and whose schema refuses null: clients send null for what a
 * model left out. The same value where there are none.
 * @throws Uncheckable
 */
export function withoutNulls (node: SchemaNode, value: unknown, check: Check): unknown {
  check.enter()
  const fitted = Array.isArray(value) ? itemsWithoutNulls(node, value, check) : isRecord(value) ? membersWithoutNulls(node, value, check) : value
  check.leave()
  return fitted
}

function itemsWithoutNulls (node: SchemaNode, value: readonly unknown[], check: Check): readonly unknown[] {
  const { items } = node.schema
  if (!isRecord(items)) return value
  const fitted = value.map(item => withoutNulls(node.child(items), item, check))
  return fitted.every((item, i) => item === value[i]) ? value : fitted
}

function membersWithoutNulls (node: SchemaNode, value: Record<string, unknown>, check: Check): Record<string, unknown> {
  const { properties, required } = node.schema
  if (!isRecord(properties)) return value
  const members = Object.entries(value)
  const fitted = members.flatMap(([key, member]): Array<[string, unknown]> => {
    check.spend(1)
    if (!Object.hasOwn(properties, key)) return [[key, member]]
    const child = node.child(properties[key])
    if (member !== null) return [[key, withoutNulls(child, member, check)]]
    const isKept = (Array.isArray(required) && required.includes(key)) || child.schema.default === null || child.accepts(null, check)
    return isKept ? [[key, member]] : []
  })
  return fitted.length === members.length && fitted.every(([, member], i) => member === members[i]![1]) ? value : Object.fromEntries(fitted)
}
