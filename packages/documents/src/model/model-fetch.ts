import { BYTES_PER_CHAR, Redactor, type HeldBytes } from '@polyvac/core/plugin'
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
 * the question, passages and the key, and the configuration names who gets them. What it reads is bounded and counted,
 * and has [redacted] for the secrets that the request carried: servers repeat them in errors, also amid a stream.
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
    const secrets = new Redactor([...new Headers(init?.headers), ['url', String(input)]])
    const body = response.body?.pipeThrough(isOk ? boundedBy(maxBytes, isEvents, held, secrets) : cutAt(MAX_ERROR_BYTES, held, secrets))
    return body === undefined ? response : new Response(body, response)
  }
}

function boundedBy (max: number, isEvents: boolean, held: HeldBytes, secrets: Redactor): TransformStream<Uint8Array, Uint8Array> {
  let bytes = 0
  let lineBytes = 0
  return new TransformStream({
    transform (chunk, controller) {
      bytes += chunk.length
      const lineEnd = chunk.lastIndexOf(LINE_END)
      lineBytes = lineEnd === -1 ? lineBytes + chunk.length : chunk.length - lineEnd - 1
      if (bytes > max || (isEvents && lineBytes > MAX_LINE_BYTES)) controller.error(new ModelError('the response is too long'))
      else if (!held.tryGrow(chunk.length)) controller.error(held.refusal())
      else controller.enqueue(withoutSecrets(chunk, secrets))
    }
  })
}

/** Whole, since the pieces of a body cut a secret in two. */
function cutAt (max: number, held: HeldBytes, secrets: Redactor): TransformStream<Uint8Array, Uint8Array> {
  // @keyed none: a list in order, of one response; MAX_ERROR_BYTES
  const pieces: Uint8Array[] = []
  let bytes = 0
  const end = (controller: TransformStreamDefaultController<Uint8Array>): void => { controller.enqueue(withoutSecrets(Buffer.concat(pieces), secrets)) }
  return new TransformStream({
    transform (chunk, controller) {
      const kept = chunk.subarray(0, max - bytes)
      bytes += kept.length
      if (!held.tryGrow(kept.length)) return controller.error(held.refusal())
      pieces.push(kept)
      if (bytes < max) return
      end(controller)
      controller.terminate()
    },
    flush: end
  })
}

/** As Latin-1, which any bytes are: a header has no other characters. */
function withoutSecrets (bytes: Uint8Array, secrets: Redactor): Uint8Array {
  if (secrets.isIdle) return bytes
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('latin1')
  const clean = secrets.text(text)
  return clean === text ? bytes : Buffer.from(clean, 'latin1')
}

/** Only the origin: the rest of a `Location` may hold keys. */
function originOf (location: string | null, baseUrl: string): string {
  return location !== null && URL.canParse(location, baseUrl) ? new URL(location, baseUrl).origin : 'no address'
}
