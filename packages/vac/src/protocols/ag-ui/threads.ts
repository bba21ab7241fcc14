import type { Conversation, ConversationTurn, Run, Vac } from '@polyvac/core'
import { BodyWithHeaders, EVENT_STREAM, type ChatRequest, type Followed } from '../../protocol.js'
import { readFrameId } from '../../chat/frame-cursor.js'
import { readTurnId, turnId } from '../../chat/turn-id.js'
import { interruptOf, type AgUiEvent, type AnswerHead } from './events.js'
import { AnswerFrames, frame, started, textOf, type Writing } from './frames.js'
import type { Input } from './input.js'
import { questionId, snapshotEvents, toUiMessages, turnMessages, type Message } from './messages.js'

/** What a run keeps of a request, besides its question. */
export interface Notes {
  readonly threadId: string
  readonly runId: string
  /** The id of the message of the user; undefined for an answer that came without one. */
  readonly messageId?: string | undefined
  readonly callsTools?: true | undefined
}

/** What is asked for, whatever the route. */
export interface Wanted {
  readonly vac: Vac
  readonly threadId: string
  readonly runId: string
  readonly is1: boolean
  readonly questions: AnswerHead['questions']
  /** The messages that the client has. */
  readonly input: Pick<Input, 'messages'>
}

const OPEN = ['queued', 'running', 'input_required']

/** What a turn of a run keeps; its turns have been asked over this protocol or over another one. */
export function notesOf (run: Run, turn = run.turn): Partial<Notes> {
  return run.asked[turn]?.notes as Notes | undefined ?? {}
}

/** The id of the turn that a message of an answer is of; undefined for any other. */
export function turnOfMessage (id: string | undefined): string | undefined {
  const [turn = ''] = id?.split(':', 1) ?? []
  return readTurnId(turn) === undefined ? undefined : turn
}

export function headOf ({ cite }: ChatRequest, { vac, threadId, runId, is1, questions }: Wanted): Omit<AnswerHead, 'id' | 'callsTools'> {
  return { vac, threadId, runId, is1, questions, cite }
}

/** The latest run of a thread, with what was asked. */
export async function latestRun (request: ChatRequest, vac: Vac, threadId: string): Promise<Run | undefined> {
  const latest = request.keepsRuns ? await request.runs.latest(vac.name, threadId) : undefined
  return latest && await request.runs.find(vac.name, latest.run.id)
}

/** The turn that a request with this id has asked for. @param latest the latest run of its thread */
export async function turnOfRequest (request: ChatRequest, vac: Vac, runId: string, latest: Run | undefined): Promise<{ readonly run: Run, readonly turn: number } | undefined> {
  // one that answers a question is a turn of the run that has asked
  const answered = latest === undefined ? -1 : latest.asked.findLastIndex((_asked, turn) => notesOf(latest, turn).runId === runId)
  if (latest !== undefined && answered !== -1) return { run: latest, turn: answered }
  const run = request.keepsRuns ? await request.runs.named(vac.name, runId) : undefined
  return run && { run, turn: Math.max(0, run.asked.findLastIndex((_asked, turn) => notesOf(run, turn).runId === runId)) }
}

/**
 * Reads a turn of a run: what a reader with a cursor lacks, or the messages until now and what follows.
 * @param offset the cursor of a reader that begins at the first event without it
 */
export async function followTurn (request: ChatRequest, wanted: Wanted, { run, turn }: { readonly run: Run, readonly turn: number }, offset?: string): Promise<Followed> {
  const { vac, input } = wanted
  const { threadId = wanted.threadId, callsTools = false } = notesOf(run, turn)
  const head: AnswerHead = { ...headOf(request, { ...wanted, threadId }), callsTools, id: turnId({ id: run.id, turn }) }
  const { 'last-event-id': eventId = offset, 'x-run-id': isTanStack } = request.headers
  const has = typeof eventId === 'string' ? readFrameId(eventId) : undefined
  const base = await messagesBefore(request, wanted, run, turn)
  const writing: Writing = { base, has, comesBack: offset !== undefined || isTanStack !== undefined }
  const frames = new AnswerFrames(head, writing)
  if (has !== undefined || offset !== undefined) return { vac, id: run.id, after: 0, turn, format: frames.format }
  const after = await frames.skip(async add => await request.runs.replay({ id: run.id, turn }, add), input)
  return { vac, id: run.id, after, turn, format: { ...frames.format, isLatest: false } }
}

