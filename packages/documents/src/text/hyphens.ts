/** A line that ends within a word, and the rest of the word on the next line. */
const BROKEN = /(\p{L}{2,})[-\u2010]$/u
const REST = /^(\p{Ll}{2,})(\S*)[ \t]*/u
/** After a hyphen that belongs to the word before it: "Vor- und Nachteile". */
const CONJUNCTION = /^(?:und|oder|bzw|sowie|bis|or|and|to|et|ou|y|e|o|en|of|og|och|ja|tai)$/
/** What English writes before a hyphen. */
const COMPOUND = new Set(`after all anti best co cost cross customer double easy even ex ever far fast fault first five four free full fully
general half hard high ill in inter intra key large last left long low main mid multi near new newly non off often old on one open out over
part peer per post pre pro quasi re read real right round run second self semi short single slow small so state step sub super ten third
three time top trade two ultra under up user web well wide work world write year zero`.split(/\s+/))

/**
 * Joins the words that a layout has divided at the ends of lines, so that they are found and quoted whole. A hyphen of
 * the word itself stays: where the text has the word with it elsewhere, and after words that English joins with one.
 */
export function joinHyphens (lines: readonly string[]): string[] {
  if (!lines.some(line => line.endsWith('-') || line.endsWith('\u2010'))) return [...lines]
  const text = lines.join('\n').toLowerCase()
  const joined = [...lines]
  for (let at = 0; at < joined.length - 1; at++) {
    const line = (joined[at] as string).trimEnd()
    const begin = BROKEN.exec(line)?.[1]
    const next = (joined[at + 1] as string).trimStart()
    const [whole = '', rest = '', mark = ''] = REST.exec(next) ?? []
    if (begin === undefined || rest === '' || CONJUNCTION.test(rest)) continue
    const hyphenated = `${begin}-${rest}`.toLowerCase()
    const keeps = text.includes(hyphenated) || (COMPOUND.has(begin.toLowerCase()) && !text.includes((begin + rest).toLowerCase()))
    joined[at] = `${keeps ? line : line.slice(0, -1)}${rest}${mark}`
    joined[at + 1] = next.slice(whole.length)
  }
  return joined
}
