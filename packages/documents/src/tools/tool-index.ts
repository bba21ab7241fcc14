import { backgroundOf, BACKGROUND_PASSAGES } from '../language/common-stems.js'
import { stemOf } from '../language/languages.js'
import { queryWords, rawWords, stemsOf } from '../language/terms.js'
import { wordVectors } from '../language/word-vectors.js'
import { nextTurn } from '../search/time-slices.js'
import { toolWordsOf } from './tool-words.js'

/** A tool, as a search reads it. */
export interface SearchableTool {
  readonly name: string
  readonly description?: string | undefined
  /** JSON Schema of an object. */
  readonly inputSchema: object
}

/** What counts of a description and of its first sentence, in characters, and the parameters whose names count. */
const MAX_DESCRIPTION = 1_000
const MAX_LEAD = 300
const MAX_PARAMETERS = 50
/** What counts of a query. */
const MAX_QUERY = 500
const MAX_TERMS = 30
/** Tools that are read in one turn of the event loop. */
const TURN_TOOLS = 50

// Fitted with test/fixtures/tool-tasks.json.

/** Weight of a word in each part of a tool; `saturation` is the weight from which on more of them add little. */
const PART = { name: 3, lead: 1.2, rest: 0.6, parameters: 0.4, saturation: 2 } as const
/** How much a word means one that a tool has for it, and one that is near in meaning, from this likeness on. */
const TOOL_WORD = 0.85
const LIKE_WORD = 0.7
const LEAST_LIKENESS = 0.45
/** What a name adds all of whose words are asked for. */
const WHOLE_NAME = 0.25

/** A word of a query: its stem, and how much each stem of the tools means it. */
interface Term { readonly stem: string, readonly meant: Map<string, number> }

/**
 * Tools that are found by what people want to do, in English: by BM25 over their parts, words near in meaning, and those
 * that tools have for what people say. It is small beside its tools, and needs no end.
 */
export class ToolIndex<Tool extends SearchableTool> {
  // @keyed none: a list in order, of the tools that the index is made of
  readonly #tools: Tool[] = []
  /** By stem: the tools that have it, each with its weight there. */
  // @keyed none: the words of the tools that the index is made of; MAX_DESCRIPTION and MAX_PARAMETERS of each
  readonly #having = new Map<string, Map<number, number>>()
  /** The stems of the name of each tool. */
  // @keyed none: a list in order, of the tools that the index is made of
  readonly #names: string[][] = []
  /** The words of names and first sentences, with their stems. */
  // @keyed none: the words of the tools that the index is made of
  readonly #words = new Map<string, string>()

  private constructor () {}

  /** Rejects with the reason of the signal. */
  static async of<Tool extends SearchableTool> (tools: readonly Tool[], signal?: AbortSignal): Promise<ToolIndex<Tool>> {
    const index = new ToolIndex<Tool>()
    for (const [i, tool] of tools.entries()) {
      index.#add(tool)
      if ((i + 1) % TURN_TOOLS === 0) {
        await nextTurn()
        signal?.throwIfAborted()
      }
    }
    return index
  }

