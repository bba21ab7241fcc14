import type { Answer, Chunk, SourceDocument } from '@polyvac/core'
import { askedBack, encodeChunk, eventText, isRecord, joinTexts, jsonString, jsonText, usageOf, type ByKind, type Failure, type Text } from '@polyvac/core/protocol'
import { AnswerText } from '../../chat/answer-text.js'
import { failureText } from '../../chat/failure-text.js'
import { FrameCursor } from '../../chat/frame-cursor.js'
import { toolCallsOf } from '../../openai/tool-calls.js'
import { CUT, type Citation } from '../../protocol.js'
import { artifactFrames, fileFrames, sourceFrame } from './parts.js'
import { ASK_USER, type CardReply } from './input.js'

/** What a message is, once its run is known. */
export interface MessageHead {
  /** The id of the message. */
  id: string
  /** The id of the turn, by which a question is answered. */
  turn: string
  /** The run; undefined where none is kept. */
  run?: string | undefined
  /** Whether it goes on with a message that the client has. */
  readonly goesOn?: boolean
  /** The reply by which it does. */
  readonly reply?: CardReply | undefined
  /** The name of the VAC. */
  readonly vac: string
  /** Whether the answer may call tools of the client. */
  readonly callsTools?: boolean
}

export interface WriterOptions {
  /** The major version of the clients. */
  readonly version: 5 | 6 | 7
  readonly cite: (answer: Pick<Answer, 'answer' | 'source_documents'>) => readonly Citation[]
  readonly cursor?: FrameCursor
  /** Whether the reader has the frames before the answer. */
  readonly hasOpening?: boolean
  /** Whether the reader counts frames: text that comes again is a new paragraph, so that no frame is left out. */
  readonly isCounted?: boolean
  /** Earlier turns of the same message, which come first. */
  readonly before?: Text
  /** Whether it writes such a turn: without the frames that begin and end a message. */
  readonly isInner?: boolean
}

const DONE = eventText({ data: '[DONE]' })

/** Writes the frames of one message: live, from the log, and the rest after any of them. */
export class MessageWriter {
  readonly #head: MessageHead
  readonly #options: WriterOptions
  #cursor: FrameCursor
  #text = new AnswerText()
  /** The part that takes more text, and the place of its text in that of the answer. */
  #part: { readonly kind: 'text' | 'reasoning', readonly id: string, readonly start: number } | undefined
  #parts = 0
  /** Frames until now. */
  count = 0
  // @keyed none: it lives for one answer, and has at most its steps
  #calls = new Map<string, 'open' | 'ended'>()
  #isOpen = false
  /** Frames before the answer. */
  #opening = 0
  #hasBegun = false

  constructor (head: MessageHead, options: WriterOptions) {
    this.#head = head
    this.#options = options
    this.#cursor = options.cursor ?? new FrameCursor()
  }

