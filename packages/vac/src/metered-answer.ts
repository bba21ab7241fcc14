import { isAnswer, type Answer, type Chunk, type Principal, type Protocol, type Vac, type VacCall } from '@polyvac/core'
import type { OpenStreams, AbortSignalLike } from '@polyvac/core/plugin'
import type { FastifyReply, FastifyRequest } from 'fastify'

/** One question on its way from a request to a VAC. */
export interface Asked {
  readonly vac: Vac
  readonly protocol: Protocol
  readonly question: string
  readonly history: VacCall['history']
  readonly extra: Record<string, unknown>
  readonly timeoutMs: number
  readonly principal: Principal | undefined
}

/**
 * Opens a VAC for a request and lets `send` deliver its answer. The answer is aborted when the client leaves or the
 * application closes. Leaves one log line for the call.
 */
export async function answering<T> (streams: OpenStreams, request: FastifyRequest, reply: FastifyReply, asked: Asked,
  send: (vac: MeteredVac, signal: AbortSignalLike) => Promise<T>): Promise<T> {
  const { vac, protocol, question, history, extra, timeoutMs, principal } = asked
  const { signal, end } = streams.begin(reply)
  const metered = new MeteredVac(vac, { question, history, extra, timeoutMs, signal, protocol, principal, log: request.log })
  try {
    return await send(metered, signal)
  } catch (err) {
    throw metered.failed(err)
  } finally {
    end()
    request.log.info({ vac: vac.name, protocol, ...metered.report() }, 'answered')
  }
}

/** A VAC with its call, counting what passes for the log. */
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

  /** The answer as it is made; `counted` must see every chunk. */
  stream (): AsyncIterable<Chunk> {
    return this.vac.stream(this.call)
  }

  /** An encoder that counts what it encodes. */
  counted (encode: (chunk: Chunk) => string): (chunk: Chunk) => string {
    return chunk => {
      if (typeof chunk === 'string') {
        this.#first ??= performance.now()
        this.#chunks++
        this.#characters += chunk.length
      } else if (isAnswer(chunk)) this.#finish(chunk)
      return encode(chunk)
    }
  }

  /** Notes how the call failed, and hands the error on. */
  failed (err: unknown): unknown {
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
