import { createLocalJWKSet, createRemoteJWKSet, errors, jwtVerify, type JWK, type JWTVerifyGetKey } from 'jose'
import {
  NotificationExpiredError, NotificationForgedError, NotificationKeysError, NotificationUnsignedError
} from './errors.js'
import { bodyHash, SIGNATURE_ALGORITHM, MAX_SIGNATURE_SECONDS } from './signing-keys.js'

const CLOCK_TOLERANCE_SECONDS = 30
const MAX_SENDERS = 16
const CLAIMS = ['iss', 'aud', 'iat', 'exp', 'jti', 'taskId', 'request_body_sha256']

export interface NotificationToVerify {
  /** As Node's `request.headers`, or a `Headers`. */
  readonly headers: Headers | Readonly<Record<string, string | readonly string[] | undefined>>
  /** The body as it came, before any parser: a signature is over bytes. */
  readonly body: string | Uint8Array
  /** The sender's public keys … */
  readonly jwks?: { readonly keys: readonly JWK[] } | undefined
  /** … or where it publishes them. Read once in ten minutes, and at most every 30 s for keys that are not known. */
  readonly jwksUrl?: string | undefined
  /** Origin of the receiver's own URL, such as `https://receiver.example`. */
  readonly audience: string
  /** The sender that it must come from. Default: the owner of the keys. */
  readonly issuer?: string | undefined
}

export interface VerifiedNotification {
  /** The same whenever the same notification is sent again: what a receiver has seen before, it can leave. */
  readonly id: string
  readonly taskId: string
  readonly issuer: string
  /** Milliseconds since 1970. */
  readonly issuedAt: number
}

/**
 * What a receiver does before it believes a notification. Rejects with NOTIFICATION_UNSIGNED, _FORGED or _EXPIRED
 * (401), or NOTIFICATION_KEYS (503) where the keys could not be read.
 * @example
 * const jwksUrl = 'https://agents.example.org/.well-known/jwks.json'
 * const { id, taskId } = await verifyNotification({ headers, body, jwksUrl, audience: 'https://receiver.example' })
 */
export async function verifyNotification (notification: NotificationToVerify): Promise<VerifiedNotification> {
  const { headers, body, audience, issuer } = notification
  const token = header(headers, 'x-a2a-notification-signature') ??
    /^Bearer +(\S+)$/i.exec(header(headers, 'authorization') ?? '')?.[1]
  if (token === undefined) {
    throw new NotificationUnsignedError('signature in x-a2a-notification-signature or authorization')
  }
  const id = header(headers, 'webhook-id')
  if (id === undefined) throw new NotificationUnsignedError('webhook-id')

  const { payload } = await jwtVerify(token, keysOf(notification), {
    algorithms: [SIGNATURE_ALGORITHM],
    typ: 'JWT',
    audience,
    ...(issuer !== undefined && { issuer }),
    requiredClaims: CLAIMS,
    maxTokenAge: MAX_SIGNATURE_SECONDS,
    clockTolerance: CLOCK_TOLERANCE_SECONDS
  }).catch(error => { throw toNotificationError(error) })

  const { iss, jti, iat, taskId, request_body_sha256: hash } = payload
  if (hash !== bodyHash(body)) throw new NotificationForgedError('the body is not the one that was signed')
  if (jti !== id) throw new NotificationForgedError('webhook-id is not the one that was signed')
  return { id, taskId: String(taskId), issuer: String(iss), issuedAt: Number(iat) * 1_000 }
}

/** One value, or none: of a header sent twice, neither value can be trusted. */
function header (headers: NotificationToVerify['headers'], name: string): string | undefined {
  if (typeof headers.get === 'function') return (headers as Headers).get(name) ?? undefined
  const spelled = Object.keys(headers).find(key => key.toLowerCase() === name) ?? name
  const value = (headers as Record<string, string | readonly string[] | undefined>)[spelled]
  return typeof value === 'string' && value !== '' ? value : undefined
}

// @keyed none: the keys are URLs that the code of a receiver names; MAX_SENDERS
const remotes = new Map<string, JWTVerifyGetKey>()

function keysOf ({ jwks, jwksUrl }: NotificationToVerify): JWTVerifyGetKey {
  if (jwks !== undefined) return createLocalJWKSet({ keys: [...jwks.keys] })
  if (jwksUrl === undefined) throw new NotificationKeysError('', 'neither `jwks` nor `jwksUrl` was given')
  const known = remotes.get(jwksUrl)
  if (known !== undefined) return known
  if (!URL.canParse(jwksUrl)) throw new NotificationKeysError(jwksUrl, 'it is not a URL')
  const remote = createRemoteJWKSet(new URL(jwksUrl))
  const keys: JWTVerifyGetKey = (protectedHeader, token) => remote(protectedHeader, token).catch(error => {
    throw isTokenError(error) ? error : new NotificationKeysError(jwksUrl, (error as Error).message)
  })
  const oldest = remotes.keys().next().value
  if (oldest !== undefined && remotes.size >= MAX_SENDERS) remotes.delete(oldest)
  remotes.set(jwksUrl, keys)
  return keys
}

function isTokenError (error: unknown): boolean {
  return error instanceof errors.JWKSNoMatchingKey || error instanceof errors.JWKSMultipleMatchingKeys ||
    error instanceof errors.JOSENotSupported
}

function toNotificationError (error: unknown): unknown {
  if (error instanceof NotificationKeysError) return error
  if (error instanceof errors.JWTExpired) return new NotificationExpiredError(MAX_SIGNATURE_SECONDS)
  return new NotificationForgedError((error as Error).message)
}
