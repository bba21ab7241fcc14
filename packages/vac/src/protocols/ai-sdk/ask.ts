import { randomUUID } from 'node:crypto'
import type { Run, RunTurn, Vac } from '@polyvac/core'
import { InvalidRequestError, isRecord, joinTexts, type Text } from '@polyvac/core/protocol'
import { unreadMsOf } from '../../chat/limits.js'
import { FrameCursor, readFrameId } from '../../chat/frame-cursor.js'
import { turnFile } from '../../chat/question-file.js'
import { readTurnId, turnId } from '../../chat/turn-id.js'
import { EVENT_STREAM, type Asked, type ChatRequest, type Followed, type StreamFormat } from '../../protocol.js'
import { MessageWriter, turnOfCall, type MessageHead, type WriterOptions } from './frames.js'
import { readInput, type CardReply, type ChatInput } from './input.js'
import { textFormat } from './text.js'
import type { ChatBody } from './schemas.js'

/** Earlier turns of a message that its reader gets again. */
const MAX_BEFORE = 16
/** Longest id of a message of a client that goes on. */
const MAX_MESSAGE_ID_CHARS = 256

export interface AiSdkOptions {
  readonly version: 5 | 6 | 7
  readonly unread_timeout?: number | undefined
}

/** What a run keeps of a question whose answer goes on with an earlier message. */
interface ChatNotes {
  /** The id of the message. */
  readonly message: string
  readonly reply?: CardReply
  /** The turns that are in it already. */
  readonly before: readonly RunTurn[]
}

type Request = Omit<ChatRequest, 'body' | 'params' | 'query'>
type AskRequest = Request & { readonly body: ChatBody, readonly params: { readonly vector_name: string }, readonly query: { readonly protocol?: string } }
type ResumeRequest = Request & { readonly params: { readonly vector_name: string, readonly id: string }, readonly query: { readonly protocol?: string, readonly startIndex?: number } }

/** The question of a request, and the format of its answer. */
export async function toAsked (request: AskRequest, { version, ...options }: AiSdkOptions): Promise<Asked> {
  const { body, params, query, keepsRuns, keepsConversations } = request
  const vac = request.vac(params.vector_name)
  const takes = vac.takes ?? []
  const input = readInput(body, takes)
  const { question, history, files, isAgain, isWhole, reply } = input
  const { id, messages, message: _message, prompt: _prompt, trigger, messageId, tools, ...fields } = body as ChatBody & { readonly tools?: unknown }
  const extra: Readonly<Record<string, unknown>> = fields
  const chat = id == null || id === '' ? undefined : id
  const isKept = keepsRuns && extra.store !== false && (chat !== undefined || messages != null)
  const previous = keepsRuns ? await waitingRun(request, vac, chat, input) : undefined
  const notes = await notesOf(request, vac, { chat, input, previous })
  const turn = randomUUID()
  const callsTools = takes.includes('tools') && tools != null
  const head: MessageHead = { id: notes?.message ?? input.message ?? turn, turn, goesOn: (notes?.message ?? input.message) !== undefined, reply: notes?.reply ?? (keepsRuns ? undefined : reply), vac: vac.name, callsTools }
  return {
    vac,
    question,
    history,
    ...files.length > 0 && { files: files.map(turnFile) },
    extra: {
      ...extra,
      request: { trigger: trigger ?? 'submit-message', message_id: messageId ?? undefined, ...takes.length > 0 && { messages: messages ?? undefined }, ...tools != null && { tools } },
      files: files.length > 0 ? files : undefined
    },
    steps: true,
    isKept,
    store: extra.store === false ? false : undefined,
    conversation: keepsConversations ? chat : undefined,
    sendsAll: true,
    replaces: isAgain ? await placeOf(request, vac, { chat, question, isWhole }) : undefined,
    other: 'supersede',
    previous,
    notes,
    unreadMs: isKept ? unreadMsOf(options, request.keeps(chat)) : undefined,
    identify: run => { identify(head, run, notes) },
    format: formatOf(request, query, head, { version, isExact: true })
  }
}

