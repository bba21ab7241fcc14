import type { Principal } from '@polyvac/core'
import {
  authenticateCallers, boundMemory, errorHandler, describeRoutes, failureOf, isRecord, labelRoutes, isTooDeep, logFailure, MAX_BODY_DEPTH, missingScopes, ownTime, parseJson,
  readOptions, refuseOtherMethods, setRetryAfter, traceRequests, type ReadOptions
} from '@polyvac/core/plugin'
import fp from 'fastify-plugin'
import type { FastifyPluginAsync, FastifyReply, FastifyRequest } from 'fastify'
import { McpContext } from './context.js'
import { HttpSse, httpSseSession, opensHttpSse } from './eras/http-sse.js'
import { Legacy } from './eras/legacy.js'
import { Modern, speaksModern } from './eras/modern.js'
import { InsufficientScopeError, McpServerOptionsError } from './errors.js'
import { accepts } from './http/accept.js'
import { originGuard } from './http/host-origin-guard.js'
import { BOUNDS, LIMITS, OPTIONS, type Bounds, type Limits, type McpServerOptions } from './options.js'
import { addChallenge, metadataRoutes, schemaOf, type ProtectedResource } from './protected-resource.js'
import { errorText, isNumberId, refusal, RpcError } from './protocol/rpc.js'
import { Sessions } from './sessions/sessions.js'

const OWNER = 'the mcp-server plugin'

/** An MCP server of both eras at /mcp. It answers errors with JSON-RPC. */
const routesWith = (bounds: Bounds): FastifyPluginAsync<McpServerOptions> => async (app, options) => {
  const { bodyLimit, limits, sessions: hasSessions, openapi, ...others } = checkedOptions(options, bounds)
  const { authenticate, protectedResource, name, title, version } = others
  await traceRequests(app)
  describeRoutes(app, openapi)
  const refuseOthers = refuseOtherMethods(app)
  if (protectedResource !== undefined) metadataRoutes(app, protectedResource)
  refuseOthers()

  await app.register(async function mcp (scope) {
    labelRoutes(scope, 'mcp')
    const refuseOthers = refuseOtherMethods(scope)
    scope.setErrorHandler(errorHandler((err, request, reply) => {
      const { statusCode } = err as { statusCode?: number }
      const isUnauthorized = statusCode === 401 || (statusCode === 403 && authenticate !== undefined)
      // a challenge of the application, such as that of basic-auth, stays
      const isChallenged = protectedResource === undefined && reply.hasHeader('www-authenticate')
      if (isUnauthorized && !isChallenged) addChallenge(app, request, reply, statusCode, protectedResource)
      sendFailure(err, request, reply)
    }))
    // browsers send forms and plain text to other sites without a preflight request, but not JSON
    parseJson(scope)
    boundMemory(scope)
    const guard = originGuard(scope, others)
    scope.addHook('onRequest', (request, _reply, done) => {
      guard(request)
      done()
    })
    const principalOf = authenticateCallers(scope, authenticate)
    if (protectedResource?.scopes !== undefined) {
      scope.addHook('onRequest', (request, _reply, done) => {
        checkScopes(principalOf(request), protectedResource)
        done()
      })
    }

    const info = { name, ...title !== undefined && { title }, version }
    const isPrivate = authenticate !== undefined
    const announcement = protectedResource?.announcedScopes === undefined
      ? undefined
      : {
          scopes: protectedResource.announcedScopes,
          challenge: (request: FastifyRequest, reply: FastifyReply, needed: readonly string[]) => { addChallenge(app, request, reply, 403, protectedResource, needed) }
        }
    const server = new McpContext({ ...others, info, log: app.log, limits, isPrivate, announcement, principalOf })
    const sessions = hasSessions ? newSessions(server, others) : undefined
    const legacy = new Legacy(server, sessions)
    const sse = sessions === undefined ? undefined : new HttpSse(server, sessions, legacy)
    const modern = new Modern(server)
    if (sessions?.areShared === true) scope.addHook('preHandler', request => legacy.load(request))
    scope.addHook('onReady', async () => { server.tasks?.start() })
    scope.addHook('preClose', async () => {
      sessions?.abandonStreams()
      await Promise.all([server.endCalls(), server.tasks?.stop()])
      sessions?.close()
      server.close()
    })

    const route = { ...ownTime(app), exposeHeadRoute: false }

    scope.post('/mcp', {
      ...route, bodyLimit, schema: schemaOf('sendMcpMessage', 'Send a JSON-RPC message of MCP')
    }, (request, reply) => {
      // not in an onRequest hook, which would refuse before the hooks of plugins such as @fastify/rate-limit
      checkAccept(request)
      const { body } = request
      try {
        if (isTooDeep(body)) throw refusal(`the body is nested deeper than ${MAX_BODY_DEPTH} levels`)
        const session = sse === undefined ? undefined : httpSseSession(request)
        if (session !== undefined) sse?.post(request, reply, session, body)
        else if (speaksModern(request, body)) modern.post(request, reply, body)
        else legacy.post(request, reply, body)
      } catch (err) {
        if (!(err instanceof RpcError)) throw err
        sendRpcError(reply, err, isRecord(body) ? body.id : null)
      }
    })

    scope.get('/mcp', {
      ...route, schema: schemaOf('openMcpStream', 'Open or resume an event stream of a session, up to 2025-11-25')
    }, (request, reply) => {
      if (speaksModern(request, undefined)) throw refusal(POST_ONLY, 405)
      const { accept } = request.headers
      if (accept?.includes('text/event-stream') !== true) throw refusal('send Accept: text/event-stream', 406)
      if (sse !== undefined && opensHttpSse(request)) sse.open(request, reply)
      else legacy.get(request, reply)
    })

    scope.delete('/mcp', {
      ...route, schema: schemaOf('endMcpSession', 'End a session, up to 2025-11-25')
    }, (request, reply) => {
      if (speaksModern(request, undefined)) throw refusal(POST_ONLY, 405)
      legacy.delete(request, reply)
    })
    refuseOthers()
  })
}

