import { isTerminal, type TaskRecord } from '@polyvac/tasks'
import type { FastifyRequest } from 'fastify'
import { ExtensionRequiredError, InvalidParamsError, VersionNotSupportedError } from '../errors.js'
import type { AgentExtension } from './extensions.js'

type Headers = Pick<FastifyRequest, 'headers'>

/** The version of a client that names none (A2A 1.0, section 3.6.2). */
export const UNNAMED_VERSION = '0.3'

/** The version that a request names, as major and minor; undefined for a value that is not a version. */
export function versionOf ({ headers, query }: Pick<FastifyRequest, 'headers' | 'query'>): string | undefined {
  const version = headers['a2a-version'] ?? (query as Record<string, unknown> | undefined)?.['A2A-Version'] ?? ''
  if (version === '') return UNNAMED_VERSION
  return typeof version === 'string' ? /^(\d{1,4}\.\d{1,4})(?:\.\d{1,4})?$/.exec(version.trim())?.[1] : undefined
}

export function unsupportedVersion (supported: readonly string[]): Error {
  const versions = supported.join(' or ')
  return new VersionNotSupportedError(`this version of A2A is not spoken here; send A2A-Version: ${versions}`)
}

/** Extensions that one request may name: matching a longer list costs time for every request that sends it. */
export const MAX_EXTENSIONS = 64

/**
 * The offered extensions that a request names. `sends`: it sends a message; only messages have to name the required
 * ones; a client that does not support them can still read and cancel. @throws A2A_EXTENSION_REQUIRED
 */
export function activeExtensions (
  { headers }: Headers, header: string, offered: readonly AgentExtension[], sends: boolean
): readonly string[] {
  const value = headers[header]
  const named = value === undefined ? [] : String(value).split(',').map(uri => uri.trim())
  if (named.length > MAX_EXTENSIONS) {
    throw new InvalidParamsError(`${header}: names more than ${MAX_EXTENSIONS} extensions`)
  }
  const missing = !sends ? undefined : offered.find(({ uri, required }) => required === true && !named.includes(uri))
  if (missing !== undefined) throw new ExtensionRequiredError(missing.uri)
  return named.length === 0 ? named : offered.flatMap(({ uri }) => named.includes(uri) ? [uri] : [])
}

/** The key under which a client may send the same request again. */
export function idempotencyKey ({ headers }: Headers): string | undefined {
  const { 'idempotency-key': key } = headers
  if (key === undefined) return undefined
  if (typeof key !== 'string' || key === '' || key.length > 256) {
    throw new InvalidParamsError('Idempotency-Key: give 1 to 256 characters')
  }
  return key
}

/** Number of the last event that the client has received. */
export function lastEventId ({ headers }: Headers): number | undefined {
  const { 'last-event-id': id } = headers
  if (id === undefined || id === '') return undefined
  if (typeof id !== 'string' || !/^\d{1,15}$/.test(id)) {
    throw new InvalidParamsError('Last-Event-ID: give the number of an event, as the `id` of a frame has it')
  }
  return Number(id)
}

/**
 * The event number after which a stream resumes. A reader that has all events of an ended task gets the last one again:
 * an empty stream would not report the end.
 */
export function resumePosition (lastEventId: number | undefined, { seq, state }: TaskRecord): number | undefined {
  if (lastEventId === undefined) return undefined
  if (lastEventId > seq) throw new InvalidParamsError(`Last-Event-ID: the last event so far is ${seq}`)
  return isTerminal(state) ? Math.min(lastEventId, seq - 1) : lastEventId
}
