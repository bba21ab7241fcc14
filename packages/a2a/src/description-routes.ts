import { eventText, sendEvents, Stop, streamRoute, streamSettings, type ExposedVacs, type OpenStreams, type Principal, type StopSignal } from '@polyvac/core'
import { isTerminal, type CreatedTask, type TaskRecord, type TaskStore } from '@polyvac/tasks'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import {
  InvalidParamsError, NoSuchPushConfigError, NoSuchTaskError, NotCancelableError, NotWaitingError, PushNotSupportedError
} from './errors.js'
import { followTask, settledTask, type TaskStep } from './follow-task.js'
import { DEFAULTS } from './options.js'
import { checkSecrets, type AddressGuard } from './push/index.js'
import { taskProblem } from './run-skill.js'
import type { StreamCount, StreamPlace } from './stream-count.js'
import { idOf, paramsOf, requestSchema, responseSchema } from './dialects/description/envelope.js'
import { rpcFailure } from './dialects/description/failures.js'
import { METHODS, type ListParams, type MethodName, type PushIdParams, type PushNotificationConfig, type PushParams, type SendParams, type TaskParams } from './dialects/description/methods.js'
import { toNewPushConfig, toStoredPushConfig } from './dialects/description/push-config.js'
import { fromState, isStreaming, toFrame, toTask } from './dialects/description/record.js'

export interface DescriptionOptions {
  readonly vacs: ExposedVacs
  readonly tasks: TaskStore
  readonly principalOf: (request: FastifyRequest) => Principal
  readonly streams: OpenStreams
  readonly streamCount: StreamCount
  /** Undefined where push notifications are off. */
  readonly guard: AddressGuard | undefined
  readonly sendTimeoutMs: number
  readonly stallMs: number
  readonly bodyLimit: number
}

/** A stream that is open. */
interface Open { readonly place: StreamPlace, readonly signal: StopSignal }

