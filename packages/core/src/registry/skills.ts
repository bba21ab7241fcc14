import { TypeCompiler, type TypeCheck } from '@sinclair/typebox/compiler'
import { Type, type Static, type TObject } from '@sinclair/typebox'
import { normaliseHistory } from '../vac/history.js'
import { MEMORY_DEFAULTS } from '../vac/memory.js'
import { nearest } from '../basics/names.js'
import { ChatHistory, SourceDocument } from '../vac/schemas.js'
import { NOT_BLANK, problemsOf, type RequestProblem } from '../http/validation.js'
import type { Vac } from '../vac/vac.js'
import type { Vacs } from './vacs.js'

/** Input of `vac_query_<vac>`. */
export const QueryInput = Type.Object({
  query: Type.String({ pattern: NOT_BLANK, description: 'the question' }),
  chat_history: Type.Optional(ChatHistory),
  context: Type.Optional(Type.Object({}, {
    additionalProperties: true, description: 'further facts for the interpreter, as `extra.context`'
  }))
}, { title: 'QueryInput' })
export type QueryInput = Static<typeof QueryInput>

/** Times of a streamed answer, the same as `stream_wait_time` and `stream_timeout` of the direct endpoint. */
export const StreamSettings = Type.Object({
  wait_time: Type.Optional(Type.Number({
    minimum: 0,
    maximum: 3600,
    description: 'longest pause without a byte, in seconds; then a keep-alive is sent; default 7, 0 for none'
  })),
  timeout: Type.Optional(Type.Number({ minimum: 1, maximum: 3600, description: 'total time for the interpreter, in seconds; default 120' }))
}, { description: 'times of the stream' })
export type StreamSettings = Static<typeof StreamSettings>

/** Input of `vac_stream_<vac>`. */
export const StreamInput = Type.Object({
  query: QueryInput.properties.query,
  chat_history: QueryInput.properties.chat_history,
  stream_settings: Type.Optional(StreamSettings)
}, { title: 'StreamInput' })
export type StreamInput = Static<typeof StreamInput>

/** Input of `vac_memory_search_<vac>`. */
export const MemorySearchInput = Type.Object({
  search_query: Type.String({ pattern: NOT_BLANK, maxLength: MEMORY_DEFAULTS.maxQueryLength, description: 'what to look for' }),
  limit: Type.Optional(Type.Integer({
    minimum: 1, maximum: MEMORY_DEFAULTS.maxLimit, default: MEMORY_DEFAULTS.limit, description: 'maximum number of results'
  })),
  similarity_threshold: Type.Optional(Type.Number({
    minimum: 0, maximum: 1, default: MEMORY_DEFAULTS.threshold, description: 'minimum similarity score'
  }))
}, { title: 'MemorySearchInput' })
export type MemorySearchInput = Static<typeof MemorySearchInput>

const Metadata = Type.Record(Type.String(), Type.Unknown())
const SourceDocuments = Type.Array(Type.Object(SourceDocument.properties), { description: 'the sources of the answer' })

/** Result of `vac_query_<vac>`. */
export const QueryResult = Type.Object({
  answer: Type.String({ description: 'the complete text' }),
  source_documents: SourceDocuments,
  metadata: Metadata
}, { title: 'QueryResult' })
export type QueryResult = Static<typeof QueryResult>

/** Result of `vac_stream_<vac>`, once the stream has ended. */
export const StreamResult = Type.Object({
  final_answer: Type.String({ description: 'the complete text' }),
  stream_completed: Type.Literal(true),
  source_documents: SourceDocuments,
  metadata: Type.Optional(Metadata)
}, { title: 'StreamResult' })
export type StreamResult = Static<typeof StreamResult>

/** Result of `vac_memory_search_<vac>`. */
export const MemorySearchResult = Type.Object({
  results: Type.Array(Type.Object({ content: Type.String(), score: Type.Number({ minimum: 0, maximum: 1 }), metadata: Metadata })),
  total_results: Type.Integer({ minimum: 0 }),
  best_score: Type.Optional(Type.Number({ minimum: 0, maximum: 1, description: 'without results: the best score below the threshold' })),
  degraded: Type.Optional(Type.String({ description: 'why a part of the memory, such as its embeddings, did not help' })),
  query: Type.String(),
  limit: Type.Integer(),
  similarity_threshold: Type.Number()
}, { title: 'MemorySearchResult' })
export type MemorySearchResult = Static<typeof MemorySearchResult>

