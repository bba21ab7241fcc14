import { isAnswer, isStep, type Answer, type BegunTurn, type RunCaller, type Runs, type StepView } from '@polyvac/core'
import { InvalidArgumentsError, type Skill } from '@polyvac/core/plugin'
import { randomUUID } from 'node:crypto'
import { RunsNotConfiguredError } from '../errors.js'
import type { CallContext } from '../tool-source.js'
import type { VacProgress } from './vac-progress.js'

export interface ConversationQuestion {
  readonly conversation: string
  readonly question: string
  /** Turns that the caller has sent. */
  readonly history: readonly unknown[]
  readonly extra: Readonly<Record<string, unknown>>
  readonly timeoutMs: number
  readonly steps: StepView | undefined
}

/** Why a question cannot be one of a conversation; undefined: it can. */
export function conversationProblem (runs: Runs | undefined, { name }: Skill, { history }: Pick<ConversationQuestion, 'history'>): Error & { readonly code: string } | undefined {
  if (runs === undefined) return new RunsNotConfiguredError()
  if (history.length > 0) return new InvalidArgumentsError(name, 'arguments/chat_history is ambiguous next to conversation_id, whose turns are the history; leave one of them out')
  return undefined
}

/** Makes the question of a call that becomes a task a turn. @throws CONVERSATION_NOT_FOUND, CONVERSATIONS_NOT_KEPT */
export async function beginTurn (runs: Runs, { vac }: Skill, { question, conversation }: Pick<ConversationQuestion, 'question' | 'conversation'>, context: CallContext): Promise<BegunTurn> {
  return await runs.beginTurn(callerOf(context), { vac, question, conversation })
}

/**
 * Asks a question of a conversation: the answer is a run, whose progress and steps are sent, and which is cancelled
 * when the caller leaves.
 * @throws CONVERSATION_NOT_FOUND, CONVERSATIONS_NOT_KEPT, and the error of the run
 */
export async function askInConversation (
  runs: Runs, { kind, vac }: Skill, asked: ConversationQuestion, context: CallContext, progress: VacProgress
): Promise<{ readonly answer: Answer, readonly conversation: string }> {
  const { conversation, question, extra, timeoutMs, steps } = asked
  const { signal } = context
  const caller = callerOf(context)
  const isWhole = kind === 'query'
  const { run } = await runs.start(caller, { vac, question, history: [], extra, timeoutMs, protocol: 'mcp', requestId: randomUUID(), isWhole, conversation, steps })
  let isOver = false
  try {
    for await (const item of runs.follow(caller, vac.name, run.id, 0, signal)) {
      if ('restart' in item) {
        // text cannot be taken back
        if (!isWhole) await progress.text('\n\n')
      } else {
        const { chunk } = item
        if (typeof chunk === 'string') {
          if (!isWhole) await progress.text(chunk)
        } else if (isAnswer(chunk)) {
          isOver = true
          return { answer: chunk, conversation: run.conversation }
        } else if (isStep(chunk)) await progress.step(chunk)
        // clients join the messages of a stream to its text
        else await progress.report(isWhole ? chunk : { progress: chunk.progress })
      }
    }
    throw signal.reason
  } finally {
    if (!isOver && signal.aborted) await runs.cancel(caller, vac.name, run.id)
  }
}

function callerOf (context: CallContext): RunCaller {
  const { principal } = context
  const isAdmin = context.mayAdminister?.() === true
  return { principal, isLocal: principal === undefined && isAdmin, isAdmin }
}
