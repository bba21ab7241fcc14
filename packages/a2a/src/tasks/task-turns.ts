import type { Conversations, RunCaller } from '@polyvac/core'
import { questionOf, type ExposedVacs, type QueryInput, type Skill } from '@polyvac/core/plugin'
import { taskTurn, type CallerTasks, type TaskTurn } from '@polyvac/runs'
import type { TaskStore, UserMessage } from '@polyvac/tasks'
import { InvalidParamsError } from '../errors.js'

export interface TaskTurnsOptions {
  readonly store: TaskStore
  readonly tasks: CallerTasks
  readonly vacs: ExposedVacs
  /** Undefined where none are kept. */
  readonly conversations: Conversations | undefined
}

/** Makes the questions of new tasks turns of conversations. */
export class TaskTurns {
  readonly #options: TaskTurnsOptions

  constructor (options: TaskTurnsOptions) {
    this.#options = options
  }

  /**
   * A turn of the conversation `contextId`, or of one that begins; nothing for a search.
   * @throws CONVERSATION_NOT_FOUND, A2A_INVALID_PARAMS
   */
  async of (caller: RunCaller, { kind, name, vac }: Skill, input: unknown, contextId: string | undefined, message?: UserMessage): Promise<TaskTurn> {
    if (kind === 'memory') return { metadata: {} }
    const { question, history: sent } = questionOf(input as QueryInput)
    if (contextId !== undefined && sent.length > 0) {
      throw new InvalidParamsError('chat_history is ambiguous next to contextId, whose turns are the history; leave one of them out')
    }
    return await taskTurn(this.#options, caller, { vac, skill: name, question, message, sent, contextId })
  }
}
