import type { Authenticate } from '@polyvac/core'
import {
  authenticateCallers, boundMemory, callerOfFields, currentCaller, describeRoutes, errorHandler, exposedVacs, failureOf, findSkill, labelRoutes, mayUse, memoryBudget,
  OpenStreams, readOptions, registerStreams, setRetryAfter, traceRequests, vacOfSkill, vacsFor, type CallerFields, type ExposedVacs, VERSION
} from '@polyvac/core/plugin'
import { conversationsIn, skillRunner, type CallerTasks } from '@polyvac/runs'
import { ownerOfKey, type Delivery } from '@polyvac/tasks'
import fp from 'fastify-plugin'
import { descriptionRoutes } from './bindings/description.js'
import { restRoutes } from './bindings/http-json.js'
import { rpcRoutes } from './bindings/json-rpc.js'
import { Cards } from './cards/cards.js'
import { cardRoutes, descriptionCardRoutes } from './cards/routes.js'
import { toNotification } from './dialects/description/record.js'
import { v03 } from './dialects/v0_3/index.js'
import { v1 } from './dialects/v1/index.js'
import { A2aOptionsError, ExtendedCardNotConfiguredError, UnsupportedOperationError } from './errors.js'
import { checkTenant } from './operations/choose-skill.js'
import { Operations } from './operations/operations.js'
import { OPTIONS, PUSH_OPTIONS, type A2aOptions } from './options.js'
import { nameOf } from './protocol/card-facts.js'
import type { Dialect } from './protocol/dialect.js'
import { OWN_EXTENSIONS } from './protocol/extensions.js'
import type { PushDialect } from './protocol/push-config.js'
import { AddressGuard } from './push/address-guard.js'
import { pushDeliverer, type PushPayload } from './push/deliver.js'
import { RecentDeliveries } from './push/recent-deliveries.js'
import { SigningKeys } from './push/signing-keys.js'
import { A2A_TASKS, REFUSED } from './tasks/task-problem.js'
import { TaskService } from './tasks/task-service.js'
import { TaskTurns } from './tasks/task-turns.js'
import { StreamQuota } from './tasks/stream-quota.js'
import { TaskStreams } from './tasks/task-streams.js'
import type { FastifyPluginAsync, FastifyRequest } from 'fastify'

/** Longer than the longest `stream_settings.timeout`: only an interpreter that ignores its own timeout reaches it. */
const MAX_RUN_MS = 3_660_000
const MAX_DELIVERIES = 64
/** The public versions, the newest first. */
const DIALECTS = [v1, v03]

/** The dialects of push configs by their stored name. */
const PUSH_DIALECTS: Readonly<Record<PushDialect, Dialect>> = { v1, v0_3: v03 }

const OWNER = 'the a2a plugin'

/**
 * An A2A agent over VACs: cards, task routes, push notifications. This process executes tasks while the application
 * runs.
 */
