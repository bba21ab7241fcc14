/** Whether a media type, with or without parameters, is in a range such as `image/*` or `text/plain`. */
export function matchesMediaType (type: string, range: string): boolean {
  const essence = essenceOf(type)
  const [kind, subtype] = range.toLowerCase().split('/')
  return range === '*/*' || essence === range.toLowerCase() || (subtype === '*' && essence.startsWith(`${kind}/`))
}

/** A media type without its parameters. */
export function essenceOf (type: string): string {
  return (type.split(';')[0] ?? '').trim().toLowerCase()
}
