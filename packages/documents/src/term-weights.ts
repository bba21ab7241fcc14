import type { Memory } from '@polyvac/core'

/** A memory that can say how much each word of a query tells, so that sentences are weighed as passages are. */
export interface WeightedMemory extends Memory {
  /** idf by stem, for every term of the query that counts. */
  weights (query: string, signal?: AbortSignal): Promise<ReadonlyMap<string, number>>
}

export function hasWeights (memory: Memory): memory is WeightedMemory {
  return 'weights' in memory && typeof memory.weights === 'function'
}
