import type { SourceDocument, Vac } from '@polyvac/core'
import { SignedStates, type StateKey } from '@polyvac/core/plugin'
import type { FastifyRequest } from 'fastify'
import type { ChatProtocol, Passage } from '../protocol.js'
import { findPassage, isTextAs, printOf, type Print } from './passage-print.js'

const DAY_MS = 86_400_000
/** How long a sealed address opens: from then to the end of the day (UTC), so that it is the same for a day. */
const SEAL_MS = 7 * DAY_MS
const MAX_ID_CHARS = 8_000
const MAX_SOURCE_CHARS = 1_000
const MAX_RANGE_CHARS = 40

/** What the documents of a memory count. */
const PLACES = ['lines', 'page', 'cell', 'row', 'slide', 'chapter', 'message']

/** What an id names: the document, where in it, and what the passage was. */
type Id = readonly [source: string, place: string, range: string, ...print: Print]

/** The passages of memories, by their addresses. */
export class Passages {
  readonly #protocol: Pick<ChatProtocol, 'prefix' | 'passagePath'>
  readonly #base: (request: FastifyRequest) => string
  readonly #seals: SignedStates | undefined

  /**
   * @param scope the prefix of the scope of the plugin
   * @param isSealed whether addresses open without a caller, for a time; otherwise they are not secret
   */
  constructor ({ protocol, scope, publicUrl, stateKey, isSealed }: {
    readonly protocol: Pick<ChatProtocol, 'prefix' | 'passagePath'>
    readonly scope: string
    readonly publicUrl: string | undefined
    readonly stateKey: StateKey | undefined
    readonly isSealed: boolean
  }) {
    this.#protocol = protocol
    this.#base = ({ protocol, host }) => (publicUrl ?? `${protocol}://${host}${scope}`).replace(/\/+$/, '')
    this.#seals = isSealed ? new SignedStates(stateKey, MAX_ID_CHARS) : undefined
  }

  /** The address that shows a source; undefined where it is not of a memory whose documents can be read. */
  addressOf (request: FastifyRequest, vac: Vac, { page_content: content, metadata }: SourceDocument): string | undefined {
    const { source } = metadata
    if (vac.memory?.read === undefined || typeof source !== 'string' || source === '' || source.length > MAX_SOURCE_CHARS) return undefined
    const place = PLACES.find(name => ['string', 'number'].includes(typeof metadata[name])) ?? ''
    const range = String(metadata[place] ?? '')
    const id = this.#idOf(vac, [source, place, range.length > MAX_RANGE_CHARS ? '' : range, ...printOf(content)])
    const { prefix, passagePath } = this.#protocol
    return id === undefined ? undefined : `${this.#base(request)}${prefix}${passagePath?.(encodeURIComponent(vac.name), id)}#cited`
  }

  /** The passage of an id; undefined where it has expired, is of another VAC, or names nothing that can be read. */
  async read (vac: Vac, id: string): Promise<Passage | undefined> {
    const { memory } = vac
    const value = this.#valueOf(vac, id)
    if (value === undefined || memory?.read === undefined) return undefined
    const [source, place, range, ...print] = value
    const text = await memory.read(source)
    if (text === undefined) return undefined
    const { mimeType: mediaType = 'text/plain' } = (await memory.list?.())?.find(({ uri }) => uri === source) ?? {}
    const [, first, last = first] = place === 'lines' ? /^(\d{1,9})(?:-(\d{1,9}))?$/.exec(range) ?? [] : []
    const { lines, isFound } = findPassage(text, print, first === undefined ? undefined : [Number(first), Number(last)])
    return {
      source,
      place: range === '' ? undefined : `${place === 'lines' && !range.includes('-') ? 'line' : place} ${range}`,
      text,
      mediaType,
      lines,
      changed: isFound ? false : isTextAs(source, mediaType) ? true : undefined
    }
  }

  #idOf ({ name }: Vac, id: Id): string | undefined {
    if (this.#seals === undefined) return Buffer.from(JSON.stringify(id)).toString('base64url')
    try {
      return this.#seals.sign(id, callOf(name), SEAL_MS, DAY_MS)
    } catch {
      // a key that replicas share is not known as long as their database does not answer
      return undefined
    }
  }

  #valueOf ({ name }: Vac, id: string): Id | undefined {
    if (id.length > MAX_ID_CHARS) return undefined
    const read = this.#seals?.read(id, callOf(name)) ?? { value: parsed(id) }
    return 'value' in read && isId(read.value) ? read.value : undefined
  }
}

/** What a seal is valid for: a passage of one VAC. */
function callOf (vac: string): object {
  return { passage: vac }
}

function parsed (id: string): unknown {
  try {
    return JSON.parse(Buffer.from(id, 'base64url').toString())
  } catch {
    return undefined
  }
}

function isId (value: unknown): value is Id {
  if (!Array.isArray(value) || value.length !== 5) return false
  const [source, place, range, length, digest] = value as unknown[]
  const isText = [source, place, range, digest].every(part => typeof part === 'string')
  return isText && (place === '' || PLACES.includes(place as string)) && Number.isSafeInteger(length) && (length as number) >= 0
}
