import type { Answer, Chunk } from '@polyvac/core'
import { askedBack, encodeChunk, eventText, joinTexts, jsonString, jsonText, type ByKind, type Failure, type Text } from '@polyvac/core/protocol'
import type { Restart } from '../../protocol.js'
import { toolCallsOf } from '../../openai/tool-calls.js'
import { toResponseError } from './errors.js'
import { callId, keyOf, outputId } from './ids.js'
import { responseObject, type ResponseHead, type ResponseState } from './response.js'

/** A source of an answer with its address, at its place in the text. */
export interface UrlCitation {
  readonly type: 'url_citation'
  readonly url: string
  readonly title: string
  readonly start_index: number
  readonly end_index: number
}

/** The citations of the text of an answer. */
export type Cite = (answer: Pick<Answer, 'answer' | 'source_documents'>) => readonly UrlCitation[]

const DONE = eventText({ data: '[DONE]' })
/** Most parts of a summary, and characters of one: progress has no end. */
const MAX_SUMMARY_PARTS = 256
const MAX_SUMMARY_CHARS = 4_096

interface Message { readonly index: number, readonly id: string, readonly before: string, text: string }
interface Reasoning { readonly index: number, readonly id: string, readonly parts: string[] }

/**
 * Writes the events of one response, and its object at any time. It is the same for the live stream, for one that
 * begins again from the log, and for the whole object, so that their ids and numbers are equal.
 */
export class ResponseWriter {
  readonly #head: ResponseHead
  readonly #cite: Cite
  readonly #after: number
  /** The number of the next event. */
  #number = 0
  /**
   * Items by `output_index`; undefined for one that has not ended, and for one that a crash has broken.
   * @keyed none: it lives for one answer, which has few items
   */
  readonly #items: Array<object | undefined> = []
  /** The items that have not ended. */
  #message: Message | undefined
  #reasoning: Reasoning | undefined
  /** Whether the last part of the summary takes more reasoning. */
  #hasPart = false
  #summaries = 0
  /** Characters of the whole text. */
  #chars = 0
  // @keyed none: it lives for one answer, and has at most its steps
  #names = new Map<string, string>()
  #state: Pick<ResponseState, 'status' | 'answer' | 'error' | 'reason'>
  #isOpen = false

  /** @param after the last number that the reader has; Infinity: it reads no events */
  constructor (head: ResponseHead, cite: Cite, after = -1) {
    this.#head = head
    this.#cite = cite
    this.#after = after
    this.#state = { status: head.notes.background === true ? 'queued' : 'in_progress' }
  }

