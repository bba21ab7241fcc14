/** Characters that a figure, a word or an address of the web may have within it. */
const WITHIN = /[\p{L}\p{M}\p{N}.,:/_@%&=+'’-]/u
/** Scripts without spaces, whose words may be divided. */
const IDEOGRAPH = /[\u2e80-\u9fff\uac00-\ud7a3\uf900-\ufaff]/
/** How far before the longest place another one is looked for, in characters. */
const BACK = 120

/**
 * The place, at `most` characters or before, at which a text without a space can be cut: not within a figure, a word or
 * an address, if these are not longer than BACK, and never within a character.
 */
export function cutBefore (text: string, most: number): number {
  for (let at = most; at > Math.max(1, most - BACK); at--) {
    const [before, after] = [text[at - 1] as string, text[at] ?? '']
    if (/[\ud800-\udbff]/.test(before)) continue
    if (!WITHIN.test(before) || !WITHIN.test(after) || (IDEOGRAPH.test(before) && IDEOGRAPH.test(after))) return at
  }
  return /[\ud800-\udbff]/.test(text[most - 1] ?? '') ? most - 1 : most
}
