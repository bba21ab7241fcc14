// What a model writes before a question may hide it where it is shown as Markdown: in a comment, in code whose language
// is drawn, in an element that is folded, in the value of an attribute. That text has been sent.

/** A mark of HTML, also one that is not complete. */
const HTML = /<[a-z!?/]/i
/** HTML, or the definition of a link: a fence in them may begin nothing. */
const HOLDS_FENCES = /<[a-z!?/]|\]:/i
/** A fence that may belong to a list or a quote, and end with it; one that renderers do not read alike. */
const UNSURE_FENCE = /^(?:[ \t>*+\-\d.)]+(?:`{3,}|~{3,})|(?:`{3,}|~{3,}).*[|\t])/m
const FENCE = /^(?:(`{3,})[^`|]*|(~{3,})[^|]*)$/
/** A tag that is more than its name: it may have a quote that is not closed. */
const ATTRIBUTES = /<\/?[a-z][a-z0-9-]*(?![a-z0-9-]|\s*\/?>)/i

/** Ends what a renderer of Markdown has begun itself, in which an element may not end. */
const OF_MARKDOWN = '</p></code></pre></td></table></li></ul></ol></blockquote>'

/**
 * Text that ends what an earlier text leaves open, so that a paragraph after it is read; '' where nothing is. Where
 * that is not sure it ends more than needed, which is at worst shown: the paragraph may then stand in a block of code.
 */
export function endOfMarkdown (text: string): string {
  const { open, outside } = readFences(text)
  if (!HOLDS_FENCES.test(outside) && !UNSURE_FENCE.test(text)) return open === undefined ? '' : `\n${open}`
  const html = HTML.test(text) ? [htmlEnds(text)] : []
  const fences = [longest(text, /`{3,}/g), longest(text, /~{3,}/g)].filter(fence => fence !== '')
  // until a block of code has ended, marks of HTML in it end nothing
  return ['', ...html, ...fences.flatMap(fence => [fence, ...html])].join('\n\n')
}

/** The fence that is open at the end, and the text outside of code, if each fence begins its line. */
function readFences (text: string): { readonly open: string | undefined, readonly outside: string } {
  let open: string | undefined
  const outside: string[] = []
  for (const line of text.split(/\r\n?|\n/)) {
    const [, ...marks] = FENCE.exec(line) ?? []
    const mark = marks.find(found => found !== undefined)
    if (open !== undefined) {
      if (mark?.startsWith(open) === true && line.trim() === mark) open = undefined
    } else if (mark !== undefined) open = mark
    else outside.push(line)
  }
  return { open, outside: outside.join('\n') }
}

function longest (text: string, marks: RegExp): string {
  return [...text.matchAll(marks)].reduce((most, [mark]) => mark.length > most.length ? mark : most, '')
}

/** Ends each element, comment and attribute that the text may have begun, as one block of HTML: a tag begins it. */
function htmlEnds (text: string): string {
  const names = [...text.matchAll(/<([a-z][a-z0-9-]*)/gi)].map(([, name]) => `</${name!}>`).reverse()
  return ['</div>', ATTRIBUTES.test(text) ? '\'">' : '', text.includes('<!') ? '-->' : '', text.includes('<![') ? ']]>' : '', text.includes('<?') ? '?>' : '', OF_MARKDOWN, ...names]
    .filter(line => line !== '').join('\n')
}
