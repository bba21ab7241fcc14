/** One search hit. `score` is the probability that the passage answers the query, 0 to 1. */
export interface Hit {
  readonly content: string
  readonly score: number
  readonly metadata: Readonly<Record<string, unknown>>
}

/** What to look for in a knowledge base. */
export interface MemoryQuery {
  readonly query: string
  /** Maximum number of hits, 1 to 100. Default 10. */
  readonly limit?: number | undefined
  /** Minimum score, 0 to 1. Default 0.7. */
  readonly threshold?: number | undefined
  readonly signal?: AbortSignal | undefined
  /** Who asks: what a search holds for it counts against this owner's share of the memory. */
  readonly owner?: string | undefined
  /** Gets the reason where a part of the memory does not work, and the hits are found without it. */
  readonly onDegraded?: ((reason: string) => void) | undefined
}

/** The knowledge base of a VAC for the caller of an interpreter. `signal` is by default that of the call. */
export interface ExtraMemory {
  /** Best hits first. */
  search (query: Omit<MemoryQuery, 'owner' | 'onDegraded'>): Promise<Hit[]>
}

/** One readable document of a knowledge base. */
export interface MemoryDocument {
  readonly uri: string
  readonly name: string
  readonly mimeType: string
}

/** A knowledge base of a VAC: a folder index, a database, or the application's own. */
export interface Memory {
  /** Best hits first, every score at or above the threshold. */
  search (query: MemoryQuery): Promise<Hit[]>
  /** The documents behind the hits, for protocols that publish them as resources. */
  list? (): Promise<MemoryDocument[]>
  /** The whole text of one listed document; undefined for an unknown name. */
  read? (uri: string): Promise<string | undefined>
  /**
   * Calls `listener` after documents were added, changed or removed; returns the function that stops it. Documents of a
   * memory without this method count as constant.
   */
  onChange? (listener: () => void): () => void
  close? (): Promise<void>
}

/** The defaults of the service description, read by every memory skill, tool and store. */
export const MEMORY_DEFAULTS = { limit: 10, threshold: 0.7, maxLimit: 100, maxQueryLength: 2_000 } as const
