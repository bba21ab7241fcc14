import { isAnswer, type Answer, type Authenticate, type Log, type Principal, type StepView } from '@polyvac/core'
import {
  askedBack, beginning, callerOfFields, CallRecord, currentCaller, findSkill, inputProblems, isLargeJson, isRecord, nearestSkill, queryResult, joinSteps, questionOf, releaseContext,
  searchMemory, skillFailure, streamResult, streamSettings, yieldToEventLoop, traceTask, usageOf, vacsFor, type ExposedVacs,
  type MemorySearchInput, type PlacedCall, type QueryInput, type Skill, type StreamInput
} from '@polyvac/core/plugin'
import {
  deltaWriter, isTaskError, ownerOfKey, stepWriter, type DataPart, type TaskContext, type TaskHandler, type TaskMessage, type TaskRecord,
  type TaskStore, type TaskUpdate, type TextPart
} from '@polyvac/tasks'
import type { FastifyBaseLogger } from 'fastify'
import { randomUUID } from 'node:crypto'
import { ARTIFACTS } from '../protocol/artifact-names.js'
import { dataOf, filesOf } from '../protocol/message.js'
import { contextOf } from '../protocol/task-view.js'
import { artifactsOf } from './artifacts.js'
import { earlierTurns, toTurn } from './conversation.js'
import { ProgressWriter } from './progress-writer.js'

export interface SkillOptions {
  readonly vacs: ExposedVacs
  /** The store, for the earlier turns of a conversation. */
  readonly tasks: TaskStore
  /** Reads the credential of a task again when it starts. */
  readonly authenticate?: Authenticate | undefined
  /** Total time for an interpreter in ms, where the input does not set its own. */
  readonly timeoutMs: number
  readonly log: FastifyBaseLogger
  /** Key of the request id in log lines, as the application names it. */
  readonly idLabel: string
}

/** Characters of a progress message, which each status until the next one repeats. */
export const MAX_PROGRESS_CHARS = 4_096

/** The queue of tasks whose skill did not exist when they were created: any worker fails them at once. */
export const REFUSED = 'a2a refused'

/** An error that callers may read. */
interface TaskProblem { readonly code: string, readonly message: string }

/** The credential that created a task was removed before the task began. */
const CREDENTIAL_ENDED: TaskProblem = {
  code: 'A2A_CREDENTIAL_ENDED', message: 'the credential that sent this task does not count any more; send it again with another one'
}

/**
 * Why a task cannot run: its skill does not exist, or its input breaks the schema of the skill. Such a task is created,
 * and fails (service description, section 7).
 */
export function taskProblem (vacs: ExposedVacs, name: string, input: unknown): TaskProblem | undefined {
  const skill = findSkill(vacs, name)
  if (skill === undefined) {
    const near = nearestSkill(vacs.list(), name)
    const remedy = near === undefined ? 'the agent card lists the skills' : `did you mean ${JSON.stringify(near)}?`
    return { code: 'A2A_SKILL_NOT_FOUND', message: `no skill is named ${JSON.stringify(name)}; ${remedy}` }
  }
  const problems = inputProblems(skill.kind, input).map(({ path, message }) => `${path} ${message}`)
  if (problems.length === 0) return undefined
  return { code: 'A2A_INPUT_INVALID', message: `the input does not fit the skill ${name}: ${problems.join('; ')}` }
}

/** Executes tasks of every dialect: the skill of a task names the VAC, its input is the question. */
export function skillRunner (options: SkillOptions): TaskHandler {
  const { idLabel } = options
  return (task, context) => traceTask({ skill: task.skill, attempt: context.attempt, metadata: task.metadata }, async failed => {
    const owner = ownerOfKey(task.owner)
    // who sent it, or answered its last question
    const maker = callerOfFields(owner, task.metadata.caller ?? task.metadata)
    const principal = currentCaller(options.authenticate, maker)
    const isEnded = maker !== undefined && principal === undefined
    const problem = isEnded ? CREDENTIAL_ENDED : taskProblem(vacsFor(options.vacs, principal, options.log), task.skill, task.input)
    if (problem !== undefined) {
      failed(problem)
      await context.emit({ state: 'failed', error: problem })
      return
    }
    const skill = findSkill(options.vacs, task.skill) as Skill
    const log = options.log.child({ taskId: task.id, owner, [idLabel]: task.metadata.requestId })
    const { vac, kind } = skill
    const record = new CallRecord({ vac: vac.name, protocol: 'a2a', skill: kind, attempt: context.attempt }, log)
    try {
      record.outcome = await execute({ skill, task, principal, context, log, record }, options)
    } catch (err) {
      // the task was canceled, or another worker runs it: no more event of this attempt is accepted
      if (context.stop.aborted || isTaskError(err)) throw err
      record.failed(err)
      failed(err)
      await fail(err, skill, task, context, log)
    } finally {
      record.end('task run')
    }
  })
}

