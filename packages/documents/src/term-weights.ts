import type { Memory } from '@polyvac/core'

/** A memory that returns the weights of the words of a query, so that sentences are weighed like passages. */
export interface WeightedMemory extends Memory {
  /** idf by stem, for the terms of the query. */
  weights (query: string, signal?: AbortSignal): Promise<ReadonlyMap<string, number>>
}

export function hasWeights (memory: Memory): memory is WeightedMemory {
  return 'weights' in memory && typeof memory.weights === 'function'
}
