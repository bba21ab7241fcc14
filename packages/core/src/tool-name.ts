import { createHash } from 'node:crypto'

/** The longest name of a tool that the APIs of language models accept. */
export const MAX_TOOL_NAME = 64
const HASH_CHARS = 8
const FORBIDDEN = /[^A-Za-z0-9_.-]/g

/**
 * A name that every client accepts for a tool: `wanted` where it is one, otherwise a cut one with a hash of `identity`,
 * which is the same at every start.
 */
export function toolName (wanted: string, identity = wanted): string {
  const plain = wanted.replace(FORBIDDEN, '_')
  return plain === wanted && plain.length <= MAX_TOOL_NAME ? wanted : hashedName(plain, identity)
}

/** The name of a tool of one server among many: `<server>__<tool>`. */
export function serverToolName (server: string, tool: string): string {
  const [wanted, identity] = [`${server}__${tool}`, `${server}\0${tool}`]
  // `a__b` with the tool `c`, and `a` with the tool `b__c`, are two tools
  const isAmbiguous = server.includes('__') || server.endsWith('_')
  return isAmbiguous ? hashedName(wanted.replace(FORBIDDEN, '_'), identity) : toolName(wanted, identity)
}

/** A name that is cut, with a hash at its end. */
export function hashedName (name: string, identity: string): string {
  const hash = createHash('sha256').update(identity).digest('hex').slice(0, HASH_CHARS)
  return `${name.slice(0, MAX_TOOL_NAME - HASH_CHARS - 1)}_${hash}`
}