  /** The events before the first output; empty once they are written, also by `add` and `fail`. */
  open (): string {
    if (this.#isOpen) return ''
    this.#isOpen = true
    const begun = this.#stateEvent('response.created')
    const queued = this.#state.status === 'queued' ? this.#stateEvent('response.queued') : ''
    this.#state = { status: 'in_progress' }
    return textOf([begun, queued, this.#stateEvent('response.in_progress')])
  }

  /** The last state again, with the last number: comments do not keep every reader. */
  keepAlive (): string {
    const data = { type: 'response.in_progress', sequence_number: this.#number - 1, response: this.object() }
    return eventText({ event: data.type, data })
  }

  /** The events of the next item of an answer; the last one is the Answer. */
  add (item: Chunk | Restart): Text {
    const opening = this.open()
    const events = typeof item !== 'string' && 'restart' in item ? this.#restart() : encodeChunk(this.#table, item)
    return opening === '' ? events : joinTexts([opening, events])
  }

  /** The events of a failure, and the end. A run that was cancelled is incomplete. */
  fail (failure: Failure): Text {
    const opening = this.open()
    const ended = [opening, this.#endReasoning(), this.#endMessage('incomplete')]
    if (failure.body.error.code === 'RUN_CANCELLED') {
      this.#state = { status: 'cancelled', reason: 'cancelled' }
      return joinTexts([...ended, this.#stateEvent('response.incomplete'), DONE])
    }
    const { error } = toResponseError(failure)
    const { code, message, param } = error
    this.#state = { status: 'failed', error }
    return joinTexts([...ended, this.#event('error', { code, message, param, error }), this.#stateEvent('response.failed'), DONE])
  }

  /** The present response. */
  object (status = this.#state.status): object {
    const items = [...this.#items]
    if (this.#message !== undefined) items[this.#message.index] = messageItem(this.#message, 'in_progress', [])
    if (this.#reasoning !== undefined) items[this.#reasoning.index] = reasoningItem(this.#reasoning)
    const output = items.filter(item => item !== undefined)
    return responseObject(this.#head, { ...this.#state, status, output, chars: this.#chars })
  }

  readonly #table: ByKind<Text> = {
    text: chunk => this.#text(chunk),
    progress: ({ message }) => message === undefined ? '' : this.#summary(message),
    tool_call: ({ tool_call: { id, name, server } }) => {
      const called = server === undefined ? name : `${server}/${name}`
      this.#names.set(id, called)
      return this.#summary(`Calls ${called}`)
    },
    tool_result: ({ tool_result: { id, state, duration_ms: ms } }) =>
      this.#summary(`${this.#names.get(id) ?? 'A tool'} ${state === 'failed' ? 'failed' : 'is done'}${ms === undefined ? '' : ` after ${Math.round(ms)} ms`}`),
    reasoning: ({ reasoning }) => this.#think(reasoning),
    source: nothing,
    span: nothing,
    data: nothing,
    file: nothing,
    answer: answer => this.#finish(answer)
  }

  #text (text: string): Text {
    if (text === '') return ''
    const begun = this.#message === undefined ? textOf([this.#endReasoning(), this.#beginMessage()]) : ''
    const message = this.#message!
    message.text += text
    this.#chars += text.length
    const number = this.#number++
    if (number <= this.#after) return begun
    return `${begun}event: response.output_text.delta\ndata: {"type":"response.output_text.delta","sequence_number":${number}${message.before}${jsonString(text)},"logprobs":[]}\n\n`
  }

  #beginMessage (): string {
    const index = this.#nextIndex()
    const id = outputId('msg', keyOf(this.#head.run), index)
    const place = { item_id: id, output_index: index, content_index: 0 }
    // the part of a delta that is the same for all is made once
    this.#message = { index, id, text: '', before: `,${JSON.stringify({ ...place, delta: '' }).slice(1, -3)}` }
    return textOf([
      this.#event('response.output_item.added', { output_index: index, item: { ...messageItem(this.#message, 'in_progress', []), content: [] } }),
      this.#event('response.content_part.added', { ...place, part: textPart('', []) })
    ])
  }

  #endMessage (status: 'completed' | 'incomplete', annotations: readonly UrlCitation[] = []): Text {
    const message = this.#message
    if (message === undefined) return ''
    this.#message = undefined
    const { index, id, text } = message
    const place = { item_id: id, output_index: index, content_index: 0 }
    const item = messageItem(message, status, annotations)
    this.#items[index] = item
    return joinTexts([
      ...annotations.map((annotation, i) => this.#event('response.output_text.annotation.added', { ...place, annotation_index: i, annotation })),
      this.#event('response.output_text.done', { ...place, text, logprobs: [] }),
      this.#event('response.content_part.done', { ...place, part: textPart(text, annotations) }),
      this.#event('response.output_item.done', { output_index: index, item })
    ])
  }

  /** The text begins anew: what was sent remains with the readers, and is not part of the response. */
  #restart (): Text {
    const index = this.#message?.index
    const events = this.#endMessage('incomplete')
    if (index !== undefined) this.#items[index] = undefined
    this.#chars = 0
    return events
  }

  /** A separate part of the summary, which is whole at once. */
  #summary (text: string): Text {
    if (text === '' || text === this.#reasoning?.parts.at(-1) || this.#summaries >= MAX_SUMMARY_PARTS) return ''
    return joinTexts([this.#endPart(), this.#think(text.slice(0, MAX_SUMMARY_CHARS).toWellFormed()), this.#endPart()])
  }

  #think (text: string): Text {
    if (text === '' || (!this.#hasPart && this.#summaries >= MAX_SUMMARY_PARTS)) return ''
    const begun = this.#hasPart ? '' : this.#beginPart()
    const { id, index, parts } = this.#reasoning!
    const part = parts.length - 1
    parts[part] += text
    return joinTexts([begun, this.#event('response.reasoning_summary_text.delta', { item_id: id, output_index: index, summary_index: part, delta: text })])
  }

  #beginPart (): Text {
    const begun = this.#reasoning === undefined ? this.#beginReasoning() : ''
    const { id, index, parts } = this.#reasoning!
    this.#hasPart = true
    this.#summaries++
    const place = { item_id: id, output_index: index, summary_index: parts.push('') - 1 }
    return joinTexts([begun, this.#event('response.reasoning_summary_part.added', { ...place, part: { type: 'summary_text', text: '' } })])
  }

  #beginReasoning (): Text {
    const index = this.#nextIndex()
    this.#reasoning = { index, id: outputId('rs', keyOf(this.#head.run), index), parts: [] }
    return this.#event('response.output_item.added', { output_index: index, item: reasoningItem(this.#reasoning) })
  }

  #endPart (): Text {
    if (!this.#hasPart) return ''
    this.#hasPart = false
    const { id, index, parts } = this.#reasoning!
    const place = { item_id: id, output_index: index, summary_index: parts.length - 1 }
    const text = parts.at(-1)!
    return joinTexts([
      this.#event('response.reasoning_summary_text.done', { ...place, text }),
      this.#event('response.reasoning_summary_part.done', { ...place, part: { type: 'summary_text', text } })
    ])
  }

  #endReasoning (): Text {
    const reasoning = this.#reasoning
    if (reasoning === undefined) return ''
    const ended = this.#endPart()
    this.#reasoning = undefined
    const item = reasoningItem(reasoning)
    this.#items[reasoning.index] = item
    return joinTexts([ended, this.#event('response.output_item.done', { output_index: reasoning.index, item })])
  }

  #finish (answer: Answer): Text {
    const sent = this.#message?.text ?? ''
    // readers cannot take text back: an answer that does not continue it leaves it unchanged
    const text = answer.answer === '' ? askedBack(answer)?.text ?? '' : answer.answer
    const rest = text.startsWith(sent) ? text.slice(sent.length) : ''
    const calls = this.#head.notes.callsTools === true ? toolCallsOf(answer, this.#head.model, i => callId(keyOf(this.#head.run), i)) : []
    const begun = this.#text(rest)
    // for its readers a response without an item has not answered
    const empty = this.#message === undefined && calls.length === 0 ? joinTexts([this.#endReasoning(), this.#beginMessage()]) : ''
    const annotations = this.#message === undefined ? [] : this.#cite({ answer: this.#message.text, source_documents: answer.source_documents })
    const ended = [begun, empty, this.#endReasoning(), this.#endMessage('completed', annotations), ...calls.map(call => this.#call(call))]
    this.#head.completedAt ??= Date.now()
    this.#state = { status: 'completed', answer }
    return joinTexts([...ended, this.#stateEvent('response.completed'), DONE])
  }

  #call ({ id: call, name, arguments: args }: { readonly id: string, readonly name: string, readonly arguments: string }): Text {
    const index = this.#nextIndex()
    const id = outputId('fc', keyOf(this.#head.run), index)
    const item = { id, type: 'function_call', status: 'completed', call_id: call, name, arguments: args }
    this.#items[index] = item
    return joinTexts([
      this.#event('response.output_item.added', { output_index: index, item: { ...item, status: 'in_progress', arguments: '' } }),
      this.#event('response.function_call_arguments.delta', { item_id: id, output_index: index, delta: args }),
      this.#event('response.function_call_arguments.done', { item_id: id, output_index: index, name, arguments: args }),
      this.#event('response.output_item.done', { output_index: index, item })
    ])
  }

  #nextIndex (): number { return this.#items.push(undefined) - 1 }

  /** An event with the whole response, which is made only where the event is sent. */
  #stateEvent (type: string): Text {
    return this.#event(type, this.#number <= this.#after ? {} : { response: this.object() })
  }

  #event (type: string, fields: object): Text {
    const number = this.#number++
    if (number <= this.#after) return ''
    return jsonText(`event: ${type}\ndata: `, { type, sequence_number: number, ...fields }, '\n\n')
  }
}

const nothing = (): string => ''

function textOf (texts: readonly Text[]): string {
  return texts.map(text => typeof text === 'string' ? text : [...text].join('')).join('')
}

function textPart (text: string, annotations: readonly UrlCitation[]): object {
  return { type: 'output_text', text, annotations, logprobs: [] }
}

export function messageItem ({ id, text }: Pick<Message, 'id' | 'text'>, status: string, annotations: readonly UrlCitation[]): object {
  return { id, type: 'message', status, role: 'assistant', content: [textPart(text, annotations)] }
}

function reasoningItem ({ id, parts }: Pick<Reasoning, 'id' | 'parts'>): object {
  return { id, type: 'reasoning', summary: parts.map(text => ({ type: 'summary_text', text })) }
}
