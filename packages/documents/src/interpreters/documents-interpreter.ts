import type { ChatTurn, Hit, Interpreter, InterpreterChunk, InterpreterExtra, FinalAnswer, Memory } from '@polyvac/core'
import { BYTES_PER_CHAR, integer, memoryBudget, milliseconds, number, readOptions, type OptionRules } from '@polyvac/core/plugin'
import { extract, type Extract } from '../answer/extraction.js'
import { answerWithModel, type ModelAnswer } from '../answer/model-answer.js'
import { InvalidOptionError } from '../errors.js'
import { FOLDER_OPTIONS } from '../folder/folder-options.js'
import type { Place } from '../formats/format.js'
import { findModel, PORT, wantsModel, type ModelServer } from '../model/model-server.js'
import { readQuestion, type Question } from '../search/question.js'
import { retrieve, type Retrieval } from '../answer/retrieval.js'

export interface DocumentsInterpreterOptions {
  /** Passages for an answer, 1 to 100. Default: the memory's own `k`, otherwise 6. */
  readonly k?: number | undefined
  /** Score, a probability, from which a passage answers, 0 to 1; others add to it from half of that. Default 0.6. */
  readonly threshold?: number | undefined
  /** Most sentences of an answer without a model. Default 6. */
  readonly maxSentences?: number | undefined
  /** The port of this service, which `model: auto` skips. Default: the environment's PORT. */
  readonly ownPort?: number | (() => number | undefined) | undefined
  /** Longest wait for each piece of a model's text, in ms. Default 60,000: local models take long to load. */
  readonly modelTimeoutMs?: number | undefined
}

/** Types, bounds and defaults of the options. */
export const DOCUMENTS_OPTIONS = {
  k: integer(undefined, { max: 100 }),
  threshold: number(0, 1, 0.6),
  maxSentences: integer(6),
  ownPort: PORT,
  modelTimeoutMs: milliseconds(60_000)
} satisfies OptionRules<DocumentsInterpreterOptions>

/** How an answer was made: the value of `metadata.mode`. */
export type AnswerMode = 'extractive' | 'model' | 'extractive-fallback'

/** What citations count where the file has no lines. */
const PLACES = ['page', 'cell', 'row', 'slide', 'chapter', 'message'] as const satisfies ReadonlyArray<Exclude<Place, 'lines'>>

/** Score from which a model gets a passage; it decides whether the passage answers the question. */
const MODEL_THRESHOLD = 0.25

/**
 * Answers questions from a memory and cites the source of each statement. Without a model the answer consists of
 * sentences of the documents; with `model` in the VAC's entry a language model writes it, and where that fails before
 * its first word the sentences are the fallback (see `metadata.mode`). `[n]` in the text is `source_documents[n - 1]`.
 * @example
 * const memory = await openFolder({ path: 'docs' })
 * const docs = { streamInterpreter: documentsInterpreter(memory), memory }
 * const vacs = createVacs({ vacs: ['docs'], parts: { docs } })
 */
export function documentsInterpreter (memory: Memory, options: DocumentsInterpreterOptions = {}): Interpreter {
  const { threshold, maxSentences, modelTimeoutMs, ownPort, k = kOf(memory) } =
    readOptions(DOCUMENTS_OPTIONS, options, InvalidOptionError, 'documentsInterpreter')

  return async function * documents (text: string, vectorName: string, history: ChatTurn[], extra: InterpreterExtra):
  AsyncGenerator<InterpreterChunk, void> {
    const { signal, vac, log, principal } = extra
    const owner = principal?.owner
    yield { progress: 0.05, message: 'reading the question' }
    const question = readQuestion(text, history)
    if (question.smallTalk) {
      yield * yieldWhole(await introduction(memory, vac.display_name ?? vectorName))
      return
    }
    const found = await retrieve(memory, question, k, threshold, signal, owner)
    const held = memoryBudget.hold('the passages of answers', owner)
    try {
      held.grow(charsOf(found) * BYTES_PER_CHAR)
      yield { progress: 0.3, message: `searched: ${found.hits.length} passages answer` }
      let fallback: { reason: string } | undefined
      if (wantsModel(vac) && (found.nearest?.score ?? 0) >= MODEL_THRESHOLD) {
        const server = await findModel(vac, { ownPort, signal })
        if ('reason' in server) {
          fallback = vac.model === 'auto' ? undefined : server
        } else {
          const model = yield * modelFirst(server, question, history, await passagesFor(memory, found, question, k, signal, owner))
          if (model === undefined) return
          fallback = { reason: model.reason }
          log.warn({ vac: vectorName, reason: model.reason, ...model.cause !== undefined && { err: model.cause } }, 'the language model failed; answered only from the documents')
        }
      }
      signal.throwIfAborted()
      yield { progress: 0.6, message: 'reading the passages' }
      yield * extractive(question, found, maxSentences, fallback)
    } finally {
      held.release()
    }
    async function * modelFirst (server: ModelServer, asked: Question, turns: readonly ChatTurn[], hits: readonly Hit[]):
    AsyncGenerator<InterpreterChunk, { reason: string, cause?: Error | undefined } | undefined> {
      yield { progress: 0.6, message: `asking ${server.model}` }
      const outcome: ModelAnswer = yield * answerWithModel({
        server, question: asked.text, history: turns, hits, signal, owner, timeoutMs: modelTimeoutMs
      })
      if (outcome.answer === undefined) return outcome
      yield {
        answer: outcome.answer,
        source_documents: outcome.cited.map(sourceDocument),
        metadata: { mode: 'model' satisfies AnswerMode, model: server.model, ...degradedOf(found), ...outcome.metadata }
      }
      return undefined
    }
  }
}

