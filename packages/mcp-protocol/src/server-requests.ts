import { isRecord } from './is-record.js'
import { TASKS_EXTENSION } from './meta-keys.js'

/** A request of a server to its client: `elicitation/create`, `sampling/createMessage` or `roots/list`. */
export interface ServerRequest {
  readonly method: string
  readonly params?: Readonly<Record<string, unknown>> | undefined
}

/** The result of a server request: `{ action, content? }` of an elicitation, a sampled message, or `{ roots }`. */
export type InputResponse = Readonly<Record<string, unknown>>

/** Server requests by key, and their responses by the same keys. */
export type InputRequests<K extends string = string> = Readonly<Record<K, ServerRequest>>
export type InputResponses<K extends string = string> = Readonly<Record<K, InputResponse>>

export interface ClientCapabilities {
  readonly elicitation?: { readonly form?: object | undefined, readonly url?: object | undefined } | undefined
  readonly sampling?: { readonly tools?: object | undefined, readonly context?: object | undefined } | undefined
  readonly roots?: object | undefined
  readonly extensions?: Readonly<Record<string, object>> | undefined
  readonly [other: string]: unknown
}

/** The capabilities of a client that supports the tasks extension. */
export const TASKS_CAPABILITY = { extensions: { [TASKS_EXTENSION]: {} } } as const satisfies ClientCapabilities

/** What a user may do with an elicitation. */
export const ELICITATION_ACTIONS: readonly unknown[] = ['accept', 'decline', 'cancel']

export function isServerRequestMethod (method: unknown): boolean {
  return method === 'elicitation/create' || method === 'sampling/createMessage' || method === 'roots/list'
}

/** Extensions of a client that are kept, and the length of the name and the settings of each, in characters of JSON. */
const MAX_EXTENSIONS = 20
const MAX_EXTENSION_CHARS = 1_000

/**
 * The capabilities that a client declares, without what this protocol does not know: a session keeps them. Only objects
 * count, since some clients send null for those they lack.
 */
export function readCapabilities (
  { elicitation, sampling, roots, extensions }: Readonly<Record<string, unknown>>
): ClientCapabilities {
  return {
    ...isRecord(elicitation) && { elicitation: pickFlags(elicitation, ['form', 'url']) },
    ...isRecord(sampling) && { sampling: pickFlags(sampling, ['tools', 'context']) },
    ...isRecord(roots) && { roots: {} },
    ...isRecord(extensions) && { extensions: Object.fromEntries(Object.entries(extensions).filter(isSmall).slice(0, MAX_EXTENSIONS)) }
  }
}

function pickFlags (settings: Readonly<Record<string, unknown>>, names: readonly string[]): Record<string, object> {
  return Object.fromEntries(names.filter(name => isRecord(settings[name])).map(name => [name, {}]))
}

function isSmall (extension: [string, unknown]): extension is [string, object] {
  return isRecord(extension[1]) && JSON.stringify(extension).length <= MAX_EXTENSION_CHARS
}

/** Whether a client declares the tasks extension. */
export function declaresTasks ({ extensions }: ClientCapabilities): boolean {
  return isRecord(extensions) && isRecord(extensions[TASKS_EXTENSION])
}

/**
 * The capabilities that a client lacks for a server request; undefined if it declares them all.
 * @throws TypeError for a method that clients do not serve
 */
export function missingCapabilities (
  { method, params = {} }: ServerRequest, { elicitation, sampling, roots }: ClientCapabilities
): ClientCapabilities | undefined {
  switch (method) {
    case 'elicitation/create': {
      if (params.mode === 'url') return elicitation?.url === undefined ? { elicitation: { url: {} } } : undefined
      // `{}` stands only for forms: before 2025-11-25 there was no other mode
      const hasForms = elicitation !== undefined && (elicitation.form !== undefined || elicitation.url === undefined)
      return hasForms ? undefined : { elicitation: { form: {} } }
    }
    case 'sampling/createMessage': {
      if (sampling === undefined) return { sampling: {} }
      return params.tools !== undefined && sampling.tools === undefined ? { sampling: { tools: {} } } : undefined
    }
    case 'roots/list': return roots === undefined ? { roots: {} } : undefined
    default: throw new TypeError(`${method} is not elicitation/create, sampling/createMessage or roots/list`)
  }
}

/** Whether a value has the form of a response to a server request. */
export function isResponseTo ({ method }: ServerRequest, response: unknown): response is InputResponse {
  if (!isRecord(response)) return false
  const { action, content } = response
  switch (method) {
    case 'elicitation/create':
      return ELICITATION_ACTIONS.includes(action) && (content === undefined || isRecord(content))
    case 'sampling/createMessage': return typeof response.role === 'string' && content !== undefined
    case 'roots/list': return Array.isArray(response.roots)
    default: return false
  }
}
