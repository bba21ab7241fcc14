import type { Answer, AnsweredTurn, Progress, Runs, Step, StepView, Vac } from '@polyvac/core'
import {
  askedBack, CallRecord, encodeChunk, placedMemory, queryResult, questionOf, searchMemory, skillFailure, sourceLines, stepsFor, streamResult, streamSettings, usageOf, withRunTurn,
  type ByKind, type MemorySearchInput, type MemorySearchResult, type PlacedCall, type QueryInput, type Skill, type StreamInput
} from '@polyvac/core/plugin'
import { STEPS, USAGE } from '@polyvac/mcp-protocol'
import { randomUUID } from 'node:crypto'
import type { CallContext, TaskBeginning, ToolResult as Result } from '../tool-source.js'
import { askInConversation, beginTurn, conversationProblem } from './vac-conversation.js'
import { askForReply, canReply, historyOf, questionTurn, readTurns, type DialogueTurn } from './vac-dialogue.js'
import { VacProgress } from './vac-progress.js'
import { sourceLinks } from './vac-uri.js'

/** Times that an interpreter may ask back in one call. */
export const MAX_REPLIES = 10

type Args = Readonly<Record<string, unknown>>

export interface SkillOptions {
  readonly timeoutMs: number
  readonly runs: Runs | undefined
}

/** Calls a skill of a VAC. A failure of the interpreter is a result with `isError`: code, reason and remedy. */
export async function callSkill (skill: Skill, args: Args, context: CallContext, { timeoutMs, runs }: SkillOptions): Promise<Result> {
  const { name } = skill.vac
  const { task, principal } = context
  const isInConversation = skill.kind !== 'memory' && args.conversation_id !== undefined
  // the run has a record
  if (isInConversation && task === undefined) return await answerInConversation(skill, args as QueryInput & StreamInput, context, { timeoutMs, runs })
  const turn = isInConversation && task !== undefined ? await runs?.answeredTurn(task, task.metadata) : undefined
  const record = new CallRecord({ vac: name, protocol: 'mcp', skill: skill.kind, principal, taskId: task?.id, attempt: task?.attempt }, context.log)
  try {
    const result = skill.kind === 'memory'
      ? await search(skill, args as MemorySearchInput, context, timeoutMs)
      : await converse(skill, args as QueryInput & StreamInput, context, timeoutMs, record, turn)
    record.outcome = result.isError === true ? 'failed' : 'completed'
    return result
  } finally {
    record.end('tool call')
  }
}

/** The turn that the question of a call which becomes a task is; a result refuses it. */
export async function beginTask (skill: Skill, args: Args, context: CallContext, runs: Runs | undefined): Promise<TaskBeginning | Result> {
  const { conversation_id: conversation } = args
  if (skill.kind === 'memory' || conversation === undefined) return {}
  const asked = { ...questionOf(args as QueryInput & StreamInput), conversation: conversation as string }
  const problem = conversationProblem(runs, skill, asked)
  if (problem !== undefined) return failed(problem)
  try {
    return await beginTurn(runs!, skill, asked, context)
  } catch (err) {
    return failure(err, skill, context)
  }
}

