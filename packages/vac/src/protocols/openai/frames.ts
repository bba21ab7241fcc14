import { randomUUID } from 'node:crypto'
import { normaliseHistory, type Answer, type ChatTurn, type Chunk, type Run, type Step } from '@polyvac/core'
import { contentText, encodeChunk, eventText, InvalidRequestError, isRole, jsonString, takeSteps, usageOf, type ByKind, type Failure } from '@polyvac/core/protocol'
import { checkParameters } from './parameters.js'
import type { Citation } from '../../protocol.js'
import type { Annotation, ChatCompletion, ChatCompletionRequest, OpenAiError, ToolCall, Usage } from './schemas.js'
import { openAiFailure } from '../../openai/errors.js'
import { toolCallsOf } from '../../openai/tool-calls.js'

/** The question of a chat completion request. */
export interface ChatQuestion {
  readonly question: string
  readonly history: ChatTurn[]
  readonly extra: Record<string, unknown>
  /** Whether the request asks for steps: it gets the reasoning. */
  readonly steps: boolean
  readonly conversation: string | undefined
}

/**
 * The last user message is the question; all other messages, in their order, are the history. The parameters reach the
 * interpreter as `extra.request`, and as `extra.openai`, which the next minor version drops.
 * @param takes what the interpreter takes of the parameters
 */
export function toQuestion (body: ChatCompletionRequest, takes: readonly string[] = []): ChatQuestion {
  checkParameters(body, takes)
  const { model, messages, stream, stream_options: options, n, conversation_id: conversation, ...parameters } = body
  const steps = takeSteps(parameters)
  const unknown = messages.findIndex(({ role }) => !isRole(role))
  if (unknown !== -1) {
    const message = 'must be one of system, developer, user, assistant, tool, function'
    throw new InvalidRequestError([{ path: `body/messages/${unknown}/role`, message }])
  }
  const last = messages.findLastIndex(({ role }) => role === 'user')
  if (last === -1) {
    throw new InvalidRequestError([{ path: 'body/messages', message: 'needs at least one message with the role user' }])
  }
  const question = contentText(messages[last]?.content) ?? ''
  if (question.trim() === '') {
    throw new InvalidRequestError([{ path: `body/messages/${last}/content`, message: 'must not be blank' }])
  }
  // a turn that is only a tool call has no text
  const turns = messages.filter(({ content }, i) => i !== last && content !== null && content !== undefined)
  // an interpreter that takes tools or images needs the messages themselves
  const openai = takes.length === 0 ? parameters : { ...parameters, messages }
  return { question: question.trim(), history: normaliseHistory(turns), extra: { ...parameters, openai, request: openai }, steps, conversation: conversation ?? undefined }
}

/** One completion: the fields that all its chunks share. */
export class Completion {
  id = `chatcmpl-${randomUUID()}`
  created = Math.floor(Date.now() / 1000)
  /** Set where the request names one. */
  conversation: string | undefined

  /**
   * @param cite the citations of an answer
   * @param callsTools whether the answer may call tools of the request
   */
  constructor (readonly model: string, readonly question: ChatQuestion, readonly cite: (answer: Answer) => readonly Citation[] = () => [],
    readonly callsTools = false) {}

  /** Takes the id and the time of the run that the completion is: its repetition has the same. */
  readonly identify = ({ id, createdAt, conversation }: Run): void => {
    this.id = `chatcmpl-${id}`
    this.created = Math.floor(createdAt / 1000)
    if (this.question.conversation !== undefined) this.conversation = conversation
  }

  whole (answer: Answer, steps: readonly Step[] = []): ChatCompletion {
    const calls = this.#calls(answer)
    const thoughts = this.question.steps ? steps.flatMap(step => 'reasoning' in step ? [step.reasoning] : []) : []
    const message = {
      role: 'assistant' as const,
      content: answer.answer,
      refusal: null,
      ...thoughts.length > 0 && { reasoning_content: thoughts.join('\n') },
      ...this.#cited(answer)
    }
    return {
      id: this.id,
      object: 'chat.completion',
      created: this.created,
      model: this.model,
      choices: [{
        index: 0,
        message: calls.length === 0 ? message : { ...message, content: answer.answer || null, tool_calls: calls },
        logprobs: null,
        finish_reason: calls.length === 0 ? 'stop' : 'tool_calls'
      }],
      usage: this.#usage(answer, answer.answer.length),
      source_documents: answer.source_documents,
      ...this.conversation !== undefined && { conversation_id: this.conversation }
    }
  }