/** What the description of a skill names. */
interface Named {
  readonly title: string
  /** What the VAC is for; empty where its configuration has no description. */
  readonly purpose: string
  readonly model: string | undefined
  readonly agent: string | undefined
}

/** The skills of a VAC, the same in A2A and MCP: prefix of the name, input schema, output schema, description. */
export const SKILLS = {
  query: {
    prefix: 'vac_query_',
    input: QueryInput,
    output: QueryResult,
    describe: ({ title, purpose, model, agent }: Named) =>
      `Ask ${title} and get the complete answer with its sources${purpose}${inBrackets({ model, agent })}`
  },
  stream: {
    prefix: 'vac_stream_',
    input: StreamInput,
    output: StreamResult,
    describe: ({ title, purpose, agent }: Named) =>
      `Talk with ${title} and read the answer while it is made${purpose}${inBrackets({ agent })}`
  },
  memory: {
    prefix: 'vac_memory_search_',
    input: MemorySearchInput,
    output: MemorySearchResult,
    describe: ({ title, purpose }: Named) => `Search the knowledge base of ${title}${purpose}`
  }
} as const satisfies Record<string, {
  readonly prefix: string
  readonly input: TObject
  readonly output: TObject
  readonly describe: (vac: Named) => string
}>

export type SkillKind = keyof typeof SKILLS
const KINDS = Object.keys(SKILLS) as SkillKind[]

/** One skill of one VAC. */
export interface Skill {
  readonly kind: SkillKind
  /** Prefix of the kind and exact name of the VAC. */
  readonly name: string
  readonly vac: Vac
  readonly description: string
}

/** The skills of a VAC; the memory search only where it has a memory. */
export function skillsOf (vac: Vac): Skill[] {
  return KINDS.filter(kind => kind !== 'memory' || vac.memory !== undefined).map(kind => new VacSkill(kind, vac))
}

/** The VAC that the name of a skill names, whether there is one or not. */
export function vacOfSkill (name: string): string | undefined {
  const kind = KINDS.find(kind => name.startsWith(SKILLS[kind].prefix))
  return kind === undefined ? undefined : name.slice(SKILLS[kind].prefix.length)
}

/** The skill of that name. It does not split at `_`, since names of VACs may contain it. */
export function findSkill (vacs: Pick<Vacs, 'has' | 'get'>, name: string): Skill | undefined {
  const kind = KINDS.find(kind => name.startsWith(SKILLS[kind].prefix))
  if (kind === undefined) return undefined
  const vac = name.slice(SKILLS[kind].prefix.length)
  if (!vacs.has(vac)) return undefined
  const skill = new VacSkill(kind, vacs.get(vac))
  return kind === 'memory' && skill.vac.memory === undefined ? undefined : skill
}

/** The name among `vacs` that was most likely meant by an unknown one. */
export function nearestSkill (vacs: readonly Vac[], name: string): string | undefined {
  return nearest(name, vacs.flatMap(vac => skillsOf(vac).map(({ name }) => name)))
}

// @keyed none: the keys are the kinds of skills of the code
const compiled = new Map<SkillKind, TypeCheck<TObject>>()

/** The problems of the input of a skill, by path; empty for a valid one. */
export function inputProblems (kind: SkillKind, input: unknown): RequestProblem[] {
  let check = compiled.get(kind)
  if (check === undefined) compiled.set(kind, check = TypeCompiler.Compile<TObject>(SKILLS[kind].input))
  if (!check.Check(input)) return problemsOf(check, input, 'input')
  const { chat_history: history } = input as QueryInput
  if (kind === 'memory' || history === undefined) return []
  try {
    normaliseHistory(history)
    return []
  } catch (err) {
    return [{ path: 'input/chat_history', message: (err as Error).message }]
  }
}

/** A class, since an object literal with a getter costs every call a hidden class. */
class VacSkill implements Skill {
  readonly name: string
  constructor (readonly kind: SkillKind, readonly vac: Vac) {
    this.name = SKILLS[kind].prefix + vac.name
  }

  get description (): string {
    const { display_name: title = this.vac.name, description, model, agent } = this.vac.config
    const purpose = description === undefined || description === title ? '' : `: ${description}`
    return SKILLS[this.kind].describe({ title, purpose, model, agent })
  }
}

/** The values that are known, each with its name. */
function inBrackets (values: Readonly<Record<string, string | undefined>>): string {
  const known = Object.entries(values).flatMap(([name, value]) => value === undefined ? [] : [`${name}: ${value}`])
  return known.length === 0 ? '' : ` (${known.join(', ')})`
}
