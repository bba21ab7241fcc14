import { isRecord } from '../basics/is-record.js'
import { has } from './assertions.js'
import { Uncheckable, type Check } from './check.js'
import type { Rule, SchemaNode } from './document.js'
import { LinearPattern } from './pattern.js'

type MakeRule = (operand: unknown, node: SchemaNode) => Rule | undefined

const STEPS_PER_KEY = 0.25
/** Finding out what is evaluated makes sets and lists. */
const STEPS_OF_EVALUATED = 20

/** The keywords that apply subschemas to the value itself. */
export const APPLICATORS: ReadonlyMap<string, MakeRule> = new Map<string, MakeRule>([
  ['$ref', reference],
  ['$dynamicRef', unsupported],
  ['$recursiveRef', unsupported],
  ['allOf', withNodes(nodes => (value, check) => acceptAll(nodes, value, check))],
  ['anyOf', withNodes(nodes => (value, check) => {
    for (const node of nodes) if (check.matches(node, value)) return true
    return failAll('must match a schema in anyOf', nodes, value, check)
  })],
  ['oneOf', withNodes(nodes => (value, check) => {
    let count = 0
    for (const node of nodes) if (check.matches(node, value) && ++count > 1) return check.fail('must match exactly one schema in oneOf')
    return count === 1 || failAll('must match exactly one schema in oneOf', nodes, value, check)
  })],
  ['not', (operand, node) => {
    if (!isSchema(operand)) return undefined
    const refused = node.child(operand)
    return (value, check) => !check.matches(refused, value) || check.fail('must NOT be valid')
  }],
  ['if', (operand, node) => {
    const { then = true, else: otherwise = true } = node.schema
    const [test, whenTrue, whenFalse] = [node.child(operand), node.child(then), node.child(otherwise)]
    return (value, check) => (check.matches(test, value) ? whenTrue : whenFalse).accepts(value, check)
  }],
  ['dependentSchemas', dependentSchemas],
  ['dependencies', dependentSchemas],
  ['propertyNames', (operand, node) => {
    const names = node.child(operand)
    return (value, check) => {
      if (!isRecord(value)) return true
      let isValid = true
      for (const key in value) {
        if (check.within(key, names, key)) continue
        isValid = false
        if (check.isDone) break
      }
      return isValid
    }
  }],
  ['contains', (operand, node) => {
    if (!isSchema(operand)) return undefined
    const wanted = node.child(operand)
    const { minContains, maxContains } = node.schema
    const min = typeof minContains === 'number' ? minContains : 1
    const max = typeof maxContains === 'number' ? maxContains : Infinity
    return (value, check) => {
      if (!Array.isArray(value)) return true
      let count = 0
      for (const item of value) {
        if (check.matches(wanted, item)) count++
        if (count > max || (count >= min && max === Infinity)) break
      }
      return (count >= min && count <= max) || check.fail(`must contain at least ${min} valid item(s)`)
    }
  }]
])

/** `properties`, `patternProperties` and `additionalProperties`. */
export function membersRule (node: SchemaNode, check: Check): Rule | undefined {
  const { properties, additionalProperties: rest } = node.schema
  const others = rest === undefined || rest === true ? undefined : node.child(rest)
  const keys = Object.keys(isRecord(properties) ? properties : {})
  const nodes = keys.map(key => node.child((properties as Record<string, unknown>)[key]))
  const patterns = memberPatterns(node, check)
  if (keys.length === 0 && others === undefined && patterns.length === 0) return undefined
  const names = new Set(keys)
  const steps = keys.length * STEPS_PER_KEY
  return (value, check) => {
    if (!isRecord(value)) return true
    check.spend(steps)
    let isValid = acceptMembers(value, keys, nodes, check)
    if (others === undefined && patterns.length === 0) return isValid
    for (const key in value) {
      if (!isValid && check.isDone) break
      check.spend(STEPS_PER_KEY)
      const isNamed = names.has(key)
      if ((isNamed && patterns.length === 0) || value[key] === undefined) continue
      const matching = nodesOf(patterns, key, check)
      for (const member of matching) if (!check.within(key, member, value[key])) isValid = false
      if (isNamed || others === undefined || matching.length > 0) continue
      if (rest === false) isValid = check.fail('is not known', key)
      else if (!check.within(key, others, value[key])) isValid = false
    }
    return isValid
  }
}

