import { openOdf, SILENT, spaceOf, Styles } from './odf.js'
import { Slide } from './slide.js'
import { readXml } from './xml.js'
import type { Passage } from '../../text/passages.js'
import type { SplitFile } from '../format.js'

/** Slides that are read. */
const MAX_SLIDES = 5_000

/** Classes of frames whose text each slide repeats. */
const REPEATED: ReadonlySet<string | undefined> = new Set(['header', 'footer', 'date-time', 'page-number', 'page'])

/** The slides of a presentation, with tables and notes. */
export async function splitOdp (bytes: Uint8Array): Promise<SplitFile> {
  const archive = await openOdf(bytes)
  const styles = new Styles()
  // @keyed none: they live for the conversion of one document of a folder of the configuration; MAX_SLIDES
  const passages: Passage[] = []
  // @keyed none: it lives for the conversion of one document of a folder of the configuration; MAX_ODF_BYTES
  const hidden: number[] = []
  let number = 0
  let slide: Slide | undefined
  let silent = 0
  let notes: { text: string }[] | undefined
  let kind: string | undefined
  let lists = 0
  let text: string | undefined
  // @keyed none: it lives for the conversion of one document of a folder of the configuration; MAX_ODF_BYTES
  let frame: { text: string, level: number | undefined }[] = []
  let table: string[][] | undefined
  const isSilent = (name: string): boolean => SILENT.has(name) || name === 'annotation'
  const endFrame = (): void => {
    const filled = frame.splice(0).filter(one => one.text.trim() !== '')
    if (slide === undefined || REPEATED.has(kind)) return
    if (notes !== undefined) notes.push(...filled)
    else if (kind === 'title' && slide.title === '') slide.title = filled.map(one => one.text).join(' ')
    else if (filled.length > 0) {
      for (const one of filled) slide.add({ kind: 'text', text: one.text, level: filled.length > 1 ? one.level ?? 0 : undefined })
      slide.add({ kind: 'gap' })
    }
  }
  await readXml(archive, 'content.xml', {
    open (name, attributes) {
      styles.open(name, attributes)
      if (isSilent(name)) silent++
      if (silent > 0) return
      if (name === 'page') {
        number++
        const isHidden = styles.hides(attributes['style-name'])
        if (isHidden) hidden.push(number)
        slide = isHidden || number > MAX_SLIDES ? undefined : new Slide()
      } else if (name === 'notes') notes = []
      else if (name === 'frame' || name === 'custom-shape' || name === 'rect' || name === 'ellipse') [kind, frame] = [attributes['class'], []]
      else if (name === 'list') lists++
      else if (name === 'p') text = ''
      else if (name === 'table') table = []
      else if (name === 'table-row') table?.push([])
      else if (name === 'table-cell') frame = []
      else if (text !== undefined) text += spaceOf(name, attributes)
    },
    text (data) { if (text !== undefined && silent === 0) text += data },
    close (name) {
      if (isSilent(name)) {
        silent--
        return
      }
      if (silent > 0) return
      if (name === 'p' && text !== undefined) {
        frame.push({ text, level: lists > 0 ? lists - 1 : undefined })
        text = undefined
      } else if (name === 'list') lists--
      else if (name === 'table-cell') table?.at(-1)?.push(frame.splice(0).map(one => one.text.trim()).join(' '))
      else if (name === 'table' && table !== undefined) {
        const [titles = []] = table
        slide?.add({ kind: 'table', rows: table, hasTitles: titles.length > 1 && titles.every(cell => cell !== '' && !/\p{N}/u.test(cell)) })
        table = undefined
      } else if (name === 'frame' || name === 'custom-shape' || name === 'rect' || name === 'ellipse') endFrame()
      else if (name === 'notes') {
        for (const [index, note] of (notes ?? []).entries()) slide?.add({ kind: 'text', text: `${index === 0 ? 'Notes: ' : ''}${note.text}` })
        notes = undefined
      } else if (name === 'page') {
        if (slide !== undefined) passages.push(...slide.finish(number))
        slide = undefined
      }
    }
  })
  return { passages, missing: hidden.length > 0 ? `the hidden slides ${hidden.slice(0, 20).join(', ')}` : undefined }
}
