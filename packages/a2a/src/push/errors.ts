import { createError } from '@polyvac/core/plugin'

/** An address that notifications are not sent to. Arguments: reason, remedy. Neither holds credentials of the URL. */
export const PushUrlRefusedError = createError<[string, string]>('PUSH_URL_REFUSED',
  'notifications are not sent to this URL: %s; %s', 400)

/**
 * The token or credentials of a push config cannot be sent. Arguments: name, what is wrong with it. Never the value.
 */
export const PushSecretsError = createError<[string, string]>('PUSH_SECRETS_INVALID', "'%s' is not usable: %s", 400)

/** An entry of the allow-list cannot be read. Arguments: entry, what is wrong with it. */
export const PushAllowEntryError = createError<[string, string]>('PUSH_ALLOW_ENTRY',
  "the allow-list entry '%s' %s; give a host name, host:port, an address, or a range such as 10.0.0.0/8", 500)

/** The keys that sign notifications cannot be used. Arguments: where they come from, reason with remedy. */
export const PushSigningKeysError = createError<[string, string]>('PUSH_SIGNING_KEYS',
  'cannot sign notifications with the keys of %s: %s', 500)

/** A delivery took too long. Argument: limit in ms. */
export const PushTimeoutError = createError<[number]>('PUSH_TIMEOUT', 'the receiver did not answer within %s ms', 504)

/** A delivery came after `close()`. No argument. */
export const PushClosedError = createError('PUSH_CLOSED',
  'notifications are no longer sent from here: it was closed', 503)

/** A received notification is not signed. Argument: what is missing. */
export const NotificationUnsignedError = createError<[string]>('NOTIFICATION_UNSIGNED',
  'the notification has no %s, so its sender is unknown', 401)

/** A received notification is not what the sender signed, or is not for this receiver. Argument: reason. */
export const NotificationForgedError = createError<[string]>('NOTIFICATION_FORGED',
  'the notification is not genuine: %s', 401)

/** A received notification was signed too long ago; it may be a recording. Argument: limit in seconds. */
export const NotificationExpiredError = createError<[number]>('NOTIFICATION_EXPIRED',
  'the notification was signed more than %s s ago; compare the clocks if it has only just arrived', 401)

/** The sender's public keys could not be had. Arguments: address, reason. */
export const NotificationKeysError = createError<[string, string]>('NOTIFICATION_KEYS',
  "the sender's keys could not be read from '%s': %s; let the sender try again", 503)
