import type { Principal } from '@polyvac/core'
import { authenticateCallers, failureOf, isTooDeep, MAX_BODY_DEPTH, ownTime, retryAfter } from '@polyvac/core/plugin'
import type { TaskStore } from '@polyvac/tasks'
import fp from 'fastify-plugin'
import type { FastifyPluginAsync, FastifyReply, FastifyRequest } from 'fastify'
import { InsufficientScopeError, McpServerOptionsError } from './errors.js'
import { originGuard } from './http/host-origin-guard.js'
import { Legacy } from './eras/legacy.js'
import { LegacySse, legacySseSession, opensLegacySse } from './eras/http-sse.js'
import { Modern, speaksModern } from './eras/modern.js'
import { DEFAULT_LIMITS, DEFAULTS, type Limits, type McpServerOptions } from './options.js'
import { challenge, metadataRoutes, type ProtectedResource } from './protected-resource.js'
import { errorText, isNumberId, isRecord, RpcError } from './protocol/rpc.js'
import { McpContext } from './context.js'
import { Sessions } from './sessions/sessions.js'
import type { ToolSource } from './tool-source.js'
import { version as ownVersion } from './version.js'

/** An MCP server of both eras at /mcp. Errors leave as JSON-RPC. */
const routes: FastifyPluginAsync<McpServerOptions> = async (app, options) => {
  const { sources, tasks, authenticate, protectedResource, allowedHosts, allowedOrigins, publicUrl, bodyLimit = DEFAULTS.bodyLimit } = options
  checkOptions(options)
  if (protectedResource !== undefined) metadataRoutes(app, protectedResource)

  await app.register(async scope => {
    scope.setErrorHandler((err, request, reply) => {
      const { statusCode } = err as { statusCode?: number }
      if (statusCode === 401 || (statusCode === 403 && authenticate !== undefined)) challenge(app, request, reply, statusCode, protectedResource)
      sendFailure(err, request, reply)
    })
    // a page can send forms and plain text to other sites without asking; JSON it cannot
    scope.removeAllContentTypeParsers()
    scope.addContentTypeParser('application/json', { parseAs: 'string' }, scope.getDefaultJsonParser('error', 'error'))
    const guard = originGuard(scope, { allowedHosts, allowedOrigins, publicUrl })
    scope.addHook('onRequest', async request => { guard(request) })
    const principalOf = authenticateCallers(scope, authenticate)
    if (protectedResource?.scopes !== undefined) scope.addHook('onRequest', async request => { checkScopes(principalOf(request), protectedResource) })

    const { name = DEFAULTS.name, title, version = ownVersion, instructions, stateKey } = options
    const limits = limitsOf(options.limits)
    const info = { name, ...title !== undefined && { title }, version }
    const server = new McpContext({ sources, info, instructions, log: app.log, limits, stateKey, tasks, isPrivate: authenticate !== undefined, principalOf })
    const sessions = options.sessions === false ? undefined : new Sessions(limits)
    const legacy = new Legacy(server, sessions)
    const sse = sessions === undefined ? undefined : new LegacySse(server, sessions, legacy)
    const modern = new Modern(server)
    scope.addHook('onReady', async () => { server.tasks?.start() })
    scope.addHook('preClose', async () => {
      await Promise.all([server.calls.close(), server.tasks?.stop()])
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

/** @throws MCP_SERVER_OPTIONS */
function checkOptions ({ sources, tasks, authenticate, protectedResource }: McpServerOptions): void {
  if (!Array.isArray(sources) || sources.some(source => typeof (source as ToolSource | undefined)?.list !== 'function')) {
    throw new McpServerOptionsError('the mcp-server plugin needs `sources`: a list of tool sources, such as [vacTools(vacs)]')
  }
  if (tasks !== undefined && typeof (tasks as Partial<TaskStore>).create !== 'function') {
    throw new McpServerOptionsError('`tasks` must be an open task store, such as sqliteTaskStore({ path })')
  }
  if (protectedResource?.scopes !== undefined && authenticate === undefined) {
    throw new McpServerOptionsError('`protectedResource.scopes` needs `authenticate`, which says what scopes a caller has')
  }
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

/** @throws MCP_SERVER_OPTIONS */
function limitsOf (given: Partial<Limits> = {}): Limits {
  for (const [key, value] of Object.entries(given)) {
    if (!(key in DEFAULT_LIMITS)) throw new McpServerOptionsError(`limits has no ${key}; there are ${Object.keys(DEFAULT_LIMITS).join(', ')}`)
    if (value !== undefined && !(Number.isSafeInteger(value) && value > 0)) throw new McpServerOptionsError(`limits.${key} must be a whole number above 0`)
  }
  const set = Object.entries(given).filter(([, value]) => value !== undefined)
  return { ...DEFAULT_LIMITS, ...Object.fromEntries(set) }
}

/**
 * The plugin. Routes under the scope's prefix: /mcp, and /.well-known/oauth-protected-resource where callers need a token. It adds no hook,
 * parser or error handler to the scope around it.
 */
export const mcpServerPlugin = fp(routes, { name: '@polyvac/mcp-server', fastify: '5.x', encapsulate: true })
