import { relationsOf, mainPart } from './relations.js'
import { Slide } from './slide.js'
import { readXml } from './xml.js'
import { Archive } from './zip.js'
import type { Passage } from '../../text/passages.js'
import type { SplitFile } from '../format.js'

/** Most XML of a presentation, inflated, in bytes. It is read as a stream. */
const MAX_PPTX_BYTES = 64 * 1024 * 1024
/** Slides that are read. */
const MAX_SLIDES = 5_000

/** Placeholders whose text each slide repeats. */
const REPEATED: ReadonlySet<string> = new Set(['sldNum', 'ftr', 'dt', 'hdr', 'sldImg'])
const TITLES: ReadonlySet<string> = new Set(['title', 'ctrTitle'])

/** The slides of a presentation, in its order, with tables, diagrams and notes. */
export async function splitPptx (bytes: Uint8Array): Promise<SplitFile> {
  const archive = await Archive.open(bytes, MAX_PPTX_BYTES)
  const main = await mainPart(archive, 'ppt/presentation.xml')
  const relations = new Map((await relationsOf(archive, main)).map(({ id, part }) => [id, part]))
  // @keyed none: they live for the conversion of one document of a folder of the configuration; MAX_SLIDES
  const slides: string[] = []
  const passages: Passage[] = []
  const hidden: number[] = []
  await readXml(archive, main, {
    open (name, attributes) {
      const part = name === 'sldId' ? relations.get(attributes['r:id'] ?? attributes['id'] ?? '') : undefined
      if (part !== undefined && slides.length < MAX_SLIDES) slides.push(part)
    }
  })
  for (const [index, part] of slides.entries()) {
    const slide = new Slide()
    if (!await readShapes(archive, part, slide)) {
      hidden.push(index + 1)
      continue
    }
    const others = await relationsOf(archive, part)
    for (const { type, part: other } of others) if (type === 'diagramData') await readShapes(archive, other, slide)
    for (const { type, part: other } of others) if (type === 'notesSlide') await readNotes(archive, other, slide)
    passages.push(...slide.finish(index + 1))
  }
  return { passages, missing: hidden.length > 0 ? `the hidden slides ${hidden.slice(0, 20).join(', ')}` : undefined }
}

async function readNotes (archive: Archive, part: string, slide: Slide): Promise<void> {
  const notes = new Slide()
  await readShapes(archive, part, notes, type => type === 'body')
  const texts = notes.blocks.filter(block => block.kind === 'text' && block.text.trim() !== '')
  if (texts.length === 0) return
  slide.add({ kind: 'gap' })
  for (const [index, block] of texts.entries()) {
    if (block.kind === 'text') slide.add({ kind: 'text', text: `${index === 0 ? 'Notes: ' : ''}${block.text}` })
  }
}

/**
 * Adds the shapes of a part; false where the slide is hidden.
 * @param takes whether a shape is read, by the type of its placeholder
 */
async function readShapes (archive: Archive, part: string, slide: Slide, takes: (type: string | undefined) => boolean = type => !REPEATED.has(type ?? '')): Promise<boolean> {
  let isShown = true
  let silent = 0
  let placeholder: string | undefined
  // @keyed none: it lives for the conversion of one document of a folder of the configuration; MAX_PPTX_BYTES
  let paragraphs: { text: string, level: number }[] = []
  let level = 0
  let text = ''
  let inText = false
  let table: { rows: string[][], hasTitles: boolean } | undefined
  const endShape = (): void => {
    const filled = paragraphs.filter(one => one.text.trim() !== '')
    paragraphs = []
    if (!takes(placeholder)) return
    if (TITLES.has(placeholder ?? '') && slide.title === '') {
      slide.title = filled.map(one => one.text).join(' ')
      return
    }
    // several paragraphs are the points of the slide
    for (const one of filled) slide.add({ kind: 'text', text: one.text, level: filled.length > 1 ? one.level : undefined })
    if (filled.length > 0) slide.add({ kind: 'gap' })
  }
  await readXml(archive, part, {
    open (name, attributes) {
      // the same shapes for older programs
      if (name === 'Fallback') silent++
      if (silent > 0) return
      if (name === 'sld') isShown = attributes['show'] !== '0' && attributes['show'] !== 'false'
      else if (name === 'sp' || name === 'pt') [placeholder, paragraphs] = [undefined, []]
      else if (name === 'ph') placeholder = attributes['type'] ?? 'body'
      else if (name === 'p') [text, level] = ['', 0]
      else if (name === 'pPr') level = Number(attributes['lvl'] ?? 0) || 0
      else if (name === 't') inText = true
      else if (name === 'br' || name === 'tab') text += ' '
      else if (name === 'tbl') table = { rows: [], hasTitles: false }
      else if (name === 'tblPr' && table !== undefined) table.hasTitles = attributes['firstRow'] === '1' || attributes['firstRow'] === 'true'
      else if (name === 'tr') table?.rows.push([])
      else if (name === 'tc') paragraphs = []
    },
    text (data) { if (inText && silent === 0) text += data },
    close (name) {
      if (name === 'Fallback') silent--
      if (silent > 0) return
      if (name === 't') inText = false
      else if (name === 'p') paragraphs.push({ text, level })
      else if (name === 'tc') table?.rows.at(-1)?.push(paragraphs.splice(0).map(one => one.text.trim()).join(' '))
      else if (name === 'tbl' && table !== undefined) {
        slide.add({ kind: 'table', ...table })
        table = undefined
      } else if (name === 'sp' || name === 'pt') endShape()
    }
  })
  return isShown
}
