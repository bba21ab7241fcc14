import { isRecord } from '@polyvac/core/plugin'
import {
  isResponseTo,
  type InputRequests, type InputResponse, type InputResponses, type ServerRequest
} from '@polyvac/mcp-protocol'
import type { TaskRecord } from '@polyvac/tasks'

/** The name of the artifact with the questions of one run, a `Turn`. */
export const QUESTIONS = 'questions'

/** A question, with the key that the tool gave it. */
export interface Question { readonly key: string, readonly question: ServerRequest }

/** The questions of one run, by the names that clients see, and the state for the next run. Stored as JSON. */
export interface Turn { readonly asked: Readonly<Record<string, Question>>, readonly state?: string | undefined }

/** The questions of a task so far and their answers. */
export interface Dialogue {
  /** All questions, by the names that clients see. */
  readonly asked: ReadonlyMap<string, Question>
  /** Those without an answer: clients see only these. */
  readonly open: ReadonlyMap<string, Question>
  /** The answers by the tool's keys. */
  readonly answers: InputResponses
  /** The state that the tool passed to its last `ask`. */
  readonly state: string | undefined
}

export function dialogueOf ({ artifacts, messages }: Pick<TaskRecord, 'artifacts' | 'messages'>): Dialogue {
  const asked = new Map<string, Question>()
  let state: string | undefined
  for (const { name, content } of artifacts) {
    if (name !== QUESTIONS) continue
    const turn = content as Turn
    for (const [id, question] of Object.entries(turn.asked)) asked.set(id, question)
    state = turn.state ?? state
  }
  const given: Record<string, unknown> = {}
  for (const { role, parts } of messages) {
    if (role === 'user') for (const { text } of parts) Object.assign(given, JSON.parse(text ?? '{}'))
  }
  const open = new Map<string, Question>()
  const answers: Record<string, InputResponse> = {}
  for (const [id, question] of asked) {
    const answer = given[id]
    if (isRecord(answer)) answers[question.key] = answer
    else open.set(id, question)
  }
  return { asked, open, answers, state }
}

/** Questions by names that are new to this task: a key that is asked again gets a number. */
export function nameQuestions (questions: InputRequests, { asked }: Dialogue): Record<string, Question> {
  const named: Record<string, Question> = {}
  for (const [key, question] of Object.entries(questions)) {
    let id = key
    for (let count = 2; asked.has(id); count++) id = `${key}-${count}`
    named[id] = { key, question }
  }
  return named
}

/** The answers to open questions; other answers are ignored. `unfit` names those of the wrong form. */
export function sortAnswers (
  given: Readonly<Record<string, unknown>>, { open }: Dialogue
): { readonly fit: Record<string, InputResponse>, readonly unfit: string[] } {
  const fit: Record<string, InputResponse> = {}
  const unfit: string[] = []
  for (const [id, answer] of Object.entries(given)) {
    const question = open.get(id)
    if (question === undefined) continue
    if (isResponseTo(question.question, answer)) fit[id] = answer
    else unfit.push(id)
  }
  return { fit, unfit }
}