interface Run {
  readonly skill: Skill
  readonly task: TaskRecord
  /** The caller that created the task, with its scopes of now; undefined where callers are not authenticated. */
  readonly principal: Principal | undefined
  readonly context: TaskContext
  /** Has the ids of the task and of the request that created it. */
  readonly log: Log
  readonly record: CallRecord
}

/** Runs a task of a known skill. Resolves to the state that it ends in. */
async function execute (run: Run, options: SkillOptions): Promise<string> {
  const { kind } = run.skill
  return await (kind === 'memory' ? searchInMemory : kind === 'stream' ? streamAnswer : askOnce)(run, options)
}

async function askOnce (run: Run, options: SkillOptions): Promise<string> {
  const { skill, context, record } = run
  const steps = stepWriter(context, joinSteps)
  // a failure to write comes again with the end of the task
  const answer = record.answered(await skill.vac.ask({ ...await vacCallOf(run, options), onStep: step => { steps.write(step).catch(() => {}) } }))
  if (steps.isWaiting) await steps.flush()
  return await finish(skill, answer, context, { name: ARTIFACTS.query, content: queryResult(withoutArtifacts(answer)) })
}

async function streamAnswer (run: Run, options: SkillOptions): Promise<string> {
  const { skill, task, context, record } = run
  const text = deltaWriter(context)
  const reports = new ProgressWriter(context)
  const steps = stepWriter(context, joinSteps, async () => await text.flush())
  let reached = task.progress
  let chars = 0
  const call: PlacedCall = { ...await vacCallOf(run, options), streamedOnly: true }
  try {
    for await (const chunk of skill.vac.stream(call)) {
      record.chunk(chunk)
      if (typeof chunk === 'string') {
        chars += chunk.length
        if (steps.isWaiting) await steps.flush()
        await text.write(chunk)
      } else if (isAnswer(chunk)) {
        // what becomes a message of the task is not an artifact as well
        if (chars === 0 && !isMessage(chunk)) await text.write(chunk.answer)
        if (steps.isWaiting) await steps.flush()
        await Promise.all([text.flush(), reports.flush()])
        let streamed = chars === 0 || !isMessage(chunk) ? undefined : await streamedText(options.tasks, task, chars) ?? chunk.answer
        const said = messageText(chunk)
        if (streamed !== undefined && said.startsWith(streamed)) {
          await text.write(said.slice(streamed.length))
          await text.flush()
          streamed = said
        }
        const artifact = { name: ARTIFACTS.stream, content: streamResult(withoutArtifacts(chunk)) }
        return await finish(skill, chunk, context, artifact, streamed)
      } else if ('progress' in chunk) {
        const { progress, message } = chunk
        if (progress <= reached && message === undefined) continue
        reached = Math.min(1, Math.max(reached, progress))
        await reports.write({ progress: reached, progressMessage: message && beginning(message, MAX_PROGRESS_CHARS) })
      } else {
        await steps.write(chunk)
      }
    }
    return 'ended'
  } finally {
    reports.end()
  }
}

async function searchInMemory ({ skill, task, principal, context }: Run, { timeoutMs }: SkillOptions): Promise<string> {
  const content = await searchMemory(skill.vac, task.input as MemorySearchInput, { signal: context.signal, timeoutMs, owner: principal?.owner })
  await context.emit({ state: 'completed', artifact: { name: ARTIFACTS.memory, content } })
  return 'completed'
}

/** Whether an answer ends as a message: a question, a refusal, small talk. */
function isMessage (answer: Answer): boolean {
  return askedBack(answer) !== undefined || answer.rejected === true || answer.as_message === true
}

/** The text that this attempt has streamed; undefined where the record does not keep all of it. */
async function streamedText (tasks: TaskStore, { owner, id }: TaskRecord, chars: number): Promise<string | undefined> {
  const text = (await tasks.get(owner, id))?.messages.at(-1)?.parts[0]?.text
  return text?.length === chars ? text : undefined
}

/**
 * Ends the run according to the answer: with `artifact` besides the artifacts of the interpreter, with a message
 * instead, with a request for input or an authorization, or as rejected.
 * @param streamed the text that was streamed: it is in the messages already
 */
