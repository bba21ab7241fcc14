import type { Principal, StepView } from '@polyvac/core'
import { callerFields, conversationHeader, findSkill, HIDDEN, errorHandler, eventText, jsonText, ownerOf, parseJson, runCallerOf, streamRoute, type ExposedVacs, traceLinks, vacsFor } from '@polyvac/core/plugin'
import { contextOf } from '@polyvac/runs'
import type { CreatedTask } from '@polyvac/tasks'
import type { FastifyInstance, FastifyReply, FastifyRequest, RouteHandlerMethod } from 'fastify'
import { InvalidParamsError, NoSuchPushConfigError, NotCancelableError } from '../errors.js'
import { headersOf } from '../protocol/failure.js'
import { idOf } from '../protocol/json-rpc.js'
import { asksForSteps, hasSteps, stepFields, viewOfTask } from '../protocol/steps.js'
import { idempotencyKey, lastEventId, resumePosition } from '../protocol/request-headers.js'
import { REFUSED, taskProblem } from '../tasks/task-problem.js'
import type { TaskService } from '../tasks/task-service.js'
import type { TaskTurns } from '../tasks/task-turns.js'
import type { StepEncoding, TaskStreams } from '../tasks/task-streams.js'
import { refuseOthers, withSlash } from './paths.js'
import { paramsOf, requestSchema, responseSchema } from '../dialects/description/envelope.js'
import { rpcFailure } from '../dialects/description/failures.js'
import { METHODS, type MethodName, type ParamsOf, type SendParams } from '../dialects/description/methods.js'
import { toNewPushConfig, toReadPushConfig, toStoredPushConfig } from '../dialects/description/push-config.js'
import { fromState, isStreaming, toFrame, toTask } from '../dialects/description/record.js'

export interface DescriptionOptions {
  readonly vacs: ExposedVacs
  readonly service: TaskService
  readonly turns: TaskTurns
  readonly streams: TaskStreams
  readonly principalOf: (request: FastifyRequest) => Principal | undefined
  readonly bodyLimit: number
}

type Handler<Name extends MethodName, Result> =
  (params: ParamsOf<Name>, request: FastifyRequest, reply: FastifyReply) => Promise<Result>

const STREAM = {
  description: 'events of type task_update',
  content: { 'text/event-stream': { schema: { type: 'string' } } }
}

