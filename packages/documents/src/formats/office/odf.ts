// What the three OpenDocument formats share.
import { Archive } from './zip.js'
import { readXml } from './xml.js'

/** Most XML of an OpenDocument file, inflated, in bytes. It is read as a stream. */
const MAX_ODF_BYTES = 64 * 1024 * 1024
/** Styles that are read. */
const MAX_STYLES = 100_000
/** Spaces that one element stands for. */
const MAX_SPACES = 100

/** Elements whose text no reader sees, or that repeats other text. */
export const SILENT: ReadonlySet<string> = new Set(`tracked-changes table-of-content alphabetical-index illustration-index
table-index object-index user-index bibliography sequence-decls variable-decls user-field-decls forms event-listeners
ruby-text hidden-text hidden-paragraph desc title binary-data script note-citation page-number page-count
shapes-decls header-decl footer-decl date-time-decl content-validations calculation-settings named-expressions
database-ranges data-pilot-tables conditional-formats sparkline-groups`.split(/\s+/))

/** Opens an OpenDocument file. @throws an error where it is encrypted, damaged or something else */
export async function openOdf (bytes: Uint8Array): Promise<Archive> {
  const archive = await Archive.open(bytes, MAX_ODF_BYTES)
  let isEncrypted = archive.has('encrypted-package')
  if (archive.has('META-INF/manifest.xml')) {
    await readXml(archive, 'META-INF/manifest.xml', { open (name) { isEncrypted ||= name === 'encryption-data' } })
  }
  if (isEncrypted) throw new Error('it is encrypted: save it without a password')
  if (!archive.has('content.xml')) throw new Error('it has no content.xml')
  return archive
}

/** What white space of a text an element stands for. */
export function spaceOf (name: string, attributes: Readonly<Record<string, string>>): string {
  if (name === 's') return ' '.repeat(Math.min(MAX_SPACES, Number(attributes['c'] ?? 1) || 1))
  return name === 'tab' || name === 'line-break' ? ' ' : ''
}

/** The styles of a part, as far as readers need them. */
export class Styles {
  // @keyed none: they live for the conversion of one document of a folder of the configuration; MAX_STYLES
  readonly #parents = new Map<string, string>()
  // @keyed none: it lives for the conversion of one document of a folder of the configuration; MAX_STYLES
  readonly #hidden = new Set<string>()
  #current = ''

  open (name: string, attributes: Readonly<Record<string, string>>): void {
    if (name === 'style' && this.#parents.size < MAX_STYLES) {
      this.#current = attributes['name'] ?? ''
      this.#parents.set(this.#current, attributes['parent-style-name'] ?? '')
    }
    const isHidden = (name === 'table-properties' && attributes['display'] === 'false') || (name === 'drawing-page-properties' && attributes['visibility'] === 'hidden')
    if (isHidden) this.#hidden.add(this.#current)
  }

  /** Whether a table or slide with this style is hidden. */
  hides (style: string | undefined): boolean {
    return style !== undefined && this.#hidden.has(style)
  }

  /** Whether a style is the one with this name, or derives from it. */
  is (style: string | undefined, name: string): boolean {
    return style === name || (style !== undefined && this.#parents.get(style) === name)
  }
}
