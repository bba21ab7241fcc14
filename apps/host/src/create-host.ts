import { ConfigError, createVacs, type ApprovalRecords, type ConfigProblem, type Vacs, type VacsOptions } from '@polyvac/core'
import {
  boundMemory, captureContent, errorHandler, failureOf, logFailure, memoryBudget, readOptions, setRetryAfter, ShuttingDownError, traceRequests
} from '@polyvac/core/plugin'
import type { Gateway, SignInOptions, SignIns, SignInStore } from '@polyvac/mcp-gateway'
import { vacPlugin } from '@polyvac/vac'
import Fastify, { LogController, type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify'
import { randomBytes, randomUUID } from 'node:crypto'
import type { AddressInfo, Socket } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import { isProxyOf } from './guards/address-connections.js'
import { asksApprovals, openApprovals } from './tasks/approvals.js'
import { assemble, type Assembly } from './assembly.js'
import { ConfiguredCallers, guardOperations, loadAuth, mcpAddress, publishMetadata } from './guards/authentication.js'
import { sendBrowserHeaders } from './guards/browser-headers.js'
import { CallerCounts } from './guards/caller-counts.js'
import { connectionLimits, guardConnections, logRefusals, SERVER_OPTIONS, spreadRequests } from './guards/connections.js'
import { inFile, placesOf, type Note } from './config/notes.js'
import { readConfig, type HostConfig } from './config/read-config.js'
import { openGateway, openSignIns, serversOf, signInToServers, toolAccess } from './gateway.js'
import { bodyLimitOf, limitRequests } from './guards/limits.js'
import { registerHome } from './routes/front-page/routes.js'
import { guardHost } from './guards/host-guard.js'
import { AgentsError, HostOptionsError, UnknownVacNamesError } from './errors.js'
import { HOST_OPTIONS, toSettings, type HostOptions } from './host-options.js'
import { measure, serveMetrics } from './telemetry/metrics.js'
import { registerOpenApi } from './routes/openapi.js'
import { isOn, loadPlugin, missingProtocols, registerProtocols } from './protocols.js'
import { checkAgents, haveSignIns, ownOrigins, signInAgent, vacNames } from './remote-agents.js'
import { registerReadiness } from './routes/readiness.js'
import { registerNotFound } from './routes/not-found.js'
import { isDatabase, type HostTasks } from './tasks/host-tasks.js'
import { namesOf, refuseOthers, vacProtocols } from './vac-protocols.js'
import { followTools } from './vac-tools.js'
import { version } from './version.js'
import { continueTasks } from './tasks/continue-tasks.js'
import { forwardTo } from './tasks/forward-to.js'
import { openRuns } from './tasks/open-runs.js'
import { openTasks } from './tasks/open-tasks.js'
import { checkStateKey } from './tasks/state-key.js'

declare module 'fastify' {
  interface FastifyInstance {
    /** The host's VACs and configuration, and its reload and drain. */
    readonly polyvac: PolyvacHost
  }
}

export interface PolyvacHost {
  readonly vacs: Vacs
  /** The current configuration; undefined where all options came from code. */
  readonly config: HostConfig | undefined
  /** Memories and interpreters of the VACs. */
  readonly assembly: Assembly
  /** Packages of the protocols that are loaded. */
  readonly protocols: readonly string[]
  /** The protocols of @polyvac/vac that are on. */
  readonly vacProtocols: readonly string[]
  /** The external MCP servers; undefined where none are configured. */
  readonly gateway: Gateway | undefined
  /** The database of the tasks, without a password; undefined where they are not in one. */
  readonly database: string | undefined
  /** Replaces the configuration; on an error, which is thrown, the current one stays except for its credentials. */
  reload (config: HostConfig): Promise<void>
  /**
   * Notes that a changed file was refused, until the next reload: `/ready` shows that, and to administrators its
   * problems. Credentials that the file does not have any more end.
   */
  refuse (err: unknown): void
  /** Refuses new calls with 503 and waits for those in progress, at most `ms`. */
  drain (ms: number): Promise<void>
}

/** Longest part of a path, in UTF-16 units: longer than any name of a VAC, so that unknown names get their error. */
const MAX_PARAM_LENGTH = 512

/** Warnings about the configuration that are logged: some name what an MCP server has, which changes. */
const MAX_WARNED = 200

export { version }

/**
 * Creates the host: one Fastify app with the plugins of the switches, which does not listen yet. A program can register
 * the same plugins itself: `app.register(vacPlugin, { vacs })` and so on, in this order.
 * @throws HOST_OPTIONS, CONFIG_INVALID, INTERPRETER_MODULE, VAC_WITHOUT_MEMORY, DOCUMENTS_FOLDER_NOT_FOUND and others
 * @example
 * const app = await createHost({ vacs: ['demo'], stream_interpreter: './agent.mjs', enable_a2a_agent: true })
 * await app.listen({ port: 8080 })
 */
export async function createHost (hostOptions: HostOptions = {}): Promise<FastifyInstance> {
  const options = readOptions(HOST_OPTIONS, hostOptions, HostOptionsError, 'createHost')
  let config = await configOf(options)
  let settings = toSettings(options, config)
  const auth = await loadAuth(settings.switches)
  const callers = new ConfiguredCallers(options.authenticate, settings.switches, auth)
  const { trusted_proxies: proxies } = settings.switches
  const isProxy = proxies === undefined ? undefined : auth!.trustedProxies(proxies)
  // the plugins log a line for each call with more details
  const app = Fastify({
    logController: new LogController({ disableRequestLogging: true }),
    http: SERVER_OPTIONS,
    // the plugins have ended their answers by then; only idle sockets are left, such as those of browsers
    forceCloseConnections: true,
    // unique over restarts, unlike a counter: the id to look for in the log
    genReqId: () => randomUUID(),
    routerOptions: { maxParamLength: MAX_PARAM_LENGTH },
    frameworkErrors: sendFailure,
    clientErrorHandler: refuseConnection,
    ...isProxy !== undefined && { trustProxy: isProxy },
    ...options.server
  }) as unknown as FastifyInstance
  const { log } = app
  const connections = connectionLimits(settings.switches.connections)
  const stallMs = connections.stall_timeout * 1000
  guardConnections(app, connections, isProxyOf(options.server?.trustProxy ?? isProxy))
  const { memory_budget: budget } = settings.switches
  if (budget !== undefined) memoryBudget.limit = budget * 1024 * 1024
  const { bodyLimit, limits } = bodyLimitOf(settings.switches.limits)
  logRefusals(app)
  spreadRequests(app)
  const { watchDocuments, onIndexing } = options
  const { authenticate } = callers
  const issuers = options.protectedResource === undefined ? authenticate?.scheme?.issuers : undefined
  const protectedResource = issuers === undefined ? options.protectedResource : { authorizationServers: issuers, resource: mcpAddress(settings.switches) }
  const ownPort = (): number | undefined => (app.server.address() as AddressInfo | null)?.port
  const parts = { watchDocuments, onIndexing, log, ownPort, ownOrigins: () => ownOrigins(app, settings.switches.public_url), signIn }
  const choices = vacProtocols(settings.switches)
  const vacProtocolNames = namesOf(choices)
  checkAgents(settings)
  checkNames(settings.switches.a2a_vac_names, vacNames(settings))
  const givenKey = checkStateKey(settings.switches.state_key)
  const ownKey = randomBytes(32)
  // the gateway needs it before the database is open
  const stateKey = givenKey ?? (isDatabase(settings.switches.tasks ?? {}) ? () => tasks?.stateKey?.() ?? ownKey : undefined)
  const approvals = forwardTo<ApprovalRecords>(async () => (await sharedTasks()).store.approvals!)
  let assembly = await inFile(config, async () => await assemble(settings, parts))
  let draining = false
  let protocols: readonly string[] = []
  let missing: ReturnType<typeof missingProtocols> = []
  let tasks: HostTasks | undefined
  let openingTasks: Promise<HostTasks> | undefined
  let gateway: Gateway | undefined
  let signIns: SignIns | undefined
  /** Of a changed file that was refused. */
  let configProblems: readonly ConfigProblem[] = []
  let isRefused = false
  // @keyed none: the values are warnings about the configuration
  const warned = new Set<string>()
  /** What has no effect, and what the lists of VACs name that no MCP server has. */
  let noted: readonly ConfigProblem[] = []
  let unknownTools: { readonly notes: readonly Note[], readonly problems: readonly ConfigProblem[] } = { notes: [], problems: [] }
  const counts = new CallerCounts(() => tasks?.store.counts, log)
  // @keyed none: the values are replaced configurations whose calls have not ended
  const retired = new Set<Promise<void>>()
  /** Answers with VACs that were replaced because a card has come. */
  let describedBefore = Promise.resolve()
  let compareTools = (): void => {}
  /** Ends the reading of cards. */
  let cards = new AbortController()
  app.addHook('onClose', async () => {
    const opened = await openingTasks?.catch(() => undefined)
    await opened?.store.close()
    await Promise.all(retired)
    await assembly.close()
  })
  try {
    const opened = gateway = await openGateway(settings, config?.variables ?? [], log, { stateKey, signIn: signInOptions(givenKey), approvals })
    const withTools = (options: VacsOptions): VacsOptions => ({ ...options, ...toolAccess(opened), ...asksApprovals(options, opened) && { approvals } })
    if (asksApprovals(assembly.vacsOptions, opened)) await inFile(config, async () => await openApprovals(sharedTasks, config))
    const vacs = createVacs(withTools(assembly.vacsOptions))
    if (givenKey === undefined && (haveSignIns(settings) || signInToServers(settings))) {
      log.warn('sign-ins of owners are kept in memory and end with this process; set POLYVAC_STATE_KEY or service.state_key to keep them, encrypted, with the tasks')
    }
    const only = opened === undefined && haveSignIns(settings) ? await openSignIns(log, signInOptions(givenKey)) : undefined
    signIns = opened?.signIns ?? only?.signIns
    signIns?.onSignedIn((owner, server) => {
      if (tasks === undefined) return
      continueTasks(tasks.store, owner, server).catch((err: unknown) => { log.warn({ err, owner, mcpServer: server }, 'tasks that wait for a sign-in do not continue') })
    })
    // plugins answer their callers before the gateway closes
    app.addHook('preClose', async () => {
      cards.abort()
      await opened?.close()
    })
    app.addHook('onListen', async () => { followCards(vacs, withTools) })
    noted = await warnOf(assembly.notes)
    if (opened !== undefined) {
      const stop = new AbortController()
      app.addHook('preClose', async () => { stop.abort() })
      compareTools = followTools(opened, () => [settings, assembly.tools], async notes => { unknownTools = { notes, problems: await warnOf(notes) } }, stop.signal)
    }
    app.decorate('polyvac', {
      vacs,
      get config () { return config },
      get assembly () { return assembly },
      get protocols () { return protocols },
      vacProtocols: vacProtocolNames,
      gateway,
      get database () { return tasks?.database },
      refuse,
      reload: next => reload(next, vacs, withTools),
      async drain (ms) {
        draining = true
        const end = Date.now() + ms
        while (vacs.running > 0 && Date.now() < end) await delay(20)
      }
    } satisfies PolyvacHost)
    // for the routes of the host; those of the plugins continue its spans
    await traceRequests(app)
    // after the body is read, so that each protocol refuses in its format
    app.addHook('preValidation', (request, reply, done) => {
      if (!draining || request.method !== 'POST') return done()
      reply.header('connection', 'close').header('retry-after', 1)
      done(new ShuttingDownError())
    })
    app.setErrorHandler(errorHandler(sendFailure))
    boundMemory(app, stallMs)
    registerNotFound(app, () => vacs.names)
    guardHost(app, () => settings.switches)
    await sendBrowserHeaders(app, settings.switches)
    if (limits !== undefined) await limitRequests(app, limits, counts, connections.max_per_address)
    guardOperations(app, authenticate, settings.switches.auth?.open)
    await registerOpenApi(app, version, authenticate)
    registerReadiness(app, {
      assembly: () => assembly,
      isDraining: () => draining,
      tasks: () => tasks?.store,
      gateway,
      missing: () => missing,
      authenticate,
      configuration: () => [...configProblems, ...config?.warnings ?? [], ...noted, ...unknownTools.problems],
      unknownTools: () => [...new Set(unknownTools.notes.map(({ path: [, vac] }) => String(vac)))],
      isRefused: () => isRefused
    })
    const { prometheus, capture_content: capture = false } = settings.switches.telemetry ?? {}
    captureContent(capture)
    if (prometheus === true) await serveMetrics(app)
    measure(app, { vacs, tasks: () => tasks?.store, gateway })
    const { tasks: stored, conversations, enable_a2a_agent: a2a, enable_mcp_server: mcp } = settings.switches
    const runs = await openRuns({
      vacs,
      authenticate,
      tasks: sharedTasks,
      isConfigured: stored != null,
      isEager: stored != null || isOn(a2a) || isOn(mcp),
      keeps: conversations?.store !== false,
      log,
      load: loadPlugin
    })
    app.addHook('preClose', async () => { await runs?.stop() })
    await app.register(vacPlugin, { vacs, protocols: choices, authenticate, runs, publicUrl: settings.switches.public_url || undefined, stateKey, stallMs, bodyLimit })
    await refuseOthers(app, choices)
    await registerHome(app, { vacs, version, authenticate, foldersOf: vac => vac === undefined ? undefined : assembly.folders.get(vac), protocols: () => [...protocols, ...vacProtocolNames], publicUrl: () => settings.switches.public_url })
    protocols = await registerProtocols(app, {
      vacs,
      settings,
      authenticate,
      stallMs,
      bodyLimit,
      protectedResource,
      tasks: sharedTasks,
      runs,
      gateway,
      stateKey
    })
    if (only !== undefined) await app.register(only.signInPlugin, { signIns: only.signIns, log, authenticate })
    // counts of callers are in the database, too
    if (limits !== undefined && isDatabase(settings.switches.tasks ?? {})) await sharedTasks()
    if (!protocols.includes('@polyvac/mcp-server')) publishMetadata(app, issuers, settings.switches.public_url)
    missing = missingProtocols(settings, protocols)
    return app
  } catch (err) {
    await app.close()
    throw err
  }

  /** Logs each note once, with its line where the configuration is in a file. Returns those with lines. */
  async function warnOf (notes: readonly Note[]): Promise<readonly ConfigProblem[]> {
    const problems = await placesOf(config, notes) ?? []
    for (const [i, { path, message, hint }] of notes.entries()) {
      if (warned.has(message) || warned.size >= MAX_WARNED) continue
      warned.add(message)
      const { file, line } = problems[i] ?? {}
      log.warn(`${file === undefined ? path.join('.') : `${file}:${line}`}  ${message}${hint === undefined ? '' : ` (${hint})`}`)
    }
    return problems
  }

  /** Opens the tasks at the first call. */
  function sharedTasks (): Promise<HostTasks> {
    openingTasks ??= openSharedTasks().catch((err: unknown) => {
      openingTasks = undefined
      throw err
    })
    return openingTasks
  }

  async function openSharedTasks (): Promise<HostTasks> {
    const { tasks: stored, conversations } = settings.switches
    // without a configuration file, no file is written into the working directory, which may have another program's
    // tasks
    const opened = await openTasks(stored ?? (config === undefined ? { store: 'memory' } : {}), settings.folder, log, { stateKey: givenKey, ownerShare: limits?.owner_share, conversations })
    const perDay = limits?.owner?.tasks_per_day
    // the package of the store is loaded by now
    const limited = perDay === undefined ? undefined : new (await import('./tasks/limited-store.js')).LimitedStore(opened.store, perDay, counts.tasks)
    tasks = limited === undefined ? opened : { ...opened, store: limited }
    return tasks
  }

  /** The token of an owner for an agent. */
  async function signIn (...[owner, agent]: Parameters<SignIns['forAgent']>): ReturnType<SignIns['forAgent']> {
    return await signIns!.forAgent(owner, agent)
  }

  /** Sign-ins of owners: in the store of the tasks, if the service has a key that outlasts its process. */
  function signInOptions (key: string | undefined): SignInOptions {
    const store = forwardTo<SignInStore>(async () => (await sharedTasks()).store.signIns!)
    return { url: () => settings.switches.public_url || undefined, agents: name => signInAgent(settings, name), ...key !== undefined && { key, store } }
  }

  /** Reads the cards of agents, which nothing waits for, and shows in lists what they have. */
  function followCards (vacs: Vacs, withTools: (options: VacsOptions) => VacsOptions): void {
    cards.abort()
    cards = new AbortController()
    const { agents } = assembly
    agents?.follow(cards.signal, log, () => {
      const before = vacs.replace(withTools(assembly.vacsOptions))
      describedBefore = Promise.all([describedBefore, before]).then(() => {})
    }).catch((err: unknown) => { log.error({ err }, 'the cards of agents are not read any more') })
  }

  function refuse (err: unknown): void {
    isRefused = true
    configProblems = err instanceof ConfigError ? err.problems : []
    if (err instanceof ConfigError && err.refused !== undefined) callers.applyRefused(err.refused)
  }

  async function reload (next: HostConfig, vacs: Vacs, withTools: (options: VacsOptions) => VacsOptions): Promise<void> {
    const nextSettings = toSettings(options, next)
    checkAgents(nextSettings)
    if (signIns === undefined && haveSignIns(nextSettings)) throw new AgentsError('a2a_agents', 'the first `per_owner` adds the pages of the sign-in, and pages cannot come while the service listens; restart it')
    const { auth: nextAuth } = next.service
    // first: also where the rest fails, a credential that was removed ends
    if (nextAuth !== undefined) callers.applyRefused({ auth: nextAuth, isWhole: true, hashes: [] })
    const nextAssembly = await inFile(next, async () => await assemble(nextSettings, parts, assembly))
    const old = assembly
    let answered: Promise<void>
    try {
      await gateway?.replace(serversOf(nextSettings.switches.mcp_servers))
      callers.replace(nextSettings.switches)
      answered = vacs.replace(withTools(nextAssembly.vacsOptions))
    } catch (err) {
      await gateway?.replace(serversOf(settings.switches.mcp_servers))
      await nextAssembly.close(old)
      throw err
    }
    warnOfSwitches(settings.switches, nextSettings.switches)
    ;[config, settings, assembly] = [next, nextSettings, nextAssembly]
    configProblems = []
    isRefused = false
    noted = await warnOf(assembly.notes)
    compareTools()
    // the old memories and interpreters are closed when the last answer that uses them has ended
    if (app.server.listening) followCards(vacs, withTools)
    const retiring = Promise.all([describedBefore, answered]).then(() => old.close(nextAssembly)).catch((err: unknown) => {
      log.error({ err }, 'the old configuration was not closed cleanly')
    })
    retired.add(retiring)
    void retiring.finally(() => { retired.delete(retiring) })
  }

  /** Logs changed switches that need a restart: routes cannot change while the app listens. */
  function warnOfSwitches (before: object, after: object): void {
    const followsAuth = 'auth' in before && 'auth' in after
    const followed = ['a2a_agents', ...gateway === undefined ? [] : ['mcp_servers'], ...followsAuth ? ['auth'] : []]
    const changed = Object.keys({ ...before, ...after })
      .filter(key => !followed.includes(key) && JSON.stringify(before[key as never]) !== JSON.stringify(after[key as never]))
    if (changed.length > 0) log.warn({ changed }, 'these switches take effect at the next start')
  }
}

async function configOf ({ config, vacs }: HostOptions): Promise<HostConfig | undefined> {
  if (typeof config === 'object') return config
  if (config === undefined && vacs !== undefined) return undefined
  return await readConfig(config ?? 'vac_config.yaml')
}

function checkNames (exposed: readonly string[] | null | undefined, names: readonly string[]): void {
  const unknown = (exposed ?? []).filter(name => !names.includes(name))
  if (unknown.length > 0) throw new UnknownVacNamesError(unknown.join(', '), names.join(', '))
}

function sendFailure (err: unknown, request: FastifyRequest, reply: FastifyReply): void {
  const failure = failureOf(err, request)
  logFailure(err, request, failure)
  setRetryAfter(reply, failure.status)
  reply.code(failure.status).send(failure.body)
}

/** Answers a request that cannot be parsed with an ordinary error body, and closes the connection. */
function refuseConnection (err: Error & { code?: string }, socket: Socket): void {
  if (err.code === 'ECONNRESET' || !socket.writable) return
  const status = { HPE_HEADER_OVERFLOW: '431 Request Header Fields Too Large', ERR_HTTP_REQUEST_TIMEOUT: '408 Request Timeout' }[err.code ?? ''] ?? '400 Bad Request'
  const body = JSON.stringify({ error: { code: 'BAD_HTTP', message: `the request cannot be read as HTTP (${status.slice(4)})`, requestId: randomUUID() } })
  socket.end(`HTTP/1.1 ${status}\r\nContent-Type: application/json\r\nContent-Length: ${Buffer.byteLength(body)}\r\nConnection: close\r\n\r\n${body}`)
}
