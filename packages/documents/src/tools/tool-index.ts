import type { FoundTool, ToolFinder } from '@polyvac/core/plugin'
import { backgroundOf, BACKGROUND_PASSAGES } from '../language/common-stems.js'
import { irregularForms } from '../language/irregular-forms.js'
import { stemOf } from '../language/languages.js'
import { COMMON_WORDS, STOP_WORDS } from '../language/stop-words.js'
import { synonymsOf } from '../language/synonyms.js'
import { rawWords } from '../language/terms.js'
import { shorten } from '../search/search-arguments.js'
import { isCorrected, nearestStems } from '../search/spelling.js'
import { nextTurn } from '../search/time-slices.js'
import { actionsIn, actionsOf, namingsIn, type Naming } from './tool-words.js'

/** The beginning of a description that counts, in characters: the rest is about special cases. */
const MAX_DESCRIPTION = 300
/** Parameters whose names count, the first ones. */
const MAX_PARAMETERS = 50
/** Words of a query that count, the first ones. */
const MAX_WORDS = 100
/** Words of a query that are corrected, the first ones: each is compared with all words of the tools. */
const MAX_CORRECTED_WORDS = 4
/** Tools that are read in one turn of the event loop. */
const TURN_TOOLS = 50

// Fitted with `tuned` and `tuned_more` of test/fixtures/tool-tasks.json: other values near these find about the same.

/** Weight of a word in each part of a tool; with `saturation` of it a word counts half. */
const PART = { name: 3, server: 1.5, first: 1.2, rest: 0.5, parameter: 0.4, saturation: 0.8 } as const
/** How much a word means its synonyms, and what tools call it. */
const SYNONYM = 0.5
const CALLED = 0.85
/** What the score of a tool gains with its whole name asked for, and what the same or another action changes. */
const WHOLE_NAME = 0.8
const ACTION = 0.25

interface IndexedTool<Tool> {
  readonly tool: Tool
  /** The stems of its name. */
  readonly name: readonly string[]
  /** What it does: of the first verb of its name, or of its description. */
  readonly actions: readonly string[]
}

/** A word of a query: its weight, and how much each stem of the tools means it. */
interface Term {
  readonly weight: number
  // @keyed none: it lives for one search; the forms and synonyms of a word, and the tables
  readonly meant: Map<string, number>
}

/**
 * An index in memory of tools, which are found by words of what they do, in English: by BM25 over their parts, with the
 * words that tools have for what users say, and with their kind of action. A query of more than 2,000 characters is
 * cut. Rejects with the reason of the signal.
 * @example
 * const index = await indexTools(await listTools())
 * const [best] = index.search('create calendar event', 5)
 * await index.close()
 */
export async function indexTools<Tool extends FoundTool> (tools: readonly Tool[], signal?: AbortSignal): Promise<ToolFinder<Tool>> {
  signal?.throwIfAborted()
  const index = new ToolIndex<Tool>()
  for (const [i, tool] of tools.entries()) {
    index.add(tool)
    if ((i + 1) % TURN_TOOLS === 0) {
      await nextTurn()
      signal?.throwIfAborted()
    }
  }
  return { search: (query, limit) => index.search(query, limit), close: async () => {} }
}

class ToolIndex<Tool extends FoundTool> {
  // @keyed none: a list in order, of the tools that the index is made of
  readonly #tools: Array<IndexedTool<Tool>> = []
  /** By stem: the tools that have it, each with its weight there. */
  // @keyed none: the words of the tools that the index is made of; MAX_DESCRIPTION and MAX_PARAMETERS of each
  readonly #having = new Map<string, Map<number, number>>()

  add (tool: Tool): void {
    const { name, description = '', inputSchema } = tool
    // a tool of a server among many is `<server>__<tool>`
    const [server = '', own = ''] = name.includes('__') ? [name.slice(0, name.indexOf('__')), name.slice(name.indexOf('__') + 2)] : ['', name]
    const text = description.slice(0, MAX_DESCRIPTION)
    const first = /^[^]*?(?:[.!?](?=\s|$)|$)/.exec(text)![0]
    const parameters = Object.keys(Object((inputSchema as { properties?: unknown }).properties) as object).slice(0, MAX_PARAMETERS)
    const servers = stemsOf(server)
    const names = stemsOf(own).filter(stem => !servers.includes(stem))
    const firsts = stemsOf(first)
    // @keyed none: the words of one tool
    const weights = new Map<string, number>()
    const weigh = (stems: Iterable<string>, weight: number): void => {
      for (const stem of stems) weights.set(stem, (weights.get(stem) ?? 0) + weight)
    }
    weigh(new Set(names), PART.name)
    weigh(new Set(servers), PART.server)
    weigh(firsts, PART.first)
    weigh(stemsOf(text.slice(first.length)), PART.rest)
    weigh(new Set(stemsOf(parameters.join(' '))), PART.parameter)
    const verb = [...names, ...firsts.slice(0, 1)].find(stem => actionsOf(stem).length > 0)
    const at = this.#tools.push({ tool, name: [...new Set(names)], actions: verb === undefined ? [] : actionsOf(verb) }) - 1
    for (const [stem, weight] of weights) {
      let having = this.#having.get(stem)
      if (having === undefined) this.#having.set(stem, having = new Map())
      having.set(at, weight)
    }
  }

