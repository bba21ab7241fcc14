/**
 * JSON in canonical form (RFC 8785): members sorted by UTF-16 units, no white space, numbers and strings in the format
 * of ECMAScript.
 */
export function canonicalJson (value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(',')}]`
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  const members = Object.entries(value).filter(([, member]) => member !== undefined).sort(([a], [b]) => a < b ? -1 : 1)
  return `{${members.map(([name, member]) => `${JSON.stringify(name)}:${canonicalJson(member)}`).join(',')}}`
}
