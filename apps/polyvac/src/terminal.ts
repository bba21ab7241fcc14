/** What a terminal acts on or does not show, besides line ends and tabs. */
const HIDDEN = /(?![\n\t])[\p{Cc}\p{Cs}\p{Default_Ignorable_Code_Point}\u2028\u2029]/gu

/** Marks that letters and emoji need: joiners, and selectors of variants. */
const JOINING = /\p{Join_Control}|\p{Variation_Selector}/u

/**
 * A text for a terminal: names of files and tools may contain escape sequences, which would move the cursor or set the
 * title of its window. They are written as in JSON, so that JSON stays the same JSON. Line ends stay.
 * @example toPlainLines('a\x1b[2Jb') // 'a\\u001b[2Jb'
 */
export function toPlainLines (text: string): string {
  return text.replace(/\r\n/g, '\n').replace(HIDDEN, character => JOINING.test(character) ? character : escape(character))
}

/** The same for one line: line ends are written as `\n`. */
export function toPlainText (text: string): string {
  return toPlainLines(text).replace(/\n/g, escape)
}

function escape (character: string): string {
  return character.split('').map(unit => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`).join('')
}
