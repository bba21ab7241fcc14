import type { Answer, Step } from '@polyvac/core'
import { queryResult, searchMemory, streamResult, type MemorySearchInput } from '@polyvac/core/plugin'
import type { TaskHandler, TaskRecord, TaskStore } from '@polyvac/tasks'
import { ARTIFACTS } from '../outcome/artifact-names.js'
import { finish } from '../outcome/finish.js'
import { isMessage, messageText } from '../outcome/message-text.js'
import type { Run } from './run.js'
import { AnswerWriter, streamAnswer } from './stream-answer.js'
import { taskRunner, type RunnerOptions } from './task-runner.js'
import { shownSteps, vacCallOf, type CallOptions } from './vac-call.js'

export interface SkillOptions extends RunnerOptions, CallOptions {}

/**
 * Executes tasks by the kind of their skill: a question, a streamed answer or a search of a memory. The end of a task
 * is artifacts, a message, a request for input or an authorization, or a rejection.
 */
export function skillRunner (options: SkillOptions): TaskHandler {
  return taskRunner(options, async run => {
    const { kind } = run.skill
    return await (kind === 'memory' ? searchInMemory : kind === 'stream' ? streamTask : askOnce)(run, options)
  })
}

async function askOnce (run: Run, options: SkillOptions): Promise<string> {
  const { skill, task, context, record, turn } = run
  const call = await vacCallOf(run, options)
  const writer = shownSteps(task) === undefined ? undefined : new AnswerWriter(context, task.progress)
  const onStep = (step: Step): void => {
    turn.add(step)
    // a failure to write comes again with the end of the task
    writer?.write(step)?.catch(() => {})
  }
  const answer = turn.withHistory(record.answered(await skill.vac.ask(call.steps === undefined ? call : { ...call, onStep })))
  await writer?.flush()
  return await finish(run, answer, { name: ARTIFACTS.query, content: queryResult(withoutArtifacts(answer)) })
}

async function streamTask (run: Run, options: SkillOptions): Promise<string> {
  return await streamAnswer(run, await vacCallOf(run, options), (answer, writer) => endStream(run, answer, writer, options.tasks))
}

async function endStream (run: Run, answer: Answer, writer: AnswerWriter, tasks: TaskStore): Promise<string> {
  const { chars } = writer
  const endsAsMessage = isMessage(answer)
  // what becomes a message of the task is not an artifact as well
  if (chars === 0 && !endsAsMessage) await writer.add(answer.answer)
  await writer.flush()
  let streamed = chars === 0 || !endsAsMessage ? undefined : await streamedText(tasks, run.task, chars) ?? answer.answer
  const said = messageText(answer)
  if (streamed !== undefined && said.startsWith(streamed)) {
    await writer.add(said.slice(streamed.length))
    await writer.flush()
    streamed = said
  }
  return await finish(run, answer, { name: ARTIFACTS.stream, content: streamResult(withoutArtifacts(answer)) }, streamed)
}

async function searchInMemory ({ skill, task, principal, context }: Run, { timeoutMs }: SkillOptions): Promise<string> {
  const content = await searchMemory(skill.vac, task.input as MemorySearchInput, { signal: context.signal, timeoutMs, owner: principal?.owner })
  await context.emit({ state: 'completed', artifact: { name: ARTIFACTS.memory, content } })
  return 'completed'
}

/** The text that this attempt has streamed; undefined where the record does not keep all of it. */
async function streamedText (tasks: TaskStore, { owner, id }: TaskRecord, chars: number): Promise<string | undefined> {
  const text = (await tasks.get(owner, id))?.messages.at(-1)?.parts[0]?.text
  return text?.length === chars ? text : undefined
}

/** The answer without the parts that become separate artifacts. */
function withoutArtifacts (answer: Answer): Answer {
  if (answer.artifacts === undefined) return answer
  const { artifacts: _artifacts, ...rest } = answer
  return rest
}
