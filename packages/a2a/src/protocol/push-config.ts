import type { NewPushConfig } from '@polyvac/tasks'
import { nonEmpty } from './read-params.js'

/** The name that a push config stores of the dialect that its notifications use; none for the service description. */
export type PushDialect = 'v1' | 'v0_3'

interface PushFields {
  readonly id: string | undefined
  readonly url: string
  readonly dialect?: PushDialect
  readonly token: string | undefined
  readonly scheme: string | undefined
  readonly credentials: string | undefined
}

/** A push config as the engine keeps it: what may be read back, and apart from it what may not. */
export function newPushConfig ({ id, url, dialect, token, scheme, credentials }: PushFields): NewPushConfig {
  return {
    id,
    url,
    settings: Object.assign({},
      dialect === undefined ? undefined : { dialect }, scheme === undefined ? undefined : { schemes: [scheme] }),
    secrets: Object.assign({},
      nonEmpty(token) === undefined ? undefined : { token },
      scheme === undefined || nonEmpty(credentials) === undefined
        ? undefined
        : { authentication: { scheme, credentials } })
  }
}
