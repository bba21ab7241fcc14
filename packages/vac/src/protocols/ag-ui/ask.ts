import { randomUUID } from 'node:crypto'
import type { Run, RunTurn, Vac } from '@polyvac/core'
import { askedBack, InvalidRequestError, isRecord } from '@polyvac/core/protocol'
import { unreadMsOf } from '../../chat/limits.js'
import { readTurnId, turnId } from '../../chat/turn-id.js'
import { turnFile } from '../../chat/question-file.js'
import { InterruptNotOpenError } from '../../errors.js'
import { mayCallTools } from '../../openai/tool-calls.js'
import type { Asked, AskReply, ChatRequest } from '../../protocol.js'
import { cancelled, type AnswerHead } from './events.js'
import { AnswerFrames, started } from './frames.js'
import { readInput, readResume, type Input, type Resume } from './input.js'
import { questionId, type Message } from './messages.js'
import type { RunInput } from './schemas.js'
import { bodyOf, conversationOf, followTurn, found, headOf, latestRun, notesOf, turnOfMessage, turnOfRequest, type Notes, type Wanted } from './threads.js'

export interface AgUiOptions {
  readonly questions?: 'interrupt' | 'text' | undefined
  readonly unread_timeout?: number | undefined
}

/** A request for a run: it asks, it answers a question of the interpreter, or it reads a run that is there. */
interface Running extends Wanted {
  readonly request: ChatRequest
  readonly body: RunInput
  readonly input: Input
  readonly options: AgUiOptions
}

/** What is asked for by a request. */
export function wantedOf (vac: Vac, body: RunInput, { questions = 'interrupt' }: AgUiOptions): Wanted & { readonly input: Input } {
  const { threadId, runId, protocolVersion, messages } = body
  return { vac, threadId, runId, is1: isSince1(protocolVersion), questions, input: readInput(messages, vac.takes ?? []) }
}

function isSince1 (version: unknown): boolean { return typeof version === 'string' && /^[1-9]/.test(version) }

export async function runAgent (request: ChatRequest, vac: Vac, body: RunInput, options: AgUiOptions): Promise<AskReply> {
  const running: Running = { ...wantedOf(vac, body, options), request, body, options }
  const { runId, threadId } = running
  const resume = readResume(body.resume)
  if (!request.keepsRuns) return unkept(running, resume)
  const open = await openInterrupt(running, resume)
  if (open !== undefined) return open
  const latest = await latestRun(request, vac, threadId)
  const known = await turnOfRequest(request, vac, runId, latest)
  if (known !== undefined) return await followTurn(request, running, known)
  // what is cancelled and is not open any more does not keep its user from asking
  if (resume.some(({ isCancelled }) => !isCancelled)) return stale(running)
  const waiting = latest ?? await answeredRun(running)
  if (waiting?.state === 'input_required' && isReply(running.input, waiting)) return asked(running, { previous: waiting, messageId: running.input.id })
  return asked(running, await placeOf(running, latest))
}

/** Without runs a question is not open here: the answer to it is asked about with the messages before. */
function unkept (running: Running, [resume]: readonly Resume[]): Asked {
  const { input } = running
  if (resume?.text === undefined || resume.isCancelled) return asked(running, {})
  const history = input.question === '' ? input.history : [...input.history, { role: 'user' as const, content: input.question }]
  return asked({ ...running, input: { ...input, question: resume.text, history } }, {})
}

/** The thread of a turn, also of one that was asked over another protocol. */
function threadOf (run: Run, turn = run.turn): string { return notesOf(run, turn).threadId ?? run.conversation }

/** What a request does that answers or cancels an open question; undefined for any other. */
async function openInterrupt (running: Running, resume: readonly Resume[]): Promise<AskReply | undefined> {
  const { request, vac, runId, threadId, input } = running
  const [{ id, isCancelled, text } = {} as Partial<Resume>, ...others] = resume
  const place = id === undefined ? undefined : readTurnId(id)
  const run = place && await request.runs.find(vac.name, place.id)
  if (place === undefined || run === undefined || threadOf(run, place.turn) !== threadId) return undefined
  if (run.state !== 'input_required' || run.turn !== place.turn) {
    // the same request again
    const isAnswered = isCancelled !== true && notesOf(run, place.turn + 1).runId === runId
    return isAnswered ? await followTurn(request, running, { run, turn: place.turn + 1 }) : undefined
  }
  if (others.length > 0) return stale(running)
  if (isCancelled !== true) return asked(withAnswer(running, text ?? (isReply(input, run) ? input.question : '')), { previous: run, messageId: text === undefined ? input.id : undefined })
  await request.runs.cancel(vac.name, run.id)
  if (isReply(input, run)) return asked(running, await placeOf(running, run))
  return bodyOf([started(running), running.is1 ? cancelled(running, '') : { type: 'RUN_FINISHED', threadId, runId }])
}

