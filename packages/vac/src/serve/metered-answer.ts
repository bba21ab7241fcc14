import type { Answer, Chunk, Principal, Step, StepView } from '@polyvac/core'
import { CallRecord, collectStep, followsStored, mayAdminister, placeOf, stepsFor, withStored, type AbortSignalLike, type PlacedCall, type Text } from '@polyvac/core/plugin'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Asked, StreamFormat, WholeFormat } from '../protocol.js'
import { callerConversations } from './caller-runs.js'
import { answerDurably, isDurable } from './durable-answer.js'
import { sendFrames } from './send-frames.js'
import type { Served } from './served.js'

/** So long a refusal, such as one for lack of capacity, is an ordinary error of an event stream, too. */
const OPEN_AFTER_MS = 50

/**
 * Answers a request with a VAC in the format of the question: resolves with the body, or with undefined once the stream
 * is sent. The answer is aborted when the client disconnects or the application closes. The call is logged in one line.
 */
export function meterAnswer (served: Served, request: FastifyRequest, reply: FastifyReply, asked: Asked): Promise<object | undefined> {
  if (isDurable(served, request, asked)) return answerDurably(served, request, reply, asked)
  if (asked.conversation === undefined && asked.previous === undefined) return answerNow(served, request, reply, asked)
  return withStoredTurns(served, request, asked).then(asked => answerNow(served, request, reply, asked))
}

// The functions that a call may need are made by other functions: here each of them would cost a short call memory.
async function answerNow (served: Served, request: FastifyRequest, reply: FastifyReply, asked: Asked): Promise<object | undefined> {
  // field by field: on Node.js 20 two spread objects cost a short call a fifth of its time
  const { vac, question, history, extra, timeoutMs = served.timeoutMs, format, conversation } = asked
  const protocol = served.protocol.name
  const principal = served.principalOf(request)
  const open = served.streams.begin(reply)
  const record = new CallRecord({ vac: vac.name, protocol, principal }, request.log)
  const steps = stepsSeen(request, asked, principal)
  const taken: Step[] | undefined = steps && []
  const onProgress = 'toBody' in format ? format.add : undefined
  const onStep = taken && stepTaker(taken, onProgress)
  const call: PlacedCall = { question, history, extra, conversation, timeoutMs, signal: open.signal, protocol, principal, log: request.log, place: placeOf(request), steps, onStep, onProgress }
  let answer: Answer
  try {
    if (!('toBody' in format)) {
      await streamAnswer(served, request, reply, format, vac.stream(call), open.signal, record)
      return undefined
    }
    answer = record.answered(await vac.ask(call))
  } catch (err) {
    throw record.failed(err)
  } finally {
    open.end()
    record.end('answered', 'not answered')
  }
  return format.toBody(answer, taken)
}

function stepsSeen (request: FastifyRequest, { vac, steps }: Asked, principal: Principal | undefined): StepView | undefined {
  return stepsFor(vac.config, steps === true, () => mayAdminister(request, principal))
}

function stepTaker (taken: Step[], add: WholeFormat['add']): (step: Step) => void {
  return step => {
    collectStep(taken, step)
    add?.(step)
  }
}

function streamAnswer (served: Served, request: FastifyRequest, reply: FastifyReply, format: StreamFormat, chunks: AsyncIterable<Chunk>,
  signal: AbortSignalLike, record: CallRecord): Promise<void> {
  const encode = (chunk: Chunk): Text => {
    record.chunk(chunk)
    return format.encode(chunk)
  }
  return sendFrames(served, request, reply, chunks, { format, signal, encode, openAfterMs: OPEN_AFTER_MS, onFailure: err => record.failed(err) })
}

/** A question that is not kept, with the turns of its conversation as its history. */
async function withStoredTurns (served: Served, request: FastifyRequest, asked: Asked): Promise<Asked> {
  const { vac, question, history, conversation, sendsAll, previous } = asked
  const appends = followsStored(asked)
  const { turns } = await callerConversations(served, request).historyFor({ vac: vac.name, question, conversation, sent: appends ? [] : history, sendsAll, after: previous })
  if (turns.length === 0) return asked
  return { ...asked, history: withStored(history, turns, appends) }
}
