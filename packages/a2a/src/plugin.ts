import { authenticateCallers, exposedVacs, failureOf, OpenStreams, registerStreams } from '@polyvac/core'
import type { Delivery, TaskStore } from '@polyvac/tasks'
import { Type } from '@sinclair/typebox'
import fp from 'fastify-plugin'
import { readFileSync } from 'node:fs'
import type { FastifyPluginAsync, FastifyRequest } from 'fastify'
import { AgentCard, agentCard } from './agent-card.js'
import { toFrame } from './dialects/description/record.js'
import { descriptionRoutes } from './description-routes.js'
import { A2aOptionsError } from './errors.js'
import { stepAt } from './follow-task.js'
import { ANYONE, DEFAULTS, type A2aOptions } from './options.js'
import { AddressGuard, pushDeliverer, SigningKeys } from './push/index.js'
import { skillRunner } from './run-skill.js'
import { StreamCount } from './stream-count.js'

const { version: ownVersion } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')) as { version: string }

/** Past the longest `stream_settings.timeout`, which ends an interpreter before: for executors that hang all the same. */
const LONGEST_RUN_MS = 3_660_000
const DELIVERIES_AT_ONCE = 64

const KeySet = Type.Object({ keys: Type.Array(Type.Record(Type.String(), Type.Unknown())) }, { title: 'JsonWebKeySet' })

/** An A2A agent over VACs: card, task routes, push notifications. Tasks are executed here as long as the application runs. */
const routes: FastifyPluginAsync<A2aOptions> = async (app, options) => {
  const {
    vacs, tasks, vacNames, authenticate, publicUrl: givenUrl, agent = {}, sendTimeoutMs = DEFAULTS.sendTimeoutMs, timeoutMs = DEFAULTS.timeoutMs,
    concurrency = DEFAULTS.concurrency, maxStreams = DEFAULTS.maxStreams, stallMs = DEFAULTS.stallMs, bodyLimit = DEFAULTS.bodyLimit, push = {}
  } = options
  if (typeof (vacs as typeof vacs | undefined)?.get !== 'function') throw new A2aOptionsError('the a2a plugin needs the option `vacs`: createVacs({ … })')
  if (typeof (tasks as TaskStore | undefined)?.create !== 'function') throw new A2aOptionsError('the a2a plugin needs the option `tasks`: an open store, such as sqliteTaskStore({ path })')
  const { log, prefix } = app
  // as the card tells it, which receivers of notifications compare it with
  const publicUrl = givenUrl?.replace(/\/+$/, '')
  const exposed = exposedVacs(vacs, vacNames, problem => new A2aOptionsError(`vacNames ${problem}`))
  const streams = new OpenStreams()
  const guard = push === false ? undefined : new AddressGuard({ allow: push.allow })
  const keys = push === false ? undefined : push.keys ?? await SigningKeys.generate()
  const deliverer = push === false || guard === undefined || keys === undefined
    ? undefined
    : pushDeliverer({ guard, keys, issuer: publicUrl ?? 'polyvac', timeoutMs: push.timeoutMs ?? DEFAULTS.pushTimeoutMs, payload: (delivery, signal) => payloadOf(tasks, delivery, signal), log })
  const baseUrl = (request: FastifyRequest): string => publicUrl ?? `${request.protocol}://${request.host}${prefix}`.replace(/\/+$/, '')

  await registerStreams(app)
  app.setErrorHandler((err, request, reply) => {
    const { status, body } = failureOf(err, request)
    reply.code(status).send(body)
  })
  let workers: { stop (): Promise<void> }[] = []
  app.addHook('onReady', async () => {
    workers = [tasks.work(skillRunner({ vacs: exposed, timeoutMs, log }), { concurrency, timeoutMs: LONGEST_RUN_MS })]
    if (deliverer !== undefined) workers.push(tasks.deliver(deliverer.handler, { concurrency: DELIVERIES_AT_ONCE }))
  })
  app.addHook('preClose', async () => {
    await Promise.all([streams.end(), ...workers.map(worker => worker.stop())])
    await deliverer?.close()
  })

  app.get('/.well-known/agent.json', {
    schema: { summary: 'Agent card', tags: ['a2a'], response: { 200: AgentCard } },
    serializerCompiler: () => JSON.stringify
  }, async (request, reply) => {
    reply.header('cache-control', 'no-cache')
    const url = baseUrl(request)
    return agentCard({ ...agent, vacs: exposed.list(), url, version: agent.version ?? ownVersion, jwksUrl: keys === undefined ? undefined : `${url}/.well-known/jwks.json` })
  })
  if (keys !== undefined) {
    app.get('/.well-known/jwks.json', {
      schema: { summary: 'Keys that sign push notifications', tags: ['a2a'], response: { 200: KeySet } },
      serializerCompiler: () => JSON.stringify
    }, async (_request, reply) => {
      reply.header('cache-control', 'public, max-age=300')
      return keys.publicJwks()
    })
  }
  await app.register(async scope => {
    const principalOf = authenticateCallers(scope, authenticate)
    await descriptionRoutes(scope, {
      vacs: exposed,
      tasks,
      principalOf: request => principalOf(request) ?? { owner: ANYONE },
      streams,
      streamCount: new StreamCount(maxStreams),
      guard,
      sendTimeoutMs,
      stallMs,
      bodyLimit
    })
  })
}

/** The body of a push notification: the task as it stood after the event. Undefined where the task is gone. */
async function payloadOf (tasks: TaskStore, { owner, taskId, event }: Delivery, signal: AbortSignal): Promise<string | undefined> {
  const task = await tasks.get(owner, taskId)
  const step = task === null ? undefined : await stepAt(tasks, task, event.seq, signal)
  return step === undefined ? undefined : JSON.stringify(toFrame(step.task, step.event))
}

/**
 * The plugin. Routes under the scope's prefix: GET /.well-known/agent.json and /.well-known/jwks.json, and one POST path for each method of
 * the service description, /a2a/tasks/send and so on. It adds no hook, parser or error handler to the scope around it.
 */
export const a2aPlugin = fp(routes, { name: '@polyvac/a2a', fastify: '5.x', encapsulate: true })