  /** The tools for a query, best first; none that has nothing of it. */
  search (given: string, limit: number): Tool[] {
    const query = shorten(given)
    const words = wordsOf(query).slice(0, MAX_WORDS)
    const stems = words.map(word => stemOf(word, 'en'))
    const actions = actionsIn(query, stems)
    // @keyed none: it lives for one search; the tools with a word of the query
    const sums = new Map<number, number>()
    // @keyed none: it lives for one search; the stems of MAX_WORDS words
    const asked = new Map<string, number>()
    for (const { weight, meant } of this.#termsOf(words, namingsIn(query, stems))) {
      // @keyed none: it lives for one search; the tools with a word of the query
      const best = new Map<number, number>()
      for (const [stem, share] of meant) {
        asked.set(stem, Math.max(asked.get(stem) ?? 0, share))
        const most = share * Math.min(weight, this.#rarity(stem))
        for (const [at, part] of this.#having.get(stem)!) best.set(at, Math.max(best.get(at) ?? 0, most * part / (part + PART.saturation)))
      }
      for (const [at, value] of best) sums.set(at, (sums.get(at) ?? 0) + value)
    }
    return Array.from(sums, ([at, sum]) => ({ at, score: sum * this.#fit(this.#tools[at]!, asked, actions) }))
      .sort((a, b) => b.score - a.score || a.at - b.at).slice(0, limit).map(({ at }) => this.#tools[at]!.tool)
  }

  #termsOf (words: readonly string[], namings: readonly Naming[]): Iterable<Term> {
    // @keyed none: it lives for one search; MAX_WORDS, and the tables
    const terms = new Map<string, Term>()
    const add = (stem: string, weight: number): Term => {
      const term = { weight, meant: new Map<string, number>() }
      terms.set(stem, term)
      return term
    }
    const mean = ({ meant }: Term, stem: string, share: number): void => {
      if (this.#having.has(stem)) meant.set(stem, Math.max(meant.get(stem) ?? 0, share))
    }
    let corrections = MAX_CORRECTED_WORDS
    for (const word of words) {
      if (STOP_WORDS.has(word) && !COMMON_WORDS.has(word)) continue
      const stem = stemOf(word, 'en')
      if (terms.has(stem)) continue
      const term = add(stem, this.#rarity(stem))
      for (const one of [stem, ...irregularForms(stem).map(form => stemOf(form, 'en'))]) mean(term, one, 1)
      for (const synonym of synonymsOf(stem)) mean(term, stemOf(synonym, 'en'), SYNONYM)
      if (term.meant.size > 0 || !isCorrected(word) || corrections-- <= 0) continue
      const similar = nearestStems(word, this.#having.keys())
      for (const near of similar.words) mean(term, near, similar.likeness)
    }
    for (const { said, called } of namings) {
      const stem = said.find(stem => terms.has(stem)) ?? said.at(-1)
      const term = stem === undefined ? add(called.join(' '), Infinity) : terms.get(stem) ?? add(stem, this.#rarity(stem))
      for (const one of called) mean(term, one, CALLED)
    }
    return terms.values()
  }

  /** By how much a tool fits better, or worse, than its words do: most of its name is asked for, and its action is. */
  #fit ({ name, actions }: IndexedTool<Tool>, asked: ReadonlyMap<string, number>, wanted: ReadonlySet<string>): number {
    let all = 0
    let found = 0
    for (const stem of name) {
      const rarity = this.#rarity(stem)
      all += rarity
      found += rarity * (asked.get(stem) ?? 0)
    }
    const whole = 1 + (all === 0 ? 0 : WHOLE_NAME * found / all)
    return wanted.size === 0 || actions.length === 0 ? whole : whole * (actions.some(action => wanted.has(action)) ? 1 + ACTION : 1 - ACTION)
  }

  /** The idf of a stem, where usual English is counted too. */
  #rarity (stem: string): number {
    const having = (this.#having.get(stem)?.size ?? 0) + backgroundOf(stem)
    return Math.log(1 + (this.#tools.length + BACKGROUND_PASSAGES - having + 0.5) / (having + 0.5))
  }
}

/** The words of a text and of the names in it, in lower case: `send-mail`, `sendMail`, `_send_mail`. */
function wordsOf (text: string): string[] {
  return Array.from(rawWords(text.replace(/(?<=[a-z])(?=[A-Z])/g, ' ').replace(/[_-]+/g, ' ')), word => word.toLowerCase())
}

function stemsOf (text: string): string[] { return wordsOf(text).map(word => stemOf(word, 'en')) }
