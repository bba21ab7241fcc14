import type { Chunk } from '@polyvac/core'
import { joinTexts, jsonString, jsonText, type Failure, type Text } from '@polyvac/core/protocol'
import { failureText } from '../../chat/failure-text.js'
import { FrameCursor, type FramePlace } from '../../chat/frame-cursor.js'
import { EVENT_STREAM, type Restart, type StreamFormat } from '../../protocol.js'
import { AnswerEvents, type AgUiEvent, type AnswerHead } from './events.js'
import { applyEvent, snapshotEvents, type Message } from './messages.js'
import type { Input } from './input.js'

/** How an answer is written. */
export interface Writing {
  /** The messages before the answer, which a reader gets again where the text begins anew. */
  readonly base: readonly Message[]
  /** What the reader has of the frames. */
  readonly has?: FramePlace | undefined
  /** Whether the reader comes back after a clean end, as TanStack AI does. */
  readonly comesBack?: boolean | undefined
}

/** The frame of an event. */
export function frame (event: AgUiEvent, id?: string): Text {
  return jsonText(id === undefined ? 'data: ' : `id: ${id}\ndata: `, event, '\n\n')
}

/** Writes the frames of one answer. The ids of its frames are the same each time that it is read. */
export class AnswerFrames {
  readonly #head: AnswerHead
  readonly #writing: Writing
  readonly #events: AnswerEvents
  #cursor: FrameCursor
  #isOpen = false
  #isOver = false
  #isSkipping = false
  /** The frames of a reader who comes late, before those that follow. */
  #opening: readonly AgUiEvent[] | undefined

  constructor (head: AnswerHead, writing: Writing) {
    this.#head = head
    this.#writing = writing
    this.#events = new AnswerEvents(head)
    this.#cursor = new FrameCursor(writing.has)
  }

  get format (): StreamFormat {
    return {
      type: EVENT_STREAM,
      isLatest: true,
      open: () => this.#open(),
      encode: chunk => (typeof chunk === 'string' ? this.#goOn(chunk) : undefined) ?? this.#add(this.#events.add(chunk)),
      restart: (seq = 0) => this.#restart(seq),
      closing: () => this.#isOver || this.#writing.comesBack === true ? '' : this.#end(this.#events.leave()),
      toFailure: failure => this.#end(this.#events.fail(withId(failure)))
    }
  }

  /**
   * Takes what was said before its reader came: the reader gets it as messages, and then what follows.
   * @param input the messages that the reader has
   */
  async skip (replay: (add: (item: Chunk | Restart, seq: number) => void) => Promise<unknown>, input: Pick<Input, 'messages'>): Promise<number> {
    let messages = structuredClone(this.#writing.base) as Message[]
    let last = 0
    this.#isSkipping = true
    this.#open()
    await replay((item, seq) => {
      // the end is written for the reader
      if (typeof item !== 'string' && 'answer' in item) return
      last = seq
      if (typeof item === 'string' || !('restart' in item)) {
        const events = this.#events.add(item)
        for (const event of events) applyEvent(messages, event)
        this.#add(events)
      } else {
        messages = structuredClone(this.#writing.base) as Message[]
        this.#restart(seq)
      }
    })
    this.#isSkipping = false
    this.#opening = [started(this.#head), ...snapshotEvents(messages, input), ...this.#events.reopen()]
    return last
  }

  #open (): string {
    const opening = this.#opening
    this.#opening = undefined
    if (opening !== undefined) return textOf(opening.map(event => frame(event)))
    if (this.#isOpen) return ''
    this.#isOpen = true
    const text = this.#frame(started(this.#head))
    // a reader with frames goes on
    return this.#writing.has === undefined ? textOf([text]) : ''
  }

  /** The frame of text of the open message: written without an event, since answers have thousands of them. */
  #goOn (delta: string): Text | undefined {
    if (this.#opening !== undefined || delta === '') return undefined
    const message = this.#events.goOn(delta)
    if (message === undefined) return undefined
    return this.#cursor.delta(delta, (rest, id) => `id: ${id}\ndata: {"type":"TEXT_MESSAGE_CONTENT","messageId":"${message}","delta":${jsonString(rest)}}\n\n`)
  }

  #add (events: readonly AgUiEvent[]): Text {
    // the reader may get the opening after this text is made
    const opening = this.#open()
    if (events.at(-1)?.type === 'RUN_FINISHED') this.#isOver = true
    const texts = events.map(event => this.#frame(event))
    return opening === '' && texts.length === 1 ? texts[0]! : joinTexts([opening, ...texts])
  }

  #frame (event: AgUiEvent): Text {
    const encode = (event: AgUiEvent, id: string): Text => this.#isSkipping ? '' : frame(event, id)
    if (event.type !== 'TEXT_MESSAGE_CONTENT') return this.#cursor.frame(id => encode(event, id))
    return this.#cursor.delta(event.delta as string, (delta, id) => encode({ ...event, delta }, id))
  }

  #end (events: readonly AgUiEvent[]): string {
    const text = textOf([this.#add(events)])
    this.#isOver = true
    return text
  }

  #restart (seq: number): Text {
    const ended = this.#events.restart().map(event => frame(event))
    this.#cursor = new FrameCursor(this.#writing.has)
    this.#cursor.begin(seq)
    return joinTexts([...ended, this.#frame({ type: 'MESSAGES_SNAPSHOT', messages: this.#writing.base })])
  }
}

/** The failure with the request id in its message: front ends show nothing else of it. */
function withId (failure: Failure): Failure {
  const { status, body: { error } } = failure
  return { status, body: { error: { ...error, message: failureText(failure) } } }
}

export function textOf (texts: readonly Text[]): string {
  return texts.map(text => typeof text === 'string' ? text : [...text].join('')).join('')
}

export function started ({ threadId, runId, is1 }: Pick<AnswerHead, 'threadId' | 'runId' | 'is1'>): AgUiEvent {
  return { type: 'RUN_STARTED', threadId, runId, ...is1 && { protocolVersion: '1.0' } }
}
