import { authenticateCallers, exposedVacs, failureOf, OpenStreams, packageVersion, readOptions, registerStreams } from '@polyvac/core/plugin'
import type { Delivery } from '@polyvac/tasks'
import fp from 'fastify-plugin'
import type { FastifyPluginAsync, FastifyRequest } from 'fastify'
import { nameOf } from './protocol/card-facts.js'
import { cardRoutes, descriptionCardRoutes } from './cards/routes.js'
import { Cards } from './cards/cards.js'
import { v03 } from './dialects/v0_3/index.js'
import { v1 } from './dialects/v1/index.js'
import { toNotification } from './dialects/description/record.js'
import type { Dialect } from './protocol/dialect.js'
import type { PushDialect } from './protocol/push-config.js'
import { descriptionRoutes } from './bindings/description.js'
import { A2aOptionsError, ExtendedCardNotConfiguredError, UnsupportedOperationError } from './errors.js'
import { OWN_EXTENSIONS } from './protocol/extensions.js'
import { Operations } from './operations/operations.js'
import { ANYONE, OPTIONS, PUSH_OPTIONS, type A2aOptions } from './options.js'
import { AddressGuard } from './push/address-guard.js'
import { pushDeliverer, type PushPayload } from './push/deliver.js'
import { SigningKeys } from './push/signing-keys.js'
import { checkTenant } from './operations/choose-skill.js'
import { restRoutes } from './bindings/http-json.js'
import { rpcRoutes } from './bindings/json-rpc.js'
import { skillRunner } from './tasks/run-skill.js'
import { TaskService } from './tasks/task-service.js'
import { StreamQuota, TaskStreams } from './tasks/task-streams.js'

/** Past the longest `stream_settings.timeout`, which ends an interpreter before: for executors that hang all the same. */
const MAX_RUN_MS = 3_660_000
const MAX_DELIVERIES = 64
/** The public versions that are spoken, the newest first. */
const DIALECTS = [v1, v03]

/** The dialects of push configs by their stored name. */
const PUSH_DIALECTS: Readonly<Record<PushDialect, Dialect>> = { v1, v0_3: v03 }

