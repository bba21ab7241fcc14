import type { Memory } from '@polyvac/core'
import { MEMORY_DEFAULTS } from '@polyvac/core/plugin'
import { hasWeights, type WeightedMemory } from './term-weights.js'

/**
 * Combines several knowledge stores: hits of all, best first; a document is read from the first store that has it. The
 * weight of a word is its highest one in any store.
 * @example const memory = combineMemories([await openFolder({ path: 'docs' }), await openFolder({ path: 'notes' })])
 */
export function combineMemories (memories: readonly Memory[]): Memory {
  const weighing = memories.filter(hasWeights)
  return {
    async search (query) {
      const hits = await Promise.all(memories.map(memory => memory.search(query)))
      return hits.flat().sort((a, b) => b.score - a.score).slice(0, query.limit ?? MEMORY_DEFAULTS.limit)
    },
    ...weighing.length > 0 && { weights: (query: string, signal?: AbortSignal) => heaviest(weighing, query, signal) },
    async list () {
      return (await Promise.all(memories.map(memory => memory.list?.() ?? []))).flat()
    },
    async read (uri) {
      for (const memory of memories) {
        const text = await memory.read?.(uri)
        if (text !== undefined) return text
      }
      return undefined
    },
    onChange (listener) {
      const stops = memories.map(memory => memory.onChange?.(listener))
      return () => { for (const stop of stops) stop?.() }
    },
    async close () {
      await Promise.all(memories.map(memory => memory.close?.()))
    }
  }
}

async function heaviest (memories: readonly WeightedMemory[], query: string, signal?: AbortSignal): Promise<Map<string, number>> {
  const all = new Map<string, number>()
  for (const memory of memories) {
    for (const [stem, weight] of await memory.weights(query, signal)) all.set(stem, Math.max(weight, all.get(stem) ?? 0))
  }
  return all
}
