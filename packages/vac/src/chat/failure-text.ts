import type { Failure } from '@polyvac/core/protocol'

/** The message of a failure for a format without a field for the id under which the log has the cause. */
export function failureText ({ status, body: { error: { message, requestId } } }: Failure): string {
  if (status < 500) return message
  return message.endsWith('the request id') ? `${message} ${requestId}` : `${message} (request id ${requestId})`
}
