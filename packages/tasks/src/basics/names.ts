/** Longest id, owner, context, skill, queue and idempotency key, in characters. */
export const MAX_NAME = 256

/** Databases compare names, and keep neither lone surrogates nor the text after a NUL. */
export function isName (value: unknown, max = MAX_NAME): value is string {
  return typeof value === 'string' && value !== '' && value.length <= max && !/[\0\ud800-\udfff]/u.test(value)
}
