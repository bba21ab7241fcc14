import { extname } from 'node:path'
import { FORMATS, isBytes } from '../formats/table.js'

/** Files of a folder that are left out for one reason. */
export interface LeftOutReason {
  /** Such as `.xlsx` for an ending that is not read, or `damaged`. */
  readonly reason: string
  readonly files: number
  /** What reads them; absent where nothing does. */
  readonly remedy?: string | undefined
}

/** What a folder has besides the files that were read: no hidden or ignored files, source code, or media. */
export interface LeftOut {
  readonly files: number
  /** Those of most files first, MAX_REASONS at most. */
  readonly reasons: readonly LeftOutReason[]
  /** All of it in words, such as `2 files left out: 2 encrypted; to read them: remove the passwords`. */
  readonly text: string
}

/** Reasons that are listed, and endings that are counted one by one. */
const MAX_REASONS = 12
const MAX_ENDINGS = 200

/** They have no text, or are read only where they are named. */
const NO_DOCUMENTS: ReadonlySet<string> = new Set([
  ...FORMATS.filter(format => format.named === true && !isBytes(format)).flatMap(({ extensions }) => extensions),
  ...`.png .jpg .jpeg .gif .svg .webp .avif .bmp .ico .mp3 .wav .ogg .flac .m4a .mp4 .webm .mov .avi .mkv .woff .woff2 .ttf .otf
.eot .map .lock .exe .dll .so .dylib .o .a .class .pyc .wasm .bin .db .sqlite .sqlite3 .bak .tmp .swp`.split(/\s+/)
])

/** An ending of a format: others are parts of names, which strangers must not see. */
const ENDING = /^\.[a-z0-9_-]{1,10}$/
const OTHERS = 'with other endings'

/** Reasons that are not endings, each with its remedy. */
const REMEDIES = {
  'longer than `max_file_bytes`': 'raise `max_file_bytes`',
  'or more past `max_files`': 'raise `max_files`',
  unreadable: 'give this process the right to read all',
  'with control characters in the name': 'rename those with control characters',
  'not text': undefined,
  'without text, such as scans': 'recognise the text of scans (OCR)',
  encrypted: 'remove the passwords',
  damaged: 'repair the damaged ones',
  'too large when inflated': undefined,
  'too slow to read': undefined
} as const satisfies Record<string, string | undefined>
/** A reason other than an ending and a missing package. */
export type Reason = keyof typeof REMEDIES

/** The reason of a file whose splitter failed with this message. A package that is missing is a reason, too. */
export function reasonOf (problem: string): string {
  if (/^install \S+ to read it$/.test(problem)) return problem
  if (/password|encrypted/i.test(problem)) return 'encrypted' satisfies Reason
  if (/too large|too many/i.test(problem)) return 'too large when inflated' satisfies Reason
  if (/too long|in time/i.test(problem)) return 'too slow to read' satisfies Reason
  if (/\bscans?\b|no text/i.test(problem)) return 'without text, such as scans' satisfies Reason
  return 'damaged' satisfies Reason
}

/** The ending by which a file that is not read is counted; undefined where it is not expected to hold text. */
export function endingOf (name: string): string | undefined {
  const ending = extname(name).toLowerCase()
  if (ending === '' || NO_DOCUMENTS.has(ending)) return undefined
  return ENDING.test(ending) ? ending : OTHERS
}

/** Counts the files that one listing, or one refresh, leaves out. */
export class LeftOutCounts {
  // @keyed none: the values are endings and reasons of a folder of the configuration; MAX_ENDINGS
  readonly #counts = new Map<string, number>()

  add (reason: string | undefined, files = 1): void {
    if (reason === undefined) return
    const key = this.#counts.has(reason) || this.#counts.size < MAX_ENDINGS ? reason : OTHERS
    this.#counts.set(key, (this.#counts.get(key) ?? 0) + files)
  }

  /** What these and others left out, together. */
  with (other: LeftOutCounts): LeftOut {
    const both = new LeftOutCounts()
    for (const counts of [this, other]) for (const [reason, files] of counts.#counts) both.add(reason, files)
    const all = [...both.#counts].map(([reason, files]) => ({ reason, files, remedy: remedyOf(reason) }))
      .sort((a, b) => b.files - a.files || (a.reason < b.reason ? -1 : 1))
    const rest = all.splice(MAX_REASONS - 1)
    const files = rest.reduce((total, one) => total + one.files, 0)
    const reasons = rest.length > 1 ? [...all, { reason: 'for other reasons', files, remedy: undefined }] : [...all, ...rest]
    const sum = reasons.reduce((total, one) => total + one.files, 0)
    const list = reasons.map(one => `${one.files} ${one.reason}`).join(', ')
    const remedy = [...new Set(reasons.flatMap(one => one.remedy ?? []))].join('; ')
    const text = `${sum} file${sum === 1 ? '' : 's'} left out${sum === 0 ? '' : ': '}${list}${remedy === '' ? '' : `; to read them: ${remedy}`}`
    return { files: sum, reasons, text }
  }
}

function remedyOf (reason: string): string | undefined {
  const name = /^install (\S+) to read it$/.exec(reason)?.[1]
  if (name !== undefined) return `run \`npm install ${name}\``
  return ENDING.test(reason) || reason === OTHERS ? 'name other endings in `extensions`, where they are text' : REMEDIES[reason as Reason]
}