async function finish ({ vac }: Skill, answer: Answer, context: TaskContext,
  artifact: NonNullable<TaskUpdate['artifact']>, streamed?: string): Promise<string> {
  // the interpreter is done; the run only waits for the store
  releaseContext()
  const { answer: text, rejected, as_message: isMessage } = answer
  const usage = usageOf(answer)
  const request = askedBack(answer)
  if (request !== undefined) {
    const state = `${request.kind}-required` as const
    const { sign_in: signIn } = answer
    // the address as data also comes where the text was streamed
    const { input_schema: inputSchema, choices } = answer
    const form = inputSchema === undefined && choices === undefined ? [] : [{ type: 'data' as const, data: { input_schema: inputSchema, choices } }]
    const data = isRecord(signIn) ? [{ type: 'data' as const, data: { signIn } }] : form
    const question = unsaid(messageText(answer), streamed)
    const parts = question === '' ? data : [{ type: 'text' as const, text: question }, ...data]
    const message = parts.length === 0 ? undefined : agentMessage(parts)
    await context.emit({ state, usage, ...message === undefined ? {} : { message } })
    return state
  }
  if (rejected === true) {
    const message = text.trim() === '' ? 'the VAC declined' : text
    await context.emit({ state: 'rejected', usage, error: { code: 'VAC_REJECTED', message } })
    return 'rejected'
  }
  if (isMessage === true) {
    const rest = unsaid(text, streamed)
    const message = rest === '' && streamed !== undefined ? {} : { message: agentMessage([{ type: 'text', text: rest }]) }
    await context.emit({ state: 'completed', usage, ...message })
    return 'completed'
  }
  const artifacts = answer.artifacts === undefined ? [] : artifactsOf(vac.name, answer.artifacts)
  const hasText = text.trim() !== '' || artifacts.length === 0
  const last = hasText ? artifact : artifacts.pop()
  if (isLargeJson(last)) await yieldToEventLoop()
  await context.emit([...artifacts.map(artifact => ({ artifact })), { state: 'completed', artifact: last, usage }])
  return 'completed'
}

/** The text of an answer that ends as a message. */
function messageText (answer: Answer): string {
  const request = askedBack(answer)
  return request === undefined ? answer.answer : questionWith(answer.answer, request)
}

/** The question, or the answer where the question is its end or has no text. */
function questionWith (answer: string, { kind, text }: NonNullable<ReturnType<typeof askedBack>>): string {
  const [before, question] = [answer.trim(), text.trim()]
  if (question === '' && before === '') return kind === 'input' ? 'the VAC asks for input' : 'the VAC asks for an authorization'
  return question === '' || (before !== question && endsWith(before, question)) ? answer : text
}

/** The text of a message, unless it was streamed or is the end of what was. */
function unsaid (text: string, streamed: string | undefined): string {
  if (streamed === undefined) return text
  if (text.trim() === '') return ''
  return endsWith(streamed.trimEnd(), text.trim()) ? '' : text
}

/** Whether a text ends with another one, and not within a word. */
function endsWith (text: string, end: string): boolean {
  return text.endsWith(end) && !/[\p{L}\p{N}]$/u.test(text.slice(Math.max(0, text.length - end.length - 2), -end.length || undefined))
}

function agentMessage (parts: ReadonlyArray<TextPart | DataPart>): NonNullable<TaskUpdate['message']> {
  return { id: randomUUID(), role: 'agent', parts }
}

/**
 * The question of the task. After a request for input it is the reply of the caller, with the turns before as history.
 */
async function vacCallOf ({ task, principal, context, log }: Run, options: SkillOptions): Promise<PlacedCall> {
  const { stop, attempt } = context
  const { vacs, tasks, timeoutMs } = options
  const { question, history, extra } = questionOf(task.input as QueryInput & StreamInput)
  const { timeout } = streamSettings(task.input)
  if (task.metadata.inContext === true) history.push(...await earlierTurns(tasks, vacs, task))
  const message = task.messages.findLast(({ role }) => role === 'user')
  const turns = task.turn === 0 ? [] : task.messages.map(toTurn)
  const reply = turns.pop()
  return {
    question: reply?.content ?? question,
    history: turns.length === 0 ? history : [...history, ...turns],
    extra: Object.assign(extra, { taskId: task.id, attempt },
      message?.id === undefined ? undefined : messageExtra(task, message)),
    signal: stop,
    steps: (task.metadata.steps ?? undefined) as StepView | undefined,
    timeoutMs: timeout === undefined ? timeoutMs : timeout * 1000,
    log,
    principal,
    protocol: 'a2a'
  }
}

/** The message, and its files and data if it has some. */
function messageExtra (task: TaskRecord, { id, parts, metadata = {} }: TaskMessage): Record<string, unknown> {
  const files = filesOf(parts)
  const data = dataOf(parts)
  return Object.assign({ message: { id, metadata }, contextId: contextOf(task) },
    files.length === 0 ? undefined : { files },
    data.length === 0 ? undefined : { data })
}

/** The answer without the parts that become separate artifacts. */
function withoutArtifacts (answer: Answer): Answer {
  if (answer.artifacts === undefined) return answer
  const { artifacts: _artifacts, ...rest } = answer
  return rest
}

/** Ends the task with an error that callers may read; the cause goes only to the log. */
async function fail (err: unknown, { vac }: Skill, task: TaskRecord, context: TaskContext, log: Log): Promise<void> {
  log.error({ err, vac: vac.name }, 'a task failed')
  const error = { code: 'A2A_SKILL_FAILED', ...skillFailure(err, vac.name, `the task id ${task.id}`) }
  await context.emit({ state: 'failed', error })
}
