import { isAnswer, type Answer, type Log, type VacCall } from '@polyvac/core'
import { askedBack, findSkill, inputProblems, nearestSkill, queryResult, questionOf, searchMemory, skillFailure, streamResult, streamSettings, type ExposedVacs, type MemorySearchInput, type QueryInput, type Skill, type StreamInput } from '@polyvac/core/plugin'
import { deltaWriter, isTaskError, type TaskContext, type TaskHandler, type TaskMessage, type TaskRecord, type TaskStore, type TaskUpdate } from '@polyvac/tasks'
import { randomUUID } from 'node:crypto'
import { artifactsOf } from './artifacts.js'
import { ARTIFACTS } from '../protocol/artifact-names.js'
import { earlierTurns, toTurn } from './conversation.js'
import { ANYONE } from '../options.js'
import { dataOf, filesOf } from '../protocol/message.js'
import { contextOf } from '../protocol/task-view.js'

export interface SkillOptions {
  readonly vacs: ExposedVacs
  /** Where the earlier turns of a conversation are. */
  readonly tasks: TaskStore
  /** Total time for an interpreter in ms, where the input does not set its own. */
  readonly timeoutMs: number
  readonly log: Log
}

/**
 * What stands in the way of a task: a skill that nobody here has, or an input that breaks the skill's schema. Such a
 * task is created, and fails (service description, section 7).
 */
export function taskProblem (vacs: ExposedVacs, name: string, input: unknown): { code: string, message: string } | undefined {
  const skill = findSkill(vacs, name)
  if (skill === undefined) {
    const near = nearestSkill(vacs.list(), name)
    const remedy = near === undefined ? 'the agent card lists those that are offered' : `did you mean ${JSON.stringify(near)}?`
    return { code: 'A2A_SKILL_NOT_FOUND', message: `no skill is named ${JSON.stringify(name)}; ${remedy}` }
  }
  const problems = inputProblems(skill.kind, input)
  if (problems.length === 0) return undefined
  return { code: 'A2A_INPUT_INVALID', message: `the input does not fit the skill ${name}: ${problems.map(({ path, message }) => `${path} ${message}`).join('; ')}` }
}

/** Executes tasks of every dialect: a task's skill names the VAC, its input is the question. */
export function skillRunner ({ vacs, tasks, timeoutMs, log }: SkillOptions): TaskHandler {
  return async (task, context) => {
    const problem = taskProblem(vacs, task.skill, task.input)
    if (problem !== undefined) {
      await context.emit({ state: 'failed', error: problem })
      return
    }
    const skill = findSkill(vacs, task.skill) as Skill
    const started = performance.now()
    let outcome = 'failed'
    try {
      outcome = await run(skill, task, context, { vacs, tasks, timeoutMs, log })
    } catch (err) {
      // canceled, or to be run by another worker: nothing that is written now counts
      if (context.stop.aborted || isTaskError(err)) throw err
      outcome = await fail(err, skill, task, context, log)
    } finally {
      log.info({ vac: skill.vac.name, protocol: 'a2a', skill: skill.kind, taskId: task.id, attempt: context.attempt, ms: Math.round(performance.now() - started), outcome }, 'task run')
    }
  }
}

type RunOptions = SkillOptions

async function run (skill: Skill, task: TaskRecord, context: TaskContext, options: RunOptions): Promise<string> {
  if (skill.kind === 'memory') return await findInMemory(skill, task, context, options)
  return await (skill.kind === 'stream' ? streamAnswer : askOnce)(skill, task, context, options)
}

async function askOnce (skill: Skill, task: TaskRecord, context: TaskContext, options: RunOptions): Promise<string> {
  const answer = await skill.vac.ask(await callOf(task, context, options))
  return await finish(skill, answer, context, { name: ARTIFACTS.query, content: queryResult(withoutArtifacts(answer)) })
}

async function streamAnswer (skill: Skill, task: TaskRecord, context: TaskContext, options: RunOptions): Promise<string> {
  const text = deltaWriter(context)
  let reached = task.progress
  for await (const chunk of skill.vac.stream(await callOf(task, context, options))) {
    if (typeof chunk === 'string') {
      await text.write(chunk)
    } else if (isAnswer(chunk)) {
      await text.flush()
      return await finish(skill, chunk, context, { name: ARTIFACTS.stream, content: streamResult(withoutArtifacts(chunk)) }, chunk.answer)
    } else if (chunk.progress > reached) {
      reached = Math.min(1, chunk.progress)
      await context.emit({ progress: reached })
    }
  }
  return 'ended'
}