/** Passages for an answer, as the memory is configured. */
function kOf (memory: Memory): number {
  return 'k' in memory && typeof memory.k === 'number' ? memory.k : FOLDER_OPTIONS.k.default
}

function charsOf ({ hits }: Retrieval): number {
  return hits.reduce((sum, { content }) => sum + content.length, 0)
}

/** The passages for a model: also those that do not answer by themselves, but may help. */
async function passagesFor (memory: Memory, found: Retrieval, question: Question, k: number,
  signal: AbortSignal, owner: string | undefined): Promise<readonly Hit[]> {
  if (found.hits.length >= k) return found.hits
  const more = await memory.search({ query: question.query, limit: k, threshold: MODEL_THRESHOLD / 2, signal, owner })
  const texts = new Set(found.hits.map(hit => hit.content))
  return [...found.hits, ...more.filter(hit => !texts.has(hit.content))].slice(0, k)
}

function * extractive (question: Question, found: Retrieval, max: number, fallback: { reason: string } | undefined): Generator<InterpreterChunk> {
  const { hits, nearest, asked } = found
  const mode: AnswerMode = fallback === undefined ? 'extractive' : 'extractive-fallback'
  const extracts = extract(question.text, hits, asked, max)
  if (extracts.length === 0) {
    yield * yieldWhole(noAnswer(nearest, hits.length > 0, { mode, ...degradedOf(found), ...fallback }))
    return
  }
  const cited = [...new Set(extracts.map(({ hit }) => hit))]
  let answer = ''
  for (const [index, one] of extracts.entries()) {
    const chunk = separatorOf(extracts[index - 1], one) + textOf(one, cited.indexOf(one.hit) + 1, extracts)
    answer += chunk
    yield chunk
  }
  yield {
    answer,
    source_documents: cited.map(sourceDocument),
    metadata: {
      mode, answered: true, score: cited[0]?.score, ...degradedOf(found), ...fallback, ...question.borrowed !== undefined && { follow_up: true }
    }
  }
}

function degradedOf ({ degraded }: Retrieval): { degraded?: string } {
  return degraded === undefined ? {} : { degraded }
}

/** The text between two extracts: a space between sentences of one passage, otherwise a new line or paragraph. */
function separatorOf (before: Extract | undefined, { unit, hit }: Extract): string {
  if (before === undefined) return ''
  const isBlock = (other: Extract['unit']): boolean => other.kind === 'code' || other.below !== undefined
  if (before.hit !== hit || isBlock(unit) || isBlock(before.unit)) return '\n\n'
  return unit.kind === 'sentence' && before.unit.kind === 'sentence' ? ' ' : '\n'
}

function textOf ({ unit, hit }: Extract, number: number, all: readonly Extract[]): string {
  if (unit.kind === 'code') return `${unit.text}\n[${number}]`
  if (unit.below !== undefined) {
    return unit.below.startsWith('- ') ? `${unit.text}\n${unit.below} [${number}]` : `${unit.text}\n\n${unit.below}\n[${number}]`
  }
  const listed = unit.kind !== 'sentence' && all.filter(other => other.hit === hit && other.unit.kind === unit.kind).length > 1
  return `${listed ? '- ' : ''}${unit.text} [${number}]`
}

/** @param answers whether the nearest passage answers, but none of its sentences can be quoted */
function noAnswer (nearest: Hit | undefined, answers: boolean, metadata: Record<string, unknown>): FinalAnswer {
  if (nearest === undefined) {
    const answer = 'The documents do not answer this: none of its words occur in them.'
    return { answer, source_documents: [], metadata: { ...metadata, answered: false } }
  }
  const { source, heading } = nearest.metadata
  const place = heading === undefined || heading === '' || heading === source ? `"${String(source)}"` : `"${String(heading)}" in ${String(source)}`
  const counted = PLACES.find(place => nearest.metadata[place] !== undefined)
  const [name, at] = counted === undefined ? ['line', nearest.metadata['lines']] : [counted, nearest.metadata[counted]]
  const range = at === undefined ? '' : `, ${name}${String(at).includes('-') ? 's' : ''} ${String(at)}`
  return {
    answer: answers
      ? `The documents may answer this in ${place}${range}, but no sentence there can be quoted.`
      : `The documents do not answer this. The nearest they have is ${place}${range}.`,
    source_documents: [],
    metadata: { ...metadata, answered: false, nearest: { ...nearest.metadata, score: nearest.score } }
  }
}

async function introduction (memory: Memory, name: string): Promise<FinalAnswer> {
  const documents = await memory.list?.() ?? []
  const names = documents.slice(0, 5).map(document => document.name).join(', ')
  const about = documents.length === 0
    ? ''
    : ` They are ${documents.length === 1 ? 'one document' : `${documents.length} documents`}: ${names}${documents.length > 5 ? ', …' : ''}.`
  return {
    answer: `I answer questions from the documents of ${name}.${about} Ask about something in them.`,
    source_documents: [],
    metadata: { mode: 'extractive' satisfies AnswerMode, answered: false }
  }
}

function * yieldWhole (final: FinalAnswer): Generator<InterpreterChunk> {
  yield final.answer
  yield final
}

function sourceDocument (hit: Hit): { page_content: string, metadata: Record<string, unknown> } {
  return { page_content: hit.content, metadata: { ...hit.metadata, score: hit.score } }
}
