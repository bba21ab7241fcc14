import type { Answer } from '@polyvac/core'
import { askedBack, isLargeJson, isRecord, releaseContext, usageOf, yieldToEventLoop, type Skill } from '@polyvac/core/plugin'
import type { DataPart, TaskContext, TaskUpdate, TextPart, TurnAnswer } from '@polyvac/tasks'
import { randomUUID } from 'node:crypto'
import { artifactsOf } from './artifacts.js'
import { messageText, unsaid } from './message-text.js'

interface EndingRun {
  readonly skill: Skill
  readonly context: TaskContext
  /** Makes what the turn of the conversation keeps of the answer. */
  readonly turn: { answered (answer: Answer): TurnAnswer | undefined }
}

/**
 * Ends the run according to the answer: with `artifact` besides the artifacts of the interpreter, with a message
 * instead, with a request for input or an authorization, or as rejected.
 * @param streamed the text that was streamed: it is in the messages already
 */
export async function finish ({ skill: { vac }, context, turn }: EndingRun, answer: Answer, artifact: NonNullable<TaskUpdate['artifact']>, streamed?: string): Promise<string> {
  // the interpreter is done; the run only waits for the store
  releaseContext()
  const { answer: text, rejected, as_message: isMessage } = answer
  const usage = usageOf(answer)
  const answered = turn.answered(answer)
  const request = askedBack(answer)
  if (request !== undefined) {
    const state = `${request.kind}-required` as const
    const { sign_in: signIn, input_schema: inputSchema, choices, approval } = answer
    const form = inputSchema === undefined && choices === undefined ? [] : [{ type: 'data' as const, data: { input_schema: inputSchema, choices, approval } }]
    // the address as data also comes where the text was streamed
    const data = isRecord(signIn) ? [{ type: 'data' as const, data: { signIn } }] : form
    const question = unsaid(messageText(answer), streamed)
    const parts = question === '' ? data : [{ type: 'text' as const, text: question }, ...data]
    const message = parts.length === 0 ? undefined : agentMessage(parts)
    await context.emit({ state, usage, ...message === undefined ? {} : { message } }, answered)
    return state
  }
  if (rejected === true) {
    const message = text.trim() === '' ? 'the VAC declined' : text
    await context.emit({ state: 'rejected', usage, error: { code: 'VAC_REJECTED', message } }, answered)
    return 'rejected'
  }
  if (isMessage === true) {
    const rest = unsaid(text, streamed)
    const message = rest === '' && streamed !== undefined ? {} : { message: agentMessage([{ type: 'text', text: rest }]) }
    await context.emit({ state: 'completed', usage, ...message }, answered)
    return 'completed'
  }
  const artifacts = answer.artifacts === undefined ? [] : artifactsOf(vac.name, answer.artifacts)
  const hasText = text.trim() !== '' || artifacts.length === 0
  const last = hasText ? artifact : artifacts.pop()
  if (isLargeJson(last)) await yieldToEventLoop()
  await context.emit([...artifacts.map(artifact => ({ artifact })), { state: 'completed', artifact: last, usage }], answered)
  return 'completed'
}

function agentMessage (parts: ReadonlyArray<TextPart | DataPart>): NonNullable<TaskUpdate['message']> {
  return { id: randomUUID(), role: 'agent', parts }
}