async function findInMemory ({ vac }: Skill, task: TaskRecord, context: TaskContext, { timeoutMs }: RunOptions): Promise<string> {
  const content = await searchMemory(vac, task.input as MemorySearchInput, { signal: context.signal, timeoutMs })
  await context.emit({ state: 'completed', artifact: { name: ARTIFACTS.memory, content } })
  return 'completed'
}

/**
 * Ends the run as the interpreter says: with its answer as an artifact beside those it made, as a message alone, with what
 * it needs from elsewhere to go on, or by declining.
 * @param said what was streamed: a question that is all of it is in the messages already
 */
async function finish ({ vac }: Skill, answer: Answer, context: TaskContext, artifact: NonNullable<TaskUpdate['artifact']>, said?: string): Promise<string> {
  const { answer: text, rejected, as_message: alone } = answer
  const asked = askedBack(answer)
  if (asked !== undefined) {
    const state = `${asked.kind}-required` as const
    await context.emit({ state, ...(asked.text === said ? {} : { message: agentMessage(asked.text) }) })
    return state
  }
  if (rejected === true) {
    await context.emit({ state: 'rejected', error: { code: 'VAC_REJECTED', message: text === '' ? 'the VAC declined' : text } })
    return 'rejected'
  }
  if (alone === true) {
    await context.emit({ state: 'completed', ...(text === said ? {} : { message: agentMessage(text) }) })
    return 'completed'
  }
  const made = answer.artifacts === undefined ? [] : artifactsOf(vac.name, answer.artifacts)
  const hasText = text.trim() !== '' || made.length === 0
  const last = hasText ? artifact : made.pop()
  await context.emit([...made.map(artifact => ({ artifact })), { state: 'completed', artifact: last }])
  return 'completed'
}

function agentMessage (text: string): NonNullable<TaskUpdate['message']> {
  return { id: randomUUID(), role: 'agent', parts: [{ type: 'text', text }] }
}

/** The task's question. One that was asked back for input is asked with the caller's reply, and with the turns before it as history. */
async function callOf (task: TaskRecord, { stop, attempt }: TaskContext, { vacs, tasks, timeoutMs, log }: RunOptions): Promise<VacCall> {
  const { question, history, extra } = questionOf(task.input as QueryInput & StreamInput)
  const { timeout } = streamSettings(task.input)
  if (task.metadata.inContext === true) history.push(...await earlierTurns(tasks, vacs, task))
  const said = task.messages.findLast(({ role }) => role === 'user')
  const turns = task.turn === 0 ? [] : task.messages.map(toTurn)
  const reply = turns.pop()
  return {
    question: reply?.content ?? question,
    history: turns.length === 0 ? history : [...history, ...turns],
    extra: Object.assign(extra, { taskId: task.id, attempt }, said?.id === undefined ? undefined : messageExtra(task, said)),
    signal: stop,
    timeoutMs: timeout === undefined ? timeoutMs : timeout * 1000,
    log,
    principal: task.owner === ANYONE.owner ? undefined : { owner: task.owner, scopes: task.metadata.scopes as string[] | undefined },
    protocol: 'a2a'
  }
}

/** What a message says beside its text: `files` and `data` where it brings some, and always itself. */
function messageExtra (task: TaskRecord, { id, parts, metadata = {} }: TaskMessage): Record<string, unknown> {
  const files = filesOf(parts)
  const data = dataOf(parts)
  return Object.assign({ message: { id, metadata }, contextId: contextOf(task) },
    files.length === 0 ? undefined : { files },
    data.length === 0 ? undefined : { data })
}

/** The answer without what becomes artifacts of its own. */
function withoutArtifacts (answer: Answer): Answer {
  if (answer.artifacts === undefined) return answer
  const { artifacts: _made, ...rest } = answer
  return rest
}

/** Ends the task with the failure as callers may read it; the cause goes to the log alone. */
async function fail (err: unknown, { vac }: Skill, task: TaskRecord, context: TaskContext, log: Log): Promise<string> {
  log.error({ err, taskId: task.id, vac: vac.name }, 'a task failed')
  await context.emit({ state: 'failed', error: { code: 'A2A_SKILL_FAILED', ...skillFailure(err, vac.name, `the task id ${task.id}`) } })
  return 'failed'
}
