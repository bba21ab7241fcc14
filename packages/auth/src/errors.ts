import { createError } from '@polyvac/core/plugin'

export const AuthOptionsError = createError<[string]>('AUTH_OPTIONS', '%s', 500)
export const IssuerUnavailableError = createError<[string]>('ISSUER_UNAVAILABLE',
  'the keys of the issuer %s cannot be read at the moment, so no token of it can be checked; try again shortly', 503, { expose: true })
