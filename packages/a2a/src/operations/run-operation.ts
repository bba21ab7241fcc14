import type { Principal } from '@polyvac/core'
import { eventText } from '@polyvac/core/plugin'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { createHash } from 'node:crypto'
import type { Dialect, Operation } from '../protocol/dialect.js'
import { IDEMPOTENT_SEND, type AgentExtension } from '../protocol/extensions.js'
import { activeExtensions, idempotencyKey, lastEventId, placeOf } from '../protocol/request-headers.js'
import type { TaskStep } from '../protocol/task-view.js'
import type { Operations } from './operations.js'
import type { SendRequest } from '../protocol/requests.js'
import type { OpenTaskStream, StepEncoding, TaskService } from '../tasks/task-service.js'

export interface OperationRunnerOptions {
  readonly operations: Operations
  readonly service: TaskService
  readonly principalOf: (request: FastifyRequest) => Principal
  readonly extensions: readonly AgentExtension[]
  /** The card that a caller sees once it has said who it is. */
  readonly extendedCard: (dialect: Dialect, tenant: string | undefined, request: FastifyRequest) => Promise<unknown>
}

/** One request, whatever wire it came by. */
export interface Asked {
  readonly dialect: Dialect
  readonly operation: Operation
  readonly params: unknown
  readonly request: FastifyRequest
  readonly reply: FastifyReply
}

/** How a binding wraps the events of a stream. */
export interface EventWrap {
  readonly event: (event: unknown) => unknown
  readonly failure: (err: unknown) => unknown
}

/** Longest id of a message that is its key as it is. */
const MAX_PLAIN_ID = 200

const STREAMED: readonly Operation[] = ['stream', 'subscribe']

export function isStreamed (operation: Operation): boolean {
  return STREAMED.includes(operation)
}

/** Runs an operation in a dialect: reads its params, does it, and puts the outcome into the dialect's words. */
export class OperationRunner {
  readonly #options: OperationRunnerOptions

  constructor (options: OperationRunnerOptions) {
    this.#options = options
  }

  /** The answer to a request that is not streamed. */
  async answer ({ dialect, operation, params, request, reply }: Asked): Promise<unknown> {
    const { operations, principalOf, extendedCard } = this.#options
    const active = this.#activate(dialect, operation, request, reply)
    const caller = principalOf(request)
    const { owner } = caller
    switch (operation) {
      case 'send': {
        const send = dialect.readSend(params)
        const task = await operations.send(caller, send, keyOf(send, active, request), reply)
        return dialect.toSent(task, send.historyLength)
      }
      case 'get': {
        const get = dialect.readGet(params)
        return dialect.toTask(await operations.get(owner, get), get.historyLength)
      }
      case 'list': {
        const list = dialect.readList(params)
        return dialect.toPage(await operations.list(owner, list), list)
      }
      case 'cancel': return dialect.toTask(await operations.cancel(owner, dialect.readTask(params)))
      case 'setPush': return dialect.toPushConfig(await operations.setPush(owner, dialect.readSetPush(params)))
      case 'getPush': return dialect.toPushConfig(await operations.getPush(owner, dialect.readPushId(params)))
      case 'listPush': {
        const { configs, next } = await operations.listPush(owner, dialect.readListPush(params))
        return dialect.toPushConfigs(configs, next)
      }
      case 'deletePush':
        await operations.deletePush(owner, dialect.readPushId(params))
        return dialect.deleted
      case 'extendedCard':
        reply.header('cache-control', 'private, no-cache')
        return await extendedCard(dialect, dialect.readTenant(params), request)
      default: throw new Error(`${operation} is streamed`)
    }
  }

  /** Answers a request whose answer is a stream of events. A refusal before the first of them is thrown. */
  async stream ({ dialect, operation, params, request, reply }: Asked, wrap: EventWrap): Promise<void> {
    const { operations, service, principalOf } = this.#options
    operations.checkStreaming()
    const active = this.#activate(dialect, operation, request, reply)
    const caller = principalOf(request)
    const send = operation === 'stream' ? dialect.readSend(params) : undefined
    const subscribe = operation === 'subscribe' ? dialect.readTask(params) : undefined
    const seen = subscribe === undefined ? undefined : lastEventId(request)
    await service.withStream(caller.owner, reply, async (open: OpenTaskStream) => {
      if (send !== undefined) {
        const { task } = await operations.begin(caller, send, keyOf(send, active, request))
        return await operations.follow(task, open, reply, this.#encoding(dialect, send.historyLength, 0, wrap))
      }
      const task = await operations.subscribable(caller.owner, subscribe ?? { id: '' }, seen)
      // one that asks already is followed to what comes of the answer; a question that is new to the reader ends the stream, as after a send
      const asksFrom = seen === undefined ? task.seq + 1 : task.seq
      await service.follow(task, placeOf(seen, task), open, reply, this.#encoding(dialect, undefined, asksFrom, wrap))
    })
  }

  /** @param asksFrom number of the first event that ends the stream where it is a question */
  #encoding (dialect: Dialect, historyLength: number | undefined, asksFrom: number, wrap: EventWrap): StepEncoding {
    const isLast = ({ event: { seq, state } }: TaskStep): boolean => state === 'input-required' && seq >= asksFrom
    return {
      isLast,
      encode: (step, fresh) => {
        const { seq } = step.event
        const ends = step.task.completedAt !== null || isLast(step)
        const events = fresh ? [dialect.toFirst(step.task, historyLength)] : dialect.toEvents(step, ends)
        return events.map((event, index) => eventText({ ...(index === events.length - 1 ? { id: String(seq) } : {}), data: wrap.event(event) })).join('')
      },
      onFailure: err => eventText({ data: wrap.failure(err) })
    }
  }

  #activate ({ extensionsHeader }: Dialect, operation: Operation, request: FastifyRequest, reply: FastifyReply): readonly string[] {
    const active = activeExtensions(request, extensionsHeader, this.#options.extensions, operation === 'send' || operation === 'stream')
    if (active.length > 0) reply.header(extensionsHeader, active.join(', '))
    return active
  }
}

/** The name under which a message may be sent again, if its sender asks for that. A key has fewer characters than an id may have. */
function keyOf ({ said: { id } }: SendRequest, active: readonly string[], request: FastifyRequest): string | undefined {
  const key = idempotencyKey(request)
  if (key !== undefined || !active.includes(IDEMPOTENT_SEND)) return key
  return `message:${id.length > MAX_PLAIN_ID ? createHash('sha256').update(id).digest('hex') : id}`
}
