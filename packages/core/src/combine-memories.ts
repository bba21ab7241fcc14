import { MEMORY_DEFAULTS, type Memory } from './memory.js'

/** Several knowledge stores as one: hits of all, best first; a document is read from the first store that has it. */
export function combineMemories (memories: readonly Memory[]): Memory {
  return {
    async search (query) {
      const hits = await Promise.all(memories.map(memory => memory.search(query)))
      return hits.flat().sort((a, b) => b.score - a.score).slice(0, query.limit ?? MEMORY_DEFAULTS.limit)
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
    async close () {
      await Promise.all(memories.map(memory => memory.close?.()))
    }
  }
}
