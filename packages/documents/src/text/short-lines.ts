/** A line that ends with a figure, perhaps with its unit or an empty place: an amount, a time, a page. */
const FIGURE_AT_END = /\p{N}[\p{N}.,:%'’-]*\s?(?:[€$£¥₹%)]|\p{L}{1,3}\.?)*$/u
/** The same at the beginning, as in the years of a career or the hours of a day. */
const FIGURE_AT_START = /^[€$£¥₹(+]?\s?\p{N}/u
const SENTENCE_PART = /[.,;!?:،。、，；！？-]["'”’)\]]?$/u
const LOWER_CASE = /^["'“‘(]*\p{Ll}/u
/** Leaders of a table of contents. */
export const LEADERS = /[ \t]*(?:[.·…_][ \t]?){4,}/g

/** A time or an amount. */
const PRECISE = /\p{N}[.:,]\p{N}{2}(?!\p{N})/u
/** Fewer lines are an address, or a paragraph. */
const MIN_FIGURES = 3
const MIN_LINES = 6
/** A longer line is one of prose, in characters. */
const MAX_LINE = 120
/** Prose is hardly ever set in fewer columns. */
const MIN_MARGIN = 50

/**
 * Whether the lines of a paragraph are a list without marks, such as a receipt, a form, an infobox, opening hours or a
 * table of contents. Each line of prose is filled up to a margin, begins in lower case as often as not, or ends within
 * a sentence; a poem has the marks of sentences, and both have few figures.
 */
export function areShortLines (lines: readonly string[]): boolean {
  if (lines.length < MIN_FIGURES || lines.some(line => line.length > MAX_LINE)) return false
  const share = (isOne: (line: string, at: number) => boolean): number => lines.filter(isOne).length / lines.length
  if (share(line => LOWER_CASE.test(line)) > 0.15 || share(line => SENTENCE_PART.test(line)) > 0.25) return false
  const withFigure = share(line => FIGURE_AT_END.test(line) || FIGURE_AT_START.test(line))
  // three lines may be an address, whose figures are numbers of houses
  if (withFigure === 1 || (withFigure >= 0.66 && (lines.length > MIN_FIGURES || share(line => PRECISE.test(line)) >= 0.66))) return true
  if (lines.length < MIN_LINES) return false
  const margin = Math.max(MIN_MARGIN, ...lines.map(line => line.length))
  // the first word of the line below would have had a place
  const isEarly = (line: string, at: number): boolean => {
    const [word = ''] = /^\S+/.exec(lines[at + 1] ?? '') ?? []
    return word !== '' && line.length + 1 + word.length <= margin
  }
  return share(isEarly) >= 0.5 && share(line => /\p{N}/u.test(line)) >= 0.3
}
