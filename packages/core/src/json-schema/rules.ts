import { APPLICATORS, itemsRule, membersRule, unevaluatedRule } from './applicators.js'
import { ASSERTIONS } from './assertions.js'
import type { Check } from './check.js'
import type { Rule, SchemaNode } from './document.js'

const MEMBERS = ['properties', 'patternProperties', 'additionalProperties'] as const
/** The size of an operand is part of the work of making its rule. */
const STEPS_PER_RULE = 10

/** The rules of a subschema: JSON Schema 2020-12, and what draft-06 and draft-07 have besides. */
export function makeRules (node: SchemaNode, check: Check): Rule[] {
  const { schema } = node
  const rules: Array<Rule | undefined> = []
  for (const [keyword, operand] of Object.entries(schema)) {
    check.spend(STEPS_PER_RULE)
    if (typeof operand === 'object' && operand !== null) check.spend(Object.keys(operand).length * STEPS_PER_RULE)
    const assertion = ASSERTIONS.get(keyword)?.(operand, check)
    // a value of the wrong type breaks other rules, too; the type comes first
    if (keyword === 'type') rules.unshift(assertion)
    else rules.push(assertion)
    rules.push(APPLICATORS.get(keyword)?.(operand, node))
  }
  if (MEMBERS.some(keyword => keyword in schema)) rules.push(membersRule(node, check))
  rules.push(itemsRule(node))
  for (const keyword of ['unevaluatedProperties', 'unevaluatedItems'] as const) {
    if (keyword in schema) rules.push(unevaluatedRule(keyword, node))
  }
  const made = rules.filter(rule => rule !== undefined)
  // of OpenAPI 3.0, which generators of tools write; no draft of JSON Schema has the keyword
  return schema.nullable === true ? made.map(rule => (value, check) => value === null || rule(value, check)) : made
}
