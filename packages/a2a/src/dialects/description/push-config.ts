import type { NewPushConfig, PushConfig } from '@polyvac/tasks'
import { newPushConfig } from '../../protocol/push-config.js'
import type { RecentDelivery } from '../../push/recent-deliveries.js'
import type { PushNotificationConfig, ReadPushConfig, StoredPushConfig } from './methods.js'

/** The name of a config without one: setting it again replaces it. */
const DEFAULT_ID = 'default'

export function toNewPushConfig (config: PushNotificationConfig): NewPushConfig {
  const { id = DEFAULT_ID, url, token, authentication = {} } = config
  const { credentials, schemes = [] } = authentication
  const scheme = authentication.scheme ?? schemes[0] ?? (credentials === undefined ? undefined : 'Bearer')
  return newPushConfig({ id, url, token, scheme, credentials })
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

export function toReadPushConfig (config: PushConfig, deliveries: readonly RecentDelivery[]): ReadPushConfig {
  return { ...toStoredPushConfig(config), deliveries: [...deliveries] }
}
