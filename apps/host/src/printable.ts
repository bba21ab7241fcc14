/**
 * A text of another program for a terminal: what a terminal would obey or not show is written as `\u001b`. Line ends
 * and tabs stay. JSON stays the same JSON.
 */
export function printable (text: string): string {
  return text.replace(/(?![\n\t])[\p{Cc}\p{Cs}\p{Default_Ignorable_Code_Point}\u2028\u2029]/gu,
    char => char.split('').map(unit => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`).join(''))
}
