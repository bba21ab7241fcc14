import { Type, type Static } from '@sinclair/typebox'
import { TypeCompiler } from '@sinclair/typebox/compiler'
import { GatewayOptionsError } from './errors.js'

/** One external MCP server: started by `command`, or reached at `url`. */
export const McpServerConfig = Type.Object({
  name: Type.Optional(Type.String({ minLength: 1, maxLength: 200, description: 'unique identifier of the server' })),
  command: Type.Optional(Type.String({ minLength: 1, description: 'executable that starts the server, found on the search path' })),
  args: Type.Optional(Type.Array(Type.String(), { description: 'arguments of the command' })),
  env: Type.Optional(Type.Record(Type.String(), Type.String(), { description: 'environment of the child, beside the safe list' })),
  inherit_env: Type.Optional(Type.Array(Type.String(), { description: 'names of variables the child inherits; [] for none' })),
  cwd: Type.Optional(Type.String({ description: 'folder in which the command runs' })),
  url: Type.Optional(Type.String({ description: 'address of a server reached over HTTP' })),
  headers: Type.Optional(Type.Record(Type.String(), Type.String(), { description: 'sent with every request to `url`' })),
  oauth: Type.Optional(Type.Object({
    client_id: Type.String({ minLength: 1 }),
    client_secret: Type.String({ minLength: 1 }),
    issuer: Type.Optional(Type.String({ description: 'the authorization server that may see the secret' })),
    scope: Type.Optional(Type.String())
  }, { additionalProperties: false, description: 'OAuth client credentials for `url`' })),
  timeout: Type.Optional(Type.Number({ exclusiveMinimum: 0, maximum: 86_400, description: 'seconds for one call without progress' })),
  allow: Type.Optional(Type.Array(Type.String(), { description: 'tools to offer; default: all' })),
  deny: Type.Optional(Type.Array(Type.String(), { description: 'tools never to offer' })),
  restart: Type.Optional(Type.Boolean({ description: 'start it again when it ends; default true' })),
  type: Type.Optional(Type.String({ description: 'transport, as other tools write it' }))
}, { additionalProperties: false })
export type McpServerConfig = Static<typeof McpServerConfig>

export type NamedServer = McpServerConfig & { readonly name: string }

const compiled = TypeCompiler.Compile(McpServerConfig)

/**
 * The configured servers by name, checked. Takes the list of the service description, or the `mcpServers` map of other tools.
 * @throws MCP_GATEWAY_OPTIONS with every problem
 */
export function namedServers (given: readonly McpServerConfig[] | Readonly<Record<string, McpServerConfig>>): Map<string, NamedServer> {
  const servers = new Map<string, NamedServer>()
  const problems: string[] = []
  const entries: Array<readonly [string, McpServerConfig]> = Array.isArray(given)
    ? given.map((entry: McpServerConfig, i) => [`servers[${i}]`, entry] as const)
    : Object.entries(given).map(([name, entry]) => [`servers.${name}`, { ...entry, name: entry.name ?? name }] as const)
  for (const [where, entry] of entries) {
    for (const { path, message } of compiled.Errors(entry)) problems.push(`${where}${path.replaceAll('/', '.')}: ${message.toLowerCase()}`)
    if (!compiled.Check(entry)) continue
    const { name, command, url } = entry
    if (name === undefined) problems.push(`${where} has no name`)
    else if (servers.has(name)) problems.push(`${where}: two servers are named ${JSON.stringify(name)}`)
    else servers.set(name, { ...entry, name })
    if ((command === undefined) === (url === undefined)) problems.push(`${where} needs either a command or a url`)
    problems.push(...commandProblems(entry).map(problem => `${where}: ${problem}`))
    if (url !== undefined && !url.startsWith('${') && !/^https?:$/.test(protocolOf(url))) problems.push(`${where}.url: expected an http(s) address`)
  }
  if (problems.length > 0) throw new GatewayOptionsError(`the MCP servers are not configured properly: ${problems.join('; ')}`)
  return servers
}

function commandProblems ({ command, args = [], cwd }: McpServerConfig): string[] {
  const problems = []
  if ([command, cwd, ...args].some(text => text?.includes('\0') === true)) problems.push('a command, an argument or a folder holds a NUL character')
  if (command?.split(/[/\\]/).includes('..') === true) problems.push('the command holds `..`; write its whole path')
  return problems
}

function protocolOf (url: string): string {
  try {
    return new URL(url).protocol
  } catch {
    return ''
  }
}

const UNFILLED = /\$\{([A-Za-z_][A-Za-z0-9_]*)\}/g

/** Names of variables that the configuration refers to and that nobody filled in. */
export function unfilledVariables ({ command, args = [], env = {}, url, headers = {}, oauth = { client_id: '', client_secret: '' } }: McpServerConfig): string[] {
  const texts = [command, ...args, ...Object.values(env), url, ...Object.values(headers), ...Object.values(oauth)]
  return [...new Set(texts.flatMap(text => [...(text ?? '').matchAll(UNFILLED)].map(match => match[1]!)))]
}
