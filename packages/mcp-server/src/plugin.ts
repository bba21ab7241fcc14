import type { Principal } from '@polyvac/core'
import {
  authenticateCallers, failureOf, isRecord, isTooDeep, MAX_BODY_DEPTH, ownTime, parseJson, readOptions, retryAfter, type ReadOptions
} from '@polyvac/core/plugin'
import fp from 'fastify-plugin'
import type { FastifyPluginAsync, FastifyReply, FastifyRequest } from 'fastify'
import { InsufficientScopeError, McpServerOptionsError } from './errors.js'
import { originGuard } from './http/host-origin-guard.js'
import { Legacy } from './eras/legacy.js'
import { LegacySse, legacySseSession, opensLegacySse } from './eras/http-sse.js'
import { Modern, speaksModern } from './eras/modern.js'
import { LIMITS, OPTIONS, type Limits, type McpServerOptions } from './options.js'
import { challenge, metadataRoutes, type ProtectedResource } from './protected-resource.js'
import { errorText, isNumberId, RpcError } from './protocol/rpc.js'
import { McpContext } from './context.js'
import { Sessions } from './sessions/sessions.js'

const OWNER = 'the mcp-server plugin'

/** An MCP server of both eras at /mcp. Errors leave as JSON-RPC. */
const routes: FastifyPluginAsync<McpServerOptions> = async (app, options) => {
  const { authenticate, protectedResource, bodyLimit, limits, sessions: hasSessions, ...others } = read(options)
  if (protectedResource !== undefined) metadataRoutes(app, protectedResource)

  await app.register(async scope => {
    scope.setErrorHandler((err, request, reply) => {
      const { statusCode } = err as { statusCode?: number }
      if (statusCode === 401 || (statusCode === 403 && authenticate !== undefined)) challenge(app, request, reply, statusCode, protectedResource)
      sendFailure(err, request, reply)
    })
    // browsers send forms and plain text to other sites without a preflight request, JSON not
    parseJson(scope)
    const guard = originGuard(scope, others)
    scope.addHook('onRequest', async request => { guard(request) })
    const principalOf = authenticateCallers(scope, authenticate)
    if (protectedResource?.scopes !== undefined) scope.addHook('onRequest', async request => { checkScopes(principalOf(request), protectedResource) })

    const { name, title, version } = others
    const info = { name, ...title !== undefined && { title }, version }
    const server = new McpContext({ ...others, info, log: app.log, limits, isPrivate: authenticate !== undefined, principalOf })
    const sessions = hasSessions ? new Sessions(limits) : undefined
    const legacy = new Legacy(server, sessions)
    const sse = sessions === undefined ? undefined : new LegacySse(server, sessions, legacy)
    const modern = new Modern(server)
    scope.addHook('onReady', async () => { server.tasks?.start() })
    scope.addHook('preClose', async () => {
      await Promise.all([server.endCalls(), server.tasks?.stop()])
      sessions?.close()
      server.close()
    })

    const route = { ...ownTime(app), exposeHeadRoute: false }

    scope.post('/mcp', { ...route, bodyLimit, onRequest: async request => { acceptsBoth(request) } }, (request, reply) => {
      const { body } = request
      try {
        if (isTooDeep(body)) throw new RpcError('invalidRequest', `the body is nested deeper than ${MAX_BODY_DEPTH} levels; send a flatter one`, undefined, 400)
        const named = sse === undefined ? undefined : legacySseSession(request)
        if (named !== undefined) sse?.post(request, reply, named, body)
        else if (speaksModern(request, body)) modern.post(request, reply, body)
        else legacy.post(request, reply, body)
      } catch (err) {
        if (!(err instanceof RpcError)) throw err
        sendRpcError(reply, err, isRecord(body) ? body.id : null)
      }
    })

    scope.get('/mcp', route, (request, reply) => {
      if (speaksModern(request, undefined)) throw new RpcError('invalidRequest', 'this revision has POST alone', undefined, 405)
      if (request.headers.accept?.includes('text/event-stream') !== true) throw new RpcError('invalidRequest', 'a GET opens a stream; send Accept: text/event-stream', undefined, 406)
      if (sse !== undefined && opensLegacySse(request)) sse.open(request, reply)
      else legacy.get(request, reply)
    })

    scope.route({
      method: ['PUT', 'PATCH'],
      url: '/mcp',
      onRequest: async () => { throw new RpcError('invalidRequest', 'send a POST', undefined, 405) },
      handler: () => {}
    })

    scope.delete('/mcp', route, (request, reply) => {
      if (speaksModern(request, undefined)) throw new RpcError('invalidRequest', 'this revision has POST alone', undefined, 405)
      legacy.delete(request, reply)
    })
  })
}

/** @throws MCP_INSUFFICIENT_SCOPE (403) */
function checkScopes (principal: Principal | undefined, { scopes = [] }: ProtectedResource): void {
  const missing = scopes.filter(scope => principal?.scopes?.includes(scope) !== true)
  if (missing.length > 0) throw new InsufficientScopeError(missing.join(', '))
}

/** Clients must take either form of an answer. @throws RpcError with status 406 */
function acceptsBoth (request: FastifyRequest): void {
  const { accept } = request.headers
  if (accept === undefined || legacySseSession(request) !== undefined || accept.includes('*/*') || (accept.includes('application/json') && accept.includes('text/event-stream'))) return
  throw new RpcError('invalidRequest', 'send Accept: application/json, text/event-stream', undefined, 406)
}

/** What goes wrong before a message is read, and what nobody expected. */
function sendFailure (err: unknown, request: FastifyRequest, reply: FastifyReply): void {
  if (err instanceof RpcError) return sendRpcError(reply, err, null)
  const { status, body: { error } } = failureOf(err, request)
  if (status >= 500) request.log.error({ err }, 'an MCP request failed')
  const code = error.code === 'INVALID_JSON' ? 'parseError' : status >= 500 ? 'internalError' : 'invalidRequest'
  sendRpcError(reply, new RpcError(code, error.message, { code: error.code, requestId: error.requestId }, status), null)
}

function sendRpcError (reply: FastifyReply, err: RpcError, id: unknown): void {
  const { status = 200 } = err
  if (status === 405) reply.header('allow', 'POST')
  const seconds = retryAfter(status)
  if (seconds !== undefined) reply.header('retry-after', seconds)
  reply.code(status).header('content-type', 'application/json; charset=utf-8').send(errorText(typeof id === 'string' || isNumberId(id) ? id : null, err))
}

/** The options and limits with their defaults. @throws MCP_SERVER_OPTIONS */
function read (given: McpServerOptions): ReadOptions<McpServerOptions, typeof OPTIONS> & { readonly limits: Limits } {
  const options = readOptions(OPTIONS, given, McpServerOptionsError, OWNER)
  if (options.protectedResource?.scopes !== undefined && options.authenticate === undefined) {
    throw new McpServerOptionsError('`protectedResource.scopes` needs `authenticate`, which returns the scopes of a caller')
  }
  return { ...options, limits: readOptions(LIMITS, options.limits, McpServerOptionsError, OWNER, 'limits.') }
}

/**
 * The plugin. Routes under the scope's prefix: /mcp, and /.well-known/oauth-protected-resource where callers need a token. It adds no hook,
 * parser or error handler to the scope around it.
 */
export const mcpServerPlugin = fp(routes, { name: '@polyvac/mcp-server', fastify: '5.x', encapsulate: true })
