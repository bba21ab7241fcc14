import { createHash } from 'node:crypto'

/** The longest name of a tool that the APIs of language models accept. */
export const MAX_TOOL_NAME = 64
/** How the list `tools` of a VAC names another VAC: `vac:<name>`. */
export const VAC_PREFIX = 'vac:'
const HASH_CHARS = 8
const FORBIDDEN = /[^A-Za-z0-9_-]/g
/** Names had dots once, which model APIs refuse. Calls may still use them. */
const FORMERLY_FORBIDDEN = /[^A-Za-z0-9_.-]/g

/** A name that every client and model API accepts for a tool or prompt: `name`, or another one with a hash. */
export function toolName (name: string): string {
  return acceptedName(name, name, FORBIDDEN)
}

/** The name that a tool or prompt had while names could have dots. */
export function formerToolName (name: string): string {
  return acceptedName(name, name, FORMERLY_FORBIDDEN)
}

/** The name of a tool of one server among many: `<server>__<tool>`. */
export function serverToolName (server: string, tool: string): string {
  return nameAtServer(server, tool, FORBIDDEN)
}

/** The name that a tool of one server among many had while names could have dots. */
export function formerServerToolName (server: string, tool: string): string {
  return nameAtServer(server, tool, FORMERLY_FORBIDDEN)
}

function nameAtServer (server: string, tool: string, forbidden: RegExp): string {
  const [name, identity] = [`${server}__${tool}`, `${server}\0${tool}`]
  // `a__b` with the tool `c`, and `a` with the tool `b__c`, are two tools
  const isAmbiguous = server.includes('__') || server.endsWith('_')
  return isAmbiguous ? hashedName(name.replace(forbidden, '_'), identity) : acceptedName(name, identity, forbidden)
}

function acceptedName (name: string, identity: string, forbidden: RegExp): string {
  const plain = name.replace(forbidden, '_')
  return plain === name && plain.length <= MAX_TOOL_NAME ? name : hashedName(plain, identity)
}

/** The servers that cannot be served next to another one, since a scope would mean tools of both. */
export function clashingServers (names: readonly string[]): Array<{ readonly name: string, readonly message: string }> {
  return names.flatMap(name => {
    const other = names.find(other => other !== name && `${name}__`.startsWith(`${other}__`))
    if (other === undefined) return []
    const message = `the MCP servers ${JSON.stringify(other)} and ${JSON.stringify(name)} cannot both be served, since scopes such as ${JSON.stringify(`tool:${name}__x`)} would mean tools of both; rename one of them`
    return [{ name, message }]
  })
}

/** A name that is cut, with a hash at its end. */
export function hashedName (name: string, identity: string): string {
  const hash = createHash('sha256').update(identity).digest('hex').slice(0, HASH_CHARS)
  return `${name.slice(0, MAX_TOOL_NAME - HASH_CHARS - 1)}_${hash}`
}