  /** The role first, each text once, the calls of tools, an empty delta with the reason, the usage if requested. */
  encoder (includeUsage: boolean): (chunk: Chunk) => string {
    let isFirst = true
    let units = 0
    const first = (): string => {
      if (!isFirst) return ''
      isFirst = false
      return this.#chunk({ role: 'assistant', content: '' })
    }
    const nothing = (): string => ''
    // all frames of text are the same around it; they are made once the id of the run is known
    let around: readonly [before: string, after: string] | undefined
    const table: ByKind<string> = {
      text: chunk => {
        units += chunk.length
        const opening = first()
        around ??= this.#aroundText()
        return `${opening}${around[0]}${jsonString(chunk)}${around[1]}`
      },
      reasoning: ({ reasoning }) => this.question.steps ? first() + this.#chunk({ reasoning_content: reasoning }) : '',
      progress: nothing,
      tool_call: nothing,
      tool_result: nothing,
      span: nothing,
      source: nothing,
      data: nothing,
      file: nothing,
      answer: chunk => {
        const calls = this.#calls(chunk)
        const called = calls.map((call, index) => this.#chunk({ tool_calls: [{ index, ...call }] })).join('')
        const end = this.#chunk(this.#cited(chunk), called === '' ? 'stop' : 'tool_calls', chunk.source_documents)
        return first() + called + end + (includeUsage ? this.#event([], undefined, this.#usage(chunk, units)) : '')
      }
    }
    return chunk => encodeChunk(table, chunk)
  }

  /** Absent where there is none: clients without citations get the same bytes as before. */
  #cited (answer: Answer): { annotations?: Annotation[] } {
    const citations = this.cite(answer)
    if (citations.length === 0) return {}
    return {
      annotations: citations.map(({ start: start_index, end: end_index, title, url }) => ({ type: 'url_citation', url_citation: { start_index, end_index, title, url } }))
    }
  }

  #calls (answer: Answer): ToolCall[] {
    return this.callsTools ? toolCallsOf(answer, this.model).map(({ id, ...named }) => ({ id, type: 'function', function: named })) : []
  }

  /** What stands before and after the text of a chunk. */
  #aroundText (): readonly [before: string, after: string] {
    const [before, after] = this.#chunk({ content: '' }).split('{"content":""}')
    return [`${before}{"content":`, `}${after}`]
  }

  #chunk (delta: object, finish: 'stop' | 'tool_calls' | null = null, documents?: unknown[]): string {
    return this.#event([{ index: 0, delta, logprobs: null, finish_reason: finish }], documents)
  }

  #event (choices: object[], documents?: unknown[], usage?: Usage): string {
    const { id, created, model, conversation } = this
    // field by field: an object spread for each piece of text is slow
    return eventText({ data: { id, object: 'chat.completion.chunk', created, model, choices, source_documents: documents, usage, conversation_id: conversation } })
  }

  /** The interpreter's count (`metadata.usage`), otherwise an estimate with `estimated: true`. */
  #usage (answer: Answer, units: number): Usage {
    const usage = usageOf(answer)
    if (usage !== undefined) return usage
    const { history, question } = this.question
    const chars = history.reduce((sum, { content }) => sum + content.length, question.length)
    const [prompt, completion] = [Math.ceil(chars / 4), Math.ceil(units / 4)]
    return { prompt_tokens: prompt, completion_tokens: completion, total_tokens: prompt + completion, estimated: true }
  }
}

/** A failure as OpenAI's error object. */
export function toOpenAiError (failure: Failure): OpenAiError {
  const { message, type, path: [param = null], code } = openAiFailure(failure)
  return { error: { message, type, param, code } }
}
