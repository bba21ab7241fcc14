import { type Answer, type Authenticate, type ChatTurn, type Conversations, type Log, type Principal } from '@polyvac/core'
import {
  askedBack, BoundLog, CallRecord, callerOfFields, currentCaller, failureOf, isLargeJson, releaseContext, traceTask, UnauthenticatedError, usageOf, VacInvalidResultError, vacOfSkill,
  vacsFor, withRunMemory, withRunTurn, withStored, yieldToEventLoop, type ExposedVacs, type PlacedCall
} from '@polyvac/core/plugin'
import { isTaskError, type TaskContext, type TaskHandler, type TaskRecord, type TaskStore } from '@polyvac/tasks'
import { AnswerWriter, writeStream } from '../execute/stream-answer.js'
import { taskMemory } from '../execute/task-memory.js'
import { toTurn } from '../conversation/earlier-turns.js'
import { contextOf } from '../conversation/messages.js'
import { Turn } from '../conversation/turn.js'
import type { StoredFailure } from '../errors.js'
import type { RunInput, RunMetadata } from './run-input.js'
import { ANSWER, FAILURE } from './run-view.js'
import { cancelUnread } from './unread.js'

interface RunnerOptions {
  /** The store, which knows when a run was read. */
  readonly tasks: TaskStore
  readonly vacs: ExposedVacs
  readonly conversations: Conversations | undefined
  readonly authenticate: Authenticate | undefined
  readonly timeoutMs: number
  readonly log: Log
}

/** Executes runs: the VAC answers, and the log keeps the answer. */
export function runVacs (options: RunnerOptions): TaskHandler {
  return (task, context) => traceTask({ skill: task.skill, attempt: context.attempt, metadata: task.metadata }, async failed => {
    const { protocol, requestId, owner, caller, unreadMs } = task.metadata as unknown as RunMetadata
    const maker = callerOfFields(owner, caller)
    const principal = currentCaller(options.authenticate, maker)
    const vac = vacOfSkill(task.skill) ?? task.skill
    const log = new BoundLog(options.log, { runId: task.id, reqId: requestId })
    const record = new CallRecord({ vac, protocol, principal, taskId: task.id, attempt: context.attempt }, log)
    const turn = new Turn(options.conversations, task, context.attempt, task.metadata, owner)
    const stopLooking = unreadMs === undefined ? undefined : cancelUnread(options.tasks, task, unreadMs, log)
    try {
      if (maker !== undefined && principal === undefined) throw new UnauthenticatedError()
      const answer = await answerOf(task, context, { options, vac, principal, protocol, log, record, turn })
      await writeAnswer(answer, context, turn)
    } catch (err) {
      await turn.stop(context.stop)
      // the run was cancelled, or another worker executes it: no more event of this attempt is accepted
      if (context.stop.aborted || isTaskError(err)) throw err
      record.failed(err)
      failed(err)
      await writeFailure(err, requestId, context, log, turn)
    } finally {
      stopLooking?.()
      turn.end()
      record.end('run answered', 'run not answered')
    }
  })
}

interface Running {
  readonly options: RunnerOptions
  readonly vac: string
  readonly principal: Principal | undefined
  readonly protocol: string
  readonly log: Log
  readonly record: CallRecord
  readonly turn: Turn
}

async function answerOf (task: TaskRecord, context: TaskContext, { options, vac: name, principal, protocol, log, record, turn }: Running): Promise<Answer> {
  const vac = vacsFor(options.vacs, principal, log).get(name)
  const { question, history: sent, extra, timeoutMs = options.timeoutMs, isWhole, appends = false } = task.input as RunInput
  const { steps } = task.metadata as unknown as RunMetadata
  const turns = task.messages.map(toTurn)
  const reply = task.turn === 0 ? undefined : turns.pop()
  const stored = await turn.history()
  const earlier: readonly ChatTurn[] = stored !== undefined
    // the turns of this run are in the stored ones, too; system messages are not stored
    ? withStored(sent, stored.turns, appends && task.turn === 0)
    : reply === undefined ? sent : [...sent, { role: 'user', content: question }, ...turns]
  const writer = new AnswerWriter(context, task.progress)
  const call: PlacedCall = {
    question: reply?.content ?? question,
    history: earlier,
    extra: withRunTurn(withRunMemory({ ...extra, runId: task.id, attempt: context.attempt }, taskMemory(task, context)), task),
    conversation: contextOf(task),
    signal: context.stop,
    timeoutMs,
    log,
    principal,
    protocol,
    steps: steps ?? turn.steps,
    onStep: step => {
      turn.add(step)
      // a failure to write comes again with the end
      if (steps !== undefined) writer.write(step)?.catch(() => {})
    }
  }
  try {
    if (isWhole && vac.asksOnce !== false) {
      const answer = record.answered(await vac.ask({ ...call, onProgress: progress => { writer.write(progress)?.catch(() => {}) } }))
      await writer.write(answer.answer)
      return turn.withHistory(answer)
    }
    const answer = await writeStream(vac.stream(call), writer, { record, turn, showsSteps: steps !== undefined })
    if (answer === undefined) throw new VacInvalidResultError(JSON.stringify(name), 'no answer at all')
    return turn.withHistory(answer)
  } finally {
    if (!context.stop.aborted) await writer.flush()
    writer.end()
  }
}

async function writeAnswer (answer: Answer, context: TaskContext, turn: Turn): Promise<void> {
  // the interpreter is done; the run only waits for the store
  releaseContext()
  const asked = askedBack(answer)
  const state = asked === undefined ? 'completed' as const : `${asked.kind}-required` as const
  const answered = turn.answered(answer)
  if (isLargeJson(answer)) await yieldToEventLoop()
  await context.emit({ state, artifact: { name: ANSWER, content: answer }, usage: usageOf(answer) }, answered)
}

async function writeFailure (err: unknown, requestId: string, context: TaskContext, log: Log, turn: Turn): Promise<void> {
  const { status, body: { error: { code, message } } } = failureOf(err, { id: requestId, headers: {} })
  if (status >= 500) log.error({ err, code }, 'a run failed')
  const failure: StoredFailure = { status, code, message, requestId }
  await context.emit({ state: 'failed', error: { code, message }, artifact: { name: FAILURE, content: failure } }, turn.failed(failure))
}