const routes: FastifyPluginAsync<A2aOptions> = async (app, options) => {
  const read = readOptions(OPTIONS, options, A2aOptionsError, OWNER)
  const { vacs, tasks, authenticate, defaultVac, inputModes, streaming, extendedCard, timeoutMs, bodyLimit } = read
  const push = read.push === false ? undefined : readOptions(PUSH_OPTIONS, read.push, A2aOptionsError, OWNER, 'push.')
  if (defaultVac !== undefined && !vacs.has(defaultVac)) {
    const names = vacs.names.join(', ')
    throw new A2aOptionsError(`defaultVac is ${defaultVac}, which is not configured; there are ${names}`)
  }
  if (extendedCard !== undefined && authenticate === undefined) {
    throw new A2aOptionsError('extendedCard is for authenticated callers: set `authenticate`, too')
  }
  const { log, prefix } = app
  const { signCards = push?.keys !== undefined, rootRpc = prefix !== '' } = read
  const { agent } = read
  // receivers of notifications compare the issuer with the URL of the card
  const publicUrl = read.publicUrl?.replace(/\/+$/, '')
  const baseUrl = (request: FastifyRequest): string =>
    publicUrl ?? `${request.protocol}://${request.host}${prefix}`.replace(/\/+$/, '')
  const exposed = exposedVacs(vacs, read.vacNames, problem => new A2aOptionsError(`vacNames ${problem}`))
  const extensions = [...OWN_EXTENSIONS, ...read.extensions]

  const guard = push === undefined ? undefined : new AddressGuard({ allow: push.allow })
  const keys = push === undefined ? undefined : push.keys ?? await SigningKeys.generate()
  const recent = push === undefined ? undefined : new RecentDeliveries()
  const conversations = read.conversations ? conversationsIn(tasks, vacs) : undefined
  const service = new TaskService(tasks, guard, recent)
  const turns = new TaskTurns({ store: tasks, tasks: service.tasks, vacs: exposed, conversations })
  const replies = new OpenStreams()
  const streams = new TaskStreams({
    tasks: service.tasks, replies, quota: new StreamQuota(read.maxStreams), sendTimeoutMs: read.sendTimeoutMs, stallMs: read.stallMs
  })
  const deliverer = push === undefined || guard === undefined || keys === undefined
    ? undefined
    : pushDeliverer({
      guard,
      keys,
      issuer: publicUrl ?? 'polyvac',
      timeoutMs: push.timeoutMs,
      payload: (delivery, signal) => payloadOf(service.tasks, authenticate, delivery, signal),
      log,
      recent
    })

  await traceRequests(app)
  boundMemory(app, read.stallMs)
  describeRoutes(app, read.openapi)
  labelRoutes(app, 'a2a')
  await registerStreams(app)
  app.setErrorHandler(errorHandler((err, request, reply) => {
    const { status, body } = failureOf(err, request)
    setRetryAfter(reply, status)
    reply.code(status).send(body)
  }))
  // @keyed none: a list of at most three workers
  let workers: { stop (): Promise<void> }[] = []
  app.addHook('onReady', async () => {
    const { requestIdLogLabel: idLabel = 'reqId' } = app.initialConfig
    const runSkill = skillRunner({ protocol: A2A_TASKS, vacs: exposed, tasks, conversations, authenticate, timeoutMs, log, idLabel })
    const limits = { concurrency: read.concurrency, timeoutMs: MAX_RUN_MS, hold: holdMemory }
    // while a new version takes the place of an old one, they have different VACs
    const serves = (skill: string): boolean => findSkill(exposed, skill) !== undefined
    workers = [tasks.work(runSkill, { ...limits, serves }), tasks.work(runSkill, { ...limits, queue: REFUSED })]
    if (deliverer !== undefined) workers.push(tasks.deliver(deliverer.handler, { concurrency: MAX_DELIVERIES }))
  })
  app.addHook('preClose', async () => {
    await Promise.all([replies.end(), ...workers.map(worker => worker.stop())])
    await deliverer?.close()
  })

  /** Cards are public; a caller with credentials sees the VACs that it may use. */
  const seenBy = async (request: FastifyRequest): Promise<ExposedVacs> => {
    if (authenticate === undefined || request.headers.authorization === undefined) return exposed
    return vacsFor(exposed, await authenticate(request) ?? undefined)
  }
  const cards = new Cards({
    exposed,
    keys: signCards ? keys : undefined,
    ...agent,
    streaming,
    push: push !== undefined,
    extendedCard: extendedCard !== undefined,
    authenticated: authenticate !== undefined,
    bearerFormat: authenticate?.scheme?.bearerFormat,
    extensions,
    inputModes,
    grpcUrl: read.grpcUrl
  })
  await app.register(async function a2aDescriptionCards (scope) {
    descriptionCardRoutes(scope, { seenBy, baseUrl, agent, keys })
  })
  await app.register(async function a2aCards (scope) {
    const title = (): string => agent.name ?? nameOf(exposed.list())
    const isFixed = publicUrl !== undefined
    await cardRoutes(scope, { cards, seenBy, baseUrl, isFixed, unnamed: read.unnamedCard, title, version: agent.version ?? VERSION, mcpPath: read.mcpPath })
  })
  await app.register(async function a2aDescription (scope) {
    const principalOf = authenticateCallers(scope, authenticate)
    await descriptionRoutes(scope, { vacs: exposed, service, turns, streams, principalOf, bodyLimit })
  })
  await app.register(async function a2aPublic (scope) {
    const principalOf = authenticateCallers(scope, authenticate)
    const operations = new Operations({
      service,
      turns,
      streams,
      vacs: exposed,
      defaultVac,
      inputModes,
      streaming,
      extensions,
      principalOf,
      async extendedCard ({ version }, tenant, request) {
        if (extendedCard === undefined) {
          throw new UnsupportedOperationError('there is no extended agent card here; the public one has all')
        }
        const caller = principalOf(request)
        const seen = vacsFor(exposed, caller, request.log)
        if (tenant !== undefined) checkTenant(seen, tenant)
        const card = await cards.makeCard(version === '0.3' ? '0.3' : '1.0', baseUrl(request), tenant, seen)
        // `extendedCard` needs `authenticate`
        const extended = extendedCard(card, caller!)
        if (extended === undefined) throw new ExtendedCardNotConfiguredError()
        return extended
      }
    })
    await scope.register(async function a2aJsonRpc (rpc) {
      await rpcRoutes(rpc, { operations, dialects: DIALECTS, atRoot: rootRpc, bodyLimit })
    })
    await scope.register(async function a2aHttpJson (rest) {
      await restRoutes(rest, { operations, dialect: v1, bodyLimit })
    }, { prefix: '/a2a/v1' })
  })
}

