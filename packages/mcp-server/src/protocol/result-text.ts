import { isRecord } from '@polyvac/core/plugin'
import { features, MODERN_META, type Revision } from '@polyvac/mcp-protocol'
import type { Params } from './rpc.js'

/** How long, in ms, and for whom an answer may be kept. */
export interface CacheHint { readonly ttlMs: number, readonly cacheScope: 'public' | 'private' }

/** Results as JSON text, dressed as their revision wants them. */
export class ResultTexts {
  readonly #serverMeta: Params
  readonly #head: string

  constructor (serverInfo: object) {
    this.#serverMeta = { [MODERN_META.serverInfo]: serverInfo }
    this.#head = `{"resultType":"complete","_meta":${JSON.stringify(this.#serverMeta)}`
  }

  /** A result that ends its request. The hint counts where the revision knows one. */
  complete (revision: Revision, result: Params, hint?: CacheHint): string {
    if (!features[revision].resultTypes) return JSON.stringify(result)
    const cached = hint === undefined ? '' : `,"ttlMs":${hint.ttlMs},"cacheScope":"${hint.cacheScope}"`
    if (result._meta !== undefined) {
      const { _meta: meta, ...rest } = result
      // one that a server behind this one gave names that server
      return `{"resultType":"complete","_meta":${JSON.stringify({ ...isRecord(meta) && meta, ...this.#serverMeta })}${cached}${tail(JSON.stringify(rest))}`
    }
    return `${this.#head}${cached}${tail(JSON.stringify(result))}`
  }

  /** Any other result of 2026-07-28: `input_required` or `task`. */
  other (resultType: string, result: Params): string {
    return `{"resultType":${JSON.stringify(resultType)},"_meta":${JSON.stringify(this.#serverMeta)}${tail(JSON.stringify(result))}`
  }
}

/** The text of an object, to follow the members of another. */
function tail (text: string): string {
  return text === '{}' ? '}' : `,${text.slice(1)}`
}
