import type { Principal } from '@polyvac/core'
import { eventText, parseJson, streamRoute, type ExposedVacs } from '@polyvac/core/plugin'
import type { CreatedTask, TaskRecord } from '@polyvac/tasks'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { InvalidParamsError, NoSuchPushConfigError, NotCancelableError } from '../errors.js'
import { ANYONE } from '../options.js'
import { headersOf } from '../protocol/failure.js'
import { idOf } from '../protocol/json-rpc.js'
import { taskProblem } from '../tasks/run-skill.js'
import { idempotencyKey, lastEventId, resumePosition } from '../protocol/request-headers.js'
import type { TaskService } from '../tasks/task-service.js'
import type { StepEncoding, TaskStreams } from '../tasks/task-streams.js'
import { paramsOf, requestSchema, responseSchema } from '../dialects/description/envelope.js'
import { rpcFailure } from '../dialects/description/failures.js'
import { METHODS, type ListParams, type MethodName, type PushIdParams, type PushParams, type SendParams, type TaskParams } from '../dialects/description/methods.js'
import { toNewPushConfig, toStoredPushConfig } from '../dialects/description/push-config.js'
import { fromState, isStreaming, toFrame, toTask } from '../dialects/description/record.js'

export interface DescriptionOptions {
  readonly vacs: ExposedVacs
  readonly service: TaskService
  readonly streams: TaskStreams
  readonly principalOf: (request: FastifyRequest) => Principal | undefined
  readonly bodyLimit: number
}

