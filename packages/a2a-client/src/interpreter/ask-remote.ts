import { agentQuestionOf, HOPS, isRecord, MAX_HOPS } from '@polyvac/core/plugin'
import type { ChatTurn, InterpreterExtra } from '@polyvac/core'
import type { Connection } from '../client/connection.js'
import { cancelTask, followTask, type Followed } from '../client/follow-task.js'
import { ExcessiveAnswer, RemoteAnswer } from '../client/remote-answer.js'
import { RemoteAgentLoopError } from '../errors.js'
import { readTask } from '../protocol/read-event.js'
import { isInterrupted, type OutgoingMessage, type RemotePart } from '../protocol/types.js'
import { taskParams } from '../protocol/write-message.js'
import { endOf, type Answering } from './end-of-answer.js'
import { historyPart, partsOf } from './outgoing-parts.js'
import { digestOf, keyOf, type RemoteTaskRecord, type RemoteTasks } from './remote-tasks.js'
import { isKept, runRecord } from './run-record.js'

/** Paragraphs at the end of a turn that may be the question of an agent. */
const MAX_PARAGRAPHS = 20

/** Reasons after which another process goes on with the run, and so with the remote task. */
const MOVED: ReadonlySet<unknown> = new Set(['TASK_WORKER_STOPPED', 'TASK_FENCED'])

export interface Asked {
  readonly name: string
  readonly skill: string | undefined
  readonly connection: Connection
  readonly tasks: RemoteTasks
  readonly question: string
  readonly history: readonly ChatTurn[]
  readonly extra: InterpreterExtra
  /** Ends it: that of the call, or the timeout of the entry. */
  readonly signal: AbortSignal
}

/**
 * Asks an agent, and gives what it does as an answer here. The run that asks is the id of the message, and what the
 * agent made of it is kept: another attempt at the run follows the same task, and the reply to a question of the agent
 * goes to the task that asked.
 */
export async function * askRemote (asked: Asked): Answering {
  const { name, connection, tasks, extra, signal } = asked
  const ids = idsOf(asked)
  const memory = runRecord(name, extra, tasks, ids.run)
  const known = await memory?.get() ?? await askingOf(asked, tasks)
  const followed = await startOf(asked, ids, known)
  const answer = new RemoteAnswer()
  answer.contextId = known?.contextId
  let kept = known
  let progress = 0
  let isOver = false
  try {
    for await (const event of followTask(connection, followed, { signal, log: extra.log })) {
      const text = answer.take(event)
      if (memory !== undefined && answer.taskId !== undefined && !isKept(answer, kept, ids.asked)) {
        kept = { taskId: answer.taskId, contextId: answer.contextId, state: answer.state, digest: ids.asked }
        await memory.set(kept)
      }
      if (text !== '') yield text
      if (event.kind !== 'status') continue
      const reached = event.metadata?.progress
      if (typeof reached === 'number') progress = Math.max(progress, reached)
      const message = answer.state === 'working' ? answer.statusText : undefined
      if (message !== undefined || typeof reached === 'number') yield { progress, message }
    }
    isOver = true
    const result = yield * endOf(name, answer)
    const { answer: text, input_required: question } = result as Readonly<Record<string, unknown>>
    const said = question ?? text
    if (typeof said === 'string') await keepContext(asked, answer, said, question !== undefined)
    return result
  } catch (err) {
    isOver ||= !signal.aborted && !(err instanceof ExcessiveAnswer)
    // the task that asked takes no second reply
    if (isOver) await keepContext(asked, answer, '')
    throw err
  } finally {
    // a reader that leaves ends this before it aborts the signal
    await null
    const isMoved = ids.run !== undefined && MOVED.has((signal.reason as { code?: unknown } | undefined)?.code)
    if (!isOver && !isMoved && answer.taskId !== undefined) await cancelTask(connection, answer.taskId, extra.log)
  }
}

/** Keeps the context of the agent for the conversation, and the task if it asked. @param said what ends the turn */
async function keepContext (asked: Asked, { contextId, taskId, state }: RemoteAnswer, said: string, isQuestion = false): Promise<void> {
  const key = conversationKey(asked)
  if (key === undefined || contextId === undefined) return
  await asked.tasks.set(key, { contextId, digest: digestOf(said), ...isQuestion && { taskId, state } })
}

interface Ids {
  /** The key of the run; undefined for a call that nothing repeats. */
  readonly run: string | undefined
  readonly messageId: string
  /** The digest of the question and what came before: another attempt has the same. */
  readonly asked: string
}

