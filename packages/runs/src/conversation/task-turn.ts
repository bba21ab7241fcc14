import type { ChatTurn, Conversations, RunCaller, TurnPlace, Vac } from '@polyvac/core'
import { conversationAccess, stepsFor, type ExposedVacs } from '@polyvac/core/plugin'
import { ownerKey, type NewTask, type TaskStore, type UserMessage } from '@polyvac/tasks'
import { NoSuchConversationError } from '../errors.js'
import type { CallerTasks } from '../tasks/caller-tasks.js'
import { earlierTurns } from './earlier-turns.js'
import { turnFilesOf } from './messages.js'
import { turnAt } from './stored-conversations.js'
import type { TurnMetadata } from './turn.js'

/** Latest tasks of a context in which a turn of another VAC is looked for. */
const MAX_LATEST = 20

interface TurnParts {
  readonly store: TaskStore
  readonly tasks: CallerTasks
  readonly vacs: ExposedVacs
  /** Undefined where none are kept. */
  readonly conversations: Conversations | undefined
}

/** The question of a new task. */
export interface TaskQuestion {
  readonly vac: Vac
  /** The skill of the task. */
  readonly skill: string
  readonly question: string
  /** The message of the question, whose files are kept. */
  readonly message?: UserMessage | undefined
  /** The turns that the caller has sent before the question. */
  readonly sent: readonly ChatTurn[]
  /** The conversation that the caller names; undefined begins one. */
  readonly contextId: string | undefined
}

/** What a task is created with besides its question. */
export interface TaskTurn extends Pick<NewTask, 'turn'> {
  readonly metadata: TurnMetadata & {
    /** Whether the earlier tasks of the context are its history, where no turns are stored. */
    readonly inContext?: true
  }
}

/** Makes the question of a new task a turn of its conversation. @throws CONVERSATION_NOT_FOUND */
export async function taskTurn (parts: TurnParts, caller: RunCaller, asked: TaskQuestion): Promise<TaskTurn> {
  const { store, tasks, vacs, conversations } = parts
  const { vac, skill, question, sent, contextId } = asked
  if (contextId !== undefined && conversationAccess(caller, contextId) === 'none') {
    // the id of a task is one that the service made: an earlier version began contexts with them
    return { metadata: await tasks.get(caller.principal, contextId) === undefined ? {} : { inContext: true } }
  }
  const inContext = contextId === undefined ? {} : { inContext: true as const }
  if (conversations === undefined) return { metadata: inContext }
  const place = await placeOf(conversations, tasks, caller, asked)
  const { owner } = place
  const isKnown = contextId === undefined || sent.length > 0 || await store.conversations?.get({ owner, vac: vac.name, id: contextId }) !== undefined
  // a context of an earlier version becomes a conversation
  const before = isKnown ? sent : await earlierTurns(store, vacs, { id: '', owner: ownerKey(caller.principal?.owner), contextId, createdAt: Date.now(), skill })
  return {
    metadata: { ...inContext, isTurn: true, ...contextId === undefined && sent.length === 0 && { begins: true }, turnSteps: stepsFor(vac.config, true, () => caller.isAdmin) },
    turn: turnAt({ ...place, question, sent: before })
  }
}

/** Tasks of several VACs may be in one context, which is a separate conversation with each of them. */
async function placeOf (conversations: Conversations, tasks: CallerTasks, caller: RunCaller, { vac: { name: vac }, question, message, sent, contextId }: TaskQuestion): Promise<TurnPlace> {
  const files = message && turnFilesOf(message.parts)
  try {
    return await conversations.place(caller, { vac, question, files, conversation: contextId, sent })
  } catch (err) {
    if (!(err instanceof NoSuchConversationError)) throw err
    const { tasks: latest } = await tasks.list(caller.principal, { contextId, limit: MAX_LATEST })
    if (!latest.some(({ metadata }) => metadata.isTurn === true)) throw err
    // the context of the task is the conversation, not the new id
    return await conversations.place(caller, { vac, question, files, sent })
  }
}
