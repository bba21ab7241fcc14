import { isRecord, MAX_REDACTED_DEPTH, type Redactor } from '@polyvac/core/plugin'
import { LISTS, LIST_KINDS, type CallProgress, type LogMessage } from '@polyvac/mcp-protocol'

/** Fields that peers use and people do not read: names, addresses, states, schemas, and bytes in base64; `data` too. */
const KEPT = new Set([
  'uri', 'uriTemplate', 'url', 'name', 'type', 'mimeType', 'role', 'icons', 'blob', 'inputSchema', 'outputSchema', 'requestedSchema',
  'taskId', 'elicitationId', 'requestState', 'nextCursor', 'resultType', 'status'
])

/** Fields whose keys are chosen by the server: below them, `name` or `uri` are data. */
const DATA = new Set(['structuredContent', '_meta', 'toolResult', 'input', 'metadata'])

const LIST_METHODS: ReadonlySet<string> = new Set(LIST_KINDS.map(kind => LISTS[kind].method))

/** The responses that open a session: capabilities, revisions and the name of the server. */
const HANDSHAKES: ReadonlySet<string> = new Set(['initialize', 'server/discover'])

type Params = Record<string, unknown>

/**
 * Replaces secrets in the messages of a server. In a result, a list and a question these are only values of texts:
 * never a key, a name, a URI or a schema, which callers send back. In errors, also in results with `isError`, and in
 * log messages these are all texts and keys.
 */
export class MessageRedactor {
  readonly #redact: Redactor
  readonly #onFound: (secrets: readonly string[]) => void

  /** @param onFound gets the names of the variables and headers whose values were replaced in a result */
  constructor (redact: Redactor, onFound: (secrets: readonly string[]) => void) {
    this.#redact = redact
    this.#onFound = onFound
  }

  /** @param method that of the request */
  result (method: string | undefined, result: Params): Params {
    return this.#redact.isIdle || HANDSHAKES.has(method ?? '') ? result : this.#walked(result, LIST_METHODS.has(method ?? ''))
  }

  /** The parameters of a request of the server. */
  question (params: Params): Params {
    return this.#redact.isIdle ? params : this.#walked(params, false)
  }

  error (error: Params): Params {
    return this.#redact.isIdle ? error : { ...error, message: this.#redact.value(error.message), data: this.#redact.value(error.data) }
  }

  progress (progress: CallProgress): CallProgress {
    return this.#redact.isIdle || progress.message === undefined ? progress : { ...progress, message: this.#redact.value(progress.message) }
  }

  log (message: LogMessage): LogMessage {
    return this.#redact.isIdle ? message : { ...message, data: this.#redact.value(message.data) }
  }

  #walked (value: Params, isList: boolean): Params {
    const found = new Set<string>()
    const clean = this.#walk(value, isList, false, found, 0) as Params
    if (found.size > 0) this.#onFound([...found])
    return clean
  }

  #walk (value: unknown, isList: boolean, isData: boolean, found: Set<string>, depth: number): unknown {
    if (typeof value === 'string') return this.#redact.result(value, found)
    if (typeof value !== 'object' || value === null) return value
    if (depth === MAX_REDACTED_DEPTH) return undefined
    if (Array.isArray(value)) {
      let clean = value
      for (let i = 0; i < value.length; i++) {
        const one = this.#walk(value[i], isList, isData, found, depth + 1)
        if (one === value[i]) continue
        if (clean === value) clean = value.slice()
        clean[i] = one
      }
      return clean
    }
    if (!isList && !isData && isRecord(value) && value.isError === true) return this.#redact.value(value, depth)
    let clean = value as Params
    // not entries(), which would take an array for each field of each result
    for (const key in value) {
      if (!isData && (KEPT.has(key) || (isList && key === '_meta'))) continue
      const one = (value as Params)[key]
      // of an image or a sound
      if (!isData && key === 'data' && typeof one === 'string') continue
      const next = this.#walk(one, isList, isData || DATA.has(key), found, depth + 1)
      if (next === one) continue
      if (clean === value) clean = { ...value }
      clean[key] = next
    }
    return clean
  }
}
