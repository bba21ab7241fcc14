/** The first characters of a text, at most `max`; a surrogate pair stays together. */
export function beginning (text: string, max: number): string {
  if (text.length <= max) return text
  const isCut = (text.codePointAt(max - 1) ?? 0) > 0xffff
  return text.slice(0, isCut ? max - 1 : max)
}
