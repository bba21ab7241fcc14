import { createVacs, failureOf, readConfig, ShuttingDownError, type Config, type Vacs } from '@polyvac/core'
import { vacPlugin } from '@polyvac/vac'
import Fastify, { LogController, type FastifyInstance } from 'fastify'
import { readFileSync } from 'node:fs'
import type { AddressInfo } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import { assemble, type Assembly } from './assembly.js'
import { guardHost } from './host-guard.js'
import { UnknownVacNamesError } from './errors.js'
import { BUILT_IN, toSettings, type HostOptions } from './host-options.js'
import { registerOpenApi } from './openapi.js'
import { registerProtocols } from './protocols.js'
import { registerReadiness } from './readiness.js'

declare module 'fastify' {
  interface FastifyInstance {
    /** The host's VACs, and how to change and end it. */
    readonly polyvac: PolyvacHost
  }
}

export interface PolyvacHost {
  readonly vacs: Vacs
  /** The configuration in force; undefined where all came from code. */
  readonly config: Config | undefined
  /** What the VACs are made of. */
  readonly assembly: Assembly
  /** Takes over a new configuration; on any error the old one stays in force and the error is thrown. */
  reload (config: Config): Promise<void>
  /** Turns new calls away with 503 and waits for those in progress, at most `ms`. */
  drain (ms: number): Promise<void>
}

/** Time to receive a whole request, in ms: one that trickles in for ever would hold its connection for ever. */
const REQUEST_TIMEOUT_MS = 60_000

export const version = (JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')) as { version: string }).version

/**
 * Builds the host: one Fastify app with the plugins that the switches name, not yet listening. It registers nothing
 * that a program could not register itself: `app.register(vacPlugin, { vacs })` and so on, in this order.
 * @throws CONFIG_INVALID, INTERPRETER_MODULE, VAC_WITHOUT_MEMORY, DOCUMENTS_FOLDER_NOT_FOUND and others that name the remedy
 */
export async function createHost (options: HostOptions = {}): Promise<FastifyInstance> {
  let config = await configOf(options)
  let settings = toSettings(options, config)
  // the plugins leave a line for each call, which says more
  const app = Fastify({
    logController: new LogController({ disableRequestLogging: true }),
    requestTimeout: REQUEST_TIMEOUT_MS,
    // the plugins have ended their answers by then; what is left are spare sockets, such as browsers open
    forceCloseConnections: true,
    ...options.server
  }) as unknown as FastifyInstance
  const { log } = app
  const parts = { watchDocuments: options.watchDocuments, onIndexing: options.onIndexing, log, ownPort: () => (app.server.address() as AddressInfo | null)?.port }
  checkNames(settings.switches.a2a_vac_names, Object.keys(settings.vacs))
  let assembly = await assemble(settings, parts)
  let draining = false
  app.addHook('onClose', () => assembly.close())
  try {
    const vacs = createVacs(assembly.vacsOptions)
    app.decorate('polyvac', {
      vacs,
      get config () { return config },
      get assembly () { return assembly },
      reload: next => reload(next, vacs),
      async drain (ms) {
        draining = true
        const end = Date.now() + ms
        while (vacs.running > 0 && Date.now() < end) await delay(20)
      }
    } satisfies PolyvacHost)
    app.addHook('onRequest', async (request, reply) => {
      if (!draining || request.method !== 'POST') return
      const { status, body } = failureOf(new ShuttingDownError(), request)
      reply.header('connection', 'close').header('retry-after', 1)
      return await reply.code(status).send(body)
    })
    app.setErrorHandler((err, request, reply) => {
      const { status, body } = failureOf(err, request)
      if (status >= 500) request.log.error({ err }, body.error.message)
      reply.code(status).send(body)
    })
    app.setNotFoundHandler((request, reply) => {
      reply.code(404).send({ error: { code: 'NOT_FOUND', message: `there is nothing at ${request.method} ${request.url.slice(0, 200)}; GET /openapi.json lists what there is`, requestId: request.id } })
    })
    guardHost(app, () => settings.switches.public_url)
    await registerOpenApi(app, version)
    registerReadiness(app, { assembly: () => assembly, isDraining: () => draining })
    await app.register(vacPlugin, { vacs, authenticate: options.authenticate })
    await registerProtocols(app, vacs, settings)
    return app
  } catch (err) {
    await app.close()
    throw err
  }

  async function reload (next: Config, vacs: Vacs): Promise<void> {
    const nextSettings = toSettings(options, next)
    const nextAssembly = await assemble(nextSettings, parts, assembly)
    const old = assembly
    try {
      vacs.replace(nextAssembly.vacsOptions)
    } catch (err) {
      await nextAssembly.close(old)
      throw err
    }
    warnOfSwitches(settings.switches, nextSettings.switches)
    ;[config, settings, assembly] = [next, nextSettings, nextAssembly]
    await old.close(nextAssembly)
  }

  /** Routes cannot change while the app listens. */
  function warnOfSwitches (before: object, after: object): void {
    const changed = Object.keys({ ...before, ...after })
      .filter(key => JSON.stringify(before[key as never]) !== JSON.stringify(after[key as never]))
    if (changed.length > 0) log.warn({ changed }, 'these switches take effect at the next start')
  }
}

async function configOf ({ config, vacs }: HostOptions): Promise<Config | undefined> {
  if (typeof config === 'object') return config
  if (config === undefined && vacs !== undefined) return undefined
  return await readConfig(config ?? 'vac_config.yaml', BUILT_IN)
}

function checkNames (exposed: readonly string[] | null | undefined, names: readonly string[]): void {
  const unknown = (exposed ?? []).filter(name => !names.includes(name))
  if (unknown.length > 0) throw new UnknownVacNamesError(unknown.join(', '), names.join(', '))
}
