import type { ApprovalRecords, ToolAccess } from '@polyvac/core'
import type { StateKey } from '@polyvac/core/plugin'
import type { Gateway, McpServerConfig, SignInOptions, SignIns } from '@polyvac/mcp-gateway'
import type { FastifyBaseLogger } from 'fastify'
import type { ServiceConfig } from './config/service-config.js'
import { PackageMissingError } from './errors.js'
import type { Settings } from './host-options.js'
import { isOn, loadPlugin } from './protocols.js'

/**
 * The MCP servers of `mcp_servers`, not started yet; undefined where there are none, or the package is not installed.
 * @param variables names of the variables that the configuration refers to: servers inherit only those that they name
 * @param more `readyWaitMs`: longest wait of a call for a server that is starting; by default that of the gateway
 * @throws MCP_GATEWAY_OPTIONS
 */
export async function openGateway ({ switches, folder }: Settings, variables: readonly string[], log: FastifyBaseLogger,
  more: { readonly readyWaitMs?: number, readonly stateKey?: StateKey | undefined, readonly signIn?: SignInOptions, readonly approvals?: ApprovalRecords } = {}): Promise<Gateway | undefined> {
  const { mcp_servers: servers, mcp_inherit_env: inheritEnv } = switches
  if (!isOn(servers)) return undefined
  const module = await loadGateway()
  return module?.createGateway({ servers: serversOf(servers), inheritEnv, secretEnv: variables, folder, log, ...more })
}

/**
 * The sign-ins of owners to agents, where there is no gateway with them.
 * @throws PACKAGE_MISSING
 */
export async function openSignIns (log: FastifyBaseLogger, signIn: SignInOptions): Promise<{ readonly signIns: SignIns, readonly signInPlugin: GatewayModule['signInPlugin'] }> {
  const module = await loadGateway()
  if (module === undefined) throw new PackageMissingError('a2a_agents with per_owner', '@polyvac/mcp-gateway')
  return { signIns: module.createGateway({ servers: [], log, signIn }).signIns, signInPlugin: module.signInPlugin }
}

type GatewayModule = typeof import('@polyvac/mcp-gateway')

const loadGateway = async (): Promise<GatewayModule | undefined> => await loadPlugin('@polyvac/mcp-gateway') as GatewayModule | undefined

/** Whether owners sign in to one of the servers. */
export function signInToServers ({ switches: { mcp_servers: servers } }: Settings): boolean {
  return Object.values(serversOf(servers)).some(server => (server as McpServerConfig).per_owner === true)
}

/** The list or map of servers; null is none. */
export function serversOf (servers: ServiceConfig['mcp_servers']): readonly McpServerConfig[] | Readonly<Record<string, McpServerConfig>> {
  return servers ?? []
}

/** The MCP tools of interpreters. Servers start with the service, or at the first use where nothing listens. */
export function toolAccess (gateway: Gateway | undefined): ToolAccess {
  if (gateway === undefined) return {}
  return {
    async callTool (server, tool, args, options) {
      gateway.start()
      return await gateway.call(server, tool, args, options)
    },
    async listTools (options) {
      gateway.start()
      return await gateway.listTools(options)
    }
  }
}

const STATES = { starting: 'is starting', ready: 'is ready', waiting: 'waits for its next start', failed: 'has failed', stopped: 'is stopped' } as const

/** The problems of the servers, one line each, for people. */
export function gatewayProblems (gateway: Gateway | undefined): Array<{ server: string, reason: string }> {
  return (gateway?.status() ?? []).flatMap(({ name, state, error, missingEnv, unknownTools = [] }) => {
    const missing = missingEnv === undefined ? undefined : `${missingEnv.join(', ')} ${missingEnv.length === 1 ? 'is' : 'are'} not set`
    const reasons = [...missing === undefined ? [] : [missing], ...unknownTools]
    if (state === 'ready') return reasons.length === 0 ? [] : [{ server: name, reason: reasons.join('; ') }]
    return [{ server: name, reason: [STATES[state], error ?? missing].filter(Boolean).join(': ') }]
  })
}

/** The same for strangers: a state and the code of its cause, and nothing that a server or the system wrote. */
export function gatewayStates (gateway: Gateway | undefined): Array<{ server: string, reason: string }> {
  return (gateway?.status() ?? []).flatMap(({ name, state, cause, missingEnv, unknownTools }) => {
    const code = state !== 'ready' ? cause : missingEnv !== undefined ? 'MISSING_VARIABLE' : unknownTools === undefined ? cause : 'UNKNOWN_TOOLS'
    if (state === 'ready' && code === undefined) return []
    return [{ server: name, reason: code === undefined ? STATES[state] : `${STATES[state]}: ${code}` }]
  })
}
