import { BYTES_PER_CHAR, type HeldBytes } from '@polyvac/core/plugin'
import { ModelRedirectError } from '../errors.js'
import { ModelError } from './model-client.js'

/** Bytes of the body of a refusal that are read; the rest is cut off. */
const MAX_ERROR_BYTES = 64 * 1024
/** Longest line of an event stream, in bytes: a parser searches what it has of a line again at each chunk. */
const MAX_LINE_BYTES = 2 * 1024 * 1024
const LINE_END = 0x0a

export interface ModelFetchOptions {
  /** The address of the configuration, for errors. */
  readonly baseUrl: string
  /** Longest body of a response, in bytes, once decompressed. */
  readonly maxBytes: number
  /** Counts the body of the request and what was read of the response; `end` it with the call. */
  readonly held: HeldBytes
}

/**
 * The `fetch` of each request to a model server. It follows no redirect, also none to the same origin: a request has
 * the question, passages and the key, and the configuration names who gets them. What it reads is bounded and counted.
 * @throws ModelError for a redirect and for too long a body; MEMORY_BUDGET_EXCEEDED
 */
export function modelFetch ({ baseUrl, maxBytes, held }: ModelFetchOptions): typeof fetch {
  return async (input, init) => {
    const sent = typeof init?.body === 'string' ? init.body.length * BYTES_PER_CHAR : 0
    // what an attempt before this one held is garbage
    if (!held.tryResize(sent)) throw held.refusal()
    const response = await fetch(input, { ...init, redirect: 'manual' })
    const { status, headers, ok: isOk } = response
    if (status >= 300 && status < 400) {
      await response.body?.cancel()
      throw new ModelError(`the server answers with a redirect (HTTP ${status}), which is not followed; set \`base_url\` to the final URL`,
        { cause: new ModelRedirectError(baseUrl, originOf(headers.get('location'), baseUrl)) })
    }
    const isEvents = /^text\/event-stream\b/i.test(headers.get('content-type') ?? '')
    const body = response.body?.pipeThrough(isOk ? boundedBy(maxBytes, isEvents, held) : cutAt(MAX_ERROR_BYTES, held))
    return body === undefined ? response : new Response(body, response)
  }
}

function boundedBy (max: number, isEvents: boolean, held: HeldBytes): TransformStream<Uint8Array, Uint8Array> {
  let bytes = 0
  let lineBytes = 0
  return new TransformStream({
    transform (chunk, controller) {
      bytes += chunk.length
      const lineEnd = chunk.lastIndexOf(LINE_END)
      lineBytes = lineEnd === -1 ? lineBytes + chunk.length : chunk.length - lineEnd - 1
      if (bytes > max || (isEvents && lineBytes > MAX_LINE_BYTES)) controller.error(new ModelError('the response is too long'))
      else if (!held.tryGrow(chunk.length)) controller.error(held.refusal())
      else controller.enqueue(chunk)
    }
  })
}

function cutAt (max: number, held: HeldBytes): TransformStream<Uint8Array, Uint8Array> {
  let bytes = 0
  return new TransformStream({
    transform (chunk, controller) {
      const kept = chunk.subarray(0, max - bytes)
      bytes += kept.length
      if (!held.tryGrow(kept.length)) return controller.error(held.refusal())
      controller.enqueue(kept)
      if (bytes >= max) controller.terminate()
    }
  })
}

/** Only the origin: the rest of a `Location` may hold keys. */
function originOf (location: string | null, baseUrl: string): string {
  return location !== null && URL.canParse(location, baseUrl) ? new URL(location, baseUrl).origin : 'no address'
}
