import type { NewPushConfig } from '@polyvac/tasks'
import { given } from './read-params.js'

interface GivenPush {
  readonly id: string | undefined
  readonly url: string
  /** Whose words the receiver is told in; undefined: those of the service description. */
  readonly dialect?: 'v1' | 'v0_3'
  readonly token: string | undefined
  readonly scheme: string | undefined
  readonly credentials: string | undefined
}

/** A push config as the engine keeps it: what may be read back, and apart from it what may not. */
export function newPushConfig ({ id, url, dialect, token, scheme, credentials }: GivenPush): NewPushConfig {
  return {
    id,
    url,
    settings: Object.assign({}, dialect === undefined ? undefined : { dialect }, scheme === undefined ? undefined : { schemes: [scheme] }),
    secrets: Object.assign({},
      given(token) === undefined ? undefined : { token },
      scheme === undefined || given(credentials) === undefined ? undefined : { authentication: { scheme, credentials } })
  }
}
