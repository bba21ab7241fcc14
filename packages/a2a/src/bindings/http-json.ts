import { HIDDEN, BodyTooDeepError, errorHandler, isRecord, isTooDeep, MAX_BODY_DEPTH, ownerOf, streamRoute } from '@polyvac/core/plugin'
import { Type } from '@sinclair/typebox'
import type { FastifyInstance, FastifyReply, FastifyRequest, HTTPMethods } from 'fastify'
import { codedFailure, headersOf } from '../protocol/failure.js'
import type { Dialect, Operation } from '../protocol/dialect.js'
import { toFailure, toHttpBody } from '../dialects/v1/failures.js'
import { NoSuchPathError } from '../errors.js'
import { essenceOf } from '../protocol/media-type.js'
import { refuseField } from '../protocol/read-params.js'
import { isStreamed, type Operations } from '../operations/operations.js'
import { parsePublicJson } from './json-body.js'
import { refuseOthers, withSlash } from './paths.js'
import { unsupportedVersion, versionOf } from '../protocol/request-headers.js'

export interface RestOptions {
  readonly operations: Operations
  readonly dialect: Dialect
  readonly bodyLimit: number
}

/** The operation of a path; it may take the word after a colon off the path. */
type OperationOf = (path: Record<string, string>, method: string) => Operation

const JSON_TYPE = 'application/json'
const A2A_TYPE = 'application/a2a+json'

/** The operations of a verb on `/tasks/{id}`, by the word after the last colon of the id (A2A 1.0, section 11.3). */
const TASK_OPERATIONS: Readonly<Record<'GET' | 'POST', Readonly<Record<string, Operation>>>> = {
  GET: { '': 'get', subscribe: 'subscribe' },
  POST: { cancel: 'cancel', subscribe: 'subscribe' }
}

/** Members of the query that are not text. */
const NUMBERS = ['historyLength', 'history_length', 'pageSize', 'page_size']
const BOOLEANS = ['includeArtifacts', 'include_artifacts']

/** The HTTP+JSON binding of A2A 1.0, each route also under the name of a VAC. */
export async function restRoutes (app: FastifyInstance, options: RestOptions): Promise<void> {
  const { operations, dialect, bodyLimit } = options
  app.setValidatorCompiler(() => () => true)
  app.setErrorHandler(errorHandler(refuse))
  app.setNotFoundHandler((request, reply) => { refuse(new NoSuchPathError(), request, reply) })
  parsePublicJson(app)

  const refuseRest = refuseOthers(app)
  for (const tenant of ['', '/:tenant']) {
    route('POST', `${tenant}/message::send`, 'SendMessage', 'Send a message', () => 'send')
    route('POST', `${tenant}/message::stream`, 'StreamMessage', 'Send a message and follow its task', () => 'stream')
    route('GET', `${tenant}/tasks`, 'ListTasks', 'List tasks', () => 'list')
    route('GET', `${tenant}/tasks/:id`, 'GetTask', 'Read a task; follow it, as `{id}:subscribe`', taskOperation)
    route('POST', `${tenant}/tasks/:id`, 'CancelTask',
      'Cancel a task, as `{id}:cancel`; follow it, as `{id}:subscribe`', taskOperation)
    const configs = `${tenant}/tasks/:taskId/pushNotificationConfigs`
    route('POST', configs, 'SetPushConfig', 'Set a webhook for a task', () => 'setPush')
    route('GET', configs, 'ListPushConfigs', 'List the webhooks of a task', () => 'listPush')
    route('GET', `${configs}/:id`, 'GetPushConfig', 'Read a webhook of a task', () => 'getPush')
    route('DELETE', `${configs}/:id`, 'DeletePushConfig', 'Delete a webhook of a task', () => 'deletePush')
    route('GET', `${tenant}/extendedAgentCard`, 'GetExtendedCard', 'The agent card for authenticated callers',
      () => 'extendedCard')
  }
  refuseRest()

  function route (method: HTTPMethods, url: string, name: string, summary: string, operationOf: OperationOf): void {
    const handler = async (request: FastifyRequest, reply: FastifyReply): Promise<unknown> =>
      await answer(request, reply, operationOf)
    for (const path of withSlash(app, url)) {
      const isShown = path === url && !url.startsWith('/:tenant')
      const operationId = `a2a${name}`
      const schema = isShown ? { operationId, summary, tags: ['a2a'], response: { 200: ResponseBody } } : HIDDEN
      app.route({ ...streamRoute, method, url: path, bodyLimit, schema, handler })
    }
  }

  async function answer (request: FastifyRequest, reply: FastifyReply, operationOf: OperationOf): Promise<unknown> {
    if (versionOf(request) !== dialect.version) throw unsupportedVersion([dialect.version])
    if (isTooDeep(request.body)) throw new BodyTooDeepError(MAX_BODY_DEPTH)
    const path = { ...request.params as Record<string, string> }
    const operation = operationOf(path, request.method)
    const call = { dialect, params: paramsOf(request, path), request, reply }
    if (!isStreamed(operation)) {
      const body = await operations.answer(operation, call)
      return await reply.type(mediaTypeOf(request)).send(body)
    }
    await operations.stream(operation, call, {
      event: event => event,
      failure: err => toHttpBody(toFailure(codedFailure(err, request)))
    })
  }

  function refuse (err: unknown, request: FastifyRequest, reply: FastifyReply): void {
    const failure = toFailure(codedFailure(err, request))
    const { http, code, message } = failure
    if (http >= 500 && code === -32603) request.log.error({ err, owner: ownerOf(request) }, message)
    reply.code(http).headers(headersOf(http, name => reply.hasHeader(name)))
      .type(mediaTypeOf(request)).serializer(JSON.stringify).send(toHttpBody(failure))
  }
}

