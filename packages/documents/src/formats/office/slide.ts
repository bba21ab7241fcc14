import { PassageBuilder, type Passage } from '../../text/passages.js'
import { addTable } from '../../text/table-lines.js'

/** Levels of lists that are indented. */
const MAX_LEVELS = 8
/** Texts and tables of a slide that are read. */
const MAX_BLOCKS = 5_000

/** Longest first text that is a title, in characters. */
const MAX_TITLE = 80

/** What a slide has, in order. */
export type Block =
  { readonly kind: 'text', readonly text: string, /** From 0; undefined for a line that is not in a list. */ readonly level?: number | undefined } |
  { readonly kind: 'table', readonly rows: ReadonlyArray<readonly string[]>, readonly hasTitles: boolean } |
  { readonly kind: 'gap' }

/** Collects what one slide has. */
export class Slide {
  title = ''
  // @keyed none: it lives for the conversion of one document of a folder of the configuration; MAX_BLOCKS
  readonly blocks: Block[] = []

  add (block: Block): void {
    if (this.blocks.length < MAX_BLOCKS) this.blocks.push(block)
  }

  /** The passages of the slide: its title is the heading. */
  finish (number: number): Passage[] {
    const builder = new PassageBuilder()
    const [first] = this.blocks
    // some programs write the title as a text like others
    const isTitle = this.title.trim() === '' && this.blocks.length > 2 && first?.kind === 'text' && first.level === undefined && first.text.length <= MAX_TITLE && !/[.,;:!?]\s*$/.test(first.text)
    const title = (isTitle ? first.text : this.title).replace(/\s+/g, ' ').trim()
    if (title !== '') builder.heading(1, title, number)
    for (const block of isTitle ? this.blocks.slice(1) : this.blocks) {
      if (block.kind === 'gap') builder.line('', number)
      else if (block.kind === 'table') addTable(builder, block, number)
      else if (block.text.trim() !== '') builder.line(`${mark(block.level)}${block.text.replace(/\s+/g, ' ').trim()}`, number)
    }
    return builder.finish()
  }
}

function mark (level: number | undefined): string {
  return level === undefined ? '' : `${'  '.repeat(Math.min(MAX_LEVELS, level))}- `
}
