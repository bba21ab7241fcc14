import type { Principal, StepView } from '@polyvac/core'
import { callerFields, eventText, findSkill, joinTexts, jsonText, runCallerOf, traceLinks, vacOfSkill, vacsFor, type ExposedVacs } from '@polyvac/core/plugin'
import { contextOf, type TaskStep } from '@polyvac/runs'
import { isTerminal, isWaiting, type CreatedTask, type TaskRecord, type UserMessage } from '@polyvac/tasks'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { createHash } from 'node:crypto'
import { isDeepStrictEqual } from 'node:util'
import { NoSuchTaskError, NotCancelableError, UnsupportedOperationError } from '../errors.js'
import type { Dialect, Operation } from '../protocol/dialect.js'
import { IDEMPOTENT_SEND, type AgentExtension } from '../protocol/extensions.js'
import { refuseField } from '../protocol/read-params.js'
import { activeExtensions, idempotencyKey, lastEventId, resumePosition } from '../protocol/request-headers.js'
import type { IncomingMessage, PushRequest, SendRequest, TaskRequest } from '../protocol/requests.js'
import { asksForSteps, hasSteps, stepFields, viewOfTask } from '../protocol/steps.js'
import type { TaskService } from '../tasks/task-service.js'
import type { TaskTurns } from '../tasks/task-turns.js'
import type { StepEncoding, TaskStreams } from '../tasks/task-streams.js'
import { checkMediaTypes, checkTenant, chooseSkill } from './choose-skill.js'
import { pushPage } from './push-pages.js'

export interface OperationsOptions {
  readonly service: TaskService
  readonly turns: TaskTurns
  readonly streams: TaskStreams
  readonly vacs: ExposedVacs
  /** The VAC that answers messages that name none. */
  readonly defaultVac: string | undefined
  readonly inputModes: readonly string[]
  readonly streaming: boolean
  readonly extensions: readonly AgentExtension[]
  /** The authenticated caller; undefined where callers are not authenticated. */
  readonly principalOf: (request: FastifyRequest) => Principal | undefined
  /** The card that an authenticated caller sees. */
  readonly extendedCard: (dialect: Dialect, tenant: string | undefined, request: FastifyRequest) => Promise<unknown>
}

type StreamOperation = 'stream' | 'subscribe'

/** One request, whatever binding it came by. */
export interface OperationCall {
  readonly dialect: Dialect
  readonly params: unknown
  readonly request: FastifyRequest
  readonly reply: FastifyReply
}

/** How a binding wraps the events of a stream. */
export interface EventWrap {
  readonly event: (event: unknown) => unknown
  readonly failure: (err: unknown) => unknown
}

/** Longest id of a message that is its idempotency key unhashed: a key has fewer characters than an id may have. */
const MAX_PLAIN_ID = 200

export function isStreamed (operation: Operation): operation is StreamOperation {
  return operation === 'stream' || operation === 'subscribe'
}

/** The operations of public A2A on tasks of the engine, the same for every version and binding. */
export class Operations {
  readonly #options: OperationsOptions

  constructor (options: OperationsOptions) {
    this.#options = options
  }

