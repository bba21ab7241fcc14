import { isRecord } from '@polyvac/core/plugin'
import { PushSecretsError } from './errors.js'

const MAX_TOKEN_LENGTH = 4_096
const MAX_CREDENTIALS_LENGTH = 8_192
const SCHEME = /^[\w!#$%&'*+.^`|~-]{1,64}$/
/**
 * What a header carries unchanged: visible ASCII with spaces between. No CR or LF, with which a caller could add
 * other headers.
 */
const HEADER_VALUE = /^[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?$/

/** What a caller gives only for its receiver: stored apart from the config, sent to the receiver, never read back. */
export interface PushSecrets {
  readonly token?: string
  readonly authentication?: { readonly scheme: string, readonly credentials: string }
}

/**
 * The secrets of a config, fit for headers. An empty token or empty credentials count as none. Throws
 * PUSH_SECRETS_INVALID (400), which names the member and never the value.
 */
export function checkSecrets (secrets: unknown): PushSecrets {
  const { token, authentication } = recordOf(secrets ?? {}, 'secrets')
  return { ...checkToken(token), ...checkAuthentication(authentication) }
}

function checkToken (token: unknown): Pick<PushSecrets, 'token'> {
  if (isEmpty(token)) return {}
  return { token: headerValue(token, 'token', MAX_TOKEN_LENGTH) }
}

function checkAuthentication (authentication: unknown): Pick<PushSecrets, 'authentication'> {
  if (isEmpty(authentication)) return {}
  const { scheme, credentials } = recordOf(authentication, 'authentication')
  if (isEmpty(credentials)) return {}
  if (typeof scheme !== 'string' || !SCHEME.test(scheme)) {
    throw new PushSecretsError('authentication.scheme', 'give the name of an HTTP scheme, such as Bearer')
  }
  const value = headerValue(credentials, 'authentication.credentials', MAX_CREDENTIALS_LENGTH)
  return { authentication: { scheme, credentials: value } }
}

function headerValue (value: unknown, name: string, maxLength: number): string {
  if (typeof value !== 'string') throw new PushSecretsError(name, 'give a text')
  if (value.length > maxLength) throw new PushSecretsError(name, `it is longer than ${maxLength} characters`)
  if (!HEADER_VALUE.test(value)) {
    throw new PushSecretsError(name, 'a header holds visible ASCII characters, with spaces only between them')
  }
  return value
}

function isEmpty (value: unknown): boolean {
  return value === undefined || value === null || value === ''
}

function recordOf (value: unknown, name: string): Record<string, unknown> {
  if (!isRecord(value)) throw new PushSecretsError(name, 'give an object')
  return value
}