function acceptMembers (value: Record<string, unknown>, keys: readonly string[], nodes: readonly SchemaNode[],
  check: Check): boolean {
  let isValid = true
  for (let i = 0; i < keys.length; i++) {
    const key = keys[i] as string
    const member = value[key]
    if (member === undefined || !Object.hasOwn(value, key)) continue
    // a schema with the default null takes null, whatever its type: pydantic writes optional fields so
    if (member === null && nodes[i]!.schema.default === null) continue
    if (check.within(key, nodes[i] as SchemaNode, member)) continue
    isValid = false
    if (check.isDone) break
  }
  return isValid
}

/** `prefixItems`, `items` and `additionalItems`. */
export function itemsRule (node: SchemaNode): Rule | undefined {
  const [first, rest] = itemSchemas(node)
  if (first.length === 0 && rest === undefined) return undefined
  return (value, check) => {
    if (!Array.isArray(value)) return true
    const { length } = value
    let isValid = true
    for (let i = 0; i < length; i++) {
      const item = first[i] ?? rest
      if (item === undefined) break
      if (check.within(i, item, value[i])) continue
      isValid = false
      if (check.isDone) break
    }
    return isValid
  }
}

/** `unevaluatedProperties` and `unevaluatedItems`: the members that no other keyword has applied a schema to. */
export function unevaluatedRule (keyword: 'unevaluatedProperties' | 'unevaluatedItems', node: SchemaNode): Rule {
  const others = node.child(node.schema[keyword])
  const isFor = keyword === 'unevaluatedItems' ? Array.isArray : isRecord
  return (value, check) => {
    if (!isFor(value)) return true
    const evaluated = new Set<string>()
    addEvaluated(node, value as object, evaluated, check, keyword)
    let isValid = true
    for (const [key, member] of Object.entries(value as object)) {
      check.spend(1)
      if (evaluated.has(key) || check.matches(others, member)) continue
      isValid = check.fail('is not known', key)
      if (check.isDone) break
    }
    return isValid
  }
}

/** Adds the keys of a value that the keywords of a schema evaluate, less those that its `unevaluated…` evaluates. */
function addEvaluated (node: SchemaNode, value: object, keys: Set<string>, check: Check, own?: string): void {
  check.enter()
  check.spend(STEPS_OF_EVALUATED)
  const { schema } = node
  if (Array.isArray(value)) {
    const [first, rest] = itemSchemas(node)
    const contains = schema.contains === undefined ? undefined : node.child(schema.contains)
    const all = rest ?? (own !== 'unevaluatedItems' && 'unevaluatedItems' in schema)
    for (const [index, item] of value.entries()) {
      check.spend(1)
      if (all !== false || index < first.length || (contains !== undefined && check.matches(contains, item))) keys.add(String(index))
    }
  } else {
    const names = new Set(Object.keys(isRecord(schema.properties) ? schema.properties : {}))
    check.spend(names.size)
    const patterns = memberPatterns(node, check)
    const all = 'additionalProperties' in schema || (own !== 'unevaluatedProperties' && 'unevaluatedProperties' in schema)
    for (const key of Object.keys(value)) {
      check.spend(1)
      if (all || names.has(key) || nodesOf(patterns, key, check).length > 0) keys.add(key)
    }
  }
  for (const applied of inPlace(node, value, check)) {
    if (check.matches(applied, value)) addEvaluated(applied, value, keys, check)
  }
  check.leave()
}