const ResponseBody = Type.Object({}, { additionalProperties: true })

/** Takes the word after the id off the path. An id of the engine does not contain a colon. */
function taskOperation (path: Record<string, string>, method: string): Operation {
  const { id = '' } = path
  const at = id.lastIndexOf(':')
  const word = at === -1 ? '' : id.slice(at + 1)
  const words = TASK_OPERATIONS[method as 'GET' | 'POST']
  const operation = Object.hasOwn(words, word) ? words[word] : undefined
  if (operation === undefined) throw new NoSuchPathError()
  if (at !== -1) path.id = id.slice(0, at)
  return operation
}

/** The params of body or query, and those of the path. A body with another tenant or task is refused. */
function paramsOf ({ body, query, method }: FastifyRequest, path: Record<string, string>): unknown {
  const params = method === 'GET' || method === 'DELETE' ? readQuery(query as Record<string, unknown>) : body ?? {}
  if (!isRecord(params)) return params
  for (const [name, value] of Object.entries(path)) {
    const other = params[name]
    if (name === 'id' || typeof other !== 'string' || other === '' || other === value) continue
    refuseField(name, 'is not the one of the path')
  }
  return { ...params, ...path }
}

function readQuery (query: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(query).map(([name, value]) => {
    const isNumber = NUMBERS.includes(name) && typeof value === 'string' && /^-?\d+(\.\d+)?$/.test(value)
    if (isNumber) return [name, Number(value)]
    if (BOOLEANS.includes(name) && (value === 'true' || value === 'false')) return [name, value === 'true']
    return [name, value]
  }))
}

/** The one of both media types that Accept names. If it names both or none, that of the request's body. */
function mediaTypeOf ({ headers }: FastifyRequest): string {
  const { 'content-type': type, accept = '' } = headers
  const accepted = accept.split(',').map(essenceOf)
  const acceptsA2a = accepted.includes(A2A_TYPE)
  const isOpen = acceptsA2a === accepted.includes(JSON_TYPE) && type !== undefined
  const isA2a = isOpen ? essenceOf(type) === A2A_TYPE : acceptsA2a
  return `${isA2a ? A2A_TYPE : JSON_TYPE}; charset=utf-8`
}
