import type { Authenticate, Conversations, Log } from '@polyvac/core'
import { callerOfFields, CallRecord, currentCaller, findSkill, skillFailure, traceTask, vacsFor, type ExposedVacs, type Skill } from '@polyvac/core/plugin'
import { isTaskError, ownerOfKey, type TaskHandler, type TaskRecord } from '@polyvac/tasks'
import { Turn } from '../conversation/turn.js'
import type { Run, TaskProblem } from './run.js'

/** What a protocol calls the failures that its callers see. */
export interface TaskProtocol {
  /** For logs, metrics and `extra.protocol`. */
  readonly name: string
  /** Why a task cannot run for a caller that may use these VACs; undefined: it can. It must refuse an unknown skill. */
  readonly problemOf: (vacs: ExposedVacs, task: TaskRecord) => TaskProblem | undefined
  /** The error of a task whose credential was removed before it began. */
  readonly credentialEnded: TaskProblem
  /** The code of a failure that has none for callers. */
  readonly failure: Pick<TaskProblem, 'code'>
}

/** The log of an application. */
interface ParentLog extends Log { child (fields: object): Log }

export interface RunnerOptions {
  readonly protocol: TaskProtocol
  readonly vacs: ExposedVacs
  /** Keep the turns that tasks are. Default: none are kept. */
  readonly conversations?: Conversations | undefined
  /** Reads the credential of a task again when it starts. */
  readonly authenticate?: Authenticate | undefined
  readonly log: ParentLog
  /** Key of the request id in log lines, as the application names it. */
  readonly idLabel: string
}

/** Runs a task to its end, and writes that into its log. Resolves to the state that it ends in. */
export type Execute = (run: Run) => Promise<string>

/**
 * Executes tasks whose skill names the VAC: with the rights that their caller has now, a log, a measurement and a trace
 * of each. A task that may not run, and one whose `execute` throws, fails with an error that callers may read.
 */
export function taskRunner (options: RunnerOptions, execute: Execute): TaskHandler {
  const { protocol, idLabel } = options
  return (task, context) => traceTask({ skill: task.skill, attempt: context.attempt, metadata: task.metadata }, async failed => {
    const owner = ownerOfKey(task.owner)
    // who sent it, or answered its last question
    const maker = callerOfFields(owner, task.metadata.caller ?? task.metadata)
    const principal = currentCaller(options.authenticate, maker)
    const turn = new Turn(options.conversations, task, context.attempt, task.metadata, owner)
    const isEnded = maker !== undefined && principal === undefined
    const problem = isEnded ? protocol.credentialEnded : protocol.problemOf(vacsFor(options.vacs, principal, options.log), task)
    if (problem !== undefined) {
      failed(problem)
      await context.emit({ state: 'failed', error: problem }, turn.failed(problem))
      return
    }
    const skill = findSkill(options.vacs, task.skill) as Skill
    const log = options.log.child({ taskId: task.id, owner, [idLabel]: task.metadata.requestId })
    const { vac, kind } = skill
    const record = new CallRecord({ vac: vac.name, protocol: protocol.name, skill: kind, attempt: context.attempt }, log)
    try {
      record.outcome = await execute({ skill, task, principal, context, log, record, turn, protocol: protocol.name })
    } catch (err) {
      await turn.stop(context.stop)
      // the task was canceled, or another worker runs it: no more event of this attempt is accepted
      if (context.stop.aborted || isTaskError(err)) throw err
      record.failed(err)
      failed(err)
      // the cause goes only to the log
      log.error({ err, vac: vac.name }, 'a task failed')
      const error = { ...protocol.failure, ...skillFailure(err, vac.name, `the task id ${task.id}`) }
      await context.emit({ state: 'failed', error }, turn.failed(error))
    } finally {
      turn.end()
      record.end('task run')
    }
  })
}