/** The JSON-RPC routes of the service description: one path for each method. */
export async function descriptionRoutes (app: FastifyInstance, options: DescriptionOptions): Promise<void> {
  const { tasks, principalOf } = options
  const ownerOf = (request: FastifyRequest): string => principalOf(request).owner

  // the envelope's own checks tell a broken request from a wrong method and from wrong params, as JSON-RPC wants it
  app.setValidatorCompiler(() => () => true)
  app.setSerializerCompiler(() => JSON.stringify)
  app.setErrorHandler(refuse)

  answer('tasks/send', async (params, request, reply) => {
    return toTask(await settled(await begin(params as SendParams, request), reply))
  })
  answer('tasks/get', async (params, request) => toTask(await known((params as TaskParams).taskId, request)))
  answer('tasks/list', async (params, request) => {
    const { state, limit, cursor } = params as ListParams
    const page = await tasks.list(ownerOf(request), { states: state === undefined ? undefined : fromState(state), limit, cursor })
    return { ...page, tasks: page.tasks.map(toTask) }
  })
  answer('tasks/cancel', async (params, request) => {
    const { outcome, task } = await tasks.cancel(ownerOf(request), (params as TaskParams).taskId)
    if (outcome === 'not-found') throw new NoSuchTaskError()
    if (outcome === 'terminal') throw new NotCancelableError(toTask(task).state)
    return toTask(task)
  })
  answer('tasks/pushNotification/set', async (params, request) => {
    const { taskId, pushNotificationConfig: config } = params as PushParams
    pushGuard()
    const { seq } = await known(taskId, request)
    await checkPush(config)
    // its last event counts as not told yet: a receiver of a task that ended in between would else never hear of the end
    return toStoredPushConfig(await tasks.setPush(ownerOf(request), taskId, { ...toNewPushConfig(config), after: seq - 1 }))
  })
  answer('tasks/pushNotification/get', async (params, request) => {
    const { taskId, id } = params as PushIdParams
    pushGuard()
    await known(taskId, request)
    const owner = ownerOf(request)
    const config = id === undefined ? (await tasks.listPush(owner, taskId))[0] : await tasks.getPush(owner, taskId, id)
    if (config === null || config === undefined) throw new NoSuchPushConfigError()
    return toStoredPushConfig(config)
  })
  answer('tasks/pushNotification/delete', async (params, request) => {
    const { taskId, id } = params as PushIdParams
    pushGuard()
    await known(taskId, request)
    const owner = ownerOf(request)
    const config = id ?? (await tasks.listPush(owner, taskId))[0]?.id
    if (config === undefined || !await tasks.deletePush(owner, taskId, config)) throw new NoSuchPushConfigError()
    return null
  })
  stream('tasks/sendSubscribe', async (params, request, reply) => {
    const seen = lastEventId(request)
    await streaming(request, reply, async open => {
      const { task, created } = await begin(params as SendParams, request)
      // a client whose connection was cut may send the same request again and go on where it was; of a new task it has nothing
      await follow(task, created ? 0 : place(seen, task), open, request, reply)
    })
  })
  stream('tasks/resubscribe', async (params, request, reply) => {
    await streaming(request, reply, async open => {
      const task = await known((params as TaskParams).taskId, request)
      await follow(task, place(lastEventId(request), task), open, request, reply)
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
    const { owner, scopes } = principalOf(request)
    if (taskId !== undefined) return { task: await goOn(taskId, params, request), created: false }
    if (skillName === undefined) throw new InvalidParamsError('params/skillName: is missing')
    if (push !== undefined) await checkPush(push)
    const text = textOf(input)
    return await tasks.create(owner, {
      skill: skillName,
      input,
      metadata: { clientMetadata, ...(scopes === undefined ? {} : { scopes }) },
      message: text === undefined ? undefined : { parts: [{ type: 'text', text }] },
      idempotencyKey: idempotencyKey(request),
      push: push === undefined ? undefined : { ...toNewPushConfig(push), after: 0 }
    })
  }

  async function goOn (taskId: string, { skillName, input, pushNotificationConfig: push }: SendParams, request: FastifyRequest): Promise<TaskRecord> {
    const before = await known(taskId, request)
    if (push !== undefined) await checkPush(push)
    if (skillName !== undefined && skillName !== before.skill) throw new InvalidParamsError(`params/skillName: the task has the skill ${before.skill}; leave it out`)
    const text = textOf(input)
    if (text === undefined) throw new InvalidParamsError('params/input/query: is missing; it answers the question of the task')
    const { outcome, task } = await tasks.provideInput(ownerOf(request), taskId, { parts: [{ type: 'text', text }] })
    if (outcome === 'not-found') throw new NoSuchTaskError()
    if (outcome === 'not-waiting') throw new NotWaitingError(toTask(task).state)
    if (push !== undefined) await tasks.setPush(ownerOf(request), taskId, { ...toNewPushConfig(push), after: before.seq })
    return task
  }

  /** The task at its end, as it is after `sendTimeoutMs`, or at once where its skill streams. */
  async function settled (begun: CreatedTask, reply: FastifyReply): Promise<TaskRecord> {
    const { task } = begun
    const { skill, input, state } = task
    const streams = isStreaming(skill) && taskProblem(options.vacs, skill, input) === undefined
    if (streams || isTerminal(state) || state === 'input-required') return task
    const { signal, end } = options.streams.begin(reply)
    const stop = new Stop()
    const leave = (): void => { stop.abort(undefined) }
    const late = setTimeout(leave, options.sendTimeoutMs)
    signal.addEventListener('abort', leave)
    try {
      return await settledTask(tasks, begun, stop)
    } finally {
      clearTimeout(late)
      signal.removeEventListener('abort', leave)
      end()
    }
  }

  /** Holds a place among the owner's streams meanwhile. One too many is refused before anything has begun. */
  async function streaming (request: FastifyRequest, reply: FastifyReply, run: (open: Open) => Promise<void>): Promise<void> {
    const place = options.streamCount.take(ownerOf(request), () => { reply.raw.destroy() })
    try {
      const { signal, end } = options.streams.begin(reply)
      await run({ place, signal }).finally(end)
    } finally {
      place.release()
    }
  }

  /** Replays what came after event number `seen`, or tells the task as it stands, then follows it. */
  function follow (task: TaskRecord, seen: number | undefined, { place, signal }: Open, request: FastifyRequest, reply: FastifyReply): Promise<void> {
    const { wait_time: wait = DEFAULTS.waitTime } = streamSettings(task.input)
    const { seq } = task
    return sendEvents(reply, followTask(tasks, task, seen ?? seq - 1, signal), {
      encode: ({ task: now, event }: TaskStep) => {
        // where nothing was seen before, the first frame is all there is, not what is new
        const fresh = seen === undefined && event.seq === seq
        const text = eventText({ id: String(event.seq), data: toFrame(now, fresh ? undefined : event) })
        place.hold(text.length)
        return text
      },
      onFailure: err => eventText({ data: { type: 'error', error: rpcFailure(err, request, idOf(request.body)).body.error } }),
      signal,
      stallMs: options.stallMs,
      keepAliveMs: wait === 0 ? undefined : Math.max(100, wait * 1000)
    })
  }

  async function known (taskId: string, request: FastifyRequest): Promise<TaskRecord> {
    const task = await tasks.get(ownerOf(request), taskId)
    if (task === null) throw new NoSuchTaskError()
    return task
  }

  async function checkPush (config: PushNotificationConfig): Promise<void> {
    const guard = pushGuard()
    checkSecrets(toNewPushConfig(config).secrets ?? {})
    // bounded by the guard itself
    await guard.check(config.url, new AbortController().signal)
  }

  function pushGuard (): AddressGuard {
    if (options.guard === undefined) throw new PushNotSupportedError()
    return options.guard
  }
}

/** Number of the last event that a client has, if it says so. */
function lastEventId ({ headers }: FastifyRequest): number | undefined {
  const { 'last-event-id': given } = headers
  if (given === undefined || given === '') return undefined
  if (typeof given !== 'string' || !/^\d{1,15}$/.test(given)) throw new InvalidParamsError('Last-Event-ID: give the number of an event, as the `id` of a frame has it')
  return Number(given)
}

/** Where a reader goes on. One that has all of an ended task is told its end once more, since an empty stream says nothing. */
function place (seen: number | undefined, { seq, state }: TaskRecord): number | undefined {
  if (seen === undefined) return undefined
  if (seen > seq) throw new InvalidParamsError(`Last-Event-ID: the last event so far is ${seq}`)
  return isTerminal(state) ? Math.min(seen, seq - 1) : seen
}

function idempotencyKey ({ headers }: FastifyRequest): string | undefined {
  const { 'idempotency-key': key } = headers
  if (key === undefined) return undefined
  if (typeof key !== 'string' || key === '' || key.length > 256) throw new InvalidParamsError('Idempotency-Key: give 1 to 256 characters')
  return key
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
  // a limiter or authenticator of the application's own knows better
  if (status === 401 && !reply.hasHeader('www-authenticate')) reply.header('www-authenticate', 'Bearer')
  if ((status === 429 || status === 503) && !reply.hasHeader('retry-after')) reply.header('retry-after', 1)
  reply.code(status).type('application/json; charset=utf-8').serializer(JSON.stringify).send(body)
}