/** A run as its reader reads it again; undefined where there is nothing to read. */
export async function toFollowed (request: ResumeRequest, { version }: AiSdkOptions): Promise<Followed | undefined> {
  const { params, query, headers, keepsRuns } = request
  const vac = request.vac(params.vector_name)
  if (!keepsRuns) return undefined
  const { runs } = request
  const { startIndex } = query
  const has = readFrameId(String(headers['last-event-id'] ?? ''))
  const found = await runs.latest(vac.name, params.id)
  const isCounted = startIndex !== undefined && query.protocol !== 'text'
  if (found === undefined || (found.isRead && has === undefined && !isCounted)) return undefined
  const run = await runs.find(vac.name, found.run.id)
  if (run === undefined) return undefined
  const notes = notesIn(run)
  const head: MessageHead = { id: '', turn: '', goesOn: notes !== undefined, reply: notes?.reply, vac: vac.name }
  identify(head, run, notes)
  const place = { vac, id: run.id, after: 0, turn: run.turn }
  if (isCounted) {
    const frames = startIndex < 0 ? await countFrames(request, head, run, version) : 0
    const cursor = new FrameCursor(undefined, startIndex < 0 ? Math.max(0, frames + startIndex) : startIndex)
    return { ...place, format: formatOf(request, query, head, { version, cursor, isCounted, isExact: true, tail: startIndex < 0 ? frames - 1 : undefined }) }
  }
  const before = notes === undefined || has !== undefined ? '' : await earlierTurns(request, vac, notes, version)
  return { ...place, format: formatOf(request, query, head, { version, cursor: new FrameCursor(has), hasOpening: has !== undefined && has.begun > 0, before }) }
}

interface FormatOptions extends Omit<WriterOptions, 'cite'> {
  /** The number of the last frame until now. */
  readonly tail?: number | undefined
  readonly isExact?: boolean
}

function formatOf (request: Request & { vac: ChatRequest['vac'] }, { protocol }: { readonly protocol?: string }, head: MessageHead, { tail, isExact, ...options }: FormatOptions): StreamFormat {
  const writer = writerOf(request, head, options)
  const events: StreamFormat = {
    type: EVENT_STREAM,
    open: () => writer.open(),
    encode: chunk => writer.add(chunk),
    restart: (_seq, at) => writer.restart(at),
    toFailure: failure => [...writer.fail(failure)].join('')
  }
  const format = protocol === 'text' ? textFormat() : events
  return Object.defineProperty({ ...format, notesEnd: true, isExact, isLatest: options.isCounted !== true }, 'headers', { enumerable: true, get: () => headersOf(head, format, tail) }) as StreamFormat
}

function headersOf ({ run }: MessageHead, { type }: StreamFormat, tail: number | undefined): Readonly<Record<string, string>> {
  return {
    ...type === EVENT_STREAM && { 'x-vercel-ai-ui-message-stream': 'v1' },
    ...run !== undefined && { 'x-workflow-run-id': run, 'x-resumable-stream-id': run },
    ...tail !== undefined && { 'x-workflow-stream-tail-index': String(tail) }
  }
}

function writerOf (request: Request, head: MessageHead, options: Omit<WriterOptions, 'cite'>): MessageWriter {
  return new MessageWriter(head, { ...options, cite: answer => request.cite(request.vac(head.vac), answer) })
}

function identify (head: MessageHead, run: Run, notes: ChatNotes | undefined): void {
  head.run = run.id
  head.turn = turnId(run)
  head.id = notes?.message ?? head.turn
}

/** Frames of a run until now. */
async function countFrames (request: Request, head: MessageHead, { id, turn }: Run, version: AiSdkOptions['version']): Promise<number> {
  const writer = writerOf(request, head, { version, isCounted: true })
  writer.open()
  const failure = await request.runs.replay({ id, turn }, item => { typeof item !== 'string' && 'restart' in item ? writer.restart() : writer.add(item) })
  if (failure !== undefined) writer.fail(failure)
  return writer.count
}

