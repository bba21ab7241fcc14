import type { ChatTurn, Hit, InterpreterExtra, Memory } from '@polyvac/core'
import { beginning } from '@polyvac/core/plugin'
import { readQuestion, retrieve } from '@polyvac/documents/parts'
import { markedData } from './marked-data.js'

/** Score, a probability, from which a passage is given to the model. */
const THRESHOLD = 0.25
/** Longest passage, and all of one search together, in characters: local models have small context windows. */
const MAX_PASSAGE_CHARS = 4_000
const MAX_SEARCH_CHARS = 24_000

/** The passages that the model has, in the order of their numbers; `[n]` is the n-th. */
export class Passages {
  // @keyed none: a list in order, of one answer: at most `k` for each of its steps
  readonly hits: Hit[] = []
  readonly #memory: Memory
  readonly #k: number
  readonly #extra: Pick<InterpreterExtra, 'signal' | 'principal' | 'log'>

  constructor (memory: Memory, k: number, extra: Pick<InterpreterExtra, 'signal' | 'principal' | 'log'>) {
    this.#memory = memory
    this.#k = k
    this.#extra = extra
  }

  /** Continues with the passages of an earlier answer, under their numbers. */
  restore (hits: readonly Hit[]): void { this.hits.push(...hits) }

  /** Passages for a question, as a text for the model; '' where there are none. */
  async forQuestion (text: string, history: readonly ChatTurn[]): Promise<string> {
    const { signal, principal, log } = this.#extra
    const { hits, degraded } = await retrieve(this.#memory, readQuestion(text, history), this.#k, THRESHOLD, signal, principal?.owner)
    if (degraded !== undefined) log.warn({ reason: degraded }, 'a part of the memory did not help')
    return this.#numbered(hits.slice(0, this.#k))
  }

  /** Passages for words that the model looks for. */
  async search (query: string): Promise<string> {
    const { signal, principal } = this.#extra
    const hits = await this.#memory.search({ query, limit: this.#k, threshold: THRESHOLD, signal, owner: principal?.owner })
    return this.#numbered(hits) || 'No passage has it.'
  }

  #numbered (hits: readonly Hit[]): string {
    let left = MAX_SEARCH_CHARS
    const texts: string[] = []
    for (const hit of hits) {
      const known = this.hits.findIndex(({ content }) => content === hit.content)
      if (known === -1) this.hits.push(hit)
      const number = known === -1 ? this.hits.length : known + 1
      const { heading, source } = hit.metadata
      const content = beginning(hit.content, Math.min(MAX_PASSAGE_CHARS, left))
      left -= content.length
      const from = [heading, source].filter(name => name !== undefined && name !== '').map(String)
      texts.push(`[${number}] ${markedData([...new Set(from)].join(', '), content)}`)
    }
    return texts.join('\n\n')
  }
}
