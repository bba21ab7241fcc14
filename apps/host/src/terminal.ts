/** Characters that a terminal acts on or does not show: controls, line separators, marks of direction, tags. */
// eslint-disable-next-line no-control-regex -- they are what is escaped
const UNSAFE = /[\0-\x08\x0a-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff\u{e0000}-\u{e007f}]/gu

/**
 * One line of text for a terminal: names of files and tools may contain escape sequences, which would move the cursor
 * or set the title of its window.
 * @example toPlainText('a\x1b[2Jb') // 'a\\u{1b}[2Jb'
 */
export function toPlainText (text: string): string {
  return text.replace(UNSAFE, character => `\\u{${character.codePointAt(0)!.toString(16)}}`)
}

/** The same for a text of several lines. */
export function toPlainLines (text: string): string {
  return text.split(/\r?\n/).map(toPlainText).join('\n')
}