  /** The frames before the answer; empty once they are written, also by `add` and `fail`. */
  open (): string {
    if (this.#isOpen) return ''
    this.#isOpen = true
    const { before = '', isInner } = this.#options
    const { id, run, goesOn, reply } = this.#head
    const start = isInner === true ? '' : this.#frame({ type: 'start', messageId: id, ...run !== undefined && { messageMetadata: { taskId: run } } }, before !== '')
    // clients look for calls without a result in the last step
    const step = goesOn === true ? this.#frame({ type: 'start-step' }) : ''
    const text = textOf([start, before, step, reply === undefined ? '' : this.#replied(reply)])
    this.#opening = this.count
    return this.#options.hasOpening === true ? '' : text
  }

  /** The frames of the next item of an answer; the last one is the Answer. */
  add (chunk: Chunk): Text {
    const opening = this.open()
    this.#hasBegun = true
    const frames = encodeChunk(this.#table, chunk)
    return opening === '' ? frames : joinTexts([opening, frames])
  }

  /** The text begins anew at event `seq`. A reader of the text before is cut off, where it cannot take text back. */
  restart (seq = 0): Text | typeof CUT {
    const opening = this.open()
    const hasBegun = this.#hasBegun
    const { version, isCounted } = this.#options
    if (hasBegun && isCounted !== true && version < 7) return CUT
    const taken = isCounted === true && version < 7 ? this.#endPart() : ''
    this.#text = new AnswerText()
    this.#part = undefined
    this.#calls.clear()
    this.#hasBegun = true
    if (isCounted === true) return joinTexts([opening, taken, version < 7 || !hasBegun ? '' : this.#frame({ type: 'reset-step' })])
    this.#parts = 0
    const isStale = this.#begin(seq, hasBegun)
    return joinTexts([opening, (hasBegun || isStale) && version >= 7 ? frameText({ type: 'reset-step' }) : ''])
  }

  /**
   * Numbers the frames as for a reader that begins with the text at event `seq`. Returns whether this one has frames of
   * other text.
   */
  #begin (seq: number, isAgain: boolean): boolean {
    if (isAgain) {
      this.#cursor = new FrameCursor()
      for (let i = 0; i < this.#opening; i++) this.#cursor.frame(() => '')
    }
    return this.#cursor.begin(seq)
  }

  /** The frames of a failure, and the end. A run that was cancelled ends without its text. */
  fail (failure: Failure): Text {
    const opening = this.open()
    const ended = [opening, this.#endPart(), this.#endCalls()]
    const { code, message, requestId } = failure.body.error
    if (code === 'RUN_CANCELLED') return joinTexts([...ended, this.#frame({ type: 'abort' }), this.#end('other'), DONE])
    return joinTexts([
      ...ended,
      this.#frame({ type: 'data-error', transient: true, data: { code, message, requestId } }),
      this.#frame({ type: 'error', errorText: failureText(failure) }),
      DONE
    ])
  }

  readonly #table: ByKind<Text> = {
    text: text => this.#add('text', text),
    progress: progress => this.#frame({ type: 'data-progress', id: 'progress', transient: true, data: progress }),
    tool_call: ({ tool_call: { id, name, server, input } }) => {
      this.#calls.set(id, 'open')
      return this.#step({ type: 'tool-input-available', toolCallId: id, toolName: server === undefined ? name : `${server}__${name}`, input: input ?? {}, dynamic: true, providerExecuted: true })
    },
    tool_result: ({ tool_result: { id, state, output, error } }) => {
      // clients fail on the result of a call that they do not know
      if (!this.#calls.has(id)) return ''
      this.#calls.set(id, 'ended')
      return this.#step(state === 'failed'
        ? { type: 'tool-output-error', toolCallId: id, errorText: error?.message ?? 'the tool failed', ...ON_SERVER }
        : { type: 'tool-output-available', toolCallId: id, output: output ?? null, ...ON_SERVER })
    },
    reasoning: ({ reasoning }) => this.#add('reasoning', reasoning),
    source: () => '',
    span: () => '',
    data: ({ data: { type, value } }) => this.#step({ type: `data-${type}`, data: value ?? null }),
    file: ({ file: { name: filename, ...file } }) => this.#step(...fileFrames({ filename, ...file })),
    answer: answer => this.#finish(answer)
  }

  #add (kind: 'text' | 'reasoning', text: string): Text {
    if (text === '') return ''
    const begun = this.#part?.kind === kind ? '' : joinTexts([this.#endPart(), this.#beginPart(kind)])
    if (kind === 'text') this.#text.add(text)
    const { id } = this.#part!
    this.count++
    const delta = this.#cursor.delta(text, (rest, frame) => `${this.#idLine(frame)}data: {"type":"${kind}-delta","id":"${id}","delta":${jsonString(rest)}}\n\n`)
    return begun === '' ? delta : joinTexts([begun, delta])
  }

  #beginPart (kind: 'text' | 'reasoning'): Text {
    const id = String(this.#parts++)
    this.#part = { kind, id, start: this.#text.said.length }
    return this.#frame({ type: `${kind}-start`, id })
  }

  #endPart (more: object = {}): Text {
    if (this.#part === undefined) return ''
    const { kind, id } = this.#part
    this.#part = undefined
    return this.#frame({ type: `${kind}-end`, id, ...more })
  }

  /** Frames between texts. */
  #step (...frames: readonly object[]): Text {
    return joinTexts([this.#endPart(), ...frames.map(frame => this.#frame(frame))])
  }

  /** Calls without a result: they would seem to go on for ever. */
  #endCalls (): Text {
    const open = [...this.#calls].flatMap(([id, state]) => state === 'open' ? [id] : [])
    this.#calls.clear()
    return joinTexts(open.map(toolCallId => this.#frame({ type: 'tool-output-error', toolCallId, errorText: 'the tool has no result', ...ON_SERVER })))
  }

  #finish (answer: Answer): Text {
    const { source_documents: documents, metadata = {}, artifacts, rejected } = answer
    const rest = this.#add('text', this.#text.rest(answer))
    const citations = this.#options.cite({ answer: this.#text.said, source_documents: documents })
    const ended = this.#endPart(this.#citedIn(documents, citations))
    const closed = this.#endCalls()
    const asked = askedBack(answer)
    const shown: ReadonlyArray<{ readonly type?: string }> = [
      ...documents.map((document, i) => sourceFrame(document, i, citations.find(({ index }) => index === i))),
      ...artifactFrames(artifacts),
      ...Object.entries(answer).flatMap(([key, data]) => KNOWN.has(key) ? [] : [{ type: `data-${key}`, data }]),
      ...asked === undefined ? [] : this.#question(asked, answer),
      ...this.#head.callsTools === true ? this.#callsOfClient(answer) : []
    ]
    const written = [rest, ended, closed, ...shown.map(frame => this.#frame(frame))]
    if (this.#options.isInner === true) return joinTexts(written)
    const { usage: _usage, ...others } = metadata
    const usage = usageOf(answer)
    const messageMetadata = {
      ...usage !== undefined && { usage: { inputTokens: usage.prompt_tokens, outputTokens: usage.completion_tokens, totalTokens: usage.total_tokens, ...usage.cost !== undefined && { cost: usage.cost } } },
      ...Object.keys(others).length > 0 && { metadata: others },
      ...rejected === true && { rejected }
    }
    const isCalling = shown.some(({ type }) => type === 'tool-input-available')
    return joinTexts([...written, this.#end(isCalling ? 'tool-calls' : 'stop', Object.keys(messageMetadata).length > 0 ? { messageMetadata } : {}), DONE])
  }

  /** The last frame of a message. The first releases of version 5 fail on a reason. */
  #end (finishReason: 'stop' | 'tool-calls' | 'other', more: object = {}): Text {
    return this.#frame({ type: 'finish', ...this.#options.version >= 6 && { finishReason }, ...more })
  }

  /** The sources of the text of the last part, at their places. */
  #citedIn (documents: readonly SourceDocument[], citations: readonly Citation[]): object {
    const part = this.#part
    if (this.#options.version < 7 || part?.kind !== 'text') return {}
    const cited = citations.filter(({ start, end }) => start >= part.start && end > start)
    if (cited.length === 0) return {}
    return {
      citations: cited.map(({ index, url, title, start, end }) => ({
        source: { type: 'source', sourceType: 'url', id: String(index + 1), url, title },
        startIndex: start - part.start,
        endIndex: end - part.start,
        citedText: documents[index]!.page_content.slice(0, MAX_CITED_CHARS).toWellFormed()
      }))
    }
  }

  /** A question: as a part, and as a card where it has a form. */
  #question ({ kind, text: question }: NonNullable<ReturnType<typeof askedBack>>, { input_schema: schema, choices }: Answer): object[] {
    const { turn, run } = this.#head
    const form = { ...isRecord(schema) && { schema }, ...Array.isArray(choices) && { choices } }
    const asked = { type: `data-${kind}-required`, data: { question, ...run !== undefined && { taskId: run }, ...form } }
    if (kind === 'auth' || Object.keys(form).length === 0) return [asked]
    const call = { type: 'tool-input-available', toolCallId: callOf(turn), toolName: ASK_USER, input: { question, ...form }, dynamic: true }
    if (this.#options.version < 6 || !isRecord(schema) || schema.type !== 'boolean') return [asked, call]
    return [asked, call, { type: 'tool-approval-request', approvalId: turn, toolCallId: call.toolCallId }]
  }

  #callsOfClient (answer: Answer): object[] {
    const { turn, vac } = this.#head
    return toolCallsOf(answer, vac, i => `call-${turn}-${i}`).map(({ id, name, arguments: input }) => ({ type: 'tool-input-available', toolCallId: id, toolName: name, input: parsed(input), dynamic: true }))
  }

  /** The result of the card that has been answered. */
  #replied ({ call: toolCallId, output, isDenied }: CardReply): Text {
    const result = isDenied === true
      ? { type: 'tool-output-denied', toolCallId }
      : { type: 'tool-output-available', toolCallId, output: isDenied === false ? 'yes' : output ?? null, dynamic: true }
    return this.#frame(result)
  }

  #frame (frame: object, isBare = false): Text {
    this.count++
    return this.#cursor.frame(id => frameText(frame, isBare ? '' : this.#idLine(id)))
  }

  /** Without a run there is no way to read on. */
  #idLine (id: string): string {
    return this.#head.run === undefined || this.#options.isInner === true ? '' : `id: ${id}\n`
  }
}

const ON_SERVER = { dynamic: true, providerExecuted: true }
const MAX_CITED_CHARS = 500

/** Keys of an answer that have frames, or that are not for clients. */
const KNOWN = new Set([
  'answer', 'source_documents', 'metadata', 'artifacts', 'rejected', 'input_required', 'auth_required', 'input_schema', 'choices', 'tool_calls', 'usage', 'as_message', 'output'
])

/** The id of the call that asks the question of a turn. */
export function callOf (turn: string): string { return `${ASK_USER}-${turn}` }

/** The turn whose question a call asks; undefined for another call. */
export function turnOfCall (call: string): string | undefined {
  return call.startsWith(`${ASK_USER}-`) ? call.slice(ASK_USER.length + 1) : undefined
}

function frameText (frame: object, id = ''): Text { return jsonText(`${id}data: `, frame, '\n\n') }

export function textOf (texts: readonly Text[]): string {
  return texts.map(text => typeof text === 'string' ? text : [...text].join('')).join('')
}

function parsed (json: string): unknown {
  try {
    return JSON.parse(json)
  } catch {
    return {}
  }
}
