import type { Answer, Chunk, Vac } from '@polyvac/core'
import { askedBack, encodeChunk, isRecord, usageOf, type ByKind, type Failure } from '@polyvac/core/protocol'
import type { ChatRequest } from '../../protocol.js'
import { shownPassage } from '../../chat/limits.js'
import { toolCallsOf } from '../../openai/tool-calls.js'

/** An event of the protocol. */
export type AgUiEvent = Readonly<Record<string, unknown>> & { readonly type: string }

/** What an answer is, for its events. */
export interface AnswerHead {
  /** The id of its first message, and of its interrupt: that of the run and its turn. */
  id: string
  readonly vac: Vac
  readonly threadId: string
  readonly runId: string
  /** Whether the client knows what is new in 1.0. */
  readonly is1: boolean
  /** Whether the answer may call tools of the front end. */
  readonly callsTools: boolean
  /** How a question of the interpreter ends the run. */
  readonly questions: 'interrupt' | 'text'
  readonly cite: ChatRequest['cite']
}

/** Makes the events of one answer, after RUN_STARTED. */
export class AnswerEvents {
  readonly #head: AnswerHead
  /** The ids of the open message, and of the open reasoning. */
  #text: string | undefined
  #reasoning: string | undefined
  /** How many of them have begun, and of files and artifacts. */
  #texts = 0
  #reasonings = 0
  #files = 0
  /** The whole text. */
  #sent = ''