  /** Runs an operation whose answer is not a stream. */
  async answer (operation: Exclude<Operation, StreamOperation>, call: OperationCall): Promise<unknown> {
    const { service, streams, extendedCard } = this.#options
    const { dialect, params, request, reply } = call
    const extensions = this.#activate(call, operation === 'send')
    const caller = this.#options.principalOf(request)
    switch (operation) {
      case 'send': {
        const send = dialect.readSend(params)
        const created = await this.#send(caller, send, request, keyOf(send, extensions, request))
        const task = send.blocking ? await streams.wait(created, reply) : created.task
        return dialect.toSendResult(task, send.historyLength)
      }
      case 'get': {
        const get = dialect.readGet(params)
        return dialect.toTask(await this.#getTask(caller, get), get.historyLength)
      }
      case 'list': {
        const list = dialect.readList(params)
        const { tenant, contextId, states, limit, cursor, since: statusSince } = list
        const query = { contextId, states, limit, cursor, statusSince, count: true }
        return dialect.toPage(await service.tasks.list(caller, query, tenant), list)
      }
      case 'cancel': {
        const { id } = await this.#getTask(caller, dialect.readTask(params))
        const { canceled, task } = await service.cancelTask(caller, id)
        if (!canceled && task.state !== 'canceled') throw new NotCancelableError(task.state)
        return dialect.toTask(task)
      }
      case 'setPush': {
        const { config, ...target } = dialect.readSetPush(params)
        return dialect.toPushConfig(await service.setPush(caller, await this.#getTaskForPush(caller, target), config))
      }
      case 'getPush': {
        const target = dialect.readPushId(params)
        return dialect.toPushConfig(await service.getPush(await this.#getTaskForPush(caller, target), target.id))
      }
      case 'listPush': {
        const { limit, cursor, ...target } = dialect.readListPush(params)
        const task = await this.#getTaskForPush(caller, target)
        const { configs, next } = pushPage(await service.listPush(task), limit, cursor)
        return dialect.toPushConfigs(configs, next)
      }
      case 'deletePush': {
        const target = dialect.readPushId(params)
        const task = await this.#getTaskForPush(caller, target)
        if (target.id === undefined) refuseField('pushNotificationConfigId', 'is missing')
        // deleting a config that does not exist succeeds: the outcome is the same
        await service.deletePush(task, target.id)
        return dialect.deleteResult
      }
      case 'extendedCard':
        reply.header('cache-control', 'private, no-cache')
        return await extendedCard(dialect, dialect.readTenant(params), request)
    }
  }

  /** Runs an operation whose answer is a stream. A failure before the first event is thrown. */
  stream (operation: StreamOperation, call: OperationCall, wrap: EventWrap): Promise<void> {
    return operation === 'stream' ? this.startStream(call, wrap) : this.resumeStream(call, wrap)
  }

  /** Sends a message, and streams its task until it ends or asks for input. */
  async startStream (call: OperationCall, wrap: EventWrap): Promise<void> {
    const { streaming, streams } = this.#options
    const { dialect, params, request, reply } = call
    if (!streaming) throw streamingDisabled()
    const extensions = this.#activate(call, true)
    const caller = this.#options.principalOf(request)
    const send = dialect.readSend(params)
    await streams.open(caller, reply, async stream => {
      const { task } = await this.#send(caller, send, request, keyOf(send, extensions, request))
      await streams.send(stream, task, undefined, stepEncoding(dialect, wrap, { takesMessage: true, questionsFrom: 0, historyLength: send.historyLength, view: viewOfTask(this.#options.vacs, task, request, caller) }))
    })
  }

  /** Streams an existing task, after the event of Last-Event-ID or from its present state on. */
  async resumeStream (call: OperationCall, wrap: EventWrap): Promise<void> {
    const { streaming, streams } = this.#options
    const { dialect, params, request, reply } = call
    if (!streaming) throw streamingDisabled()
    this.#activate(call, false)
    const caller = this.#options.principalOf(request)
    const target = dialect.readTask(params)
    const seen = lastEventId(request)
    await streams.open(caller, reply, async stream => {
      const task = await this.#getTask(caller, target)
      if (isTerminal(task.state) && seen === undefined) {
        throw new UnsupportedOperationError(`the task is ${task.state} already and has no more events; read it instead`)
      }
      // without Last-Event-ID the present question is in the snapshot, and the stream goes on past it
      const questionsFrom = seen === undefined ? task.seq + 1 : task.seq
      await streams.send(stream, task, resumePosition(seen, task), stepEncoding(dialect, wrap, { takesMessage: false, questionsFrom, view: viewOfTask(this.#options.vacs, task, request, caller) }))
    })
  }

  /** Creates a task, finds the one of the same key, or answers the question of one. */
  async #send (
    caller: Principal | undefined, send: SendRequest, request: FastifyRequest, key: string | undefined
  ): Promise<CreatedTask> {
    const { tenant, message, push } = send
    const { service, turns, defaultVac, inputModes } = this.#options
    const vacs = vacsFor(this.#options.vacs, caller, request.log)
    if (message.taskId === undefined) {
      if (tenant !== undefined) checkTenant(vacs, tenant)
      checkMediaTypes(message.parts, inputModes)
      const { skill, input } = chooseSkill(vacs, defaultVac, tenant, message)
      const { contextId } = message
      const { turn, metadata: ofTurn } = await turns.of(runCallerOf(request, caller), skill, input, contextId, messageOf(message))
      const metadata = Object.assign({ requestId: request.id }, ofTurn,
        { caller: callerFields(caller) }, stepFields(skill, asksForSteps(message.metadata, send.metadata), request, caller), traceLinks(message.metadata, send.metadata))
      const task = { skill: skill.name, input, contextId, metadata, message: messageOf(message), idempotencyKey: key, turn }
      return await service.createTask(caller, task, push)
    }
    const task = await this.#getTask(caller, { tenant, id: message.taskId })
    if (key !== undefined && isRepeated(message, task)) return { task, created: false }
    checkContinues(message, task)
    checkMediaTypes(message.parts, inputModes)
    if (push !== undefined) await service.checkPush(push)
    const fields = stepFields(findSkill(vacs, task.skill), hasSteps(task) || asksForSteps(message.metadata, send.metadata), request, caller)
    return { task: await service.continueTask(caller, task, messageOf(message), push, ({ state }) => state, fields), created: false }
  }

  async #getTask (caller: Principal | undefined, { tenant, id }: Pick<TaskRequest, 'tenant' | 'id'>): Promise<TaskRecord> {
    return ofTenant(tenant, await this.#options.service.getTask(caller, id))
  }

  async #getTaskForPush (caller: Principal | undefined, { tenant, taskId }: Omit<PushRequest, 'id'>): Promise<TaskRecord> {
    return ofTenant(tenant, await this.#options.service.getTaskForPush(caller, taskId))
  }

  /** Names the extensions that the request activates in the response. @throws A2A_EXTENSION_REQUIRED */
  #activate ({ dialect: { extensionsHeader }, request, reply }: OperationCall, sends: boolean): readonly string[] {
    const active = activeExtensions(request, extensionsHeader, this.#options.extensions, sends)
    if (active.length > 0) reply.header(extensionsHeader, active.join(', '))
    return active
  }
}

interface StepOptions {
  /** Whether an answer that is only a message is sent instead of the task. */
  readonly takesMessage: boolean
  /** Number of the first event that ends the stream if it asks for input. */
  readonly questionsFrom: number
  readonly historyLength?: number | undefined
  readonly view: StepView | undefined
}

function stepEncoding (dialect: Dialect, wrap: EventWrap, { takesMessage, questionsFrom, historyLength, view }: StepOptions): StepEncoding {
  const toFirst = takesMessage ? dialect.toSendResult : dialect.toSnapshot
  const isLast = ({ event: { seq, state } }: TaskStep): boolean => state === 'input-required' && seq >= questionsFrom
  return {
    isLast,
    view,
    takesMessage,
    encode: (step, isSnapshot) => {
      const { seq } = step.event
      const ends = step.task.completedAt !== null || isLast(step)
      const events = isSnapshot ? [toFirst(step.task, historyLength)] : dialect.toEvents(step, ends)
      const last = events.length - 1
      return joinTexts(events.map((event, index) =>
        jsonText(index === last ? `id: ${seq}\ndata: ` : 'data: ', wrap.event(event), '\n\n')))
    },
    onFailure: err => eventText({ data: wrap.failure(err) })
  }
}

/** The key under which a message may be sent again, if its sender asks for that. */
function keyOf ({ message }: SendRequest, extensions: readonly string[], request: FastifyRequest): string | undefined {
  const { id } = message
  const key = idempotencyKey(request)
  if (key !== undefined || !extensions.includes(IDEMPOTENT_SEND)) return key
  return `message:${id.length > MAX_PLAIN_ID ? createHash('sha256').update(id).digest('hex') : id}`
}

/**
 * Whether the task has this message already: its sender did not get the answer, and it must not answer the next
 * question.
 */
function isRepeated ({ id: messageId, parts }: IncomingMessage, task: TaskRecord): boolean {
  const before = task.messages.find(({ role, id }) => role === 'user' && id === messageId)
  if (before !== undefined && !isDeepStrictEqual(before.parts, parts)) {
    refuseField('message.messageId', 'came with another message before; send a new one')
  }
  return before !== undefined
}

/** @throws A2A_INVALID_PARAMS, A2A_UNSUPPORTED_OPERATION */
function checkContinues ({ contextId }: IncomingMessage, task: TaskRecord): void {
  const { state } = task
  if (contextId !== undefined && contextId !== contextOf(task)) {
    refuseField('message.contextId', 'is not that of the task; leave it out')
  }
  if (isTerminal(state)) {
    throw new UnsupportedOperationError(
      `the task is ${state} already and takes no more messages; begin another one in its context`)
  }
  if (!isWaiting(state)) {
    throw new UnsupportedOperationError(
      `the task is ${state} and takes a message only when it asks for input or an authorization`)
  }
}

function streamingDisabled (): Error {
  return new UnsupportedOperationError('streaming is switched off here; send without it and read the task')
}

/** A task of another tenant is answered like an unknown one. @throws A2A_TASK_NOT_FOUND */
function ofTenant (tenant: string | undefined, task: TaskRecord): TaskRecord {
  if (tenant !== undefined && vacOfSkill(task.skill) !== tenant) throw new NoSuchTaskError()
  return task
}

function messageOf ({ id, parts, metadata, extensions, referenceTaskIds }: IncomingMessage): UserMessage {
  return {
    id,
    parts,
    ...(metadata === undefined ? {} : { metadata }),
    ...(extensions === undefined ? {} : { extensions }),
    ...(referenceTaskIds === undefined ? {} : { referenceTaskIds })
  }
}
