import type { Log, ToolAccess, ToolCallResult } from '@polyvac/core'
import { resolve } from 'node:path'
import { childEnvironment } from './config/child-environment.js'
import type { CallOptions } from './protocol/call-options.js'
import { outcomeOfTool, recordCall } from './record-call.js'
import { GatewayOptionsError, ServerNotFoundError, ServerNotReadyError } from './errors.js'
import type { ListKind } from '@polyvac/mcp-protocol'
import { callableTool } from './rest/bodies.js'
import type { ChangeListener, Item } from './protocol/lists.js'
import type { Listing, ServerItem, Servers } from './servers.js'
import { DirectApprovals } from './input/direct-approvals.js'
import { SignIns } from './sign-in/sign-ins.js'
import { limitsOf } from './config/server-limits.js'
import { loadClients } from './upstream/open-connection.js'
import { OwnProcesses } from './upstream/own-processes.js'
import { OwnedUpstream } from './upstream/owned-upstream.js'
import { LogGate, quoteName, suggestion, within, type StateKey } from '@polyvac/core/plugin'
import { BOUNDS, readGatewayOptions, type Bounds, type GatewayOptions, type Limits } from './options.js'
import { OrphanWatchdog } from './connections/stdio/orphan-watchdog.js'
import { namedServers, type NamedServer } from './config/server-config.js'
import { toolSource } from './tool-source/tool-source.js'
import type { GatewayToolSource } from './tool-source/types.js'
import type { UpstreamStatus } from './upstream/status.js'
import { Upstream } from './upstream/upstream.js'

/** The configured servers, supervised: shared by the plugin, interpreters and the MCP server. */
export class Gateway implements Servers {
  readonly limits: Limits
  readonly log: Log
  readonly stateKey: StateKey | undefined
  readonly signIns: SignIns
  readonly approvals: DirectApprovals
  readonly #options: ReturnType<typeof readGatewayOptions>
  readonly #watch: OrphanWatchdog
  readonly #callers = { areNamed: false }
  // @keyed none: the values are functions of the plugins
  readonly #listeners = new Set<ChangeListener>()
  // @keyed none: the keys are names of servers of the configuration
  #upstreams = new Map<string, Upstream>()
  #started = false
  #closed: Promise<void> | undefined
  // @keyed none: the values are servers that a reload of the configuration has removed, until they are closed
  readonly #leaving = new Set<Promise<void>>()