async function messagesBefore (request: ChatRequest, wanted: Wanted, run: Run, turn: number): Promise<Message[]> {
  const { input: { messages: sent } } = wanted
  const stored = await conversationOf(request, wanted.vac, run.conversation)
  const before = stored?.turns.findIndex(({ id }) => id === turnId({ id: run.id, turn })) ?? -1
  const last = sent.findLastIndex(({ role }) => role === 'user')
  // where nothing is stored, the client has the messages
  if (stored === undefined || before === -1) return [...sent.slice(0, last + 1)] as unknown as Message[]
  const { messageId = questionId(turnId({ id: run.id, turn })) } = notesOf(run, turn)
  return [...messagesOf(request, wanted, stored.turns.slice(0, before)), { id: messageId, role: 'user', content: run.asked[turn]!.question }]
}

function messagesOf (request: ChatRequest, wanted: Wanted, turns: readonly ConversationTurn[]): Message[] {
  const head = { ...headOf(request, wanted), callsTools: false }
  return turns.flatMap(turn => turnMessages(turn, head))
}

/** A thread with its latest turns; undefined where the caller has none. */
export async function conversationOf (request: ChatRequest, vac: Vac, id: string, before?: string): Promise<Conversation | undefined> {
  return request.keepsConversations ? await found(request.conversations.get(vac.name, id, before)) : undefined
}

/** Undefined for a conversation that its caller does not have. */
export async function found<T> (conversation: Promise<T>): Promise<T | undefined> {
  try {
    return await conversation
  } catch (err) {
    if ((err as { code?: unknown }).code === 'CONVERSATION_NOT_FOUND') return undefined
    throw err
  }
}

/** The events of an answer that needs no VAC. */
export function bodyOf (events: readonly AgUiEvent[]): BodyWithHeaders {
  return new BodyWithHeaders(textOf(events.map(event => frame(event))), { 'content-type': EVENT_STREAM, 'cache-control': 'no-cache', 'x-accel-buffering': 'no' })
}

/** The messages of a thread, then the run that has not ended. A thread that is not there has no events. */
export async function connectThread (request: ChatRequest, wanted: Wanted): Promise<Followed | BodyWithHeaders> {
  const { vac, threadId, input } = wanted
  const run = await latestRun(request, vac, threadId)
  if (run !== undefined && OPEN.includes(run.state)) {
    const { runId = run.id } = notesOf(run)
    return await followTurn(request, { ...wanted, runId }, { run, turn: run.turn })
  }
  const stored = await conversationOf(request, vac, threadId)
  if (stored === undefined) return bodyOf([])
  const { runId = wanted.runId } = run === undefined ? {} : notesOf(run)
  return bodyOf([started({ ...wanted, runId }), ...snapshotEvents(messagesOf(request, wanted, stored.turns), input), { type: 'RUN_FINISHED', threadId, runId }])
}

/** A thread as TanStack AI begins with it. What runs is not among its messages: the client follows it. */
export async function hydrateThread (request: ChatRequest, wanted: Wanted, before?: string): Promise<object> {
  const { vac, threadId } = wanted
  const [run, stored] = [await latestRun(request, vac, threadId), await conversationOf(request, vac, threadId, before)]
  const { runId = run?.id } = run === undefined ? {} : notesOf(run)
  const isOpen = run !== undefined && run.state !== 'input_required' && OPEN.includes(run.state)
  const pending = run?.state === 'input_required' && run.answer !== undefined ? interruptOf({ ...wanted, id: turnId(run) }, run.answer) : undefined
  const cursor = stored?.hasEarlier === true ? stored.turns[0]?.id : undefined
  return {
    messages: toUiMessages(messagesOf(request, wanted, stored?.turns ?? [])),
    activeRun: isOpen ? { runId } : null,
    interrupts: pending === undefined ? null : { runId, pending: [pending] },
    page: cursor === undefined ? { truncated: false } : { truncated: true, cursor }
  }
}

/** Cancels the run of a thread, unless another one is meant. Returns whether there was one. */
export async function stopThread (request: ChatRequest, vac: Vac, threadId: string, runId: string | undefined): Promise<boolean> {
  const latest = await latestRun(request, vac, threadId)
  const meant = runId === undefined || runId === latest?.id ? latest && { run: latest, turn: latest.turn } : await turnOfRequest(request, vac, runId, latest)
  if (meant === undefined || meant.turn !== meant.run.turn || !OPEN.includes(meant.run.state)) return false
  return (await request.runs.cancel(vac.name, meant.run.id)).state === 'cancelled'
}
