import type { Answer, Conversations, Step, StepView, TurnHistory, TurnPlace } from '@polyvac/core'
import { collectStep } from '@polyvac/core/plugin'
import type { TaskRecord } from '@polyvac/tasks'

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

/** The turn of a conversation that an attempt at a task answers. Without one, its methods do nothing. */
export class Turn {
  /** What it keeps of steps; undefined: none. */
  readonly steps: StepView | undefined
  readonly #conversations: Conversations | undefined
  readonly #task: { readonly id: string, readonly turn: number, readonly attempt: number }
  readonly #metadata: TurnMetadata
  readonly #isTurn: boolean
  readonly #taken: Step[] = []
  #leftOut = 0

  constructor (conversations: Conversations | undefined, { id, turn, metadata }: Pick<TaskRecord, 'id' | 'turn' | 'metadata'>, attempt: number) {
    this.#conversations = conversations
    this.#task = { id, turn, attempt }
    this.#metadata = metadata
    this.#isTurn = conversations !== undefined && this.#metadata.isTurn === true
    this.steps = this.#isTurn ? this.#metadata.turnSteps : undefined
  }

  /** What was said before; undefined where nothing is stored, and the history that was sent counts. */
  async history (): Promise<TurnHistory | undefined> {
    const { history: place, begins } = this.#metadata
    if (begins === true && this.#task.turn === 0) return undefined
    const history = this.#isTurn ? await this.#conversations!.historyOf(this.#task) : place && await this.#conversations?.historyAt(place)
    if (history === undefined || history.turns.length + history.leftOut === 0) return undefined
    this.#leftOut = history.leftOut
    return history
  }

  /** Adds a step of the answer; the answer has bounded them. */
  add (step: Step): void { if (this.steps !== undefined) collectStep(this.#taken, step) }

  /** The answer with the number of turns that its interpreter did not get. */
  withHistory (answer: Answer): Answer {
    return this.#leftOut === 0 ? answer : { ...answer, metadata: { ...answer.metadata, turns_left_out: this.#leftOut } }
  }

  /** Keeps the answer. Call it before the update that ends the task. */
  async answer (answer: Answer): Promise<void> { if (this.#isTurn) await this.#conversations!.answer(this.#task, answer, this.#taken) }

  /** The same for a failure. */
  async fail ({ code, message }: { readonly code: string, readonly message: string }): Promise<void> {
    if (this.#isTurn) await this.#conversations!.fail(this.#task, { code, message }, this.#taken)
  }
}
