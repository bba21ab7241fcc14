import { effect, signal } from '@preact/signals'
import { callTool, type Call, type Outcome, type Question } from './client.js'

/** A call that waits for its caller. Only the caller that began it may resume it, so this tab keeps it. */
export interface PendingCall {
  readonly call: Call
  readonly questions: Readonly<Record<string, Question>>
  readonly requestState: string
  readonly since: number
}

const KEY = 'polyvac.questions'
const MAX_PENDING = 50

function stored (): readonly PendingCall[] {
  try {
    const kept: unknown = JSON.parse(sessionStorage.getItem(KEY) ?? '[]')
    return Array.isArray(kept) ? kept : []
  } catch {
    return []
  }
}

/** The calls of this tab that wait for an answer, the oldest first; a reload keeps them. */
export const pending = signal(stored())
effect(() => {
  try {
    sessionStorage.setItem(KEY, JSON.stringify(pending.value))
  } catch { /* a storage that is full keeps the earlier calls */ }
})

/** Calls a tool. Where it asks something, the call waits in `pending`. */
export async function startCall (call: Call, signal?: AbortSignal): Promise<Outcome> {
  return park(call, await callTool(call, {}, signal))
}

/** Resumes a call: `accept` with the content of the form, or `decline`. */
export async function answerCall (waiting: PendingCall, action: 'accept' | 'decline', content: Readonly<Record<string, unknown>> = {}): Promise<Outcome> {
  const { call, questions, requestState } = waiting
  const inputResponses = Object.fromEntries(Object.entries(questions).map(([key, { method }]) => [key,
    method === 'elicitation/create' ? { action, ...action === 'accept' && { content: content[key] ?? {} } } : content[key] ?? {}]))
  try {
    return park(call, await callTool(call, { requestState, inputResponses }))
  } finally {
    pending.value = pending.value.filter(({ requestState: other }) => other !== requestState)
  }
}

function park (call: Call, outcome: Outcome): Outcome {
  if ('questions' in outcome) pending.value = [...pending.value, { call, ...outcome, since: Date.now() }].slice(-MAX_PENDING)
  return outcome
}
