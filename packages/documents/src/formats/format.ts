import type { Passage } from '../text/passages.js'

/** What the numbers of a passage count. */
export type Place = 'lines' | 'page' | 'cell' | 'row' | 'slide' | 'chapter' | 'message'

/** The passages of a file that is not text, except those that were emitted. */
export interface SplitFile {
  readonly passages: Passage[]
  /** The parts of it that could not be read, such as "pages 3 and 4: …", for the log. */
  readonly missing?: string | undefined
}

/** Takes passages of a file before the rest of it is read. */
export type Emit = (passages: Passage[]) => void

interface AnyFormat {
  /** In lower case, with the dot. */
  readonly extensions: readonly string[]
  readonly place: Place
  /** Read only where the folder names its extension: configuration may hold secrets. */
  readonly named?: true
}

/** A format of text. */
export interface TextFormat extends AnyFormat {
  /** Default `text/plain`. */
  readonly mimeType?: string
  readonly split: (text: string, source: string) => Passage[]
  /** Why a text is not of this format, before it is split. */
  readonly damage?: (text: string) => string | undefined
}

/** A format of other bytes, which is split in a thread. */
export interface BytesFormat extends AnyFormat {
  /** The optional package that reads it. */
  readonly package?: string
  /** Loads the splitter, which only the thread needs. @throws where the package is missing */
  readonly load: () => Promise<(bytes: Uint8Array, emit: Emit) => Promise<SplitFile>>
}

export type Format = TextFormat | BytesFormat