/** The frames of the turns that are in the message already: a client replaces the whole message. */
async function earlierTurns (request: Request, vac: Vac, { before }: ChatNotes, version: AiSdkOptions['version']): Promise<Text> {
  const texts: Text[] = []
  for (const { id, turn } of before) {
    const run = await request.runs.find(vac.name, id)
    if (run === undefined) continue
    const earlier = notesIn(run, turn)
    const head: MessageHead = { id: '', turn: turnId({ id, turn }), run: id, goesOn: earlier !== undefined, reply: earlier?.reply, vac: vac.name }
    const begin = (): MessageWriter => writerOf(request, head, { version, isInner: true })
    let writer = begin()
    // @keyed none: it lives for one request, and has the items of one turn
    let frames = [writer.open() as Text]
    await request.runs.replay({ id, turn }, item => {
      if (typeof item === 'string' || !('restart' in item)) frames.push(writer.add(item))
      else {
        writer = begin()
        frames = [writer.open()]
      }
    })
    texts.push(...frames)
  }
  return joinTexts(texts)
}

/**
 * The run that waits for the reply of a request: the one that a card names, or for a text the latest of the chat.
 * @throws BAD_REQUEST for a card whose question is not open
 */
async function waitingRun ({ runs }: Request, { name }: Vac, chat: string | undefined, { reply, isAgain }: ChatInput): Promise<RunTurn | undefined> {
  if (isAgain) return undefined
  if (reply !== undefined) {
    const place = readTurnId(turnOfCall(reply.call) ?? '')
    const run = place && await runs.find(name, place.id)
    if (run?.state === 'input_required' && run.turn === place?.turn) return place
    throw new InvalidRequestError([{ path: 'body/messages', message: 'answers a question that is not open; send a message of the user instead' }])
  }
  const run = chat === undefined ? undefined : (await runs.latest(name, chat))?.run
  return run?.state === 'input_required' ? { id: run.id, turn: run.turn } : undefined
}

/** What is kept of a question whose answer goes on with a message; undefined for any other question. */
async function notesOf (request: Request, { name }: Vac, { chat, input: { message, reply }, previous }: { readonly chat: string | undefined, readonly input: ChatInput, readonly previous: RunTurn | undefined }): Promise<ChatNotes | undefined> {
  if (!request.keepsRuns || message === undefined || message === '' || message.length > MAX_MESSAGE_ID_CHARS) return undefined
  const { runs } = request
  const id = previous?.id ?? (chat === undefined ? undefined : (await runs.latest(name, chat))?.run.id)
  const run = id === undefined ? undefined : await runs.find(name, id)
  if (run === undefined) return { message, before: [] }
  const notes = notesIn(run)
  const turn = { id: run.id, turn: run.turn }
  const stored = notes?.message ?? turnId(turn)
  if (reply === undefined) return { message, before: stored === message ? [...notes?.before ?? [], turn].slice(-MAX_BEFORE) : [] }
  return { message: stored, reply, before: [...notes?.before ?? [], turn].slice(-MAX_BEFORE) }
}

function notesIn ({ asked, turn: present }: Run, turn = present): ChatNotes | undefined {
  const notes = asked[turn]?.notes
  return isRecord(notes) && typeof notes.message === 'string' && Array.isArray(notes.before) ? notes as unknown as ChatNotes : undefined
}

/** The place of a question that is asked again, where the request shows it. */
async function placeOf (request: Request, { name }: Vac, { chat, question, isWhole }: { readonly chat: string | undefined, readonly question: string, readonly isWhole: boolean }): Promise<Asked['replaces']> {
  if (isWhole) return 'next'
  if (chat === undefined || !request.keepsConversations) return undefined
  try {
    const { turns: [last] } = await request.conversations.turns(name, chat, { order: 'desc', limit: 1 })
    return last?.question.trim() === question ? 'last' : undefined
  } catch (err) {
    if ((err as { code?: unknown }).code === 'CONVERSATION_NOT_FOUND') return undefined
    throw err
  }
}
