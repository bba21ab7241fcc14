import type { Answer, RunTurn } from '@polyvac/core'
import { usageOf } from '@polyvac/core/protocol'
import { responseId } from './ids.js'
import { NONE_SENT, type Echo } from './parameters.js'

/** What a run keeps of a request, besides its question. */
export interface ResponseNotes {
  /** The parameters that its response repeats. */
  readonly echo: Echo
  /** The items of the input, with ids. */
  readonly items: readonly object[]
  /** The id of the response that the input follows. */
  readonly previous?: string | undefined
  /** Whether the request names a conversation. */
  readonly inConversation?: true | undefined
  readonly background?: true | undefined
  /** Characters of the input, for an estimate of its tokens. */
  readonly chars: number
  /** Whether an answer may call functions of the caller. */
  readonly callsTools?: true | undefined
}

/** What a response is, while its output grows. */
export interface ResponseHead {
  run: RunTurn
  readonly model: string
  /** Milliseconds since 1970. */
  createdAt: number
  completedAt?: number | undefined
  conversation?: string | undefined
  readonly isStored: boolean
  readonly notes: ResponseNotes
}

export type ResponseStatus = 'queued' | 'in_progress' | 'completed' | 'failed' | 'cancelled' | 'incomplete'

/** What changes in a response. */
export interface ResponseState {
  readonly status: ResponseStatus
  readonly output: readonly object[]
  readonly answer?: Answer | undefined
  /** Characters of the text, for an estimate of its tokens. */
  readonly chars?: number
  readonly error?: object | undefined
  readonly reason?: string | undefined
}

/** Keys of an answer that a response has besides its output. The text of a question is that of the message. */
const OWN_KEYS = ['source_documents', 'artifacts', 'input_required', 'auth_required'] as const

/** The response object, whole in every place: readers break where a field is missing. */
export function responseObject ({ run, model, createdAt, completedAt, conversation, isStored, notes }: ResponseHead, state: ResponseState): object {
  const { status, output, answer, chars = 0, error = null, reason } = state
  // assigned: on Node.js 20 spreading these costs a short response a tenth of its time
  return Object.assign({
    id: responseId(run),
    object: 'response',
    created_at: seconds(createdAt),
    completed_at: status === 'completed' ? seconds(completedAt ?? createdAt) : null,
    status,
    background: notes.background === true,
    error,
    incomplete_details: reason === undefined ? null : { reason },
    model,
    output,
    previous_response_id: notes.previous ?? null,
    conversation: notes.inConversation === true && conversation !== undefined ? { id: conversation } : null,
    store: isStored,
    usage: answer === undefined ? null : usage(answer, notes.chars, chars)
  }, NONE_SENT, notes.echo, answer === undefined ? undefined : ownKeysOf(answer))
}

function ownKeysOf (answer: Answer): object {
  return Object.fromEntries(OWN_KEYS.flatMap(key => answer[key] === undefined ? [] : [[key, key.endsWith('_required') ? true : answer[key]]]))
}

/** The interpreter's count (`metadata.usage`), otherwise an estimate with `estimated: true`. */
function usage (answer: Answer, input: number, output: number): object {
  const counted = usageOf(answer)
  const [prompt, completion] = counted === undefined ? [Math.ceil(input / 4), Math.ceil(output / 4)] : [counted.prompt_tokens, counted.completion_tokens]
  return {
    input_tokens: prompt,
    input_tokens_details: { cached_tokens: 0, cache_write_tokens: 0 },
    output_tokens: completion,
    output_tokens_details: { reasoning_tokens: 0 },
    total_tokens: prompt + completion,
    ...counted?.cost !== undefined && { cost: counted.cost },
    ...counted === undefined && { estimated: true }
  }
}

function seconds (ms: number): number { return Math.floor(ms / 1000) }
