import { createHash } from 'node:crypto'

/** The longest name that language models' interfaces take for a tool. */
export const MAX_TOOL_NAME = 64
const HASH_CHARS = 8
const FORBIDDEN = /[^A-Za-z0-9_.-]/g

/**
 * A name that every client takes for a tool: `wanted` where it is one; else it is cut and told apart by a hash of
 * `identity`, the same at every start.
 */
export function toolName (wanted: string, identity = wanted): string {
  const plain = wanted.replace(FORBIDDEN, '_')
  return plain === wanted && plain.length <= MAX_TOOL_NAME ? wanted : hashedName(plain, identity)
}

/** The name of a tool of one server among many: `<server>__<tool>`. */
export function serverToolName (server: string, tool: string): string {
  const [wanted, identity] = [`${server}__${tool}`, `${server}\0${tool}`]
  // `a__b` with the tool `c`, and `a` with the tool `b__c`, are two tools
  return server.includes('__') || server.endsWith('_') ? hashedName(wanted.replace(FORBIDDEN, '_'), identity) : toolName(wanted, identity)
}

/** A name with a hash at its end, cut so that both have room. */
export function hashedName (name: string, identity: string): string {
  const hash = createHash('sha256').update(identity).digest('hex').slice(0, HASH_CHARS)
  return `${name.slice(0, MAX_TOOL_NAME - HASH_CHARS - 1)}_${hash}`
}
