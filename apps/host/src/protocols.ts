import type { FastifyBaseLogger, FastifyInstance, FastifyPluginAsync } from 'fastify'
import type { Runs, Vacs } from '@polyvac/core'
import type { StateKey } from '@polyvac/core/plugin'
import type { Gateway } from '@polyvac/mcp-gateway'
import type { HostOptions, Settings } from './host-options.js'
import { answerDisabled, type Disabled } from './disabled-routes.js'
import type { HostTasks, TaskSettings } from './tasks/host-tasks.js'
import { toNumber } from './tasks/open-tasks.js'

/** What the host passes to its protocols. */
export interface ProtocolParts {
  readonly vacs: Vacs
  readonly settings: Settings
  readonly authenticate: HostOptions['authenticate']
  /** Longest time in ms that a reader may take nothing. */
  readonly stallMs?: number
  /** Most bytes of a request body; undefined: the default of each plugin. */
  readonly bodyLimit?: number | undefined
  readonly protectedResource?: HostOptions['protectedResource']
  /** Opens the task engine at the first call. */
  readonly tasks: () => Promise<HostTasks>
  /** Durable answers, and conversations; undefined where there are none. */
  readonly runs?: Runs | undefined
  /** The external MCP servers; undefined where there are none. */
  readonly gateway?: Gateway | undefined
  /** Signs state of MCP; undefined: a random key. */
  readonly stateKey?: StateKey | undefined
}

type Module = Record<string, unknown> & { readonly default: FastifyPluginAsync<Record<string, unknown>> }

/** A protocol plugin, which the host loads when its switch is on. */
interface Protocol {
  readonly package: string
  readonly switch: 'enable_a2a_agent' | 'enable_mcp_server' | 'mcp_servers' | 'enable_playground'
  /** The host answers these with 501 where the plugin is not registered (contract, section 3). */
  readonly routes: Disabled['routes']
  readonly error: { readonly code: string, readonly message: string }
  /** The protocol of these routes, in metrics. */
  readonly protocol?: string
  /** The plugin's options. */
  readonly options: (parts: ProtocolParts, module: Module, log: FastifyBaseLogger) => Promise<Record<string, unknown>>
  /** Called after the plugin is registered. */
  readonly beside?: (app: FastifyInstance, parts: ProtocolParts, load: LoadPlugin) => Promise<void>
}

type GrpcConfig = NonNullable<NonNullable<Settings['switches']['a2a']>['grpc']>

/** The default address of gRPC. */
export const GRPC_HOST = '127.0.0.1'

const TASKS = [
  'send', 'sendSubscribe', 'resubscribe', 'get', 'list', 'cancel', 'pushNotification/set', 'pushNotification/get',
  'pushNotification/delete'
]

const CARDS = ['/.well-known/agent.json', '/.well-known/agent-card.json', '/a2a/vacs/:vac/.well-known/agent-card.json', '/.well-known/ai-catalog.json']

/** The protocols besides the direct endpoints, in the order of registration. */
export const PROTOCOLS: readonly Protocol[] = [
  {
    package: '@polyvac/a2a',
    switch: 'enable_a2a_agent',
    routes: [
      ...CARDS.map(path => ['GET', path] as const), ...TASKS.map(name => ['POST', `/a2a/tasks/${name}`] as const),
      ['POST', '/a2a'], ['POST', '/a2a/vacs/:vac'], [['GET', 'POST', 'DELETE'], '/a2a/v1/*']
    ],
    error: { code: 'A2A_NOT_ENABLED', message: 'A2A agent not enabled: set enable_a2a_agent' },
    protocol: 'a2a',
    options: a2aOptions,
    beside: serveGrpc
  },
  {
    package: '@polyvac/mcp-server',
    switch: 'enable_mcp_server',
    routes: [[['GET', 'POST', 'DELETE'], '/mcp']],
    error: { code: 'MCP_SERVER_NOT_ENABLED', message: 'MCP server not enabled: set enable_mcp_server' },
    protocol: 'mcp',
    options: mcpServerOptions
  },
  {
    package: '@polyvac/mcp-gateway',
    switch: 'mcp_servers',
    routes: [
      ['GET', '/mcp/tools'], ['GET', '/mcp/tools/:server_name'], ['POST', '/mcp/call'], ['GET', '/mcp/resources'],
      ['POST', '/mcp/resources/read']
    ],
    error: { code: 'MCP_GATEWAY_NOT_ENABLED', message: 'MCP gateway not enabled: set mcp_servers' },
    protocol: 'mcp',
    options: async ({ gateway, authenticate, settings, bodyLimit }) => ({ gateway, authenticate, publicUrl: settings.switches.public_url || undefined, bodyLimit })
  },
  {
    // it uses the routes of the others
    package: '@polyvac/playground',
    switch: 'enable_playground',
    routes: [['GET', '/playground'], ['GET', '/playground/*']],
    error: { code: 'PLAYGROUND_NOT_ENABLED', message: 'playground not enabled: set enable_playground' },
    options: playgroundOptions
  }
]

