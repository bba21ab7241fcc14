import type { Vac } from '@polyvac/core'
import { canonicalCard, canonicalJson, type ExposedVacs } from '@polyvac/core/plugin'
import { createHash } from 'node:crypto'
import { cardFacts, type CardSource } from '../protocol/card-facts.js'
import { toCard as toCard03 } from '../dialects/v0_3/card.js'
import { toCard as toCard10 } from '../dialects/v1/card.js'
import type { PushKeys } from '../push/signing-keys.js'

/** A card as text, made once for every version, VAC and address. */
export interface RenderedCard {
  readonly text: string
  readonly etag: string
  /** HTTP date. */
  readonly modified: string
}

/**
 * The versions of the card, and one for both: clients of 0.3 name no version, and look for its members at the top
 * level.
 */
export type CardKind = '1.0' | '0.3' | 'both'

/** Rendered cards that are kept: a caller that invents addresses of this service must not fill the memory. */
export const MAX_RENDERED_CARDS = 256
/** Their text, in characters: an address is as long as a header may be, and a card names it several times. */
export const MAX_RENDERED_CHARS = 8 * 1024 * 1024

export interface CardsOptions extends Omit<CardSource, 'vacs' | 'url' | 'tenant'> {
  readonly exposed: ExposedVacs
  /** Signs cards; undefined: they are not signed. */
  readonly keys: PushKeys | undefined
}

type Json = Record<string, unknown>

export class Cards {
  readonly #options: CardsOptions
  // @keyed version of the card, VAC and address, as the request names them | holds: a card as text | whose: all
  //   callers | bound: MAX_RENDERED_CARDS and MAX_RENDERED_CHARS, then all leave; a key is at most as long as the
  //   headers of a request | share: of no owner: a card that left is made again | test:
  //   packages/a2a/test/cards.test.ts: no more text of cards is kept than the bound, however long the addresses are
  readonly #rendered = new Map<string, Promise<RenderedCard>>()
  #chars = 0
  #vacs: readonly Vac[] = []
  #since = new Date()

  constructor (options: CardsOptions) {
    this.#options = options
  }

  /**
   * The card of one VAC, or of all; undefined if no VAC has the name.
   * @param seen the VACs that the caller may use
   */
  render (kind: CardKind, url: string, tenant?: string, seen = this.#options.exposed): Promise<RenderedCard> | undefined {
    if (seen !== this.#options.exposed) {
      return tenant === undefined || seen.has(tenant) ? this.makeCard(kind, url, tenant, seen).then(card => toText(card, this.#since)) : undefined
    }
    const vacs = this.#options.exposed.list()
    // a reload of the configuration replaces the VACs
    if (vacs.length !== this.#vacs.length || vacs.some((vac, index) => vac !== this.#vacs[index])) {
      this.#vacs = vacs
      this.#since = new Date()
      this.#forget()
    }
    const key = `${kind} ${tenant ?? ''} ${url}`
    const cached = this.#rendered.get(key)
    if (cached !== undefined) return cached
    if (tenant !== undefined && !this.#options.exposed.has(tenant)) return undefined
    if (this.#rendered.size >= MAX_RENDERED_CARDS) this.#forget()
    const rendered = this.makeCard(kind, url, tenant).then(card => toText(card, this.#since))
    this.#rendered.set(key, rendered)
    rendered.then(({ text }) => {
      if (this.#rendered.get(key) !== rendered) return
      this.#chars += text.length
      if (this.#chars > MAX_RENDERED_CHARS) this.#forget()
    }, () => { this.#rendered.delete(key) })
    return rendered
  }

  #forget (): void {
    this.#rendered.clear()
    this.#chars = 0
  }

  /** The card as an object, which is not kept. */
  async makeCard (kind: CardKind, url: string, tenant?: string, seen = this.#options.exposed): Promise<Json> {
    const { exposed: _exposed, keys, ...source } = this.#options
    const vacs = tenant === undefined ? seen.list() : [seen.get(tenant)]
    const facts = cardFacts({ ...source, url, tenant, vacs })
    if (kind === '0.3') return toCard03(facts)
    const card = toCard10(facts, ['0.3'])
    const signed = keys === undefined
      ? card
      : { ...card, signatures: [await keys.signCard(canonicalJson(canonicalCard(card)), `${url}/.well-known/jwks.json`)] }
    return kind === 'both' ? mergeCards(signed, toCard03(facts)) : signed
  }
}

function toText (card: Json, since: Date): RenderedCard {
  const text = JSON.stringify(card)
  const hash = createHash('sha256').update(text).digest('base64url').slice(0, 27)
  return { text, etag: `"${hash}"`, modified: since.toUTCString() }
}

/** A card for both versions; members that both have are merged. */
function mergeCards (newer: Json, older: Json): Json {
  const both = { ...older, ...newer, capabilities: { ...older.capabilities as Json, ...newer.capabilities as Json } }
  const { bearer: old } = (older.securitySchemes ?? {}) as { bearer?: Json }
  const { bearer: now } = (newer.securitySchemes ?? {}) as { bearer?: Json }
  return now === undefined ? both : { ...both, securitySchemes: { bearer: { ...old, ...now } } }
}
