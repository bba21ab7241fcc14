import type { Answer, AnsweredTurn, Conversations, Step, StepView, TurnHistory, TurnPlace, TurnTask } from '@polyvac/core'
import { collectStep, DEFAULT_RUN_LIMITS, KeptText, type AbortSignalLike } from '@polyvac/core/plugin'
import { isTaskError, type TurnAnswer } from '@polyvac/tasks'
import { answeredTurn, failedTurn } from './stored-conversations.js'

/** The members of the metadata of a task that are about its conversation. */
export interface TurnMetadata {
  /** Whether the task is a turn of a conversation, with what the readers of the conversation see of steps. */
  readonly isTurn?: true
  /** Whether the task begins the conversation: then the worker reads no history. */
  readonly begins?: true
  readonly turnSteps?: StepView | undefined
  /** The conversation that a task reads, and is not kept in. */
  readonly history?: TurnPlace | undefined
}

export class Turn implements AnsweredTurn {
  readonly steps: StepView | undefined
  readonly #conversations: Conversations | undefined
  readonly #task: TurnTask
  readonly #metadata: TurnMetadata
  readonly #isTurn: boolean
  readonly #taken: Step[] = []
  #leftOut = 0
  readonly #owner: string | undefined
  readonly #said = new KeptText()

  constructor (conversations: Conversations | undefined, { id, turn }: Omit<TurnTask, 'attempt'>, attempt: number, metadata: TurnMetadata, owner?: string) {
    this.#owner = owner
    this.#conversations = conversations
    this.#task = { id, turn, attempt }
    this.#metadata = metadata
    this.#isTurn = conversations !== undefined && this.#metadata.isTurn === true
    this.steps = this.#isTurn ? this.#metadata.turnSteps : undefined
  }

  async history (): Promise<TurnHistory | undefined> {
    const { history: place, begins } = this.#metadata
    if (begins === true && this.#task.turn === 0) return undefined
    const history = this.#isTurn ? await this.#conversations!.historyOf(this.#task) : place && await this.#conversations?.historyAt(place)
    if (history === undefined || history.turns.length + history.leftOut === 0) return undefined
    this.#leftOut = history.leftOut
    return history
  }

  /** The answer has bounded its steps. */
  add (step: Step): void { if (this.steps !== undefined) collectStep(this.#taken, step) }

  /** Adds text that is sent to the reader. Its beginning is kept, as for the answer of a stream. */
  say (text: string): void { if (this.#isTurn) this.#said.add(text, DEFAULT_RUN_LIMITS.maxStreamedChars, false, this.#owner) }

  withHistory (answer: Answer): Answer {
    return this.#leftOut === 0 ? answer : { ...answer, metadata: { ...answer.metadata, turns_left_out: this.#leftOut } }
  }

  async answer (answer: Answer): Promise<void> { if (this.#isTurn) await this.#conversations!.answer(this.#task, answer, this.#taken) }

  async fail (error: { readonly code: string, readonly message: string }): Promise<void> {
    if (this.#isTurn) await this.#conversations!.fail(this.#task, error, this.#taken)
  }

  /** What `emit` keeps of the answer besides the end of the task; undefined for a task that is not a turn. */
  answered (answer: Answer): TurnAnswer | undefined { return this.#isTurn ? answeredTurn(answer, this.#taken) : undefined }

  /** The same for a failure. */
  failed (error: { readonly code: string, readonly message: string }): TurnAnswer | undefined { return this.#isTurn ? failedTurn(error, this.#taken) : undefined }

  /** Keeps what was said, where the task was cancelled. @param stop the signal of the task */
  async stop ({ reason }: AbortSignalLike): Promise<void> {
    if (!isTaskError(reason, 'TASK_CANCELED') || this.#said.seen === 0) return
    const { text, isTruncated } = this.#said
    await this.#conversations!.answer(this.#task, { answer: text, source_documents: [], ...isTruncated && { metadata: { truncated: true } } }, this.#taken)
  }

  /** Releases the memory of what was said; call it in `finally`. */
  end (): void { this.#said.release() }
}
