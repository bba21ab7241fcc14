export { AddressGuard } from './address-guard.js'
export type { AddressGuardOptions, Lookup } from './address-guard.js'
export { SigningKeys } from './signing-keys.js'
export type { NotificationClaims } from './signing-keys.js'
export { openSigningKeys } from './open-signing-keys.js'
export { checkSecrets } from './push-secrets.js'
export type { PushSecrets } from './push-secrets.js'
export { pushDeliverer } from './deliver.js'
export type { PushDeliverer, PushDelivererOptions, PushPayload } from './deliver.js'
export { verifyNotification } from './verify-notification.js'
export type { NotificationToVerify, VerifiedNotification } from './verify-notification.js'
export {
  NotificationExpiredError, NotificationForgedError, NotificationKeysError, NotificationUnsignedError, PushAllowEntryError, PushClosedError,
  PushSecretsError, PushSigningKeysError, PushTimeoutError, PushUrlRefusedError
} from './errors.js'
