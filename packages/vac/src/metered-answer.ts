import { isAnswer, type Answer, type Chunk, type Principal, type Protocol, type Vac, type VacCall } from '@polyvac/core'
import type { AbortSignalLike, OpenStreams, Text } from '@polyvac/core/plugin'
import type { FastifyReply, FastifyRequest } from 'fastify'

/** One question of a request to a VAC. */
export interface Question {
  readonly vac: Vac
  readonly protocol: Protocol
  readonly question: string
  readonly history: VacCall['history']
  readonly extra: Record<string, unknown>
  readonly timeoutMs: number
  readonly principal: Principal | undefined
}

/**
 * Answers a request with a VAC: `send` sends the answer. The answer is aborted when the client disconnects or the
 * application closes. The call is logged in one line.
 */
export async function meterAnswer<T> (streams: OpenStreams, request: FastifyRequest, reply: FastifyReply,
  asked: Question, send: (vac: MeteredVac, signal: AbortSignalLike) => Promise<T>): Promise<T> {
  // field by field: on Node.js 20 two spread objects cost a short call a fifth of its time
  const { vac, protocol, question, history, extra, timeoutMs, principal } = asked
  const { signal, end } = streams.begin(reply)
  const metered = new MeteredVac(vac, { question, history, extra, timeoutMs, signal, protocol, principal, log: request.log })
  try {
    return await send(metered, signal)
  } catch (err) {
    throw metered.recordFailure(err)
  } finally {
    end()
    request.log.info({ vac: vac.name, protocol, owner: principal?.owner, ...metered.report() }, 'answered')
  }
}

/** A call of a VAC, measured for the log. */
export class MeteredVac {
  readonly #start = performance.now()
  #first: number | undefined
  #chunks = 0
  #characters = 0
  #sources = 0
  #outcome = 'left'

  constructor (readonly vac: Vac, readonly call: VacCall) {}

  async ask (): Promise<Answer> {
    const answer = await this.vac.ask(this.call)
    this.#characters = answer.answer.length
    this.#finish(answer)
    return answer
  }

  /** The answer as a stream; pass every chunk to the encoder of `countChunks`. */
  stream (): AsyncIterable<Chunk> {
    return this.vac.stream(this.call)
  }

  /** The same encoder, which also counts chunks. */
  countChunks (encode: (chunk: Chunk) => Text): (chunk: Chunk) => Text {
    return chunk => {
      if (typeof chunk === 'string') {
        this.#first ??= performance.now()
        this.#chunks++
        this.#characters += chunk.length
      } else if (isAnswer(chunk)) this.#finish(chunk)
      return encode(chunk)
    }
  }

  /** Records how the call failed, and returns the error. */
  recordFailure (err: unknown): unknown {
    const { code = 'failed' } = err as { code?: string }
    this.#outcome = code === 'CALL_ABORTED' ? 'left' : code
    return err
  }

  report (): object {
    return {
      ms: Math.round(performance.now() - this.#start),
      firstByteMs: this.#first === undefined ? null : Math.round(this.#first - this.#start),
      chunks: this.#chunks,
      answerChars: this.#characters,
      sources: this.#sources,
      outcome: this.#outcome
    }
  }

  #finish (answer: Answer): void {
    this.#sources = answer.source_documents.length
    this.#outcome = 'answered'
  }
}
