import type { Principal } from '@polyvac/core'
import { findSkill, inputProblems, nearestSkill, SKILLS, type Skill, type SkillKind, type ExposedVacs } from '@polyvac/core/plugin'
import { isTerminal, isWaiting, type CreatedTask, type PushConfig, type TaskPage, type TaskPart, type TaskRecord } from '@polyvac/tasks'
import type { FastifyReply } from 'fastify'
import { isDeepStrictEqual } from 'node:util'
import { ContentTypeNotSupportedError, InvalidFieldsError, NoSuchTaskError, NotCancelableError, UnsupportedOperationError } from '../errors.js'
import { isObject } from '../is-object.js'
import { matchesMediaType } from '../protocol/media-type.js'
import { pushPage, type PushPage } from './push-pages.js'
import { refuseField } from '../protocol/read-params.js'
import type { ListPushRequest, ListRequest, PushRequest, IncomingMessage, SendRequest, SetPushRequest, TaskRequest } from '../protocol/requests.js'
import { askedBy } from '../protocol/message.js'
import type { OpenTaskStream, StepEncoding, TaskService } from '../tasks/task-service.js'
import { contextOf } from '../protocol/task-view.js'

export interface OperationsOptions {
  readonly service: TaskService
  readonly vacs: ExposedVacs
  /** The VAC that answers where a message names none. */
  readonly defaultVac: string | undefined
  readonly inputModes: readonly string[]
  readonly streaming: boolean
}

/** What is asked, as the engine runs it. */
interface Chosen { readonly skill: Skill, readonly input: Record<string, unknown> }

/** The operations of public A2A, on tasks of the engine: the same for every version and binding. */
export class Operations {
  readonly #options: OperationsOptions

  constructor (options: OperationsOptions) {
    this.#options = options
  }

  /** The task at its end where the caller waits for it, or as it was begun. `key`: a request with the same one is the same task. */
  async send (caller: Principal, request: SendRequest, key: string | undefined, reply: FastifyReply): Promise<TaskRecord> {
    const begun = await this.begin(caller, request, key)
    return request.blocking ? await this.#options.service.waitUntilSettled(begun, reply) : begun.task
  }

  /** Begins a task, finds the one of the same key, or answers the question of one. */
  async begin (caller: Principal, { tenant, said, push }: SendRequest, key: string | undefined): Promise<CreatedTask> {
    const { service } = this.#options
    if (said.taskId !== undefined) {
      const answered = key === undefined ? undefined : await this.#answered(caller.owner, tenant, said)
      if (answered !== undefined) return { task: answered, created: false }
      const before = await this.#mayAnswer(caller.owner, tenant, said)
      if (push !== undefined) await service.checkPush(push)
      return { task: await service.continueTask(before, messageOf(said), push, ({ state }) => state), created: false }
    }
    const { skill, input } = this.#choose(tenant, said)
    return await service.createTask(caller.owner, {
      skill: skill.name,
      input,
      contextId: said.contextId,
      metadata: Object.assign({}, said.contextId === undefined ? undefined : { inContext: true }, caller.scopes === undefined ? undefined : { scopes: caller.scopes }),
      message: messageOf(said),
      idempotencyKey: key
    }, push)
  }

  /** Follows a task that was just begun, until it ends or `encoding` says so. */
  async follow (begun: TaskRecord, open: OpenTaskStream, reply: FastifyReply, encoding: StepEncoding): Promise<void> {
    await this.#options.service.follow(begun, undefined, open, reply, encoding)
  }

  /** A task to be followed from elsewhere. @throws A2A_UNSUPPORTED_OPERATION where it has ended */
  async subscribable (owner: string, request: TaskRequest, seen: number | undefined): Promise<TaskRecord> {
    const task = await this.get(owner, request)
    if (isTerminal(task.state) && seen === undefined) throw new UnsupportedOperationError(`the task is ${task.state} already and has nothing more to tell; read it instead`)
    return task
  }

