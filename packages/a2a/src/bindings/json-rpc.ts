import { HIDDEN, errorHandler, eventText, isRecord, ownerOf, streamRoute } from '@polyvac/core/plugin'
import { Type } from '@sinclair/typebox'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { codedFailure, headersOf, PLAIN_STATUSES, type CodedFailure } from '../protocol/failure.js'
import { checkParams, type Dialect, type Operation } from '../protocol/dialect.js'
import { MethodNotFoundError, VersionNotSupportedError } from '../errors.js'
import { idOf, readEnvelope } from '../protocol/json-rpc.js'
import { refuseField } from '../protocol/read-params.js'
import { isStreamed, type Operations } from '../operations/operations.js'
import { parsePublicJson } from './json-body.js'
import { refuseOthers, withSlash } from './paths.js'
import { UNNAMED_VERSION, unsupportedVersion, versionOf } from '../protocol/request-headers.js'

export interface RpcOptions {
  readonly operations: Operations
  /** The newest one first: it formats failures before the version is known. */
  readonly dialects: readonly Dialect[]
  /** Whether the root of the scope takes requests, too: clients of 0.2 send them to the card's `url`. */
  readonly atRoot: boolean
  readonly bodyLimit: number
}

const ResponseBody = Type.Object({
  jsonrpc: Type.Literal('2.0'),
  id: Type.Unknown(),
  result: Type.Optional(Type.Unknown()),
  error: Type.Optional(Type.Unknown())
}, { title: 'RpcAnswer' })

/** The JSON-RPC binding of the public versions: one address for all methods, and one for each VAC. */
export async function rpcRoutes (app: FastifyInstance, options: RpcOptions): Promise<void> {
  const { operations, dialects, atRoot, bodyLimit } = options
  app.setValidatorCompiler(() => () => true)
  app.setErrorHandler(errorHandler(refuse))
  parsePublicJson(app)

  const response = { 200: ResponseBody }
  const route = { ...streamRoute, bodyLimit }
  const refuseRest = refuseOthers(app)
  for (const [url, operationId, summary] of [
    ['/a2a', 'a2aRpc', 'A2A over JSON-RPC: 1.0, and 0.3 where no A2A-Version is named'],
    ['/a2a/vacs/:vac', 'a2aVacRpc', 'The same for one VAC']
  ] as const) {
    for (const path of withSlash(app, url)) {
      const schema = path === url ? { operationId, summary, tags: ['a2a'], response } : HIDDEN
      app.post(path, { ...route, schema }, answer)
    }
  }
  if (atRoot) app.post('/', { ...route, schema: HIDDEN }, answer)
  refuseRest()

  async function answer (request: FastifyRequest, reply: FastifyReply): Promise<unknown> {
    const { id, method, params } = readEnvelope(request.body, checkCall.bind(undefined, request))
    const { dialect, operation } = methodOf(dialects, versionOf(request), method)
    const { vac } = request.params as { vac?: string }
    const call = { dialect, params: vac === undefined ? params : withTenant(params, vac), request, reply }
    if (!isStreamed(operation)) return { jsonrpc: '2.0', id, result: await operations.answer(operation, call) }
    await operations.stream(operation, call, {
      event: result => ({ jsonrpc: '2.0', id, result }),
      failure: err => failure(err, request).body
    })
  }

  /** 0.3 reports a wrong method or wrong params also where the request has no id. */
  function checkCall (request: FastifyRequest, method: string, params: unknown): void {
    const version = versionOf(request)
    if (version !== UNNAMED_VERSION) return
    const { dialect, operation } = methodOf(dialects, version, method)
    checkParams(dialect, operation, params)
  }

  function failure (err: unknown, request: FastifyRequest): { status: number, body: object } {
    const version = versionOf(request)
    const dialect = dialects.find(dialect => dialect.version === version) ?? dialects[0] as Dialect
    const coded = codedFailure(err, request)
    const { code, message, data } = dialectFor(coded, dialect).toRpcError(coded)
    const status = coded.status in PLAIN_STATUSES ? coded.status : 200
    return { status, body: { jsonrpc: '2.0', id: idOf(request.body), error: { code, message, data } } }
  }

  /** Only the newest version has an error for an unsupported version. */
  function dialectFor ({ code }: CodedFailure, dialect: Dialect): Dialect {
    return code === 'A2A_VERSION_NOT_SUPPORTED' ? dialects[0] as Dialect : dialect
  }

  /**
   * Whether the client reads an error from an event stream: clients of 0.3 take nothing else as the answer of a
   * streaming method (A2A 0.3, sections 3.3.1 and 7.9).
   */
  function readsEvents (request: FastifyRequest): boolean {
    const { body, headers: { accept = '' } } = request
    if (versionOf(request) !== UNNAMED_VERSION || !accept.includes('text/event-stream') || !isRecord(body)) return false
    const methods = dialects.find(({ version }) => version === UNNAMED_VERSION)?.methods
    return Object.entries(methods ?? {}).some(([name, operation]) => name === body.method && isStreamed(operation))
  }

  function refuse (err: unknown, request: FastifyRequest, reply: FastifyReply): void {
    const { status, body } = failure(err, request)
    reply.code(status).headers(headersOf(status, name => reply.hasHeader(name)))
    if ((body as { error: { code: number } }).error.code === -32603) request.log.error({ err, owner: ownerOf(request) }, 'an A2A request failed')
    if (status === 200 && readsEvents(request)) {
      reply.type('text/event-stream; charset=utf-8').header('cache-control', 'no-cache').serializer(String)
        .send(eventText({ data: body }))
    } else {
      reply.type('application/json; charset=utf-8').serializer(JSON.stringify).send(body)
    }
  }
}

/**
 * The dialect of a request and the operation that its method names. @throws A2A_VERSION_NOT_SUPPORTED,
 * A2A_METHOD_NOT_FOUND
 */
function methodOf (dialects: readonly Dialect[], version: string | undefined, method: string):
{ readonly dialect: Dialect, readonly operation: Operation } {
  const dialect = dialects.find(dialect => dialect.version === version)
  if (dialect === undefined) throw unsupportedVersion(dialects.map(({ version }) => version))
  const operation = Object.hasOwn(dialect.methods, method) ? dialect.methods[method] : undefined
  if (operation !== undefined) return { dialect, operation }
  const other = dialects.find(({ methods }) => Object.hasOwn(methods, method))
  // a client that calls a method of 1.0 and names no version would not understand the answer of 0.3
  if (other !== undefined && dialect.version === UNNAMED_VERSION) {
    throw new VersionNotSupportedError(`the method is one of A2A ${other.version}; send A2A-Version: ${other.version}`)
  }
  throw new MethodNotFoundError(dialect.version)
}

/** @throws A2A_INVALID_PARAMS if the params name another tenant than the path */
function withTenant (params: unknown, tenant: string): unknown {
  if (!isRecord(params)) return params
  const { tenant: other } = params
  if (typeof other === 'string' && other !== '' && other !== tenant) refuseField('tenant', 'is not the one of the path')
  return { ...params, tenant }
}
