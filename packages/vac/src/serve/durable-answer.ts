import { isAnswer, isStep, type Answer, type Run, type RunItem, type Runs, type Step } from '@polyvac/core'
import { collectStep, conversationHeader, stepsFor } from '@polyvac/core/plugin'
import { joinTexts } from '@polyvac/core/protocol'
import { createHash } from 'node:crypto'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { CUT, type Asked, type Followed, type StreamFormat, type WholeFormat } from '../protocol.js'
import { callerOf, requireRuns } from './caller-runs.js'
import { cut, sendFrames } from './send-frames.js'
import type { Served } from './served.js'

/**
 * Whether the answer of a question is a run: its request asks for one, is kept in a conversation, or may be repeated.
 * Without runs a key means nothing, as in services that do not know the header.
 */
export function isDurable ({ runs }: Served, request: FastifyRequest, { background, conversation, store, isKept }: Asked): boolean {
  return background !== undefined || (conversation !== undefined && store !== false) || (runs !== undefined && (isKept === true || keyOf(request) !== undefined))
}

/**
 * Answers a request with a run: in the background, or in the format of the question. A question with a key goes on when
 * its reader leaves, since its repetition reads it, and so does one of a protocol whose clients come back; any other is
 * cancelled then, as a call would be.
 */
export async function answerDurably (served: Served, request: FastifyRequest, reply: FastifyReply, asked: Asked): Promise<object | undefined> {
  const runs = requireRuns(served)
  const caller = callerOf(served, request)
  const { vac, question, files, history, extra, timeoutMs = served.timeoutMs, format, conversation, sendsAll, replaces, store, background, previous, notes, runKey, other = 'refuse' } = asked
  const goesOn = asked.unreadMs !== undefined
  const unreadMs = asked.unreadMs === Infinity ? undefined : asked.unreadMs
  const key = runKey ?? keyOf(request)
  const steps = stepsFor(vac.config, asked.steps === true, () => caller.isAdmin)
  const open = served.streams.begin(reply)
  const { signal } = open
  try {
    const { run, isNew, settle } = await runs.start(caller, {
      vac,
      question,
      files,
      history,
      extra,
      timeoutMs,
      protocol: served.protocol.name,
      requestId: request.id,
      isWhole: 'toBody' in format,
      conversation,
      sendsAll,
      replaces,
      store,
      previous,
      notes,
      steps,
      unreadMs,
      key: key === undefined ? undefined : { name: key, request: digestOf(request), isId: runKey === undefined ? undefined : true },
      other
    })
    reply.header('x-conversation-id', conversationHeader(run.conversation))
    asked.identify?.(run)
    if (background !== undefined) {
      reply.code(background.status ?? 202).header('location', request.server.prefix + background.toPath(run))
      return background.toBody(run)
    }
    reply.header('x-run-id', run.id)
    try {
      if ('toBody' in format && format.add === undefined && steps === undefined) return format.toBody(answerOf(await settle(signal), signal), undefined)
      const isExact = 'toBody' in format ? format.add !== undefined : format.isExact === true
      const isLatest = 'isLatest' in format && format.isLatest === true
      const reading = isExact || isLatest ? { isExact, isLatest, turn: run.turn } : undefined
      const items = runs.follow(caller, vac.name, run.id, 0, signal, reading)
      if ('toBody' in format) return await wholeBody(items, format, signal)
      await sendItems(served, request, reply, { run: run.id, items, format, signal })
      return undefined
    } finally {
      if (signal.aborted && key === undefined && !goesOn && isNew) await runs.cancel(caller, vac.name, run.id)
    }
  } finally {
    open.end()
  }
}

/** The body of an answer with its steps. */
async function wholeBody (items: AsyncIterable<RunItem>, { toBody, add }: WholeFormat, signal: SentItems['signal']): Promise<object> {
  const steps: Step[] = []
  for await (const item of items) {
    // those of the attempt before do not belong to this answer
    if ('restart' in item) steps.length = 0
    else if (typeof item.chunk !== 'string' && isAnswer(item.chunk)) return toBody(item.chunk, steps)
    add?.('restart' in item ? item : item.chunk)
    if ('restart' in item) continue
    if (isStep(item.chunk)) collectStep(steps, item.chunk)
  }
  throw signal.reason
}

/** Sends a run from a cursor on. */
export async function followRun (served: Served, request: FastifyRequest, reply: FastifyReply, { vac, id, after, turn, readsAll, format }: Followed): Promise<void> {
  const runs: Runs = requireRuns(served)
  const open = served.streams.begin(reply)
  const { signal } = open
  try {
    const { isExact, isLatest } = format
    const items = runs.follow({ ...callerOf(served, request), readsAll }, vac?.name, id, after, signal, turn === undefined ? undefined : { turn, isExact, isLatest })
    await sendItems(served, request, reply, { run: id, items, format, signal, hasCursor: turn === undefined })
  } finally {
    open.end()
  }
}

interface SentItems {
  /** The id of the run. */
  readonly run: string
  readonly items: AsyncIterable<RunItem>
  readonly format: StreamFormat
  readonly signal: Parameters<Runs['follow']>[4]
  /** Whether the frames have cursors. */
  readonly hasCursor?: boolean
}

async function sendItems (served: Served, request: FastifyRequest, reply: FastifyReply, { run, items, format, signal, hasCursor = false }: SentItems): Promise<void> {
  const { encode, restart, closing, notesEnd } = format
  const { raw } = reply
  await sendFrames(served, request, reply, untilLeft(items, signal), {
    format,
    signal,
    encode: item => {
      if (item === LEFT) return closing?.() ?? cut(raw)
      const seq = hasCursor || format.isLatest === true ? item.seq : undefined
      if (!('restart' in item)) return encode(item.chunk, seq)
      const text = restart === undefined ? joinTexts([encode('\n\n', seq)]) : restart(seq, item.seq)
      return text === CUT ? cut(raw) : text
    }
  })
  if (notesEnd !== true || signal.aborted || raw.destroyed) return
  try {
    await requireRuns(served).noteEnd(callerOf(served, request), run)
  } catch (err) {
    // its reader gets the end again
    request.log.warn({ err }, 'that a reader has got the end of a run could not be noted')
  }
}

const LEFT = Symbol('left')

/** The items, then LEFT where the closing service leaves the reader: a proper end would be that of the run. */
async function * untilLeft (items: AsyncIterable<RunItem>, signal: SentItems['signal']): AsyncGenerator<RunItem | typeof LEFT, void> {
  yield * items
  if (signal.aborted) yield LEFT
}

/** The answer of a run that has settled. @throws its error; the reason of the signal where the reader left before */
function answerOf ({ answer, error }: Run, signal: SentItems['signal']): Answer {
  if (answer !== undefined) return answer
  throw error ?? signal.reason
}

function keyOf ({ headers }: FastifyRequest): string | undefined {
  const { 'idempotency-key': key } = headers
  return key === '' ? undefined : key as string | undefined
}

/** What a repeated request has in common with the first one. */
function digestOf ({ body, routeOptions: { url }, params }: FastifyRequest): string {
  return createHash('sha256').update(JSON.stringify([url, params, body])).digest('base64url')
}
