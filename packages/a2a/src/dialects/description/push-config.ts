import type { NewPushConfig, PushConfig } from '@polyvac/tasks'
import type { PushNotificationConfig, StoredPushConfig } from './methods.js'

/** The name of a config that is given none: setting it again replaces it. */
const DEFAULT_ID = 'default'

/** A config as the engine keeps it: what may be read back, and apart from it what may not. */
export function toNewPushConfig ({ id = DEFAULT_ID, url, token, authentication = {} }: PushNotificationConfig): NewPushConfig {
  const { credentials, schemes = [], scheme = schemes[0] ?? (credentials === undefined ? undefined : 'Bearer') } = authentication
  return {
    id,
    url,
    settings: scheme === undefined ? {} : { schemes: [scheme] },
    secrets: {
      ...(token === undefined ? {} : { token }),
      ...(scheme === undefined || credentials === undefined ? {} : { authentication: { scheme, credentials } })
    }
  }
}

export function toStoredPushConfig ({ id, taskId, url, settings, disabled }: PushConfig): StoredPushConfig {
  const { schemes } = settings as { schemes?: string[] }
  return {
    taskId,
    pushNotificationConfig: {
      id,
      url,
      ...(schemes === undefined ? {} : { authentication: { schemes } }),
      ...(disabled === null ? {} : { disabled })
    }
  }
}