  /** @throws A2A_UNSUPPORTED_OPERATION */
  checkStreaming (): void {
    if (!this.#options.streaming) throw new UnsupportedOperationError('streaming is switched off here; send without it and read the task')
  }

  async get (owner: string, { tenant, id }: Pick<TaskRequest, 'tenant' | 'id'>): Promise<TaskRecord> {
    const task = await this.#options.service.getTask(owner, id)
    if (!this.#isOf(tenant, task)) throw new NoSuchTaskError()
    return task
  }

  async list (owner: string, { tenant, contextId, states, limit, cursor, since: statusSince }: ListRequest): Promise<TaskPage> {
    const skills = tenant === undefined ? undefined : (Object.keys(SKILLS) as SkillKind[]).map(kind => SKILLS[kind].prefix + tenant)
    return await this.#options.service.tasks.list(owner, { contextId, states, limit, cursor, statusSince, skills, count: true })
  }

  /** A task that is canceled already is answered as it is. @throws A2A_TASK_NOT_CANCELABLE */
  async cancel (owner: string, request: TaskRequest): Promise<TaskRecord> {
    await this.get(owner, request)
    const { outcome, task } = await this.#options.service.tasks.cancel(owner, request.id)
    if (outcome === 'not-found') throw new NoSuchTaskError()
    if (outcome === 'terminal' && task.state !== 'canceled') throw new NotCancelableError(task.state)
    return task
  }

  async setPush (owner: string, { tenant, taskId, config }: SetPushRequest): Promise<PushConfig> {
    return await this.#options.service.setPush(await this.#pushable(owner, tenant, taskId), config)
  }

  async getPush (owner: string, { tenant, taskId, id }: PushRequest): Promise<PushConfig> {
    return await this.#options.service.push(await this.#pushable(owner, tenant, taskId), id)
  }

  async listPush (owner: string, { tenant, taskId, limit, cursor }: ListPushRequest): Promise<PushPage> {
    await this.#pushable(owner, tenant, taskId)
    return pushPage(await this.#options.service.tasks.listPush(owner, taskId), limit, cursor)
  }

  /** To delete what is not there is no error: the outcome is the same. */
  async deletePush (owner: string, { tenant, taskId, id }: PushRequest): Promise<void> {
    await this.#pushable(owner, tenant, taskId)
    if (id === undefined) refuseField('pushNotificationConfigId', 'is missing')
    await this.#options.service.tasks.deletePush(owner, taskId, id)
  }

  /** That webhooks are off is told before anything of the task. @throws A2A_PUSH_NOT_SUPPORTED */
  async #pushable (owner: string, tenant: string | undefined, id: string): Promise<TaskRecord> {
    this.#options.service.pushGuard()
    return await this.get(owner, { tenant, id })
  }

  /** The task, where it has this very message already: its sender did not hear of that, and it would else answer the next question. */
  async #answered (owner: string, tenant: string | undefined, { id: messageId, taskId: id = '', parts }: IncomingMessage): Promise<TaskRecord | undefined> {
    const task = await this.get(owner, { tenant, id })
    const before = task.messages.find(({ role, id }) => role === 'user' && id === messageId)
    if (before !== undefined && !isDeepStrictEqual(before.parts, parts)) refuseField('message.messageId', 'came with another message before; send a new one')
    return before === undefined ? undefined : task
  }

  async #mayAnswer (owner: string, tenant: string | undefined, { taskId: id = '', contextId, parts }: IncomingMessage): Promise<TaskRecord> {
    const task = await this.get(owner, { tenant, id })
    const { state } = task
    if (contextId !== undefined && contextId !== contextOf(task)) refuseField('message.contextId', 'is not that of the task; leave it out')
    if (isTerminal(state)) throw new UnsupportedOperationError(`the task is ${state} already and takes no more messages; begin another one in its context`)
    if (!isWaiting(state)) throw new UnsupportedOperationError(`the task is ${state} and takes a message only when it asks for input or an authorization`)
    this.#checkTypes(parts)
    return task
  }

  #choose (tenant: string | undefined, said: IncomingMessage): Chosen {
    const { vacs } = this.#options
    if (tenant !== undefined && !vacs.has(tenant)) refuseField('tenant', 'is not the name of a VAC here; the agent card names them')
    this.#checkTypes(said.parts)
    const typed = typedInput(said.parts)
    const name = typed?.skillName ?? said.metadata?.skillId ?? SKILLS.stream.prefix + this.#vacOf(tenant)
    const field = typed === undefined ? 'message.metadata.skillId' : `message.parts[${typed.index}].data.skillName`
    if (typeof name !== 'string') refuseField(field, 'give the id of a skill')
    const skill = findSkill(vacs, name)
    if (skill === undefined || (tenant !== undefined && skill.vac.name !== tenant)) {
      const near = nearestSkill(tenant === undefined ? vacs.list() : [vacs.get(tenant)], name)
      refuseField(field, `is no skill here; ${near === undefined ? 'the agent card lists them' : `did you mean ${JSON.stringify(near)}?`}`)
    }
    if (typed === undefined) return { skill, input: { [skill.kind === 'memory' ? 'search_query' : 'query']: askedBy(said.parts) } }
    const problems = inputProblems(skill.kind, typed.input)
    if (problems.length > 0) throw new InvalidFieldsError(problems.map(({ path, message }) => ({ field: `message.parts[${typed.index}].data.${path.replaceAll('/', '.')}`, description: message })))
    return { skill, input: typed.input }
  }

  #vacOf (tenant: string | undefined): string {
    const { vacs, defaultVac } = this.#options
    const [only, ...more] = vacs.list()
    const name = tenant ?? defaultVac ?? (more.length === 0 ? only?.name : undefined)
    if (name === undefined) refuseField('message.metadata.skillId', 'is missing; name a skill of the agent card, or a VAC as the tenant')
    return name
  }

  #isOf (tenant: string | undefined, { skill }: TaskRecord): boolean {
    return tenant === undefined || Object.values(SKILLS).some(({ prefix }) => skill === prefix + tenant)
  }

  /** @throws A2A_CONTENT_TYPE_NOT_SUPPORTED */
  #checkTypes (parts: readonly TaskPart[]): void {
    const { inputModes } = this.#options
    for (const [index, { mediaType }] of parts.entries()) {
      if (mediaType === undefined || inputModes.some(mode => matchesMediaType(mediaType, mode))) continue
      throw new ContentTypeNotSupportedError(`message.parts[${index}] is of a media type that is not taken; taken are ${inputModes.join(', ')}`)
    }
  }
}

/** The input of a skill as one data part `{ skillName, input }`. */
function typedInput (parts: readonly TaskPart[]): { skillName: unknown, input: Record<string, unknown>, index: number } | undefined {
  for (const [index, part] of parts.entries()) {
    if (part.type !== 'data' || !isObject(part.data) || !('skillName' in part.data)) continue
    const { skillName, input = {} } = part.data
    return { skillName, input: input as Record<string, unknown>, index }
  }
  return undefined
}

function messageOf ({ id, parts, metadata, extensions, referenceTaskIds }: IncomingMessage): { id: string, parts: readonly TaskPart[] } {
  return { id, parts, ...(metadata === undefined ? {} : { metadata }), ...(extensions === undefined ? {} : { extensions }), ...(referenceTaskIds === undefined ? {} : { referenceTaskIds }) }
}
