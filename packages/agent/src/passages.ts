import type { Answer, ChatTurn, Hit, InterpreterExtra, InterpreterStep, Memory, SpanInput } from '@polyvac/core'
import { beginning, sourceLines } from '@polyvac/core/plugin'
import { readQuestion, retrieve } from '@polyvac/documents/parts'
import { markedData } from './marked-data.js'

/** Score, a probability, from which a passage is given to the model. */
const THRESHOLD = 0.25
/** Longest passage, and all of one search together, in characters: local models have small context windows. */
const MAX_PASSAGE_CHARS = 4_000
const MAX_SEARCH_CHARS = 24_000

/** What the model can cite, in the order of its numbers: passages, and sources of other agents. `[n]` is the n-th. */
export class Passages {
  // @keyed none: a list in order, of one answer: at most `k` for each of its steps, and the sources of the agents that
  //   it asks, whose answers are bounded
  readonly hits: Hit[] = []
  readonly #memory: Memory | undefined
  readonly #k: number
  readonly #extra: Pick<InterpreterExtra, 'signal' | 'principal' | 'log'>

  readonly #began: number
  // @keyed none: searches of one answer whose spans wait to be yielded; at most its calls of tools
  #spans: SpanInput[] = []

  /** @param began when the interpreter was called, by `performance.now()` */
  constructor (memory: Memory | undefined, k: number, extra: Pick<InterpreterExtra, 'signal' | 'principal' | 'log'>, began: number) {
    this.#memory = memory
    this.#k = k
    this.#extra = extra
    this.#began = began
  }

  get hasMemory (): boolean { return this.#memory !== undefined }

  /** Continues with the passages of an earlier answer, under their numbers. */
  restore (hits: readonly Hit[]): void { this.hits.push(...hits) }

  /** Passages for a question, as a text for the model; '' where there are none. */
  async forQuestion (text: string, history: readonly ChatTurn[]): Promise<string> {
    if (this.#memory === undefined) return ''
    const { signal, principal, log } = this.#extra
    const start = performance.now()
    const { hits, degraded } = await retrieve(this.#memory, readQuestion(text, history), this.#k, THRESHOLD, signal, principal?.owner)
    if (degraded !== undefined) log.warn({ reason: degraded }, 'a part of the memory did not help')
    const found = hits.slice(0, this.#k)
    this.#note(text, start, found.length)
    return this.#numbered(found)
  }

  /** Passages for words that the model looks for. */
  async search (query: string): Promise<string> {
    const { signal, principal } = this.#extra
    const start = performance.now()
    const hits = await this.#memory?.search({ query, limit: this.#k, threshold: THRESHOLD, signal, owner: principal?.owner }) ?? []
    this.#note(query, start, hits.length)
    return this.#numbered(hits) || 'No passage has it.'
  }

  /** The searches that were made since the last call, as spans. */
  * searched (): Generator<InterpreterStep> {
    for (const span of this.#spans.splice(0)) yield { span }
  }

  #note (query: string, start: number, passages: number): void {
    this.#spans.push({ kind: 'search', name: 'documents', start_ms: start - this.#began, duration_ms: performance.now() - start, passages, input: { query } })
  }

  /** The answer of another agent, and its sources in lines, under the numbers that they have here. */
  adopt (answer: Answer): { readonly text: string, readonly sources: readonly string[] } {
    const numbers = answer.source_documents.map(({ page_content: content, metadata }) =>
      this.#numberOf({ content, score: typeof metadata.score === 'number' ? metadata.score : 1, metadata }))
    const text = answer.answer.replace(/\[(\d+(?:, ?\d+)*)\]/g, (mark: string, list: string) => {
      const cited = list.split(',').map(Number)
      const known = cited.flatMap(number => numbers[number - 1] ?? [])
      // one that it has no source for would be that of another source here
      return known.length === 0 && cited.every(number => number > this.hits.length) ? mark : known.map(number => `[${number}]`).join('')
    })
    return { text, sources: sourceLines(answer).map((line, i) => line.replace(/^\[\d+\]/, `[${numbers[i]!}]`)) }
  }

  #numberOf (hit: Hit): number {
    const known = this.hits.findIndex(({ content, metadata }) => content === hit.content && metadata.source === hit.metadata.source)
    return known === -1 ? this.hits.push(hit) : known + 1
  }

  #numbered (hits: readonly Hit[]): string {
    let left = MAX_SEARCH_CHARS
    const texts: string[] = []
    for (const hit of hits) {
      const number = this.#numberOf(hit)
      const { heading, source } = hit.metadata
      const content = beginning(hit.content, Math.min(MAX_PASSAGE_CHARS, left))
      left -= content.length
      const from = [heading, source].filter(name => name !== undefined && name !== '').map(String)
      texts.push(`[${number}] ${markedData([...new Set(from)].join(', '), content)}`)
    }
    return texts.join('\n\n')
  }
}
