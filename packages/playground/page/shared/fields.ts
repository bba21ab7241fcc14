/** A JSON object of a service, whose fields are checked where they are read. */
export type Fields = Record<string, any>

export function isObject (value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
