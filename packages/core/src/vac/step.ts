import { Type, type Static, type TSchema } from '@sinclair/typebox'
import { SourceDocument } from './schemas.js'
import { TokenUsage } from './usage.js'

const CallId = Type.String({ description: 'of the call, unique in its answer' })
const StartMs = Type.Number({ minimum: 0, description: 'when it began, in ms since the interpreter was called' })

/** The error of a tool. */
export const ToolError = Type.Object({
  code: Type.Optional(Type.String({ description: 'stable, for programs' })),
  message: Type.String()
}, { title: 'ToolError' })
export type ToolError = Static<typeof ToolError>

/** What happens in an answer besides its text, by kind: the shapes that protocols send (contract section 7). */
export const STEPS = {
  tool_call: Type.Object({
    id: CallId,
    name: Type.String({ description: 'of the tool' }),
    server: Type.Optional(Type.String({ description: 'MCP server of the tool' })),
    input: Type.Optional(Type.Unknown({ description: 'arguments; absent for callers who see only names' }))
  }),
  tool_result: Type.Object({
    id: CallId,
    state: Type.Union([Type.Literal('completed'), Type.Literal('failed')]),
    output: Type.Optional(Type.Unknown({ description: 'of a completed call; absent for callers who see only names' })),
    error: Type.Optional(Type.Object(ToolError.properties, { description: 'of a failed call; absent for callers who see only names' })),
    duration_ms: Type.Optional(Type.Number({ minimum: 0, description: 'how long the call took, in ms' })),
    start_ms: Type.Optional(Type.Number({ minimum: 0, description: 'when the call began, in ms since the interpreter was called, where the service or the interpreter states it' }))
  }),
  span: Type.Object({
    id: Type.String({ description: 'unique in its answer; a later span with it takes the place of this one' }),
    kind: Type.String({ description: 'what was done: `model`, `search`, `reasoning`, or another text' }),
    name: Type.String({ description: 'of the model, or of what was searched' }),
    state: Type.Union([Type.Literal('running'), Type.Literal('completed'), Type.Literal('failed')]),
    start_ms: StartMs,
    duration_ms: Type.Optional(Type.Number({ minimum: 0, description: 'how long it took, in ms; absent while it is running' })),
    usage: Type.Optional(Type.Object(TokenUsage.properties, { description: 'tokens of a call of a model' })),
    passages: Type.Optional(Type.Integer({ minimum: 0, description: 'how many a search has found' })),
    finish_reason: Type.Optional(Type.String({ description: 'why a model stopped' })),
    input: Type.Optional(Type.Unknown({ description: 'what was asked for; absent for callers who see only names' }))
  }),
  reasoning: Type.String({ description: 'the next text of what a model thinks' }),
  source: Type.Object(SourceDocument.properties, { description: 'a source that was found' }),
  data: Type.Object({
    type: Type.String({ description: 'what the value is, as the interpreter names it' }),
    value: Type.Unknown({ description: 'any JSON value' })
  }),
  file: Type.Object({
    name: Type.String(),
    media_type: Type.String(),
    url: Type.Optional(Type.String({ description: 'where it is, unless it has `bytes`' })),
    bytes: Type.Optional(Type.String({ description: 'its content in base64, unless it has a `url`' }))
  })
} as const satisfies Record<string, TSchema>

export type StepKind = keyof typeof STEPS
/** A step of one kind: an object with the kind as its key. */
export type StepOf<Kind extends StepKind> = { readonly [K in Kind]: Static<typeof STEPS[K]> }
export type Step = { [Kind in StepKind]: StepOf<Kind> }[StepKind]

export const STEP_KINDS = Object.keys(STEPS) as readonly StepKind[]

// without an `$id`: within another schema it would be a reference that the OpenAPI document has not
/** A step of an answer, as its reader may see it. */
export const Step = Type.Unsafe<Step>(Type.Union(STEP_KINDS.map(kind => Type.Object({ [kind]: STEPS[kind] })), { title: 'Step' }))

/** The kind of a step. */
export function stepKind (step: Step): StepKind {
  return STEP_KINDS.find(kind => kind in step)!
}

/**
 * What a reader sees of steps: all of them, or of the calls of tools only name, server, state and times, and of spans
 * everything but the input. Without it the reader sees none.
 */
export type StepView = 'all' | 'names'

/** The step without the input, output and error of tools and spans, for a reader who sees `names`. */
export function stepFor (view: StepView, step: Step): Step {
  if (view === 'all') return step
  if ('tool_call' in step) {
    const { input: _input, ...call } = step.tool_call
    return { tool_call: call }
  }
  if ('span' in step) {
    const { input: _input, ...span } = step.span
    return { span }
  }
  if ('tool_result' in step) {
    const { output: _output, error: _error, ...result } = step.tool_result
    return { tool_result: result }
  }
  return step
}

/**
 * Whether the further fields of a request ask for steps. Then the field is taken out of them: it is not for the
 * interpreter, which gets any other value of that name.
 */
export function takeSteps (fields: Record<string, unknown>): boolean {
  if (fields.steps !== true) return false
  delete fields.steps
  return true
}

/**
 * Most pieces of reasoning are a word, so the pieces that follow one another are one step of a list. A span has the
 * place of its beginning.
 */
export function collectStep (steps: Step[], step: Step): void {
  if ('span' in step) {
    const begun = steps.findLastIndex(other => 'span' in other && other.span.id === step.span.id)
    if (begun === -1) steps.push(step)
    else steps[begun] = step
    return
  }
  const last = steps.at(-1)
  const joined = last && joinSteps(last, step)
  if (joined === undefined) steps.push(step)
  else steps[steps.length - 1] = joined
}

/** Two pieces of a reasoning as one; undefined for other steps. */
export function joinSteps (last: Step, next: Step): Step | undefined {
  return 'reasoning' in last && 'reasoning' in next ? { reasoning: last.reasoning + next.reasoning } : undefined
}

/** A step as an interpreter may yield it: what is missing is filled in, and values become JSON. */
export type InterpreterStep =
  | { readonly tool_call: { readonly id?: string | undefined, readonly name: string, readonly server?: string | undefined, readonly input?: unknown } }
  | { readonly tool_result: { readonly id?: string | undefined, readonly output?: unknown, readonly error?: unknown, readonly duration_ms?: number | undefined, readonly start_ms?: number | undefined } }
  | { readonly span: SpanInput }
  | { readonly reasoning: string }
  | { readonly source: { readonly page_content: string, readonly metadata?: Readonly<Record<string, unknown>> | undefined } }
  | { readonly data: { readonly type: string, readonly value?: unknown } }
  | { readonly file: { readonly name?: string | undefined, readonly media_type?: string | undefined } & ({ readonly url: string | URL } | { readonly bytes: string | Uint8Array }) }

/** A span as an interpreter may yield it: once when it ends, or also with the state `running` when it begins. */
export interface SpanInput {
  readonly id?: string | undefined
  readonly kind: string
  readonly name?: string | undefined
  /** Default `completed`. */
  readonly state?: StepOf<'span'>['span']['state'] | undefined
  /** In ms since the interpreter was called. Default: when `running` was yielded, or `duration_ms` ago. */
  readonly start_ms?: number | undefined
  /** Default: the time since it began. */
  readonly duration_ms?: number | undefined
  /** Token counts with any of the usual names. */
  readonly usage?: unknown
  readonly passages?: number | undefined
  readonly finish_reason?: string | undefined
  readonly input?: unknown
}
