import { clashingServers, isRecord, mcpServerProblems, quoteName, type FileCheck, type ServiceSection } from '@polyvac/core/plugin'
import { PROTOCOLS, protocolProblem } from '@polyvac/vac'
import { agentProblems } from './agent-config.js'
import { ServiceConfig } from './service-config.js'

/** What the host checks of `service`: its schema, and the names and MCP servers in it. */
export const SECTION: ServiceSection = {
  // a separate file, which a bundle does not have: the thread must not run an app again
  get module () { return new URL('./service-section.js', import.meta.url).href },
  schema: ServiceConfig,
  // a client's folder gets no files of ours
  ofClient: { enable_mcp_server: true, tasks: { store: 'memory' } },
  check (file, { vac, service }, { interpreters }) {
    const { mcp_servers: servers, a2a_agents: given } = service
    const agents: readonly unknown[] = Array.isArray(given) ? given : []
    const vacs = Object.keys(isRecord(vac) ? vac : {})
    const agentNames = agents.flatMap(agent => isRecord(agent) && typeof agent.name === 'string' ? [agent.name] : [])
    checkNames(file, service, [...vacs, ...agentNames], interpreters)
    const entries = isRecord(servers) || Array.isArray(servers) ? Object.entries(servers) : []
    file.mustServe(vac, entries.length > 0 || agents.length > 0, 'add a VAC under "vac:", MCP servers under "service.mcp_servers:", or agents under "service.a2a_agents:"')
    const serverNames = checkServers(file, entries, Array.isArray(servers))
    for (const { index, path, message, hint } of agentProblems(agents, { vacs, servers: serverNames })) {
      const where = ['service', 'a2a_agents', index, ...path]
      file.report(where, `${where.join('.')}: ${message}`, hint)
    }
    checkProtocols(file, service.protocols)
  }
}

/** Checks references to VACs and interpreters. */
function checkNames (file: FileCheck, { a2a_vac_names: exposed, a2a, stream_interpreter: stream, vac_interpreter: once, public_url: url }: Readonly<Record<string, unknown>>,
  vacs: readonly string[], interpreters: readonly string[] | undefined): void {
  for (const [i, name] of Array.isArray(exposed) ? exposed.entries() : []) file.mustBeOneOf(name, vacs, ['service', 'a2a_vac_names', i], 'VAC', false)
  if (isRecord(a2a)) file.mustBeOneOf(a2a.default_vac, vacs, ['service', 'a2a', 'default_vac'], 'VAC', false)
  file.mustBeOneOf(stream, interpreters, ['service', 'stream_interpreter'], 'built-in interpreter', true)
  file.mustBeOneOf(once, interpreters === undefined ? undefined : [], ['service', 'vac_interpreter'], 'built-in static interpreter', true)
  if (typeof url !== 'string' || url === '' || /^https?:\/\//.test(url)) return
  const path = ['service', 'public_url']
  file.report(path, `service.public_url: expected an http(s) URL, got ${file.describe(path, url)}`)
}

function checkProtocols (file: FileCheck, protocols: unknown): void {
  for (const [name, options] of isRecord(protocols) ? Object.entries(protocols) : []) {
    // the schema reports anything else
    if (typeof options !== 'boolean' && !isRecord(options)) continue
    const problem = protocolProblem(PROTOCOLS, name, options === true || options === false ? {} : options)
    if (problem !== undefined) file.reportKey(['service', 'protocols', name], `service.protocols: ${problem}`)
  }
}

/** Checks what the schema of an MCP server cannot express, and that no two have one name. Returns the names. */
function checkServers (file: FileCheck, entries: ReadonlyArray<readonly [string, unknown]>, isList: boolean): string[] {
  // @keyed none: names in the configuration, of one check
  const paths = new Map<unknown, ReadonlyArray<string | number>>()
  for (const [key, entry] of entries) {
    if (!isRecord(entry)) continue
    const path = ['service', 'mcp_servers', isList ? Number(key) : key]
    const where = path.join('.')
    const name = entry.name ?? (isList ? undefined : key)
    if (name === undefined) file.reportKey(path, `${where} has no "name"`, 'add "name:"')
    else if (paths.has(name)) file.reportKey([...path, 'name'], `two MCP servers are named ${quoteName(String(name))}`)
    else paths.set(name, path)
    for (const { key, message, hint } of mcpServerProblems(entry, where)) file.report(key === undefined ? path : [...path, key], message, hint)
  }
  const names = [...paths.keys()].map(String)
  for (const { name, message } of clashingServers(names)) file.reportKey(paths.get(name)!, message)
  return names
}