  /** The tools for a query, best first; none that has nothing of it. */
  search (query: string, limit: number): Tool[] {
    const sums = new Float64Array(this.#tools.length)
    // @keyed none: it lives for one search; the stems of MAX_TERMS words
    const asked = new Map<string, number>()
    for (const { stem, meant } of this.#termsOf(query.slice(0, MAX_QUERY))) {
      const rarity = this.#rarity(stem)
      const best = new Float64Array(this.#tools.length)
      for (const [other, share] of meant) {
        asked.set(other, Math.max(asked.get(other) ?? 0, share))
        const weight = share * Math.min(rarity, this.#rarity(other))
        for (const [at, part] of this.#having.get(other)!) best[at] = Math.max(best[at]!, weight * part / (part + PART.saturation))
      }
      for (const [at, value] of best.entries()) sums[at]! += value
    }
    return Array.from(sums, (sum, at) => ({ at, score: sum === 0 ? 0 : sum * (1 + WHOLE_NAME * this.#shareOfName(at, asked)) }))
      .filter(({ score }) => score > 0).sort((a, b) => b.score - a.score || a.at - b.at).slice(0, limit)
      .map(({ at }) => this.#tools[at]!)
  }

  #add (tool: Tool): void {
    const { name, description = '', inputSchema } = tool
    const lead = /^[^]*?(?:[.!?](?=\s|$)|$)/.exec(description.slice(0, MAX_LEAD))![0]
    const { properties } = inputSchema as { properties?: unknown }
    // @keyed none: the words of one tool
    const weights = new Map<string, number>()
    const add = (text: string, weight: number, most: number, isMain: boolean): string[] => {
      // @keyed none: the words of one part of a tool
      const counts = new Map<string, number>()
      for (const word of wordsOf(text)) {
        const stem = stemOf(word, 'en')
        if (isMain) this.#words.set(word, stem)
        counts.set(stem, Math.min(most, (counts.get(stem) ?? 0) + 1))
      }
      for (const [stem, count] of counts) weights.set(stem, (weights.get(stem) ?? 0) + weight * count)
      return [...counts.keys()]
    }
    this.#names.push(add(name, PART.name, 1, true))
    add(lead, PART.lead, 2, true)
    add(description.slice(lead.length, MAX_DESCRIPTION), PART.rest, 2, false)
    add(Object.keys(Object(properties) as object).slice(0, MAX_PARAMETERS).join(' '), PART.parameters, 1, false)
    const at = this.#tools.push(tool) - 1
    for (const [stem, weight] of weights) {
      let having = this.#having.get(stem)
      if (having === undefined) this.#having.set(stem, having = new Map())
      having.set(at, weight)
    }
  }

  #termsOf (query: string): Term[] {
    const stems = wordsOf(query).map(word => stemOf(word, 'en'))
    const terms = queryWords(withSpaces(query), ['en'], true, 'en').slice(0, MAX_TERMS).map(word => {
      const own = stemsOf(word)
      const term: Term = { stem: own[0]!, meant: new Map() }
      for (const stem of own) this.#mean(term, stem, 1)
      this.#addLikeWords(term, word.text)
      return term
    })
    for (const { phrase, words } of toolWordsOf(stems)) {
      let term = terms.find(({ stem }) => phrase.includes(stem))
      if (term === undefined) terms.push(term = { stem: phrase.at(-1)!, meant: new Map() })
      for (const word of words) this.#mean(term, word, TOOL_WORD)
    }
    return terms
  }

  #mean ({ meant }: Term, stem: string, share: number): void {
    if (this.#having.has(stem)) meant.set(stem, Math.max(meant.get(stem) ?? 0, share))
  }

  #addLikeWords (term: Term, word: string): void {
    const vectors = wordVectors()
    const own = vectors?.idOf(word)
    if (vectors === undefined || own === undefined) return
    const { values, dimensions, scale } = vectors
    for (const [other, stem] of this.#words) {
      const id = vectors.idOf(other)
      if (id === undefined) continue
      let product = 0
      for (let i = 0; i < dimensions; i++) product += values[own * dimensions + i]! * values[id * dimensions + i]!
      const likeness = product / scale ** 2
      if (likeness >= LEAST_LIKENESS) this.#mean(term, stem, likeness * LIKE_WORD)
    }
  }

  /** The idf of a stem, where usual English is counted too. */
  #rarity (stem: string): number {
    const having = (this.#having.get(stem)?.size ?? 0) + backgroundOf(stem)
    return Math.log(1 + (this.#tools.length + BACKGROUND_PASSAGES - having + 0.5) / (having + 0.5))
  }

  /** How much of the weight of a tool's name is asked for. */
  #shareOfName (at: number, asked: ReadonlyMap<string, number>): number {
    let all = 0
    let found = 0
    for (const stem of this.#names[at]!) {
      const rarity = this.#rarity(stem)
      all += rarity
      found += rarity * (asked.get(stem) ?? 0)
    }
    return all === 0 ? 0 : found / all
  }
}

function wordsOf (text: string): string[] { return Array.from(rawWords(withSpaces(text)), word => word.toLowerCase()) }

/** A text with the words of its names apart: `send-mail`, `sendMail`, `office__send_mail`. */
function withSpaces (text: string): string {
  return text.replace(/(?<=[a-z])(?=[A-Z])/g, ' ').replace(/[_-]+/g, ' ')
}
