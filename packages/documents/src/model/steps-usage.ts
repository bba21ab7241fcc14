import { costOf, readUsage, type TokenUsage } from '@polyvac/core/plugin'

/**
 * The usage of an answer that took some calls of a model.
 * @param raw what the server reported for each call: the cost is that of all calls, or of none where one has no cost
 */
export function usageOfSteps (total: unknown, raw: readonly unknown[]): TokenUsage | undefined {
  const usage = readUsage(total)
  const costs = raw.map(costOf)
  if (usage === undefined || costs.length === 0 || costs.includes(undefined)) return usage
  // without the digits that adding decimal fractions makes
  return { ...usage, cost: Number((costs as number[]).reduce((sum, cost) => sum + cost, 0).toPrecision(12)) }
}