/** The JSON-RPC routes of the service description: one path for each method. */
export async function descriptionRoutes (app: FastifyInstance, options: DescriptionOptions): Promise<void> {
  const { service, streams, principalOf } = options
  const ownerOf = (request: FastifyRequest): string => (principalOf(request) ?? ANYONE).owner

  // the envelope's own checks tell a broken request from a wrong method and from wrong params, as JSON-RPC wants it
  app.setValidatorCompiler(() => () => true)
  app.setSerializerCompiler(() => JSON.stringify)
  app.setErrorHandler(refuse)
  parseJson(app)

  answer('tasks/send', async (params, request, reply) => {
    const begun = await begin(params as SendParams, request)
    const { skill, input } = begun.task
    const isStreamed = isStreaming(skill) && taskProblem(options.vacs, skill, input) === undefined
    return toTask(isStreamed ? begun.task : await streams.wait(begun, reply))
  })
  answer('tasks/get', async (params, request) => toTask(await service.getTask(ownerOf(request), (params as TaskParams).taskId)))
  answer('tasks/list', async (params, request) => {
    const { state, limit, cursor } = params as ListParams
    const page = await service.listTasks(ownerOf(request), { states: state === undefined ? undefined : fromState(state), limit, cursor })
    return { ...page, tasks: page.tasks.map(toTask) }
  })
  answer('tasks/cancel', async (params, request) => {
    const { canceled, task } = await service.cancelTask(ownerOf(request), (params as TaskParams).taskId)
    if (!canceled) throw new NotCancelableError(toTask(task).state)
    return toTask(task)
  })
  answer('tasks/pushNotification/set', async (params, request) => {
    const { taskId, pushNotificationConfig: config } = params as PushParams
    return toStoredPushConfig(await service.setPush(await service.getTaskForPush(ownerOf(request), taskId), toNewPushConfig(config)))
  })
  answer('tasks/pushNotification/get', async (params, request) => {
    const { taskId, id } = params as PushIdParams
    return toStoredPushConfig(await service.getPush(await service.getTaskForPush(ownerOf(request), taskId), id))
  })
  answer('tasks/pushNotification/delete', async (params, request) => {
    const { taskId, id } = params as PushIdParams
    const task = await service.getTaskForPush(ownerOf(request), taskId)
    const config = id ?? (await service.listPush(task))[0]?.id
    if (config === undefined || !await service.deletePush(task, config)) throw new NoSuchPushConfigError()
    return null
  })
  stream('tasks/sendSubscribe', async (params, request, reply) => {
    const seen = lastEventId(request)
    await streams.open(ownerOf(request), reply, async stream => {
      const { task, created } = await begin(params as SendParams, request)
      // a client whose connection was cut may send the same request again and resume; a new task is sent from its first event on
      await streams.send(stream, task, created ? 0 : resumePosition(seen, task), stepEncoding(request))
    })
  })
  stream('tasks/resubscribe', async (params, request, reply) => {
    await streams.open(ownerOf(request), reply, async stream => {
      const task = await service.getTask(ownerOf(request), (params as TaskParams).taskId)
      await streams.send(stream, task, resumePosition(lastEventId(request), task), stepEncoding(request))
    })
  })

  function answer (name: MethodName, handle: (params: unknown, request: FastifyRequest, reply: FastifyReply) => Promise<unknown>): void {
    app.post(`/a2a/${name}`, {
      bodyLimit: options.bodyLimit,
      schema: { summary: METHODS[name].summary, tags: ['a2a'], body: requestSchema(name, METHODS[name]), response: { 200: responseSchema(METHODS[name]) } }
    }, async (request, reply) => {
      const result = await handle(paramsOf(request.body, name), request, reply)
      return { jsonrpc: '2.0', id: idOf(request.body), result }
    })
  }

  function stream (name: MethodName, handle: (params: unknown, request: FastifyRequest, reply: FastifyReply) => Promise<void>): void {
    app.post(`/a2a/${name}`, {
      ...streamRoute,
      bodyLimit: options.bodyLimit,
      schema: { summary: METHODS[name].summary, tags: ['a2a'], body: requestSchema(name, METHODS[name]), response: { 200: { description: 'events of type task_update', content: { 'text/event-stream': { schema: { type: 'string' } } } } } }
    }, async (request, reply) => { await handle(paramsOf(request.body, name), request, reply) })
  }

  /** Creates a task, finds the one that the same request created before, or goes on with one that asked for input. */
  async function begin (params: SendParams, request: FastifyRequest): Promise<CreatedTask> {
    const { skillName, input = {}, clientMetadata = {}, taskId, pushNotificationConfig: push } = params
    const { owner, scopes } = principalOf(request) ?? ANYONE
    if (taskId !== undefined) return { task: await goOn(taskId, params, request), created: false }
    if (skillName === undefined) throw new InvalidParamsError('params/skillName: is missing')
    const text = textOf(input)
    return await service.createTask(owner, {
      skill: skillName,
      input,
      metadata: { clientMetadata, ...(scopes === undefined ? {} : { scopes }) },
      message: text === undefined ? undefined : { parts: [{ type: 'text', text }] },
      idempotencyKey: idempotencyKey(request)
    }, push === undefined ? undefined : toNewPushConfig(push))
  }

  async function goOn (taskId: string, { skillName, input, pushNotificationConfig: push }: SendParams, request: FastifyRequest): Promise<TaskRecord> {
    const before = await service.getTask(ownerOf(request), taskId)
    const config = push === undefined ? undefined : toNewPushConfig(push)
    if (config !== undefined) await service.checkPush(config)
    if (skillName !== undefined && skillName !== before.skill) throw new InvalidParamsError(`params/skillName: the task has the skill ${before.skill}; leave it out`)
    const text = textOf(input)
    if (text === undefined) throw new InvalidParamsError('params/input/query: is missing; it answers the question of the task')
    return await service.continueTask(before, { parts: [{ type: 'text', text }] }, config, task => toTask(task).state)
  }
}

function stepEncoding (request: FastifyRequest): StepEncoding {
  return {
    encode: ({ task, event }, isSnapshot) => eventText({ id: String(event.seq), data: toFrame(task, isSnapshot ? undefined : event) }),
    onFailure: err => eventText({ data: { type: 'error', error: rpcFailure(err, request, idOf(request.body)).body.error } })
  }
}

/** What the user says, for the record's messages. */
function textOf (input: object | undefined): string | undefined {
  const { query, search_query: search } = (input ?? {}) as { query?: unknown, search_query?: unknown }
  const text = query ?? search
  return typeof text === 'string' && text.trim() !== '' ? text.trim() : undefined
}

function refuse (err: unknown, request: FastifyRequest, reply: FastifyReply): void {
  const { status, body } = rpcFailure(err, request, idOf(request.body))
  if (body.error.code === -32603) request.log.error({ err }, body.error.message)
  reply.code(status).headers(headersOf(status, name => reply.hasHeader(name))).type('application/json; charset=utf-8').serializer(JSON.stringify).send(body)
}