/** Counts a task that runs: its texts are in memory twice, in the record and in what the interpreter gets. */
function holdMemory (owner: string, bytes: number): (() => void) | undefined {
  const held = memoryBudget.hold('tasks', ownerOfKey(owner))
  return held.tryGrow(2 * bytes) ? () => { held.release() } : undefined
}

/** The body of a push notification, in the dialect that its config was set in. Undefined where the task was purged. */
async function payloadOf (tasks: CallerTasks, authenticate: Authenticate | undefined, delivery: Delivery, signal: AbortSignal):
Promise<PushPayload | { readonly disable: string } | undefined> {
  const { owner, taskId, event, config } = delivery
  const step = await tasks.stepAt(owner, taskId, event.seq, signal)
  if (step === undefined) return undefined
  const { dialect, caller } = config.settings as { dialect?: PushDialect, caller?: CallerFields }
  // configs of earlier versions name no caller
  const setter = caller && callerOfFields(ownerOfKey(owner), caller)
  const present = currentCaller(authenticate, setter)
  if (setter !== undefined && (present === undefined || !mayUse(present, { vac: vacOfSkill(step.task.skill) }))) {
    return { disable: 'the credential that set this webhook does not count any more, or may not use the VAC' }
  }
  const payload = dialect === undefined ? toNotification(step) : PUSH_DIALECTS[dialect].toNotification(step)
  return { ...payload, trace: step.task.metadata.trace }
}

/**
 * The plugin. It registers, under the prefix of the scope, agent cards, the JSON-RPC and HTTP+JSON bindings of A2A, and
 * one POST path for each method of the `tasks/*` dialect, /a2a/tasks/send and so on. It adds no hook, parser or error
 * handler to the scope around it.
 * @example
 * const tasks = sqliteTaskStore({ path: 'tasks.db' })
 * await tasks.open()
 * app.addHook('onClose', () => tasks.close())
 * await app.register(a2aPlugin, { vacs, tasks, publicUrl: 'https://agents.example.org' })
 */
export const a2aPlugin = fp(routes, { name: '@polyvac/a2a', fastify: '5.x', encapsulate: true })