  /** @throws MCP_GATEWAY_OPTIONS */
  constructor (options: GatewayOptions, bounds: Bounds) {
    const read = this.#options = readGatewayOptions(options)
    this.log = gatedLog(read.log)
    this.limits = { ...bounds, ...read }
    this.stateKey = read.stateKey
    this.approvals = new DirectApprovals(read.approvals, this.log)
    this.#watch = new OrphanWatchdog(this.log)
    this.signIns = new SignIns({ ...read.signIn, log: this.log, configOf: server => this.#upstreams.get(server)?.config })
    for (const config of this.#namedServers(read.servers).values()) this.#upstreams.set(config.name, this.#upstream(config))
  }

  /** @throws MCP_GATEWAY_OPTIONS */
  #namedServers (servers: GatewayOptions['servers']): Map<string, NamedServer> {
    const named = namedServers(servers)
    const asking = [...named.values()].find(({ approve = [] }) => approve.length > 0)
    if (asking === undefined || this.#options.approvals !== undefined) return named
    throw new GatewayOptionsError(`the MCP server ${quoteName(asking.name)} has \`approve\`, and approvals need a task store: give \`approvals\` that of one`)
  }

  /** Names of the servers, in the order of the configuration. */
  get names (): string[] { return [...this.#upstreams.keys()] }

  get hasSignIns (): boolean {
    return [...this.#upstreams.values()].some(({ config }) => config.per_owner === true)
  }

  /** Whether a server has tools that wait for approvals. */
  get asksApprovals (): boolean { return [...this.#upstreams.values()].some(({ config }) => (config.approve?.length ?? 0) > 0) }

  /** Loads the clients of the servers. Before `start()`, no request waits for that. */
  async load (): Promise<void> {
    await loadClients([...this.#upstreams.values()].map(({ config }) => config))
  }

  /** Starts all servers in the background. A server that cannot start does not affect the others. */
  start (): void {
    if (this.#started || this.#closed !== undefined) return
    this.#started = true
    this.#logInheritance([...this.#upstreams.values()])
    for (const upstream of this.#upstreams.values()) upstream.start()
  }

  /** Resolves when no server is starting. */
  async settled (): Promise<void> {
    await Promise.all([...this.#upstreams.values()].map(upstream => upstream.settled()))
  }

  /**
   * Replaces the configuration: only servers whose entry changed are stopped and started.
   * @throws MCP_GATEWAY_OPTIONS, without any change
   */
  async replace (servers: GatewayOptions['servers']): Promise<void> {
    const next = this.#namedServers(servers)
    if (this.#closed !== undefined) throw new GatewayOptionsError('the gateway is closed')
    const kept = new Map<string, Upstream>()
    const fresh: Upstream[] = []
    for (const config of next.values()) {
      const known = this.#upstreams.get(config.name)
      const upstream = known !== undefined && sameEntry(known.config, config) ? known : this.#upstream(config, known)
      if (upstream !== known) fresh.push(upstream)
      kept.set(config.name, upstream)
    }
    const gone = [...this.#upstreams.values()].filter(upstream => kept.get(upstream.name) !== upstream)
    this.#upstreams = kept
    if (this.#started) {
      this.#logInheritance(fresh)
      for (const upstream of fresh) upstream.start()
    }
    if (fresh.length + gone.length > 0) this.#changed(['tools', 'resources', 'templates', 'prompts'])
    const leaving = Promise.all(gone.map(upstream => upstream.close(true))).then(() => {})
    this.#leaving.add(leaving)
    await leaving.finally(() => { this.#leaving.delete(leaving) })
  }

  /** Ends all servers and their processes, in about half a second. May be called twice. */
  close (): Promise<void> {
    this.#closed ??= this.#close()
    return this.#closed
  }

  async #close (): Promise<void> {
    await Promise.all([...[...this.#upstreams.values()].map(upstream => upstream.close()), ...this.#leaving])
    this.#watch.close()
    this.#listeners.clear()
  }

  /** State of each server. */
  status (): UpstreamStatus[] {
    return [...this.#upstreams.values()].map(upstream => upstream.status())
  }

  /** @throws MCP_SERVER_NOT_FOUND, with the name most likely meant */
  get (server: string): Upstream {
    const upstream = this.#upstreams.get(server)
    if (upstream === undefined) throw new ServerNotFoundError(quoteName(server), suggestion(server, this.names, 'configured'))
    return upstream
  }

  /**
   * Calls a tool and returns the server's whole result. Fails as `Upstream.call` does. Bound to the gateway:
   * interpreters get it as `extra.callTool`.
   * @example createVacs({ vacs: ['demo'], streamInterpreter, callTool: gateway.call, listTools: gateway.listTools })
   */
  readonly call = async <Structured = Readonly<Record<string, unknown>>> (
    server: string, tool: string, args: Readonly<Record<string, unknown>>, options?: CallOptions
  ): Promise<ToolCallResult<Structured>> => {
    const upstream = this.get(server)
    const result = await recordCall({ server, tool, principal: options?.principal, protocol: 'code' }, this.log, async () => await upstream.call(tool, args, options), outcomeOfTool)
    return (Array.isArray(result.content) ? result : { ...result, content: [] }) as ToolCallResult<Structured>
  }

  /** The tools that `call` can call. Bound to the gateway: interpreters get it as `extra.listTools`. */
  readonly listTools: NonNullable<ToolAccess['listTools']> = async options =>
    (await this.list('tools', options?.principal?.owner)).items.map(entry => callableTool(entry, this.#upstreams.get(entry.server)?.config.approve ?? []))

  /**
   * Tools, resources and prompts under names that are unique over all servers, for an MCP server or an interpreter.
   * @example await app.register(mcpServerPlugin, { sources: [gateway.toolSource()] })
   */
  toolSource (): GatewayToolSource {
    return toolSource(this)
  }

  /** The entries of all servers in a fixed order, and the servers that did not answer. */
  async list (kind: ListKind, owner?: string): Promise<Listing> {
    return await this.#list(async upstream => await upstream.list(kind, owner))
  }

  async listShared (kind: ListKind): Promise<Listing> {
    return await this.#list(async upstream => await upstream.list(kind), ({ isPerOwner }) => !isPerOwner)
  }

  async #list (read: (upstream: Upstream) => Promise<readonly Item[]>, isMeant = (_upstream: Upstream): boolean => true): Promise<Listing> {
    const upstreams = [...this.#upstreams.values()].filter(isMeant)
    const lists = await Promise.allSettled(upstreams.map(async upstream => await this.#inTime(upstream, read(upstream))))
    const items: ServerItem[] = []
    const unavailable: Array<{ server: string, error: unknown }> = []
    for (const [i, list] of lists.entries()) {
      const server = upstreams[i]!.name
      if (list.status === 'rejected') unavailable.push({ server, error: list.reason })
      else for (const item of list.value) items.push({ server, item })
    }
    return { items, unavailable }
  }

  /** Calls `listener` when lists may have changed. The function that it returns stops that. */
  onChange (listener: ChangeListener): () => void {
    this.#listeners.add(listener)
    return () => { this.#listeners.delete(listener) }
  }

  /** One server that does not answer must not keep back the lists of the others. */
  async #inTime<T> ({ name, config }: Upstream, list: Promise<T>): Promise<T> {
    const { listWaitMs } = limitsOf(config, this.limits)
    return await within(list, listWaitMs, () => {
      throw new ServerNotReadyError(quoteName(name), `it sent no list within ${listWaitMs / 1000} s`, 'the list goes without it; `list_timeout` of its entry gives it more')
    })
  }

  #changed (...change: Parameters<ChangeListener>): void {
    for (const listener of this.#listeners) {
      try {
        listener(...change)
      } catch (err) {
        // an exception of a listener must not stop the supervision
        this.log.error({ err }, 'a listener to changes of MCP servers failed')
      }
    }
  }

  /** @param known the upstream that it replaces */
  #upstream (config: NamedServer, known?: Upstream): Upstream {
    const { inheritEnv, secretEnv, env, folder } = this.#options
    const upstreamOptions = {
      inheritEnv,
      secretEnv,
      env,
      limits: limitsOf(config, this.limits),
      log: this.log,
      watch: this.#watch,
      callers: this.#callers,
      folder: resolve(folder),
      onChange: (...change: Parameters<ChangeListener>) => this.#changed(...change)
    }
    if (config.per_owner === true) return new OwnedUpstream(config, upstreamOptions, this.signIns, known?.listeners)
    return new (config.process === 'owner' || config.process === 'session' ? OwnProcesses : Upstream)(config, upstreamOptions, known?.listeners)
  }

  #logInheritance (upstreams: readonly Upstream[]): void {
    const bare = upstreams.map(({ config }) => config)
      .filter(config => config.command !== undefined && childEnvironment(config, this.#options).inheritsAll).map(({ name }) => name)
    if (bare.length === 0) return
    this.log.info({ mcpServers: bare }, 'these MCP servers inherit the environment of the service without its own secrets; name `env` or `inherit_env` in an entry to restrict it')
  }
}

/**
 * Creates a gateway. Call `start()`, or register the plugin with it.
 * @throws MCP_GATEWAY_OPTIONS
 * @example
 * const gateway = createGateway({ servers: { files: { command: 'mcp-server-filesystem', args: ['.'] } } })
 * gateway.start()
 * const { content } = await gateway.call('files', 'read_text_file', { path: 'tea.md' })
 */
export function createGateway (options: GatewayOptions): Gateway {
  return gatewayWith({}, options)
}

/** @internal The gateway with other bounds than BOUNDS: for tests, which reach them. */
export function gatewayWith (bounds: Partial<Bounds>, options: GatewayOptions): Gateway {
  return new Gateway(options, { ...BOUNDS, ...bounds })
}

/** Writes one line of a kind and server in ten seconds: a server could fill the disk with failures. */
function gatedLog (log: Log): Log {
  const gate = new LogGate()
  const gated = (level: 'warn' | 'error') => (fields: object, message = ''): void => {
    const { mcpServer, tool } = fields as { mcpServer?: string, tool?: string }
    const suppressed = gate.pass(`${level} ${message} ${mcpServer} ${tool}`)
    if (suppressed !== undefined) log[level](suppressed === 0 ? fields : { ...fields, suppressed }, message)
  }
  return { debug: (fields, message) => log.debug(fields, message), info: (fields, message) => log.info(fields, message), warn: gated('warn'), error: gated('error') }
}

function sameEntry (a: NamedServer, b: NamedServer): boolean {
  const ordered = (config: NamedServer): string => JSON.stringify(Object.entries(config).filter(([, value]) => value !== undefined).sort(([x], [y]) => x < y ? -1 : 1))
  return ordered(a) === ordered(b)
}