/** Asks the VAC, and again with the caller's reply whenever it asks back; in a conversation the reply is a call. */
async function converse (
  skill: Skill, args: QueryInput & StreamInput, context: CallContext, defaultMs: number, record: CallRecord, turn: AnsweredTurn | undefined
): Promise<Result> {
  const { signal, log, principal, place, task } = context
  const { question, history: sent, extra: { conversation_id: named, ...given } } = questionOf(args)
  const conversation = task?.contextId ?? String(named)
  const extra = task === undefined ? given : withRunTurn({ ...given, taskId: task.id, attempt: task.attempt }, task)
  const history = (await turn?.history())?.turns ?? sent
  const timeoutMs = timeoutOf(skill, args, defaultMs)
  const progress = new VacProgress(context)
  const onProgress = (report: Progress): void => { progress.report(report)?.catch(() => {}) }
  const takeStep = (step: Step): Promise<void> | undefined => {
    turn?.add(step)
    return progress.step(step)
  }
  const onStep = (step: Step): void => { takeStep(step)?.catch(() => {}) }
  const steps = stepsOf(skill.vac, context) ?? turn?.steps
  const call = { extra, conversation: turn === undefined ? undefined : conversation, signal, timeoutMs, log, principal, onProgress, onStep, steps, protocol: 'mcp' as const, place }
  const run = skill.kind === 'stream' ? streamer(skill, progress, takeStep, record) : async (call: PlacedCall) => record.answered(await skill.vac.ask(call))
  let turns: readonly DialogueTurn[] = readTurns(context)
  for (;;) {
    if (turns.length > 0) {
      const reply = await askForReply(turns, context)
      if (reply === undefined) return declined(skill, turns)
      turns = [...turns, { role: 'user', content: reply }]
    }
    const last = turns.at(-1)?.content ?? question
    let answer: Answer
    try {
      answer = await run({ ...call, question: last, history: [...history, ...historyOf(turns.slice(0, -1))] })
    } catch (err) {
      const problem = problemOf(err, skill, context)
      await turn?.fail(problem)
      return failed(problem)
    }
    if (turn !== undefined) {
      answer = turn.withHistory(answer)
      await turn.answer(answer)
      return conversationResult(skill, answer, String(named), conversation)
    }
    const asked = askedBack(answer)
    // a user signs in elsewhere: credentials must not come as a reply
    if (asked?.kind !== 'input') return resultOf(skill, answer)
    const before: readonly DialogueTurn[] = turns.length === 0 ? [{ role: 'user', content: question }] : turns
    const next: readonly DialogueTurn[] = [...before, questionTurn(asked.text, answer)]
    if (next.length > 2 * MAX_REPLIES || !canReply(next, context)) return resultOf(skill, answer)
    turns = next
  }
}

async function answerInConversation (skill: Skill, args: QueryInput & StreamInput, context: CallContext, { timeoutMs, runs }: SkillOptions): Promise<Result> {
  const { question, history, extra: { conversation_id: conversation, ...extra } } = questionOf(args)
  const steps = stepsOf(skill.vac, context)
  const asked = { conversation: conversation as string, question, history, extra, timeoutMs: timeoutOf(skill, args, timeoutMs), steps }
  const problem = conversationProblem(runs, skill, asked)
  if (problem !== undefined) return failed(problem)
  try {
    const { answer, conversation: id } = await askInConversation(runs!, skill, asked, context, new VacProgress(context))
    return conversationResult(skill, answer, asked.conversation, id)
  } catch (err) {
    return failure(err, skill, context)
  }
}

/** @param named the id that the caller sent @param id that of the conversation */
function conversationResult (skill: Skill, answer: Answer, named: string, id: string): Result {
  const { content, structuredContent, ...result } = resultOf(skill, answer, true)
  // models may read the text only
  const next = id === named ? [] : [{ type: 'text', text: `(conversation_id of the next question: ${id})` }]
  return { ...result, content: [...content, ...next], structuredContent: { ...structuredContent as object, conversation_id: id } }
}

/** Asks for a stream and sends its text as progress. A caller that reads slowly slows the interpreter down. */
function streamer (
  { vac }: Skill, progress: VacProgress, step: (step: Step) => Promise<void> | undefined, record: CallRecord
): (call: PlacedCall) => Promise<Answer> {
  return async call => {
    let answer: Answer | undefined
    const table: ByKind<Promise<void> | undefined> = {
      text: text => progress.text(text),
      // clients join the messages of this tool to the text, so what an interpreter reports has none
      progress: chunk => progress.report({ progress: chunk.progress }),
      answer: chunk => { answer = chunk; return undefined },
      tool_call: step,
      tool_result: step,
      span: step,
      reasoning: step,
      source: step,
      data: step,
      file: step
    }
    for await (const chunk of vac.stream(call)) {
      record.chunk(chunk)
      await encodeChunk(table, chunk)
      if (answer !== undefined) return answer
    }
    throw new Error('the stream of a VAC ended without an answer')
  }
}

