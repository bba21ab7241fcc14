import type { Vac } from '@polyvac/core'
import type { ExposedVacs } from '@polyvac/core/plugin'
import { createHash } from 'node:crypto'
import { canonicalJson } from './canonical-json.js'
import { cardFacts, type CardSource } from '../protocol/card-facts.js'
import { toCard as toCard03 } from '../dialects/v0_3/card.js'
import { toCard as toCard10 } from '../dialects/v1/card.js'
import type { SigningKeys } from '../push/signing-keys.js'

/** A card as it is sent: made once for every version, VAC and address. */
export interface RenderedCard {
  readonly text: string
  readonly etag: string
  /** HTTP date. */
  readonly modified: string
}

/** The generations of the card, and one that both read: 0.3 clients name no version, and look for its members at the top. */
export type CardKind = '1.0' | '0.3' | 'both'

/** Cards that are kept ready; a caller that makes up addresses of this service would else fill the memory. */
export const MAX_RENDERED_CARDS = 256

export interface CardsOptions extends Omit<CardSource, 'vacs' | 'url' | 'tenant'> {
  readonly exposed: ExposedVacs
  /** Signs cards; undefined: they are not signed. */
  readonly keys: SigningKeys | undefined
}

type Json = Record<string, unknown>

export class Cards {
  readonly #options: CardsOptions
  readonly #ready = new Map<string, Promise<RenderedCard>>()
  #vacs: readonly Vac[] = []
  #since = new Date()

  constructor (options: CardsOptions) {
    this.#options = options
  }

  /** The card of a VAC, or of all; undefined where there is no such VAC. */
  render (kind: CardKind, url: string, tenant?: string): Promise<RenderedCard> | undefined {
    const now = this.#options.exposed.list()
    // a reload makes new ones
    if (now.length !== this.#vacs.length || now.some((vac, index) => vac !== this.#vacs[index])) {
      this.#vacs = now
      this.#since = new Date()
      this.#ready.clear()
    }
    const key = `${kind} ${tenant ?? ''} ${url}`
    const known = this.#ready.get(key)
    if (known !== undefined) return known
    if (tenant !== undefined && !this.#options.exposed.has(tenant)) return undefined
    if (this.#ready.size >= MAX_RENDERED_CARDS) this.#ready.clear()
    const made = this.card(kind, url, tenant).then(card => {
      const text = JSON.stringify(card)
      return { text, etag: `"${createHash('sha256').update(text).digest('base64url').slice(0, 27)}"`, modified: this.#since.toUTCString() }
    })
    this.#ready.set(key, made)
    return made
  }

  /** The card as an object, made anew. */
  async card (kind: CardKind, url: string, tenant?: string): Promise<Json> {
    const { exposed, keys, ...source } = this.#options
    const facts = cardFacts({ ...source, url, tenant, vacs: tenant === undefined ? exposed.list() : [exposed.get(tenant)] })
    if (kind === '0.3') return toCard03(facts)
    const card = toCard10(facts, ['0.3'])
    const signed = keys === undefined ? card : { ...card, signatures: [await keys.signCard(canonicalJson(card), `${url}/.well-known/jwks.json`)] }
    return kind === 'both' ? mergeCards(signed, toCard03(facts)) : signed
  }
}

/** A card that both generations read; what both have is merged. */
function mergeCards (newer: Json, older: Json): Json {
  const both = { ...older, ...newer, capabilities: { ...older.capabilities as Json, ...newer.capabilities as Json } }
  const { bearer: old } = (older.securitySchemes ?? {}) as { bearer?: Json }
  const { bearer: now } = (newer.securitySchemes ?? {}) as { bearer?: Json }
  return now === undefined ? both : { ...both, securitySchemes: { bearer: { ...old, ...now } } }
}