function newSessions ({ limits, log, logGate, subscriptions, registry }: McpContext, { tasks, stateKey, authenticate }: McpServerOptions): Sessions {
  const watch: ConstructorParameters<typeof Sessions>[0]['watch'] = (uri, owner, onUpdate) => subscriptions.add(uri, owner, onUpdate)
  const onFailure = (err: unknown): void => {
    const suppressed = logGate.pass('replicas')
    if (suppressed !== undefined) log.warn({ err, suppressed }, 'the other replicas do not have a message of an MCP session')
  }
  const onEnd = (key: string): void => { for (const source of registry.sources) source.sessionEnded?.(key) }
  return new Sessions({ limits, authenticate, watch, link: tasks?.replicas, stateKey, onEnd, onFailure })
}

const POST_ONLY = 'this revision has only the method POST'

type CheckedOptions = ReadOptions<McpServerOptions, typeof OPTIONS> & { readonly limits: Limits }

/** The options and limits with their defaults. @throws MCP_SERVER_OPTIONS */
function checkedOptions (given: McpServerOptions, bounds: Bounds): CheckedOptions {
  const options = readOptions(OPTIONS, given, McpServerOptionsError, OWNER)
  if (options.protectedResource?.scopes !== undefined && options.authenticate === undefined) {
    throw new McpServerOptionsError('`protectedResource.scopes` needs `authenticate`, which returns a caller\'s scopes')
  }
  return { ...options, limits: { ...bounds, ...readOptions(LIMITS, options.limits, McpServerOptionsError, OWNER, 'limits.') } }
}

/** @throws MCP_INSUFFICIENT_SCOPE (403) */
function checkScopes (principal: Principal | undefined, { scopes = [] }: ProtectedResource): void {
  const missing = missingScopes(principal, scopes)
  if (missing.length > 0) throw new InsufficientScopeError(missing.join(', '))
}

/** Checks that the client accepts JSON or event streams. @throws RpcError with status 406 */
function checkAccept (request: FastifyRequest): void {
  const { accept } = request.headers
  if (accepts(accept, 'json') || accepts(accept, 'events') || httpSseSession(request) !== undefined) return
  throw refusal('send Accept: application/json, text/event-stream', 406)
}

/** Answers a failure before the message is read, or an unexpected one. */
function sendFailure (err: unknown, request: FastifyRequest, reply: FastifyReply): void {
  if (err instanceof RpcError) return sendRpcError(reply, err, null)
  const failure = failureOf(err, request)
  const { status, body: { error } } = failure
  logFailure(err, request, failure)
  const code = error.code === 'INVALID_JSON' ? 'parseError' : status >= 500 ? 'internalError' : 'invalidRequest'
  sendRpcError(reply, new RpcError(code, error.message, { code: error.code, requestId: error.requestId }, status), null)
}

function sendRpcError (reply: FastifyReply, err: RpcError, id: unknown): void {
  const { status = 200 } = err
  if (status === 405 && !reply.hasHeader('allow')) reply.header('allow', 'POST')
  setRetryAfter(reply, status)
  const text = errorText(typeof id === 'string' || isNumberId(id) ? id : null, err)
  reply.code(status).header('content-type', 'application/json; charset=utf-8').send(text)
}

/** @internal The plugin with other bounds than BOUNDS: for tests, which reach them. */
export function pluginWith (bounds: Partial<Bounds>): FastifyPluginAsync<McpServerOptions> {
  return fp(routesWith({ ...BOUNDS, ...bounds }), { name: '@polyvac/mcp-server', fastify: '5.x', encapsulate: true })
}

/**
 * The Fastify plugin. Under the prefix of its scope it serves `/mcp`, and `/.well-known/oauth-protected-resource` if
 * `protectedResource` is set. It adds no hook, parser or error handler to the scope around it.
 * @example
 * const app = Fastify()
 * await app.register(mcpServerPlugin, { sources: [vacTools(vacs), gateway.toolSource()] })
 * await app.listen({ port: 8080 }) // MCP clients connect to http://127.0.0.1:8080/mcp
 */
export const mcpServerPlugin = pluginWith({})
