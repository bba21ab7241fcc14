import { isRecord } from '@polyvac/core/plugin'
import { type InputResponse, isResponseTo, type ServerRequest } from '@polyvac/mcp-protocol'
import type { TaskRecord } from '@polyvac/tasks'

/** The artifact that holds what a task asked in one turn, a `Turn`. */
export const QUESTIONS = 'questions'

export interface Asked { readonly key: string, readonly question: ServerRequest }

/** What a task asked in one turn, by name on the wire, and what the tool wants to know again in the next. */
export interface Turn { readonly asked: Readonly<Record<string, Asked>>, readonly state?: string | undefined }

/** What a task has asked and been answered so far, under the names that clients see. */
export interface Dialogue {
  readonly asked: ReadonlyMap<string, Asked>
  /** The questions without an answer. A client sees these alone. */
  readonly open: ReadonlyMap<string, Asked>
  /** The answers under the tool's own keys. */
  readonly answers: Readonly<Record<string, InputResponse>>
  /** What the tool gave to its last `ask`. */
  readonly state: string | undefined
}

export function dialogueOf ({ artifacts, messages }: Pick<TaskRecord, 'artifacts' | 'messages'>): Dialogue {
  const asked = new Map<string, Asked>()
  let state: string | undefined
  for (const { name, content } of artifacts) {
    if (name !== QUESTIONS) continue
    const turn = content as Turn
    for (const [wire, one] of Object.entries(turn.asked)) asked.set(wire, one)
    state = turn.state ?? state
  }
  const given: Record<string, unknown> = {}
  for (const { role, parts } of messages) {
    if (role === 'user') for (const { text } of parts) Object.assign(given, JSON.parse(text ?? '{}'))
  }
  const open = new Map<string, Asked>()
  const answers: Record<string, InputResponse> = {}
  for (const [wire, one] of asked) {
    const answer = given[wire]
    if (isRecord(answer)) answers[one.key] = answer
    else open.set(wire, one)
  }
  return { asked, open, answers, state }
}

/** Questions under names that this task has not had yet: a key that is asked again gets a number. */
export function nameQuestions (questions: Readonly<Record<string, ServerRequest>>, { asked }: Dialogue): Record<string, Asked> {
  const named: Record<string, Asked> = {}
  for (const [key, question] of Object.entries(questions)) {
    let wire = key
    for (let again = 2; asked.has(wire); again++) wire = `${key}-${again}`
    named[wire] = { key, question }
  }
  return named
}

/** Those of a client's answers that open questions wait for; others do not count. The second are of the wrong form. */
export function sortAnswers (given: Readonly<Record<string, unknown>>, { open }: Dialogue): { readonly fit: Record<string, InputResponse>, readonly unfit: string[] } {
  const fit: Record<string, InputResponse> = {}
  const unfit: string[] = []
  for (const [wire, answer] of Object.entries(given)) {
    const one = open.get(wire)
    if (one === undefined) continue
    if (isResponseTo(one.question, answer)) fit[wire] = answer
    else unfit.push(wire)
  }
  return { fit, unfit }
}