/** Loads a protocol's package; undefined where it is not installed. */
export type LoadPlugin = (name: string) => Promise<Module | undefined>

export const loadPlugin: LoadPlugin = async name => {
  try {
    return await import(name) as Module
  } catch (err) {
    // only where this package is missing: a missing dependency of it is a broken installation
    if ((err as Error).message.startsWith(`Cannot find package '${name}'`)) return undefined
    throw err
  }
}

/**
 * Registers the protocols whose switch is on. A missing package is logged as an error, and its routes answer as if the
 * switch were off; the rest of the service works. Returns the loaded packages.
 */
export async function registerProtocols (app: FastifyInstance, parts: ProtocolParts, load = loadPlugin): Promise<string[]> {
  const loaded: string[] = []
  for (const protocol of PROTOCOLS) {
    const on = isOn(parts.settings.switches[protocol.switch])
    const module = on ? await load(protocol.package) : undefined
    if (module !== undefined) {
      await app.register(module.default, await protocol.options(parts, module, app.log))
      await protocol.beside?.(app, parts, load)
      loaded.push(protocol.package)
      continue
    }
    if (on) reportMissing(app.log, protocol)
    if (on || !['mcp_servers', 'enable_playground'].includes(protocol.switch)) await answerDisabled(app, { ...protocol, toBody: () => ({ error: protocol.error }) })
  }
  return loaded
}

/** Options of `@polyvac/a2a`. Its signing keys are kept next to the tasks, so that a restart does not change them. */
async function a2aOptions ({ vacs, settings, authenticate, stallMs, bodyLimit, tasks }: ProtocolParts, loaded: Module): Promise<Record<string, unknown>> {
  const module = loaded as unknown as typeof import('@polyvac/a2a')
  const { a2a_vac_names: vacNames, a2a = {}, public_url: publicUrl, push, conversations } = settings.switches
  const { store, keys: place } = await tasks()
  const keys = place === undefined || push?.enabled === false
    ? undefined
    : typeof place === 'string' ? await module.openSigningKeys(place) : new module.SharedSigningKeys(place)
  return {
    vacs,
    tasks: store,
    conversations: conversations?.store !== false,
    vacNames,
    publicUrl: publicUrl || undefined,
    mcpPath: isOn(settings.switches.enable_mcp_server) ? '/mcp' : undefined,
    authenticate,
    stallMs,
    bodyLimit,
    rootRpc: true,
    defaultVac: a2a.default_vac,
    inputModes: a2a.input_modes,
    unnamedCard: a2a.strict_card === true ? '1.0' : 'both',
    grpcUrl: a2a.grpc === undefined ? undefined : grpcUrl(a2a.grpc),
    push: push?.enabled === false ? false : { allow: push?.allow, keys }
  }
}

/** Options of `@polyvac/playground`: the page does not look for what is switched off. */
async function playgroundOptions ({ settings: { switches }, gateway }: ProtocolParts): Promise<Record<string, unknown>> {
  const unless = (isThere: boolean): null | undefined => isThere ? undefined : null
  const a2a = unless(isOn(switches.enable_a2a_agent))
  const { protocols: { direct, openai, responses, ai_sdk: aiSdk, ag_ui: agUi } = {} } = switches
  const { title, theme, read_only: readOnly, sign_in: signIn } = switches.playground ?? {}
  return { title, theme, readOnly, signIn, routes: { vac: unless(direct !== false), openai: unless(openai !== false), responses: unless(responses !== false), ai_sdk: unless(aiSdk !== false), ag_ui: unless(agUi !== false), a2a, card: a2a, mcp: unless(isOn(switches.enable_mcp_server)), gateway: unless(gateway !== undefined), home: '../' } }
}

/** The address of gRPC in agent cards; undefined for a port that is chosen at start. */
function grpcUrl ({ host = GRPC_HOST, port, url }: GrpcConfig): string | undefined {
  return url ?? (port === 0 ? undefined : `${host.includes(':') ? `[${host}]` : host}:${port}`)
}

