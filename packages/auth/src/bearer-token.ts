import type { FastifyRequest } from 'fastify'

/** Longest token in characters: the headers of a request have at most 16 KiB together. */
const MAX_TOKEN_CHARS = 8 * 1024

/** One token of RFC 6750; the name of the scheme is not case-sensitive. */
const CREDENTIALS = /^bearer +([\w\-.~+/]+=*)$/i

/** The bearer token of a request; undefined where there is none, or more than one. */
export function bearerToken ({ raw, headers }: FastifyRequest, header = 'authorization'): string | undefined {
  const { [header]: value } = headers
  if (typeof value !== 'string' || value.length > MAX_TOKEN_CHARS || !isSingle(raw.rawHeaders, header)) return undefined
  return CREDENTIALS.exec(value)?.[1]
}

/**
 * Whether a header is there once. Node.js keeps the first of two `Authorization`; a proxy may have checked the other.
 */
export function isSingle (rawHeaders: readonly string[], header: string): boolean {
  let count = 0
  for (let i = 0; i < rawHeaders.length; i += 2) if (rawHeaders[i]!.toLowerCase() === header) count++
  return count === 1
}
