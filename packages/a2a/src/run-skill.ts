import {
  findSkill, inputProblems, isAnswer, MEMORY_DEFAULTS, nearestSkill, normaliseHistory, StreamSettings, type Answer, type ChatTurn, type Hit, type Log,
  type MemorySearchInput, type MemorySearchResult, type QueryInput, type QueryResult, type Skill, type StreamInput, type StreamResult, type VacCall, VacTimeoutError
} from '@polyvac/core'
import { deltaWriter, isTaskError, type TaskContext, type TaskHandler, type TaskRecord, type TaskUpdate } from '@polyvac/tasks'
import { Type } from '@sinclair/typebox'
import { TypeCompiler } from '@sinclair/typebox/compiler'
import type { ExposedVacs } from './exposed-vacs.js'
import { ANYONE } from './options.js'

export interface SkillOptions {
  readonly vacs: ExposedVacs
  /** Total time for an interpreter in ms, where the input does not set its own. */
  readonly timeoutMs: number
  readonly log: Log
}

/** Names of the artifacts, by kind of skill (contract section 3). */
const ARTIFACTS = { query: 'response', stream: 'streaming_response', memory: 'search_results' } as const

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

const settingsCheck = TypeCompiler.Compile(Type.Object({ stream_settings: StreamSettings }))

/** The times that an input sets. None where they break their schema: only streaming skills have it, and their task fails. */
export function streamSettings (input: unknown): StreamSettings {
  return settingsCheck.Check(input) ? input.stream_settings : {}
}

/** Executes tasks of every dialect: a task's skill names the VAC, its input is the question. */
export function skillRunner ({ vacs, timeoutMs, log }: SkillOptions): TaskHandler {
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
      outcome = await run(skill, task, context, { timeoutMs, log })
    } catch (err) {
      // canceled, or to be run by another worker: nothing that is written now counts
      if (context.signal.aborted || isTaskError(err)) throw err
      outcome = await fail(err, skill, task, context, log)
    } finally {
      log.info({ vac: skill.vac.name, protocol: 'a2a', skill: skill.kind, taskId: task.id, attempt: context.attempt, ms: Math.round(performance.now() - started), outcome }, 'task run')
    }
  }
}

type RunOptions = Pick<SkillOptions, 'timeoutMs' | 'log'>

async function run (skill: Skill, task: TaskRecord, context: TaskContext, options: RunOptions): Promise<string> {
  if (skill.kind === 'memory') return await searchMemory(skill, task, context, options)
  return await (skill.kind === 'stream' ? streamAnswer : askOnce)(skill, task, context, options)
}

async function askOnce (skill: Skill, task: TaskRecord, context: TaskContext, options: RunOptions): Promise<string> {
  const answer = await skill.vac.ask(callOf(task, context, options))
  return await finish(answer, context, { name: ARTIFACTS.query, content: queryResult(answer) })
}

async function streamAnswer (skill: Skill, task: TaskRecord, context: TaskContext, options: RunOptions): Promise<string> {
  const text = deltaWriter(context)
  let reached = task.progress
  for await (const chunk of skill.vac.stream(callOf(task, context, options))) {
    if (typeof chunk === 'string') {
      await text.write(chunk)
    } else if (isAnswer(chunk)) {
      await text.flush()
      return await finish(chunk, context, { name: ARTIFACTS.stream, content: streamResult(chunk) }, chunk.answer)
    } else if (chunk.progress > reached) {
      reached = Math.min(1, chunk.progress)
      await context.emit({ progress: reached })
    }
  }
  return 'ended'
}