function idsOf ({ name, question, history, extra }: Asked): Ids {
  const { run, call } = agentQuestionOf(extra)
  const asked = digestOf(question, history.length, history.at(-1)?.content ?? null, extra.principal?.owner ?? null)
  if (run === undefined) return { run: undefined, messageId: crypto.randomUUID(), asked }
  // the id of a run is the same in each of its turns; a call in it has another one
  const id = call === undefined ? run : `${run}.${call}`
  return { run: keyOf('run', name, extra.principal?.owner, id), messageId: `${id}-${asked.slice(0, 12)}`, asked }
}

/** The task of an earlier attempt, or the message. */
async function startOf (asked: Asked, { messageId, asked: digest }: Ids, known: RemoteTaskRecord | undefined): Promise<Followed> {
  const { name, skill, connection, tasks, question, history, extra } = asked
  if (known?.taskId !== undefined && known.digest === digest) return { taskId: known.taskId }
  const isReply = known?.taskId !== undefined && known.state !== undefined && isInterrupted(known.state)
  if (isReply && known.state === 'auth-required' && await hasGoneOn(asked, known.taskId)) return { taskId: known.taskId }
  const metadata = metadataOf(extra)
  const { hops } = agentQuestionOf(extra)
  if (hops >= MAX_HOPS) throw new RemoteAgentLoopError(name, `the message has passed ${hops} agents, and ${MAX_HOPS} is the most; look for agents that ask each other`)
  const contextId = isReply ? known.contextId : await contextOf(asked, tasks)
  const parts: RemotePart[] = partsOf(question, extra.files, extra.data)
  if (contextId === undefined && !isReply) parts.push(...historyPart(history, connection.usable.card.inputModes))
  const message: OutgoingMessage = {
    messageId,
    parts,
    contextId,
    taskId: isReply ? known.taskId : undefined,
    // a reply is handed over whole: an agent may look for the answer in it
    metadata: { ...isReply ? metadata : {}, ...skill !== undefined && { skillId: skill }, [HOPS]: hops + 1 }
  }
  return { message }
}

/** Whether a task that waited for an authorization goes on: an agent may notice by itself that it has one. */
async function hasGoneOn ({ connection, signal, extra }: Asked, taskId: string): Promise<boolean> {
  try {
    const task = readTask(await connection.call('get', taskParams(taskId, connection.usable.target.tenant), signal))
    return task !== undefined && !isInterrupted(task.state)
  } catch (err) {
    signal.throwIfAborted()
    extra.log.debug({ err, taskId }, 'a task that waits could not be read')
    return false
  }
}

/** The metadata of the message of the caller, without what names something here. */
function metadataOf ({ message }: InterpreterExtra): Readonly<Record<string, unknown>> {
  if (!isRecord(message) || !isRecord(message.metadata)) return {}
  const { skillId: _skill, steps: _steps, ...metadata } = message.metadata
  return metadata
}

function conversationKey ({ name, extra }: Asked): string | undefined {
  const { conversation, principal } = extra
  return typeof conversation === 'string' ? keyOf('conversation', name, principal?.owner, conversation) : undefined
}

/**
 * The task of the agent that asked in the last turn of a conversation, where each turn is another run.
 * Readers may have text before the question.
 */
async function askingOf (asked: Asked, tasks: RemoteTasks): Promise<RemoteTaskRecord | undefined> {
  const key = conversationKey(asked)
  const last = asked.history.at(-1)
  if (key === undefined || last?.role !== 'assistant') return undefined
  const known = await tasks.get(key)
  if (known?.taskId === undefined) return undefined
  const paragraphs = last.content.split('\n\n').slice(-MAX_PARAGRAPHS)
  const isAsked = digestOf(last.content) === known.digest || paragraphs.some((_, i) => digestOf(paragraphs.slice(i).join('\n\n')) === known.digest)
  return isAsked ? known : undefined
}

/**
 * The context of the agent for a conversation here. It goes on only after the answer that it gave: a conversation that
 * was edited, and one whose id another caller has guessed, begins a new one.
 */
async function contextOf (asked: Asked, tasks: RemoteTasks): Promise<string | undefined> {
  const key = conversationKey(asked)
  const last = asked.history.findLast(({ role }) => role === 'assistant')
  if (key === undefined || last === undefined) return undefined
  const known = await tasks.get(key)
  return known?.digest === digestOf(last.content) ? known.contextId : undefined
}
