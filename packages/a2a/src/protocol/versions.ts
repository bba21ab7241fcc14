import type { FastifyRequest } from 'fastify'
import type { Dialect, Operation } from './dialect.js'
import { MethodNotFoundError, VersionNotSupportedError } from '../errors.js'

/** What a client that names no version speaks (A2A 1.0, section 3.6.2). */
export const UNNAMED = '0.3'

/** The version that a request names, as major and minor; undefined for what is none. */
export function versionOf ({ headers, query }: Pick<FastifyRequest, 'headers' | 'query'>): string | undefined {
  const given = headers['a2a-version'] ?? (query as Record<string, unknown> | undefined)?.['A2A-Version'] ?? ''
  if (given === '') return UNNAMED
  return typeof given === 'string' ? /^(\d{1,4}\.\d{1,4})(?:\.\d{1,4})?$/.exec(given.trim())?.[1] : undefined
}

/** The dialect of a request and what its method asks for. @throws A2A_VERSION_NOT_SUPPORTED, A2A_METHOD_NOT_FOUND */
export function methodOf (dialects: readonly Dialect[], version: string | undefined, method: string): { readonly dialect: Dialect, readonly operation: Operation } {
  const dialect = dialects.find(dialect => dialect.version === version)
  if (dialect === undefined) throw unsupported(dialects)
  const operation = Object.hasOwn(dialect.methods, method) ? dialect.methods[method] : undefined
  if (operation !== undefined) return { dialect, operation }
  const other = dialects.find(({ methods }) => Object.hasOwn(methods, method))
  // who calls a method of 1.0 and names no version would get an answer that it does not understand
  if (other !== undefined && dialect.version === UNNAMED) throw new VersionNotSupportedError(`the method is one of A2A ${other.version}; send A2A-Version: ${other.version}`)
  throw new MethodNotFoundError(dialect.version)
}

export function unsupported (dialects: readonly Dialect[]): Error {
  return new VersionNotSupportedError(`this version of A2A is not spoken here; send A2A-Version: ${dialects.map(({ version }) => version).join(' or ')}`)
}
