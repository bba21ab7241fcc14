import type { InterpreterStep, SpanInput } from '@polyvac/core'
import type { TokenUsage } from '@polyvac/core/plugin'
import type { TextStreamPart, ToolSet } from 'ai'
import type { Passages } from './passages.js'

type Kind = TextStreamPart<ToolSet>['type']

/**
 * The calls of the model and its thoughts as spans of the answer. A call is shown from its first sign on: until then
 * another model, or the documents, may answer in its place.
 */
export class ModelSpans {
  readonly #model: string
  readonly #began: number
  readonly #passages: Pick<Passages, 'searched'>
  // @keyed none: a list in order, of one answer: calls that its reader has not come to
  readonly #starts: number[] = []
  #calls = 0
  #call: SpanInput | undefined
  #thought: SpanInput | undefined
  #isShown = false
  #start = 0
  /** When the model last gave something: it may wait for tools after that. */
  #last = 0

  /** @param began when the interpreter was called, by `performance.now()` */
  constructor (model: string, began: number, passages: Pick<Passages, 'searched'>) {
    this.#model = model
    this.#began = began
    this.#passages = passages
  }

  get #now (): number { return performance.now() - this.#began }

  /** The model is called; its parts may be read much later. */
  called (): void { this.#starts.push(this.#now) }

  begin (): void {
    this.#start = this.#starts.shift() ?? this.#now
    this.#last = this.#now
    this.#call = { id: `model-${++this.#calls}`, kind: 'model', name: this.#model, start_ms: this.#start }
    this.#isShown = false
  }

  * read (type: Kind): Generator<InterpreterStep> {
    if (!/^(?:text|reasoning|tool-input|tool-call)/.test(type)) return
    this.#last = this.#now
    if (!this.#isShown && this.#call !== undefined) {
      this.#isShown = true
      yield * this.#passages.searched()
      yield { span: { ...this.#call, state: 'running' } }
    }
    if (type === 'reasoning-delta') {
      if (this.#thought !== undefined) return
      this.#thought = { id: `reasoning-${this.#calls}-${Math.round(this.#last)}`, kind: 'reasoning', name: this.#model, start_ms: this.#last }
      yield { span: { ...this.#thought, state: 'running' } }
    } else yield * this.#endThought('completed')
  }

  * end (usage: TokenUsage | undefined, finishReason: string): Generator<InterpreterStep> {
    yield * this.#end('completed', { usage, finish_reason: finishReason })
  }

  /** The answer fails; nothing where the call has not been shown. */
  * fail (): Generator<InterpreterStep> {
    if (this.#isShown) yield * this.#end('failed', {})
  }

  * #end (state: 'completed' | 'failed', facts: Partial<SpanInput>): Generator<InterpreterStep> {
    yield * this.#endThought(state)
    if (this.#call === undefined) return
    yield { span: { ...this.#call, ...facts, state, duration_ms: this.#last - this.#start } }
    this.#call = undefined
  }

  * #endThought (state: 'completed' | 'failed'): Generator<InterpreterStep> {
    if (this.#thought === undefined) return
    yield { span: { ...this.#thought, state } }
    this.#thought = undefined
  }
}
