import { isLargeJson, isRecord, jsonBytes } from '@polyvac/core/plugin'
import { features, MODERN_META, type Revision } from '@polyvac/mcp-protocol'
import type { Json, Params } from './rpc.js'

/** How long, in ms, and for whom a client may cache a result. */
export interface CacheHint { readonly ttlMs: number, readonly cacheScope: 'public' | 'private' }

/** Serializes results in the form of their revision. */
export class ResultTexts {
  readonly #serverMeta: Params
  readonly #head: string

  constructor (serverInfo: object) {
    this.#serverMeta = { [MODERN_META.serverInfo]: serverInfo }
    this.#head = `{"resultType":"complete","_meta":${JSON.stringify(this.#serverMeta)}`
  }

  /** A result that ends its request. Revisions without cache hints ignore the hint. */
  complete (revision: Revision, result: Params, hint?: CacheHint): string {
    if (!features[revision].resultTypes) return JSON.stringify(result)
    const cached = hint === undefined ? '' : `,"ttlMs":${hint.ttlMs},"cacheScope":"${hint.cacheScope}"`
    if (result._meta === undefined) return `${this.#head}${cached}${tail(JSON.stringify(result))}`
    const { _meta: meta, ...rest } = result
    // the `_meta` of an upstream server's result names that server
    const ownMeta = JSON.stringify({ ...isRecord(meta) && meta, ...this.#serverMeta })
    return `{"resultType":"complete","_meta":${ownMeta}${cached}${tail(JSON.stringify(rest))}`
  }

  /**
   * The same of a result that may be large: its JSON is then made in turns of the event loop.
   * @param owner whose memory it counts
   */
  completeInTurns (revision: Revision, result: Params, owner: string | undefined, hint?: CacheHint): Promise<Json> | string {
    if (!isLargeJson(result)) return this.complete(revision, result, hint)
    if (!features[revision].resultTypes) return jsonBytes(result, owner)
    const { _meta: meta, ...rest } = result
    return jsonBytes({ resultType: 'complete', _meta: { ...isRecord(meta) && meta, ...this.#serverMeta }, ...hint, ...rest }, owner)
  }

  /** Any other result of 2026-07-28: `input_required` or `task`. */
  other (resultType: string, result: Params): string {
    const head = `{"resultType":${JSON.stringify(resultType)},"_meta":${JSON.stringify(this.#serverMeta)}`
    return `${head}${tail(JSON.stringify(result))}`
  }
}

/** The members of a JSON object and its closing brace, to follow other members. */
function tail (text: string): string {
  return text === '{}' ? '}' : `,${text.slice(1)}`
}
