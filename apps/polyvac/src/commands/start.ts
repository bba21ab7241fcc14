import { isLoopbackHost, isModulePath, LateConfigError, within } from '@polyvac/core/plugin'
import {
  checkAddress, createHost, GRPC_HOST, listen, loadPlugin, readConfig, startTelemetry, type Gateway, type HostConfig
} from '@polyvac/host/command'
import { resolve } from 'node:path'
import type { FastifyInstance } from 'fastify'
import { banner, documentsLine, serverLines } from '../banner.js'
import { environmentOptions } from '../environment.js'
import { ServerCommandFailedError } from '../errors.js'
import { loadConfig } from '../load-config.js'
import { loggerFor } from '../logger.js'
import { ProgressBar } from '../progress-bar.js'
import { stopInTime } from '../stop-in-time.js'
import { toPlainLines } from '../terminal.js'
import { watchFiles } from '../watch-config.js'
import type { Arguments } from '../arguments.js'
import type { CommandIo } from '../command-io.js'

/** Longest wait of the banner for the first index and for MCP servers, in ms. */
const BANNER_PATIENCE_MS = 1_000

/** `polyvac start`: serves until SIGTERM or SIGINT. */
export async function start (args: Arguments, io: CommandIo): Promise<void> {
  const config = await loadConfig(args, io)
  const { auth, a2a } = config.service
  for (const host of [args.host, a2a?.grpc?.host ?? GRPC_HOST]) {
    checkAddress(host, { authenticated: auth !== undefined, allowUnauthenticated: args.allowUnauthenticated })
  }
  const stopTelemetry = await startTelemetry()
  const bar = new ProgressBar(io.stderr)
  const created = createHost({
    config,
    ...environmentOptions(config, io.env),
    enable_playground: await usesPlayground(config, args.host, io),
    public_url: args.publicUrl,
    server: { logger: loggerFor(args, io) },
    onIndexing: progress => bar.show(progress)
  })
  // while the host is created: loading its modules takes seconds, in which the file may change
  const stopWatching = args.serverCommand === undefined ? follow(created, config, args, io) : () => {}
  const app = await created.catch(err => {
    stopWatching()
    throw err
  })
  app.addHook('onClose', stopTelemetry)
  // before the banner: its reader may end the service at once
  stopInTime(app, args.grace * 1000, config.service.on_stray_error, () => {
    stopWatching()
    bar.clear()
  })
  let url: string
  try {
    warnOf(app, config)
    url = await listen(app, args)
  } catch (err) {
    stopWatching()
    await app.close()
    throw err
  }
  const folders = [...app.polyvac.assembly.folders.values()].flat()
  const indexed = Promise.allSettled(folders.map(folder => folder.ready))
  const { gateway } = app.polyvac
  let starting = gateway !== undefined
  const settled = gateway?.settled().then(() => { starting = false })
  await within(Promise.all([indexed, settled]), BANNER_PATIENCE_MS)
  if (args.serverCommand !== undefined && !starting) {
    const problem = commandProblem(gateway)
    if (problem !== undefined) {
      await app.close()
      throw new ServerCommandFailedError(args.serverCommand.join(' '), problem)
    }
  }
  io.stdout.write(await banner(app, config, args.publicUrl ?? url))
  // the first start of a server can take long, for example where npx downloads it
  if (starting) {
    settled?.then(async () => {
      io.stdout.write(serverLines(gateway!))
      if (args.serverCommand === undefined || commandProblem(gateway) === undefined) return
      io.exitCode = 1
      await app.close()
    }).catch(() => {})
  }

  if (io.stderr.isTTY && folders.some(folder => !folder.stats().ready)) {
    indexed.then(() => io.stderr.write(documentsLine(app)), () => {})
  }
  stopWithParent()
}

/** Why the server of the command line did not start: without it the service has nothing to serve. */
function commandProblem (gateway: Gateway | undefined): string | undefined {
  return gateway?.status().find(({ state }) => state !== 'ready')?.error
}

/** Interval of checks for the parent process, in ms. */
const PARENT_CHECK_MS = 250

/** Under `npm start` a signal ends only npm's shell, and this process keeps the port: it ends when its parent does. */
function stopWithParent (): void {
  if (process.env.npm_lifecycle_event === undefined) return
  const parent = process.ppid
  const timer = setInterval(() => {
    if (process.ppid === parent) return
    clearInterval(timer)
    process.kill(process.pid, 'SIGTERM')
  }, PARENT_CHECK_MS)
  timer.unref()
}

/** Pause before a file that was not read in time is read again, in ms. */
const LATE_RETRY_MS = 1_000

/** Follows changes of the configuration, and with --watch of interpreter modules. An invalid one changes nothing. */
function follow (created: Promise<FastifyInstance>, config: HostConfig, { watch, publicUrl }: Arguments, { stderr }: CommandIo): () => void {
  const modules = ({ service, vac, folder }: HostConfig): string[] =>
    [service.stream_interpreter, service.vac_interpreter, service.tools, ...Object.values(vac).map(({ interpreter }) => interpreter)]
      .filter(name => name !== undefined && isModulePath(name)).map(name => resolve(folder, name!))
  let running: Promise<void> | undefined
  let isStale = false
  let retry: NodeJS.Timeout | undefined
  const reload = async (): Promise<void> => {
    const app = await created
    clearTimeout(retry)
    try {
      const next = await readConfig(config.file, { inThread: true })
      await app.polyvac.reload(next)
      app.log.info({ config: config.file, publicUrl }, 'configuration reloaded')
      warnOf(app, next)
    } catch (err) {
      app.polyvac.refuse(err)
      stderr.write(`${toPlainLines((err as Error).message)}\nthe configuration in force stays, without the credentials that were removed\n`)
      if (err instanceof LateConfigError) retry = setTimeout(onChange, LATE_RETRY_MS).unref()
    }
  }
  /** Changes during a reload cause one more. */
  const onChange = (): void => {
    isStale = running !== undefined
    running ??= reload().catch(() => {}).finally(() => {
      running = undefined
      if (isStale) onChange()
    })
  }
  const stop = watchFiles([config.file, ...watch ? modules(config) : []], onChange,
    err => { created.then(app => { app.log.warn({ err }, 'changes of the configuration can no longer be watched') }, () => {}) })
  return () => {
    clearTimeout(retry)
    stop()
  }
}

// @keyed none: the values are warnings about the configuration
const warned = new Set<string>()

/** Logs each warning once, also over reloads. */
function warnOf (app: FastifyInstance, { warnings }: HostConfig): void {
  for (const { file, line, message, hint } of warnings) {
    if (warned.has(message)) continue
    warned.add(message)
    app.log.warn(`${file}:${line}  ${message}${hint === undefined ? '' : ` (${hint})`}`)
  }
}

/** The switch. Default: the package is installed, no other machine reaches the service, it is not in production. */
async function usesPlayground ({ service }: HostConfig, host: string, { env }: CommandIo): Promise<boolean> {
  return service.enable_playground ??
    (isLoopbackHost(host) && env.NODE_ENV !== 'production' && await loadPlugin('@polyvac/playground') !== undefined)
}