function timeoutOf ({ kind }: Skill, args: unknown, defaultMs: number): number {
  const { timeout } = kind === 'stream' ? streamSettings(args) : {}
  return timeout === undefined ? defaultMs : timeout * 1000
}

/** What the caller sees of steps, which come with progress: only where it asks for that. */
function stepsOf ({ config }: Vac, context: CallContext): StepView | undefined {
  const { meta } = context
  // a task has no connection
  if (meta?.progressToken === undefined || context.mayAdminister === undefined) return undefined
  return stepsFor(config, meta[STEPS] === true, () => context.mayAdminister!())
}

/** What a caller does next about a question in a result. */
const NEXT_STEP = {
  input: '(To answer, call this tool again: the answer as `query`, and this exchange in `chat_history`.)',
  auth: '(Once that is done, call this tool again, with this exchange in `chat_history`.)'
} as const
/** The same in a conversation. */
const NEXT_TURN = {
  input: '(To answer, call this tool again in this conversation, with the answer as `query`.)',
  auth: '(Once that is done, call this tool again in this conversation.)'
} as const

/** The result for an answer. It contains the question of a VAC that asks back if the caller cannot be asked now. */
function resultOf ({ kind, vac }: Skill, answer: Answer, inConversation = false): Result {
  const asked = askedBack(answer)
  const lines = sourceLines(answer)
  const usage = usageOf(answer)
  const text = [
    asked !== undefined && answer.answer !== asked.text ? `${answer.answer}\n\n${asked.text}` : answer.answer,
    ...asked === undefined ? [] : [(inConversation ? NEXT_TURN : NEXT_STEP)[asked.kind]],
    ...lines.length > 0 ? [`Sources:\n${lines.join('\n')}`] : []
  ].join('\n\n')
  return {
    content: [{ type: 'text', text }, ...sourceLinks(vac, answer.source_documents)],
    ...usage === undefined ? {} : { _meta: { [USAGE]: usage } },
    structuredContent: kind === 'stream' ? streamResult(answer) : queryResult(answer)
  }
}

async function search (
  skill: Skill, args: MemorySearchInput, context: CallContext, timeoutMs: number
): Promise<Result> {
  let found: MemorySearchResult
  try {
    found = await searchMemory(placedMemory(skill.vac, context.place), args, { signal: context.signal, timeoutMs, owner: context.principal?.owner })
  } catch (err) {
    return failure(err, skill, context)
  }
  const documents = found.results.map(({ content, metadata }) => ({ page_content: content, metadata }))
  const lines = sourceLines({ source_documents: documents })
  const passages = found.results.map(({ content, score }, i) => `${lines[i] ?? ''}  (${score.toFixed(2)})\n${content}`)
  const nothing = found.best_score === undefined
    ? 'Nothing matches.'
    : `Nothing is as similar as ${found.similarity_threshold}: the best has ${found.best_score.toFixed(2)}; a lower similarity_threshold finds more.`
  const text = passages.length === 0 ? nothing : passages.join('\n\n')
  return { content: [{ type: 'text', text }, ...sourceLinks(skill.vac, documents)], structuredContent: found }
}

function declined ({ vac }: Skill, turns: readonly DialogueTurn[]): Result {
  const message = `the VAC ${JSON.stringify(vac.name)} needs an answer; it asked: ${turns.at(-1)?.content ?? ''}`
  return failed({ code: 'MCP_INPUT_DECLINED', message })
}

function failure (...args: Parameters<typeof problemOf>): Result { return failed(problemOf(...args)) }

/** @throws err if the caller aborted the call: it does not wait for a result */
function problemOf (err: unknown, { vac }: Skill, context: CallContext): { readonly code: string, readonly message: string } {
  if (context.signal.aborted) throw err
  const callId = randomUUID()
  context.log.error({ err, vac: vac.name, owner: context.principal?.owner, callId }, 'a tool call failed')
  return { code: 'VAC_FAILED', ...skillFailure(err, vac.name, `the call id ${callId}`) }
}

function failed ({ code, message }: { readonly code: string, readonly message: string }): Result {
  return { content: [{ type: 'text', text: `${code}: ${message}` }], isError: true }
}
