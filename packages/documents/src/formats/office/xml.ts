import { Parser } from 'htmlparser2'
import type { Archive } from './zip.js'

/** Elements that are open at the same time: an office file has some dozens. */
const MAX_XML_DEPTH = 500

/** What a reader takes of XML. Names have no prefix. */
export interface XmlReader {
  /** Whether the rest of the part is left out. */
  readonly isDone?: () => boolean
  readonly open?: (name: string, attributes: Readonly<Record<string, string>>) => void
  readonly text?: (text: string) => void
  readonly close?: (name: string) => void
}

/**
 * Reads a part of XML as it is inflated. Only the five entities of XML and numbers of characters are decoded, and
 * nothing that the part names is loaded. @throws an error where it is nested too deeply, or of the archive
 */
export async function readXml (archive: Archive, name: string, reader: XmlReader): Promise<void> {
  let depth = 0
  const parser = new Parser({
    onopentag (tag, attributes) {
      if (++depth > MAX_XML_DEPTH) throw new Error(`the XML of ${name} is nested more than ${MAX_XML_DEPTH} levels deep`)
      reader.open?.(localName(tag), withoutPrefixes(attributes))
    },
    ontext (text) { reader.text?.(text) },
    onclosetag (tag) {
      depth--
      reader.close?.(localName(tag))
    }
  }, { xmlMode: true })
  let decoder: InstanceType<typeof TextDecoder> | undefined
  await archive.stream(name, chunk => {
    decoder ??= new TextDecoder(chunk[0] === 0xff && chunk[1] === 0xfe ? 'utf-16le' : chunk[0] === 0xfe && chunk[1] === 0xff ? 'utf-16be' : 'utf-8')
    if (reader.isDone?.() !== true) parser.write(decoder.decode(chunk, { stream: true }))
  })
  parser.end()
}

function localName (name: string): string {
  return name.slice(name.indexOf(':') + 1)
}

/** Attributes by their names without a prefix; one without a prefix wins. `r:id` stays apart from `id`. */
function withoutPrefixes (attributes: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  let hasPrefix = false
  for (const name in attributes) hasPrefix ||= name.includes(':')
  if (!hasPrefix) return attributes
  const found: Record<string, string> = Object.create(null) as Record<string, string>
  for (const [name, value] of Object.entries(attributes)) {
    const local = name === 'r:id' ? name : localName(name)
    if (local === name || !(local in found)) found[local] = value
  }
  return found
}
