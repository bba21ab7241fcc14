import type { Memory } from '@polyvac/core'
import { MEMORY_DEFAULTS } from '@polyvac/core/plugin'
import { hasTerms, type QueryTerms, type WeightedMemory } from '../search/query-terms.js'

/**
 * Combines several knowledge stores: hits of all, best first; a document is read from the first store that has it. The
 * weight of a word is its highest one in any store.
 * @example const memory = combineMemories([await openFolder({ path: 'docs' }), await openFolder({ path: 'notes' })])
 */
export function combineMemories (memories: readonly Memory[]): Memory {
  const weighing = memories.filter(hasTerms)
  return {
    async search (query) {
      const hits = await Promise.all(memories.map(memory => memory.search(query)))
      return hits.flat().sort((a, b) => b.score - a.score).slice(0, query.limit ?? MEMORY_DEFAULTS.limit)
    },
    ...weighing.length > 0 && {
      terms: (query: string, context?: string, signal?: AbortSignal) => heaviest(weighing, query, context, signal)
    },
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

async function heaviest (memories: readonly WeightedMemory[], query: string, context?: string, signal?: AbortSignal): Promise<QueryTerms> {
  const all = await Promise.all(memories.map(memory => memory.terms(query, context, signal)))
  const terms = new Map<string, QueryTerms['terms'][number]>()
  for (const term of all.flatMap(one => one.terms)) {
    const [key = ''] = term.stems
    const { stems = [], synonyms = [], weight = 0, likeness = 0 } = terms.get(key) ?? {}
    terms.set(key, {
      stems: [...new Set([...stems, ...term.stems])],
      synonyms: [...new Set([...synonyms, ...term.synonyms ?? []])],
      weight: Math.max(weight, term.weight),
      likeness: Math.max(likeness, term.likeness)
    })
  }
  return { terms: [...terms.values()], languages: [...new Set(all.flatMap(one => one.languages))], language: all.find(one => one.language !== undefined)?.language }
}
