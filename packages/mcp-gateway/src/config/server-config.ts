import { McpServerConfig } from '@polyvac/core'
import { clashingServers, mcpServerProblems } from '@polyvac/core/plugin'
import { TypeCompiler } from '@sinclair/typebox/compiler'
import { GatewayOptionsError } from '../errors.js'

export type NamedServer = McpServerConfig & { readonly name: string }

const compiled = TypeCompiler.Compile(McpServerConfig)

/**
 * Checks the configured servers and returns them by name. Takes the list of the service description, or the
 * `mcpServers` map of other tools.
 * @throws MCP_GATEWAY_OPTIONS with every problem
 */
export function namedServers (given: readonly McpServerConfig[] | Readonly<Record<string, McpServerConfig>>): Map<string, NamedServer> {
  if (typeof given !== 'object' || given === null) throw new GatewayOptionsError('`servers` must be a list of MCP servers, or a map of them by name')
  const servers = new Map<string, NamedServer>()
  const problems: string[] = []
  const entries: Array<readonly [string, McpServerConfig]> = Array.isArray(given)
    ? given.map((entry: McpServerConfig, i) => [`servers[${i}]`, entry] as const)
    : Object.entries(given).map(([name, entry]) => [`servers.${name}`, { ...entry, name: entry.name ?? name }] as const)
  for (const [where, entry] of entries) {
    for (const { path, message } of compiled.Errors(entry)) problems.push(`${where}${path.replaceAll('/', '.')}: ${message.toLowerCase()}`)
    if (!compiled.Check(entry)) continue
    const { name } = entry
    if (name === undefined) problems.push(`${where} has no name`)
    else if (servers.has(name)) problems.push(`${where}: two servers are named ${JSON.stringify(name)}`)
    else servers.set(name, { ...entry, name })
    problems.push(...mcpServerProblems(entry, where).map(({ message, hint }) => hint === undefined ? message : `${message}: ${hint}`))
  }
  problems.push(...clashingServers([...servers.keys()]).map(({ message }) => message))
  if (problems.length > 0) throw new GatewayOptionsError(`the MCP servers are not configured properly: ${problems.join('; ')}`)
  return servers
}

const UNFILLED = /\$\{([A-Za-z_][A-Za-z0-9_]*)\}/g

/** The failure of a server whose entry refers to variables that are not set. */
export function unsetVariables (names: readonly string[]): Error {
  const verb = names.length === 1 ? 'is' : 'are'
  return new Error(`${names.join(', ')} ${verb} not set, though its entry needs it: set it in the environment of the service`)
}

/** Names of variables that the configuration refers to and that are not set. */
export function unfilledVariables ({ command, args = [], env = {}, url, headers = {}, oauth = {} }: McpServerConfig): string[] {
  const texts = [command, ...args, ...Object.values(env), url, ...Object.values(headers), ...Object.values(oauth)]
  return [...new Set(texts.flatMap(text => [...(typeof text === 'string' ? text : '').matchAll(UNFILLED)].map(match => match[1]!)))]
}
