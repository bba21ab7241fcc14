import { PassageBuilder, type Passage } from '../../text/passages.js'
import { MAX_MARKUP } from '../../text/plain-text.js'

const LEVELS: Readonly<Record<string, number>> = { title: 1, part: 1, chapter: 1, section: 2, subsection: 3, subsubsection: 4, paragraph: 5, subparagraph: 6, frametitle: 3 }
const HEADING = /^\s*\\(title|part|chapter|section|subsection|subsubsection|paragraph|subparagraph|frametitle)\*?(?:\[[^\]]*\])?\{((?:[^{}]|\{[^{}]*\})*)\}\s*(.*)$/
const CODE = /^\s*\\begin\{(verbatim\*?|lstlisting|minted|alltt|Verbatim)\}/
const TABLE = /^\s*\\begin\{(?:tabular|tabularx|longtable|array)\*?\}/
const ACCENTS: Readonly<Record<string, string>> = { "'": '\u0301', '`': '\u0300', '^': '\u0302', '"': '\u0308', '~': '\u0303', '=': '\u0304', '.': '\u0307', c: '\u0327', v: '\u030c', u: '\u0306', H: '\u030b', k: '\u0328', r: '\u030a' }
const LETTERS: Readonly<Record<string, string>> = { ss: 'ß', ae: 'æ', AE: 'Æ', oe: 'œ', OE: 'Œ', o: 'ø', O: 'Ø', aa: 'å', AA: 'Å', l: 'ł', L: 'Ł', i: 'i', ldots: '…', dots: '…', textbackslash: '\\', LaTeX: 'LaTeX', TeX: 'TeX', euro: '€', texteuro: '€', S: '§', copyright: '©', textdegree: '°', degree: '°', times: '×', newline: ' ', quad: ' ', qquad: ' ' }

/** LaTeX: its sections, lists, tables, code and text; the preamble, comments and commands are left out. */
export function splitTex (text: string): Passage[] {
  const builder = new PassageBuilder()
  const lines = text.split(/\r?\n/)
  const begin = lines.findIndex(line => line.includes('\\begin{document}'))
  let code: string | undefined
  let isTable = false
  for (let at = 0; at < lines.length; at++) {
    const raw = lines[at] as string
    const number = at + 1
    if (code !== undefined) {
      const isEnd = raw.includes(`\\end{${code}}`)
      builder.line(isEnd ? '```' : raw, number)
      if (isEnd) {
        builder.code(false)
        code = undefined
      }
      continue
    }
    // a comment is not text, and a sign of per cent is
    const line = raw.replace(/(?<!\\)(?:\\\\)*%.*$/, '')
    const heading = HEADING.exec(line)
    if (heading !== null && (at >= begin || heading[1] === 'title')) {
      builder.heading(LEVELS[heading[1] as string] as number, plain(heading[2] as string), number)
      builder.line(plain(heading[3] as string), number)
      continue
    }
    if (at <= begin || /\\end\{document\}/.test(line)) {
      if (/\\end\{document\}/.test(line)) break
      continue
    }
    code = CODE.exec(line)?.[1]
    if (code !== undefined) {
      builder.line('```', number)
      builder.code(true)
      continue
    }
    if (TABLE.test(line)) isTable = true
    else if (/\\end\{(?:tabular|tabularx|longtable|array)\*?\}/.test(line)) isTable = false
    const content = plain(line, isTable)
    builder.line(raw.trim() !== '' && line.trim() === '' ? ' ' : content, number)
  }
  if (code !== undefined) builder.line('```', lines.length)
  return builder.finish()
}

function plain (text: string, isTable = false): string {
  if (text.length > MAX_MARKUP) return text
  let rest = text
    .replace(/\\(?:begin|end)\{[^{}]*\}(?:\[[^\]]*\])?(?:\{[^{}]*\})*/g, '')
    .replace(/\\item\s*(?:\[([^\]]*)\])?\s*/g, (_, term: string | undefined) => term === undefined ? '- ' : `- ${term}: `)
    .replace(/\\(?:label|ref|pageref|eqref|autoref|cref|cite[a-z]*|index|vspace|hspace|bibliography\w*|includegraphics|usepackage|input|include|pagestyle|thispagestyle|setlength|addtolength|newcommand|renewcommand|graphicspath|hypersetup)\*?(?:\[[^\]]*\])*\{[^{}]*\}(?:\{[^{}]*\})?/g, '')
    .replace(/\\footnote\{/g, ' \\emph{')
    .replace(/\\href\{[^{}]*\}\{([^{}]*)\}/g, '$1')
    .replace(/\\(?:texttt|verb|lstinline|code)\*?(?:\{([^{}]*)\}|([|!+])(.*?)\2)/g, (_, braces: string | undefined, _mark: string, marked: string) => `\`${braces ?? marked}\``)
    .replace(/\\(['`^"~=.]|[cvuHkr](?=[{\s]))\s*\{?\\?([A-Za-z])\}?/g, (_, accent: string, letter: string) => (letter + (ACCENTS[accent] ?? '')).normalize('NFC'))
    .replace(/\\\\(?:\[[^\]]*\])?/g, ' ')
    .replace(/\\(?:hline|toprule|midrule|bottomrule|cline\{[^}]*\})/g, '')
  if (isTable) {
    const cells = rest.split(/(?<!\\)&/).map(cell => cell.trim())
    if (cells.length > 1) rest = `- ${cells[0] as string}: ${cells.slice(1).filter(cell => cell !== '').join('; ')}`
  }
  // from the inside out: the text of a command that is not known is text
  for (let depth = 0; depth < 5 && /\\[A-Za-z]+\*?(?:\[[^\]]*\])?\{[^{}]*\}/.test(rest); depth++) rest = rest.replace(/\\[A-Za-z]+\*?(?:\[[^\]]*\])?\{([^{}]*)\}/g, '$1')
  return rest
    .replace(/\\([A-Za-z]+)(?:\{\}|\s)?/g, (_, name: string) => LETTERS[name] ?? '')
    .replace(/\\([%&#$_{} ,;])/g, '$1')
    .replace(/(?<!\\)[{}]/g, '')
    .replace(/``|''/g, '"').replace(/---?/g, '–').replaceAll('~', ' ')
}