/** The JSON-RPC routes of the service description: one path for each method. */
export async function descriptionRoutes (app: FastifyInstance, options: DescriptionOptions): Promise<void> {
  const { vacs, service, turns, streams, principalOf, bodyLimit } = options

  // `paramsOf` validates instead: JSON-RPC has separate errors for a broken envelope, a wrong method and wrong params
  app.setValidatorCompiler(() => () => true)
  app.setErrorHandler(errorHandler(refuse))
  parseJson(app)

  const refuseRest = refuseOthers(app)
  answer('tasks/send', async (params, request, reply) => {
    const created = await createOrContinue(params, request, reply)
    const { skill, input } = created.task
    const isStreamed = isStreaming(skill) && taskProblem(vacsFor(vacs, principalOf(request), request.log), skill, input) === undefined
    return toTask(isStreamed ? created.task : await streams.wait(created, reply))
  })
  answer('tasks/get', async ({ taskId }, request) => toTask(await service.getTask(principalOf(request), taskId)))
  answer('tasks/list', async ({ state, limit, cursor }, request) => {
    const states = state === undefined ? undefined : fromState(state)
    const page = await service.tasks.list(principalOf(request), { states, limit, cursor })
    return { ...page, tasks: page.tasks.map(toTask) }
  })
  answer('tasks/cancel', async ({ taskId }, request) => {
    const { canceled, task } = await service.cancelTask(principalOf(request), taskId)
    if (!canceled) throw new NotCancelableError(toTask(task).state)
    return toTask(task)
  })
  answer('tasks/pushNotification/set', async ({ taskId, pushNotificationConfig }, request) => {
    const caller = principalOf(request)
    const task = await service.getTaskForPush(caller, taskId)
    return toStoredPushConfig(await service.setPush(caller, task, toNewPushConfig(pushNotificationConfig)))
  })
  answer('tasks/pushNotification/get', async ({ taskId, id }, request) => {
    const task = await service.getTaskForPush(principalOf(request), taskId)
    const config = await service.getPush(task, id)
    return toReadPushConfig(config, service.recentDeliveries(task, config))
  })
  answer('tasks/pushNotification/delete', async ({ taskId, id }, request) => {
    const task = await service.getTaskForPush(principalOf(request), taskId)
    const config = id ?? (await service.listPush(task))[0]?.id
    if (config === undefined || !await service.deletePush(task, config)) throw new NoSuchPushConfigError()
    return null
  })
  stream('tasks/sendSubscribe', async (params, request, reply) => {
    const seen = lastEventId(request)
    await streams.open(principalOf(request), reply, async stream => {
      const { task, created } = await createOrContinue(params, request, reply)
      // a client whose connection was cut may repeat the request and resume; a new task is sent from its first event on
      await streams.send(stream, task, created ? 0 : resumePosition(seen, task), stepEncoding(request, viewOfTask(vacs, task, request, principalOf(request))))
    })
  })
  stream('tasks/resubscribe', async ({ taskId }, request, reply) => {
    await streams.open(principalOf(request), reply, async stream => {
      const task = await service.getTask(principalOf(request), taskId)
      await streams.send(stream, task, resumePosition(lastEventId(request), task), stepEncoding(request, viewOfTask(vacs, task, request, principalOf(request))))
    })
  })
  refuseRest()

  function answer<Name extends MethodName> (name: Name, handle: Handler<Name, unknown>): void {
    post(name, {}, responseSchema(METHODS[name]), async (request, reply) => {
      const result = await handle(paramsOf(request.body, name), request, reply)
      return { jsonrpc: '2.0', id: idOf(request.body), result }
    })
  }

  function stream<Name extends MethodName> (name: Name, handle: Handler<Name, void>): void {
    post(name, streamRoute, STREAM, async (request, reply) => {
      await handle(paramsOf(request.body, name), request, reply)
    })
  }

  function post (name: MethodName, route: object, response: object, handler: RouteHandlerMethod): void {
    const url = `/a2a/${name}`
    for (const path of withSlash(app, url)) {
      const schema = path === url ? schemaOf(name, response) : HIDDEN
      app.post(path, { ...route, bodyLimit, schema }, handler)
    }
  }

  /** The task of a request; the header names its conversation, for which the record of the description has no field. */
  async function createOrContinue (params: SendParams, request: FastifyRequest, reply: FastifyReply): Promise<CreatedTask> {
    const created = await taskOf(params, request)
    const { contextId } = created.task
    if (contextId !== undefined) reply.header('x-conversation-id', conversationHeader(contextId))
    return created
  }

  /** Creates a task, finds the one that the same request created before, or continues one that asked for input. */
  async function taskOf (params: SendParams, request: FastifyRequest): Promise<CreatedTask> {
    const { skillName, input = {}, clientMetadata = {}, metadata, taskId, contextId, pushNotificationConfig: push } = params
    const caller = principalOf(request)
    const config = push === undefined ? undefined : toNewPushConfig(push)
    const text = textOf(input)
    const asked = asksForSteps(clientMetadata, metadata)
    if (taskId !== undefined) {
      const before = await service.getTask(caller, taskId)
      if (config !== undefined) await service.checkPush(config)
      if (skillName !== undefined && skillName !== before.skill) {
        throw new InvalidParamsError(`params/skillName: the task has the skill ${before.skill}; leave it out`)
      }
      if (contextId !== undefined && contextId !== contextOf(before)) {
        throw new InvalidParamsError('params/contextId: is not that of the task; leave it out')
      }
      if (text === undefined) {
        throw new InvalidParamsError('params/input/query: is missing; it answers the question of the task')
      }
      const message = { parts: [{ type: 'text' as const, text }] }
      return {
        task: await service.continueTask(caller, before, message, config, task => toTask(task).state,
          stepFields(findSkill(vacs, before.skill), hasSteps(before) || asked, request, caller)),
        created: false
      }
    }
    if (skillName === undefined) throw new InvalidParamsError('params/skillName: is missing')
    const seen = vacsFor(vacs, caller, request.log)
    const skill = findSkill(seen, skillName)
    // the description lets such a task fail; only one that runs is a turn
    const { turn, metadata: ofTurn } = skill === undefined || taskProblem(seen, skillName, input) !== undefined
      ? { metadata: {} }
      : await turns.of(runCallerOf(request, caller), skill, input, contextId)
    return await service.createTask(caller, {
      skill: skillName,
      queue: skill === undefined ? REFUSED : undefined,
      input,
      contextId,
      turn,
      metadata: Object.assign({ clientMetadata, requestId: request.id }, ofTurn, { caller: callerFields(caller) }, stepFields(skill, asked, request, caller), traceLinks(clientMetadata)),
      message: text === undefined ? undefined : { parts: [{ type: 'text', text }] },
      idempotencyKey: idempotencyKey(request)
    }, config)
  }
}

function schemaOf (name: MethodName, response: object): object {
  const method = METHODS[name]
  const operationId = name.split('/').reduce((id, word) => id + word[0]?.toUpperCase() + word.slice(1), 'a2a')
  const body = requestSchema(name, method)
  return { operationId, summary: method.summary, tags: ['a2a'], body, response: { 200: response } }
}

function stepEncoding (request: FastifyRequest, view: StepView | undefined): StepEncoding {
  return {
    view,
    encode: ({ task, event }, isSnapshot) => {
      const frame = toFrame(task, isSnapshot ? undefined : event)
      return jsonText(`id: ${event.seq}\ndata: `, frame, '\n\n')
    },
    onFailure: err => {
      const { error } = rpcFailure(err, request, idOf(request.body)).body
      return eventText({ data: { type: 'error', error } })
    }
  }
}

/** The text of the user, for the messages of the record. */
function textOf ({ query, search_query: search }: { query?: unknown, search_query?: unknown }): string | undefined {
  const text = query ?? search
  return typeof text === 'string' && text.trim() !== '' ? text.trim() : undefined
}

function refuse (err: unknown, request: FastifyRequest, reply: FastifyReply): void {
  const { status, body } = rpcFailure(err, request, idOf(request.body))
  if (body.error.code === -32603) request.log.error({ err, owner: ownerOf(request) }, body.error.message)
  reply.code(status).headers(headersOf(status, name => reply.hasHeader(name)))
    .type('application/json; charset=utf-8').serializer(JSON.stringify).send(body)
}