  constructor (head: AnswerHead) { this.#head = head }

  /** The last item is the Answer, which ends the run. */
  add (chunk: Chunk): AgUiEvent[] { return encodeChunk(this.#table, chunk) }

  /** What begins again for a reader who has the messages that stand now. */
  reopen (): AgUiEvent[] {
    if (this.#text !== undefined) return [this.#textStart(this.#text)]
    return this.#reasoning === undefined ? [] : reasoningStart(this.#reasoning)
  }

  /** Ends what is open, and forgets the text: it comes again from its beginning. */
  restart (): AgUiEvent[] {
    const events = this.#close()
    this.#texts = this.#reasonings = this.#files = 0
    this.#sent = ''
    return events
  }

  /** The events of a failure, and the end. */
  fail ({ body: { error: { code, message, requestId } } }: Failure): AgUiEvent[] {
    if (code === 'RUN_CANCELLED') return [...this.#close(), cancelled(this.#head, message)]
    if (code === 'SHUTTING_DOWN') return [...this.#close(), closing(message)]
    return [...this.#close(), { type: 'RUN_ERROR', message, code, metadata: { requestId } }]
  }

  /** The service closes, and the run goes on. */
  leave (): AgUiEvent[] {
    return [...this.#close(), closing('the service is closing, and the run goes on; read it with the same runId')]
  }

  readonly #table: ByKind<AgUiEvent[]> = {
    text: text => this.#say(text),
    progress: content => [{ type: 'ACTIVITY_SNAPSHOT', messageId: `${this.#head.id}:progress`, activityType: 'polyvac.progress', content }],
    tool_call: ({ tool_call: { id, name, server, input } }) => {
      const toolCallId = this.#callId(id)
      return [...this.#close(), ...callEvents(toolCallId, server === undefined ? name : `${server}__${name}`, JSON.stringify(input ?? {}), server)]
    },
    tool_result: ({ tool_result: { id, state, output, error, duration_ms: ms } }) => {
      const toolCallId = this.#callId(id)
      const content = state === 'failed' ? { error: error ?? null } : output ?? null
      return [{ type: 'TOOL_CALL_RESULT', messageId: `${toolCallId}:result`, toolCallId, content: typeof content === 'string' ? content : JSON.stringify(content), role: 'tool', metadata: { state, ...ms !== undefined && { duration_ms: ms } } }]
    },
    span: () => [],
    reasoning: ({ reasoning }) => this.#think(reasoning),
    source: ({ source }) => [{ type: 'CUSTOM', name: 'source', value: source }],
    data: ({ data }) => [{ type: 'CUSTOM', name: 'data', value: data }],
    file: ({ file }) => this.#shown('file', file),
    answer: answer => this.#finish(answer)
  }

  /** The id of the open message, which takes more text; undefined where one begins with it. */
  goOn (delta: string): string | undefined {
    if (this.#text !== undefined) this.#sent += delta
    return this.#text
  }

  #say (delta: string): AgUiEvent[] {
    if (delta === '') return []
    const content = (messageId: string): AgUiEvent => ({ type: 'TEXT_MESSAGE_CONTENT', messageId, delta })
    const open = this.goOn(delta)
    if (open !== undefined) return [content(open)]
    this.#sent += delta
    const ended = this.#close()
    this.#text = this.#numbered('', this.#texts++)
    return [...ended, this.#textStart(this.#text), content(this.#text)]
  }

  #textStart (messageId: string): AgUiEvent { return { type: 'TEXT_MESSAGE_START', messageId, role: 'assistant' } }

  #think (delta: string): AgUiEvent[] {
    if (delta === '') return []
    const content = (messageId: string): AgUiEvent => ({ type: 'REASONING_MESSAGE_CONTENT', messageId, delta })
    if (this.#reasoning !== undefined) return [content(this.#reasoning)]
    const ended = this.#close()
    this.#reasoning = this.#numbered(':reasoning', this.#reasonings++)
    return [...ended, ...reasoningStart(this.#reasoning), content(this.#reasoning)]
  }

  #numbered (suffix: string, n: number): string { return `${this.#head.id}${suffix}${n === 0 ? '' : `:${n}`}` }

  /** Of a tool that the service calls: ids of interpreters are unique in one answer, those of clients in a thread. */
  #callId (id: string): string { return `${this.#head.id}:call:${id}` }

  #close (metadata?: object): AgUiEvent[] {
    const [text, reasoning] = [this.#text, this.#reasoning]
    this.#text = this.#reasoning = undefined
    if (text !== undefined) return [{ type: 'TEXT_MESSAGE_END', messageId: text, ...metadata !== undefined && { metadata } }]
    return reasoning === undefined ? [] : [{ type: 'REASONING_MESSAGE_END', messageId: reasoning }, { type: 'REASONING_END', messageId: reasoning }]
  }

  /** Something that messages have no place for: an activity for front ends that show it, and an event for programs. */
  #shown (name: 'file' | 'artifact', value: object): AgUiEvent[] {
    const messageId = this.#numbered(':file', this.#files++)
    return [{ type: 'ACTIVITY_SNAPSHOT', messageId, activityType: `polyvac.${name}`, content: value }, { type: 'CUSTOM', name, value }]
  }

  #finish (answer: Answer): AgUiEvent[] {
    const { vac, callsTools, cite, id } = this.#head
    // what was said remains where the answer does not continue it
    const said = answer.answer.startsWith(this.#sent) ? this.#say(answer.answer.slice(this.#sent.length)) : []
    const asked = askedBack(answer)
    const question = asked === undefined || this.#sent.includes(asked.text) ? [] : this.#say(this.#sent === '' ? asked.text : `\n\n${asked.text}`)
    const sources = sourcesOf(answer, cite(vac, answer))
    const artifacts = Array.isArray(answer.artifacts) ? answer.artifacts.filter(isRecord) : []
    const calls = callsTools ? toolCallsOf(answer, vac.name, i => `${id}:call-${i}`) : []
    return [
      ...said,
      ...question,
      ...this.#close(sources && { source_documents: sources }),
      ...sources === undefined ? [] : [{ type: 'CUSTOM', name: 'source_documents', value: sources }],
      ...artifacts.flatMap(artifact => this.#shown('artifact', artifact)),
      ...calls.flatMap(({ id, name, arguments: args }) => callEvents(id, name, args)),
      this.#finished(answer, calls.map(({ id }) => id))
    ]
  }

  #finished (answer: Answer, pending: readonly string[]): AgUiEvent {
    const { threadId, runId, is1 } = this.#head
    const usage = usageOf(answer)
    const interrupt = interruptOf(this.#head, answer)
    const outcome = interrupt !== undefined
      ? { type: 'interrupt', interrupts: [interrupt] }
      : pending.length > 0 && is1 ? { type: 'success', pendingToolCallIds: pending } : undefined
    return {
      type: 'RUN_FINISHED',
      threadId,
      runId,
      result: answer,
      ...outcome !== undefined && { outcome },
      ...usage !== undefined && { usage: [{ inputTokens: usage.prompt_tokens, outputTokens: usage.completion_tokens, totalTokens: usage.total_tokens }] }
    }
  }
}

/** The question of an answer that asks back; undefined for any other, and where questions are texts. */
export function interruptOf ({ id, questions }: Pick<AnswerHead, 'id' | 'questions'>, answer: Answer): object | undefined {
  const asked = askedBack(answer)
  if (asked === undefined || questions === 'text') return undefined
  const responseSchema = isRecord(answer.input_schema) ? answer.input_schema : { type: 'string' }
  const reason = asked.kind === 'auth' ? 'polyvac:auth_required' : responseSchema.type === 'boolean' ? 'confirmation' : 'input_required'
  const { choices, approval } = answer
  const metadata = { ...Array.isArray(choices) && { choices }, ...isRecord(approval) && { approval } }
  const expiresAt = isRecord(approval) ? approval.expires_at : undefined
  return { id, reason, message: asked.text, responseSchema, ...expiresAt !== undefined && { expiresAt }, ...Object.keys(metadata).length > 0 && { metadata } }
}

/** The end of a run that was cancelled: clients before 1.0 know it as a failure. */
export function cancelled ({ threadId, runId, is1 }: Pick<AnswerHead, 'threadId' | 'runId' | 'is1'>, message: string): AgUiEvent {
  return is1 ? { type: 'RUN_FINISHED', threadId, runId, outcome: { type: 'cancelled' } } : { type: 'RUN_ERROR', message, code: 'STOPPED' }
}

function closing (message: string): AgUiEvent { return { type: 'RUN_ERROR', message, code: 'SERVICE_CLOSING' } }

function callEvents (toolCallId: string, toolCallName: string, args: string, server?: string): AgUiEvent[] {
  return [
    { type: 'TOOL_CALL_START', toolCallId, toolCallName, ...server !== undefined && { metadata: { server } } },
    ...args === '' ? [] : [{ type: 'TOOL_CALL_ARGS', toolCallId, delta: args }],
    { type: 'TOOL_CALL_END', toolCallId }
  ]
}

function reasoningStart (messageId: string): AgUiEvent[] {
  return [{ type: 'REASONING_START', messageId }, { type: 'REASONING_MESSAGE_START', messageId, role: 'reasoning' }]
}

/** The sources of an answer with their numbers in the text and their addresses; undefined without any. */
function sourcesOf ({ source_documents: documents }: Answer, citations: ReturnType<ChatRequest['cite']>): object[] | undefined {
  if (documents.length === 0) return undefined
  return documents.map(({ page_content: content, metadata }, i) => {
    const cited = citations.find(({ index }) => index === i)
    return { index: i + 1, ...cited !== undefined && { url: cited.url, title: cited.title }, page_content: shownPassage(content), metadata }
  })
}
