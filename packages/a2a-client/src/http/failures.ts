import { isRecord, type Redactor } from '@polyvac/core/plugin'

/** Statuses after which the same request may succeed. */
const PASSING: ReadonlySet<number> = new Set([408, 425, 429, 500, 502, 503, 504])

/** A response that is not one of A2A: its status, or what its body is. */
export class HttpFailure extends Error {
  readonly status: number
  readonly isPassing: boolean
  /** How long the server asks to wait, in ms. */
  readonly retryAfterMs: number | undefined

  /** @param what the end of the sentence "it answered with …" */
  constructor (status: number, what = `status ${status}`, retryAfter?: unknown) {
    super(`it answered with ${what}`)
    this.status = status
    // a page of HTML with status 200 is that of a proxy
    this.isPassing = PASSING.has(status) || status < 300
    const seconds = typeof retryAfter === 'string' ? Number(retryAfter) : NaN
    this.retryAfterMs = seconds >= 0 ? seconds * 1_000 : undefined
  }
}

/** An error of A2A: its code in JSON-RPC, whatever the binding. */
export class RpcFailure extends Error {
  readonly code: number

  constructor (code: number, message: string) {
    super(message)
    this.code = code
  }
}

/** The codes of A2A that a client distinguishes (1.0, section 5.4). */
export const CODES = {
  TASK_NOT_FOUND: -32001,
  TASK_NOT_CANCELABLE: -32002,
  UNSUPPORTED_OPERATION: -32004,
  CONTENT_TYPE_NOT_SUPPORTED: -32005,
  INVALID_AGENT_RESPONSE: -32006,
  EXTENDED_AGENT_CARD_NOT_CONFIGURED: -32007,
  EXTENSION_SUPPORT_REQUIRED: -32008,
  VERSION_NOT_SUPPORTED: -32009,
  METHOD_NOT_FOUND: -32601,
  INVALID_PARAMS: -32602
} as const

const MAX_MESSAGE_CHARS = 500

/**
 * The error of a response of JSON-RPC, or of HTTP+JSON, whose `details` name the reason. Undefined: it is not one.
 * @param secrets those that the agent knows, which it may repeat
 */
export function rpcFailureOf (body: unknown, secrets: Redactor): RpcFailure | undefined {
  if (!isRecord(body) || !isRecord(body.error)) return undefined
  const { code, message, details } = body.error
  const text = typeof message === 'string' ? secrets.text(message).slice(0, MAX_MESSAGE_CHARS) : 'no reason given'
  const reasons = Array.isArray(details) ? details.map(detail => isRecord(detail) ? detail.reason : undefined) : []
  const named = reasons.find(reason => typeof reason === 'string' && Object.hasOwn(CODES, reason)) as keyof typeof CODES | undefined
  if (named !== undefined) return new RpcFailure(CODES[named], text)
  // the codes of HTTP+JSON are those of HTTP
  return typeof code === 'number' && code < 0 ? new RpcFailure(code, text) : undefined
}

/** Whether the connection failed, not the request: it may succeed when it is sent again. */
export function isPassing (err: unknown): boolean {
  if (err instanceof RpcFailure) return false
  return err instanceof HttpFailure ? err.isPassing : isNetworkFailure(err)
}

/** Whether the other side ended TLS because of the certificate of this one. */
export function isRefusedCertificate (err: unknown): boolean {
  const { code } = (err ?? {}) as { code?: unknown }
  return typeof code === 'string' && /^ERR_SSL_\w+_ALERT_\w*(?:CERTIFICATE|UNKNOWN_CA|ACCESS_DENIED)/.test(code)
}

const NETWORK = /^(?:E[A-Z]+|UND_ERR_\w+)$/

function isNetworkFailure (err: unknown): boolean {
  const { code, name } = (err ?? {}) as { code?: unknown, name?: unknown }
  return (typeof code === 'string' && NETWORK.test(code)) || name === 'TimeoutError' || name === 'SocketError'
}