async function searchMemory (skill: Skill, task: TaskRecord, context: TaskContext, { timeoutMs }: RunOptions): Promise<string> {
  const { search_query: query, limit = MEMORY_DEFAULTS.limit, similarity_threshold: threshold = MEMORY_DEFAULTS.threshold } = task.input as MemorySearchInput
  const stop = new AbortController()
  const abort = (): void => { stop.abort(context.signal.reason) }
  const timer = setTimeout(() => { stop.abort(new VacTimeoutError(JSON.stringify(skill.vac.name), timeoutMs / 1000)) }, timeoutMs)
  context.signal.addEventListener('abort', abort, { once: true })
  // a memory that ignores its signal is left behind
  const aborted = new Promise<never>((_resolve, reject) => { stop.signal.addEventListener('abort', () => { reject(stop.signal.reason) }, { once: true }) })
  let hits: Hit[]
  try {
    hits = await Promise.race([skill.vac.memory?.search({ query, limit, threshold, signal: stop.signal }) ?? [], aborted])
  } finally {
    clearTimeout(timer)
    context.signal.removeEventListener('abort', abort)
  }
  const results = hits.filter(({ score }) => score >= threshold).slice(0, limit).map(({ content, score, metadata }) => ({ content, score, metadata }))
  const content = { results, total_results: results.length, query, limit, similarity_threshold: threshold } satisfies MemorySearchResult
  await context.emit({ state: 'completed', artifact: { name: ARTIFACTS.memory, content } })
  return 'completed'
}

/**
 * Ends the run: with its artifact, or with the interpreter's question back to the caller.
 * @param said what was streamed: a question that is all of it is in the messages already
 */
async function finish (answer: Answer, context: TaskContext, artifact: NonNullable<TaskUpdate['artifact']>, said?: string): Promise<string> {
  const { input_required: question } = answer
  if (typeof question !== 'string') {
    await context.emit({ state: 'completed', artifact })
    return 'completed'
  }
  await context.emit({ state: 'input-required', ...(question === said ? {} : { message: { role: 'agent', parts: [{ type: 'text', text: question }] } }) })
  return 'input-required'
}

/** The task's question. One that was asked back for input is asked with the caller's reply, and with the turns before it as history. */
function callOf (task: TaskRecord, { signal, attempt }: TaskContext, { timeoutMs, log }: RunOptions): VacCall {
  const { query, chat_history: history, stream_settings: _settings, ...further } = task.input as QueryInput & StreamInput
  const { timeout } = streamSettings(task.input)
  const turns = [...normaliseHistory(history), ...task.messages.map(toTurn)]
  const reply = task.turn === 0 ? undefined : turns.pop()
  return {
    question: reply?.content ?? query.trim(),
    history: task.turn === 0 ? normaliseHistory(history) : turns,
    extra: Object.assign(further, { taskId: task.id, attempt }),
    signal,
    timeoutMs: timeout === undefined ? timeoutMs : timeout * 1000,
    log,
    principal: task.owner === ANYONE ? undefined : { owner: task.owner, scopes: task.metadata.scopes as string[] | undefined },
    protocol: 'a2a'
  }
}

function toTurn ({ role, parts }: TaskRecord['messages'][number]): ChatTurn {
  return { role: role === 'user' ? 'user' : 'assistant', content: parts.map(({ text }) => text).join('') }
}

function queryResult ({ answer, source_documents, metadata, ...extras }: Answer): QueryResult {
  return { answer, source_documents, metadata: { ...extras, ...metadata } }
}

function streamResult ({ answer, source_documents, metadata, ...extras }: Answer): StreamResult {
  const rest = { ...extras, ...metadata }
  return { final_answer: answer, stream_completed: true, source_documents, ...(Object.keys(rest).length === 0 ? {} : { metadata: rest }) }
}

/** A failure as callers may read it: our own words, or none; the cause goes to the log alone. */
async function fail (err: unknown, { vac }: Skill, task: TaskRecord, context: TaskContext, log: Log): Promise<string> {
  // anything may be thrown, also nothing at all
  const { code, message } = (err ?? {}) as { code?: unknown, message?: unknown }
  const own = typeof code === 'string' && code.startsWith('VAC_') && code !== 'VAC_INTERPRETER_FAILED'
  log.error({ err, taskId: task.id, vac: vac.name }, 'a task failed')
  await context.emit({
    state: 'failed',
    error: own
      ? { code, message: String(message) }
      : { code: code === 'VAC_INTERPRETER_FAILED' ? code : 'A2A_SKILL_FAILED', message: `the VAC ${JSON.stringify(vac.name)} failed; the log has the cause under the task id ${task.id}` }
  })
  return 'failed'
}