/** The run whose answer comes before the question: a thread of a caller without an identity is known only by it. */
async function answeredRun ({ request, vac, threadId, input: { answer } }: Running): Promise<Run | undefined> {
  const place = readTurnId(turnOfMessage(answer?.id) ?? '')
  const run = place && await request.runs.find(vac.name, place.id)
  return run !== undefined && run.turn === place!.turn && threadOf(run) === threadId ? run : undefined
}

function withAnswer (running: Running, question: string): Running {
  return { ...running, input: { ...running.input, question, files: question === running.input.question ? running.input.files : [] } }
}

function stale (running: Running): AskReply {
  const { message, code } = new InterruptNotOpenError()
  return bodyOf([started(running), { type: 'RUN_ERROR', message, code }])
}

/** Whether the last message of the user comes after the question that a run waits with, and is not an earlier one. */
function isReply ({ question, id, answer }: Input, run: Run): boolean {
  if (question === '') return false
  const isEarlier = run.asked.some((asked, turn) => {
    const { messageId } = notesOf(run, turn)
    return messageId === undefined || id === undefined ? asked.question === question : messageId === id
  })
  if (isEarlier) return false
  // without an answer before it, the new message came without the others
  return answer === undefined || turnOfMessage(answer.id) === turnId(run) || answer.text.includes(askedBack(run.answer ?? {})?.text ?? answer.text)
}

/**
 * Where a question comes. Answers to interrupts are not among the messages of their clients, so the answer before the
 * question counts, which has the id of its turn. A single message stands for the first one if it has its id.
 * @param latest the latest run of the thread
 */
async function placeOf ({ request, vac, threadId, input: { count, id, answer } }: Running, latest: Run | undefined): Promise<Pick<Place, 'replaces' | 'history'>> {
  if (!request.keepsConversations || latest === undefined) return {}
  const after = turnOfMessage(answer?.id)
  if (after !== undefined) {
    if (after === turnId(latest)) return { history: [] }
    const { turns = [], hasEarlier = false } = await conversationOf(request, vac, threadId) ?? {}
    const place = turns.findIndex(({ id }) => id === after)
    if (place === -1 || hasEarlier) return {}
    return { history: [...turns.slice(0, place + 1).map(({ question }) => ({ role: 'user' as const, content: question })), ...answer!.since] }
  }
  if (count !== 1 || id === undefined) return {}
  const [first] = (await found(request.conversations.turns(vac.name, threadId, { order: 'asc', limit: 1 })))?.turns ?? []
  const turn = first && readTurnId(first.id)
  const run = turn && await request.runs.find(vac.name, turn.id)
  return first !== undefined && (id === questionId(first.id) || (run !== undefined && notesOf(run, turn!.turn).messageId === id)) ? { replaces: 'next' } : {}
}

interface Place {
  /** The run whose question is answered. */
  readonly previous?: RunTurn | undefined
  readonly replaces?: Asked['replaces']
  /** What was said before, where the messages do not show it. */
  readonly history?: Asked['history']
  readonly messageId?: string | undefined
}

/** @throws BAD_REQUEST for a blank question */
function asked (running: Running, { previous, replaces, history = running.input.history, messageId = previous === undefined ? running.input.id : undefined }: Place): Asked {
  const { request, vac, body, input, threadId, runId, options } = running
  const { question, files, messages } = input
  if (question === '') throw new InvalidRequestError([{ path: 'body/messages', message: 'needs a message of the user that is not blank' }])
  const takes = vac.takes ?? []
  const callsTools = mayCallTools(body as Readonly<Record<string, unknown>>, takes)
  const notes: Notes = { threadId, runId, messageId, ...callsTools && { callsTools } }
  const head: AnswerHead = { ...headOf(request, running), callsTools, id: randomUUID() }
  const last = messages.findLastIndex(({ role }) => role === 'user')
  const base = messages.slice(0, last + 1) as unknown as Message[]
  const { format } = new AnswerFrames(head, { base, comesBack: request.headers['x-run-id'] !== undefined })
  return {
    vac,
    question,
    history,
    ...files.length > 0 && { files: files.map(turnFile) },
    extra: { ...isRecord(body.forwardedProps) && body.forwardedProps, request: requestOf(body, takes, messages), files: files.length > 0 ? files : undefined },
    steps: true,
    isKept: true,
    ...previous !== undefined ? { previous: { id: previous.id, turn: previous.turn } } : request.keepsConversations && { conversation: threadId, sendsAll: true, replaces },
    other: 'supersede',
    runKey: previous === undefined ? runId : undefined,
    notes,
    unreadMs: unreadMsOf(options, request.keeps(threadId)),
    identify: run => { head.id = turnId(run) },
    format
  }
}

/** What the interpreter gets as `extra.request`: the members that it takes. */
function requestOf (body: RunInput, takes: readonly string[], messages: Input['messages']): object {
  const { tools, context, state } = body
  return {
    ...takes.includes('tools') && { tools: tools ?? [], messages },
    ...takes.includes('context') && { context: context ?? [] },
    ...takes.includes('state') && { state: state ?? null }
  }
}