/** An A2A agent over VACs: card, task routes, push notifications. Tasks are executed here as long as the application runs. */
const routes: FastifyPluginAsync<A2aOptions> = async (app, options) => {
  const {
    vacs, tasks, vacNames, authenticate, publicUrl: urlOption, agent: agentOption, defaultVac, inputModes, streaming, extensions: ownExtensions,
    grpcUrl, unnamedCard, extendedCard, sendTimeoutMs, timeoutMs, concurrency, maxStreams, stallMs, bodyLimit, push: pushOption, ...read
  } = readOptions(OPTIONS, options, A2aOptionsError, 'the a2a plugin')
  const push = pushOption === false ? undefined : readOptions(PUSH_OPTIONS, pushOption, A2aOptionsError, 'the a2a plugin', 'push.')
  if (defaultVac !== undefined && !vacs.has(defaultVac)) throw new A2aOptionsError(`defaultVac is ${defaultVac}, which is not configured; there are ${vacs.names.join(', ')}`)
  if (extendedCard !== undefined && authenticate === undefined) throw new A2aOptionsError('extendedCard is for callers who say who they are: give `authenticate`, too')
  const { log, prefix } = app
  const agent = { ...agentOption, version: agentOption.version ?? packageVersion(import.meta.url) }
  // as the card tells it, which receivers of notifications compare it with
  const publicUrl = urlOption?.replace(/\/+$/, '')
  const exposed = exposedVacs(vacs, vacNames, problem => new A2aOptionsError(`vacNames ${problem}`))
  const replies = new OpenStreams()
  const guard = push === undefined ? undefined : new AddressGuard({ allow: push.allow })
  const keys = push === undefined ? undefined : push.keys ?? await SigningKeys.generate()
  const service = new TaskService(tasks, guard)
  const deliverer = push === undefined || guard === undefined || keys === undefined
    ? undefined
    : pushDeliverer({ guard, keys, issuer: publicUrl ?? 'polyvac', timeoutMs: push.timeoutMs, payload: (delivery, signal) => payloadOf(service, delivery, signal), log })
  const streams = new TaskStreams({ service, replies, quota: new StreamQuota(maxStreams), sendTimeoutMs, stallMs })
  const baseUrl = (request: FastifyRequest): string => publicUrl ?? `${request.protocol}://${request.host}${prefix}`.replace(/\/+$/, '')

  await registerStreams(app)
  app.setErrorHandler((err, request, reply) => {
    const { status, body } = failureOf(err, request)
    reply.code(status).send(body)
  })
  let workers: { stop (): Promise<void> }[] = []
  app.addHook('onReady', async () => {
    workers = [tasks.work(skillRunner({ vacs: exposed, tasks, timeoutMs, log }), { concurrency, timeoutMs: MAX_RUN_MS })]
    if (deliverer !== undefined) workers.push(tasks.deliver(deliverer.handler, { concurrency: MAX_DELIVERIES }))
  })
  app.addHook('preClose', async () => {
    await Promise.all([replies.end(), ...workers.map(worker => worker.stop())])
    await deliverer?.close()
  })

  descriptionCardRoutes(app, { exposed, baseUrl, agent, keys })
  const extensions = [...OWN_EXTENSIONS, ...ownExtensions]
  const { signCards = push?.keys !== undefined, rootRpc = prefix !== '' } = read
  const cards = new Cards({
    exposed,
    keys: signCards ? keys : undefined,
    ...agent,
    streaming,
    push: push !== undefined,
    extendedCard: extendedCard !== undefined,
    authenticated: authenticate !== undefined,
    extensions,
    inputModes,
    grpcUrl
  })
  await app.register(async scope => {
    await cardRoutes(scope, { cards, exposed, baseUrl, isFixed: publicUrl !== undefined, unnamed: unnamedCard, title: () => agent.name ?? nameOf(exposed.list()) })
  })
  await app.register(async scope => {
    await descriptionRoutes(scope, { vacs: exposed, service, streams, principalOf: authenticateCallers(scope, authenticate), bodyLimit })
  })
  await app.register(async scope => {
    const principalOf = authenticateCallers(scope, authenticate)
    const operations = new Operations({
      service,
      streams,
      vacs: exposed,
      defaultVac,
      inputModes,
      streaming,
      extensions,
      principalOf,
      async extendedCard ({ version }, tenant, request) {
        if (extendedCard === undefined) throw new UnsupportedOperationError('there is no extended agent card here; the public one has all')
        if (tenant !== undefined) checkTenant(exposed, tenant)
        const card = extendedCard(await cards.card(version === '0.3' ? '0.3' : '1.0', baseUrl(request), tenant), principalOf(request) ?? ANYONE)
        if (card === undefined) throw new ExtendedCardNotConfiguredError()
        return card
      }
    })
    await scope.register(async rpc => { await rpcRoutes(rpc, { operations, dialects: DIALECTS, atRoot: rootRpc, bodyLimit }) })
    await scope.register(async rest => { await restRoutes(rest, { operations, dialect: v1, bodyLimit }) }, { prefix: '/a2a/v1' })
  })
}

/** The body of a push notification, in the dialect that its config was set in. Undefined where the task was purged. */
async function payloadOf (service: TaskService, { owner, taskId, event, config }: Delivery, signal: AbortSignal): Promise<PushPayload | undefined> {
  const step = await service.stepAt(owner, taskId, event.seq, signal)
  if (step === undefined) return undefined
  const { dialect } = config.settings as { dialect?: PushDialect }
  return dialect === undefined ? toNotification(step) : PUSH_DIALECTS[dialect].toNotification(step)
}

/**
 * The plugin. Routes under the scope's prefix: GET /.well-known/agent.json and /.well-known/jwks.json, and one POST path for each method of
 * the service description, /a2a/tasks/send and so on. It adds no hook, parser or error handler to the scope around it.
 */
export const a2aPlugin = fp(routes, { name: '@polyvac/a2a', fastify: '5.x', encapsulate: true })
