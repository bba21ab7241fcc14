import { isRecord } from './is-record.js'
import { TASKS_EXTENSION } from './meta-keys.js'

/** A request of a server to its client: `elicitation/create`, `sampling/createMessage` or `roots/list`, with its parameters. */
export interface ServerRequest {
  readonly method: string
  readonly params?: Readonly<Record<string, unknown>> | undefined
}

/** The result of a server request: `{ action, content? }` of an elicitation, a sampled message, or `{ roots }`. */
export type InputResponse = Readonly<Record<string, unknown>>

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

/** The capabilities that a client declares. Some clients send null for a capability that they lack, so only objects count. */
export function readCapabilities (capabilities: Readonly<Record<string, unknown>>): ClientCapabilities {
  return Object.fromEntries(Object.entries(capabilities).filter(([, settings]) => isRecord(settings)))
}

/** Whether a client declares the tasks extension. */
export function declaresTasks ({ extensions }: ClientCapabilities): boolean {
  return isRecord(extensions) && isRecord(extensions[TASKS_EXTENSION])
}

/**
 * The capabilities that a client lacks for a server request; undefined if it declares them all.
 * @throws TypeError for a method that clients do not serve
 */
export function missingCapabilities ({ method, params = {} }: ServerRequest, { elicitation, sampling, roots }: ClientCapabilities): ClientCapabilities | undefined {
  switch (method) {
    case 'elicitation/create': {
      if (params.mode === 'url') return elicitation?.url === undefined ? { elicitation: { url: {} } } : undefined
      // `{}` stands for forms alone: before 2025-11-25 there was no other mode
      return elicitation === undefined || (elicitation.form === undefined && elicitation.url !== undefined) ? { elicitation: { form: {} } } : undefined
    }
    case 'sampling/createMessage': {
      if (sampling === undefined) return { sampling: {} }
      return params.tools !== undefined && sampling.tools === undefined ? { sampling: { tools: {} } } : undefined
    }
    case 'roots/list': return roots === undefined ? { roots: {} } : undefined
    default: throw new TypeError(`clients do not serve ${JSON.stringify(method)}; use elicitation/create, sampling/createMessage or roots/list`)
  }
}

/** Whether a value has the form of a response to a server request. */
export function isResponseTo ({ method }: ServerRequest, response: unknown): response is InputResponse {
  if (!isRecord(response)) return false
  switch (method) {
    case 'elicitation/create': return ELICITATION_ACTIONS.includes(response.action) && (response.content === undefined || isRecord(response.content))
    case 'sampling/createMessage': return typeof response.role === 'string' && response.content !== undefined
    case 'roots/list': return Array.isArray(response.roots)
    default: return false
  }
}