/** A2A over gRPC where the configuration asks for it. @throws A2A_GRPC_MISSING */
async function serveGrpc (app: FastifyInstance, { settings, bodyLimit }: ProtocolParts, load: LoadPlugin): Promise<void> {
  const { grpc } = settings.switches.a2a ?? {}
  if (grpc === undefined) return
  const { host = GRPC_HOST, port } = grpc
  const module = await load('@polyvac/a2a/grpc')
  await (module?.a2aGrpc as (app: FastifyInstance, options: object) => Promise<unknown>)(app, { host, port, maxMessageBytes: bodyLimit })
}

/** Options of `@polyvac/mcp-server`: VACs, their documents, tools of external MCP servers, the task store of A2A. */
async function mcpServerOptions (parts: ProtocolParts, { vacTools, vacResources }: Module,
  log: FastifyBaseLogger): Promise<Record<string, unknown>> {
  const { vacs, settings, authenticate, protectedResource, runs, gateway, stateKey, bodyLimit } = parts
  const { public_url: publicUrl, auth, mcp_server: { tool_search: above = 'off' } = {} } = settings.switches
  const announcedScopes = auth?.jwt?.announce_scopes === true
    ? () => [...vacs.list().map(({ name }) => `vac:${name}`), ...(gateway?.status() ?? []).map(({ name }) => `tool:${name}`)]
    : undefined
  const sourceOf = (make: unknown, options?: object): unknown => (make as (vacs: Vacs, options?: object) => unknown)(vacs, options)
  const sources = [sourceOf(vacTools, { runs }), sourceOf(vacResources), ...gateway === undefined ? [] : [gateway.toolSource()]]
  const { store, ttlMs } = await tasksIfAny(parts, log) ?? {}
  return {
    sources,
    instructions: instructionsOf(vacs),
    authenticate,
    protectedResource: protectedResource !== undefined && announcedScopes !== undefined ? { ...protectedResource, announcedScopes } : protectedResource,
    publicUrl: publicUrl || undefined,
    bodyLimit,
    // the host checks them on all routes
    allowedHosts: ['*'],
    allowedOrigins: ['*'],
    tasks: store,
    stateKey,
    toolSearch: above === 'off' ? undefined : { above, indexTools: (await import('@polyvac/documents')).indexTools },
    limits: taskLimits(settings.switches.tasks, ttlMs)
  }
}

/** What the configuration of tasks sets of the MCP server. */
function taskLimits (tasks: TaskSettings = {}, ttlMs: number | undefined): Record<string, number> {
  const limits = { taskTtlMs: ttlMs === undefined ? undefined : Math.max(1, ttlMs), taskInputMs: toNumber(tasks.input_ttl), taskTimeoutMs: toNumber(tasks.run_timeout) }
  return Object.fromEntries(Object.entries(limits).filter((entry): entry is [string, number] => entry[1] !== undefined))
}

/** The task engine; undefined where it cannot be opened and is not configured: the MCP server works without it. */
async function tasksIfAny ({ tasks, settings: { switches } }: ProtocolParts, log: FastifyBaseLogger): Promise<HostTasks | undefined> {
  if (await loadPlugin('@polyvac/tasks') === undefined) return undefined
  try {
    return await tasks()
  } catch (err) {
    if (switches.tasks != null) throw err
    log.warn({ reason: (err as Error).message }, 'the tools of the MCP server cannot run as tasks')
    return undefined
  }
}

/** The instructions for language models about the tools. */
function instructionsOf (vacs: Vacs): string | undefined {
  if (vacs.names.length === 0) return undefined
  return 'Ask an agent (VAC) with vac_query_<vac>; vac_stream_<vac> shows its answer while it is made. ' +
    'list_available_vacs describes each of them. Their answers name their sources.'
}

/** The protocols whose switch is on, and whose package is not loaded. */
export function missingProtocols ({ switches }: Settings, loaded: readonly string[]): ReadonlyArray<Pick<Protocol, 'package' | 'switch'>> {
  return PROTOCOLS.filter(protocol => isOn(switches[protocol.switch]) && !loaded.includes(protocol.package))
}

/** Whether a switch is on. */
export function isOn (value: unknown): boolean {
  return value === true || (typeof value === 'object' && value !== null && Object.keys(value).length > 0)
}

function reportMissing (log: FastifyBaseLogger, protocol: Protocol): void {
  log.error({ switch: protocol.switch, package: protocol.package },
    `${protocol.switch} is set, but the package ${protocol.package} is not installed: its routes answer 501`)
}