/** The subschemas that apply to the value itself. */
function * inPlace (node: SchemaNode, value: object, check: Check): Generator<SchemaNode> {
  const { $ref, allOf, anyOf, oneOf, if: test, then = true, else: otherwise = true, dependentSchemas } = node.schema
  if (typeof $ref === 'string') yield node.resolve($ref, check)
  for (const list of [allOf, anyOf, oneOf]) if (Array.isArray(list)) yield * list.map(schema => node.child(schema))
  if (test !== undefined) {
    const isTrue = check.matches(node.child(test), value)
    if (isTrue) yield node.child(test)
    yield node.child(isTrue ? then : otherwise)
  }
  if (!isRecord(dependentSchemas)) return
  for (const [key, schema] of Object.entries(dependentSchemas)) if (has(value, key)) yield node.child(schema)
}

type Patterns = ReadonlyArray<readonly [LinearPattern, SchemaNode]>

function memberPatterns (node: SchemaNode, check: Check): Patterns {
  const { patternProperties } = node.schema
  return Object.entries(isRecord(patternProperties) ? patternProperties : {}).map(([source, schema]) => {
    const pattern = LinearPattern.compile(source, check)
    if (pattern === undefined) throw new Uncheckable('a pattern that is not supported')
    return [pattern, node.child(schema)] as const
  })
}

const NONE: readonly SchemaNode[] = []

function nodesOf (patterns: Patterns, key: string, check: Check): readonly SchemaNode[] {
  return patterns.length === 0 ? NONE : patterns.filter(([pattern]) => pattern.test(key, check)).map(([, node]) => node)
}

/** The subschemas of the first items, and that of the others. */
function itemSchemas (node: SchemaNode): [SchemaNode[], SchemaNode | undefined] {
  const { prefixItems, items, additionalItems } = node.schema
  // up to 2019-09 a list in `items` is what prefixItems is now
  const [first, rest] = Array.isArray(items) ? [items, additionalItems] : [prefixItems, items]
  return [Array.isArray(first) ? first.map(schema => node.child(schema)) : [], rest === undefined ? undefined : node.child(rest)]
}

function reference (ref: unknown, node: SchemaNode): Rule | undefined {
  if (typeof ref !== 'string') return undefined
  let target: SchemaNode | undefined
  return (value, check) => (target ??= node.resolve(ref, check)).accepts(value, check)
}

function unsupported (): never {
  throw new Uncheckable('a reference that depends on the path to it')
}

/** Servers write null for a keyword that they leave out: it does not apply. */
function isSchema (operand: unknown): boolean {
  return isRecord(operand) || typeof operand === 'boolean'
}

function withNodes (make: (nodes: SchemaNode[]) => Rule): MakeRule {
  return (operand, node) => Array.isArray(operand) && operand.length > 0 ? make(operand.map(schema => node.child(schema))) : undefined
}

function dependentSchemas (operand: unknown, node: SchemaNode): Rule | undefined {
  if (!isRecord(operand)) return undefined
  const schemas = Object.entries(operand).filter(([, schema]) => !Array.isArray(schema))
    .map(([key, schema]) => [key, node.child(schema)] as const)
  return (value, check) => {
    if (!isRecord(value)) return true
    check.spend(schemas.length)
    return acceptAll(schemas.filter(([key]) => has(value, key)).map(([, schema]) => schema), value, check)
  }
}

function acceptAll (nodes: readonly SchemaNode[], value: unknown, check: Check): boolean {
  let isValid = true
  for (const node of nodes) {
    if (node.accepts(value, check)) continue
    isValid = false
    if (check.isDone) break
  }
  return isValid
}

/** Reports a problem, and those of the alternatives. */
function failAll (problem: string, nodes: readonly SchemaNode[], value: unknown, check: Check): false {
  check.fail(problem)
  for (const node of nodes) {
    if (check.isDone) break
    node.accepts(value, check)
  }
  return false
}
