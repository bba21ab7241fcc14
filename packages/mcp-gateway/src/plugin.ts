import { negotiate } from '@fastify/accept-negotiator'
import {
  authenticateCallers, boundMemory, Disconnects, errorHandler, describeRoutes, isRecord, labelRoutes, mayAdminister, mayUse, OpenCalls, ownTime, parseJson,
  passErrors, refuseOtherMethods, traceRequests
} from '@polyvac/core/plugin'
import fp from 'fastify-plugin'
import { Type } from '@sinclair/typebox'
import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox'
import type { FastifyPluginAsync, FastifyReply, FastifyRequest, preValidationHookHandler } from 'fastify'
import { sendCallEvents } from './rest/call-events.js'
import { Failures } from './rest/failures.js'
import { createGateway, type Gateway } from './gateway.js'
import { ListBodies } from './rest/list-body.js'
import type { ListKind } from '@polyvac/mcp-protocol'
import { GatewayOptionsError, RestartRefusedError } from './errors.js'
import { InteractiveCalls, type CallListeners, type Outcome } from './input/interactive-calls.js'
import { baseUrl, toolOfPath, toolsDocument } from './rest/openapi.js'
import { OpenCall } from './rest/open-calls.js'
import { outcomeOfTool, recordCall } from './record-call.js'
import { readPluginOptions, type McpGatewayOptions } from './plugin-options.js'
import { signInRoutes } from './rest/sign-in-routes.js'
import {
  Approval, ApprovalBody, ApprovalId, Arguments, CallApproval, CallBody, CallResult, DocumentFile, GatewayError, InputRequired, McpServerStatus, PromptBody, PromptList, PromptResult, ReadBody, ReadResult, ResourceList,
  RestartBody, ServerList, ServerName, ServerQuery, TemplateList, ToolList, ToolPath
} from './schemas.js'
import { briefStatus, contentsBody } from './rest/bodies.js'
import { checkTool, entriesFor, isListedFor, serverFor, serverOfPrompt, serverOfResource } from './rights.js'

/** Time in ms for responses to be sent when the application closes. */
const CLOSE_GRACE_MS = 200

const ERRORS = { '4xx': GatewayError, '5xx': GatewayError }

interface RouteOptions {
  readonly gateway: Gateway
  /** Whether the application closes the gateway. */
  readonly isShared: boolean
  readonly read: ReturnType<typeof readPluginOptions>
}

/** The pages of sign-ins have a separate scope: a hook of `authenticate` applies to all scopes within its own. */
const plugin: FastifyPluginAsync<McpGatewayOptions> = async (host, options) => {
  const read = readPluginOptions({ log: host.log, ...options })
  const { servers, gateway: shared, authenticate, bodyLimit: _limit, openapi, publicUrl: _publicUrl, errorHandler: _handler, ...gatewayOptions } = read
  if ((servers === undefined) === (shared === undefined)) {
    throw new GatewayOptionsError('the mcp-gateway plugin needs either `servers`, a list of MCP servers, or `gateway`, made by createGateway()')
  }
  const gateway = shared ?? createGateway({ ...gatewayOptions, servers: servers! })
  describeRoutes(host, openapi)
  labelRoutes(host, 'mcp')
  await host.register(signInRoutes, { signIns: gateway.signIns, log: gateway.log, authenticate })
  await host.register(routes, { gateway, isShared: shared !== undefined, read })
}

/** External MCP servers over HTTP. The body of errors is `{ error, code, server, tool, details }`. */
const routes: FastifyPluginAsync<RouteOptions> = async (host, { gateway, isShared, read: { authenticate, bodyLimit, publicUrl, errorHandler: answering } }) => {
  const app = host.withTypeProvider<TypeBoxTypeProvider>()
  const calls = new OpenCalls<OpenCall>()
  const disconnects = new Disconnects()
  const bodies = new ListBodies()
  const interactive = new InteractiveCalls(gateway)

  await traceRequests(app)
  boundMemory(app)
  // a parser of the app may return bytes; programs that import OpenAPI documents send tools without parameters no body
  parseJson(app, ['application/json'], true)
  const refuseOthers = refuseOtherMethods(app)
  const tags = ['mcp-gateway']
  const principalOf = authenticateCallers(host, authenticate)
  const failures = new Failures(principalOf)
  // the application describes its own errors, and Fastify would call the serializer of these for them
  const errors = answering === 'app' ? {} : ERRORS
  app.setErrorHandler(answering === 'app' ? passErrors(failures.toAppError) : errorHandler(failures.send))
  app.addHook('onReady', async () => {
    await gateway.load()
    gateway.start()
  })
  app.addHook('preClose', async () => {
    interactive.close()
    const ended = calls.close(CLOSE_GRACE_MS)
    if (!isShared) await gateway.close()
    await ended
  })

  app.get('/mcp/servers', {
    schema: { operationId: 'listMcpServers', summary: 'State of the MCP servers', tags, response: { 200: ServerList } }
  }, async request => {
    const principal = principalOf(request)
    const servers = gateway.status().filter(({ name }) => mayUse(principal, { someOf: name }))
    const mayRestart = mayAdminister(request, principal)
    return { servers: mayRestart ? servers : servers.map(briefStatus), mayRestart } as never
  })

  app.post('/mcp/servers/:server_name/restart', {
    bodyLimit,
    // a form of a web page cannot send JSON, and CORS lets no script of another site send it
    schema: { operationId: 'restartMcpServer', summary: 'Restart an MCP server', tags, params: ServerName, body: RestartBody, response: { 202: McpServerStatus, ...errors } }
  }, async (request, reply) => {
    if (!mayAdminister(request, principalOf(request))) throw new RestartRefusedError()
    const { server_name: server } = request.params
    const upstream = gateway.get(server)
    gateway.log.info({ mcpServer: server, owner: principalOf(request)?.owner }, 'an administrator restarts an MCP server')
    await upstream.restart()
    return reply.code(202).send(upstream.status() as never)
  })

  app.get('/mcp/tools', {
    schema: { operationId: 'listMcpTools', summary: 'Tools of all MCP servers', tags, response: { 200: ToolList, ...errors } }
  }, async (request, reply) => bodies.send(request, reply, 'tools', '', await all('tools', request)))

  app.get('/mcp/tools/:server_name', {
    schema: { operationId: 'listMcpToolsOfServer', summary: 'Tools of one MCP server', tags, params: ServerName, response: { 200: ToolList, ...errors } }
  }, async (request, reply) => {
    const { server_name: server } = request.params
    return bodies.send(request, reply, 'tools', server, await ofOne('tools', server, request))
  })

  app.post('/mcp/call', {
    bodyLimit,
    ...ownTime(host),
    preValidation: withoutNullMembers,
    schema: { operationId: 'callMcpTool', summary: 'Call a tool', tags, body: CallBody, response: { 200: CallResult, 202: InputRequired, ...errors } }
  }, (request, reply) => answer(request, reply, request.body) as never)

  app.post('/mcp/tools/:server_name/:tool_name', {
    bodyLimit,
    ...ownTime(host),
    preValidation: async request => { request.body ??= {} },
    schema: { operationId: 'callMcpToolByPath', summary: 'Call a tool; the body is its arguments', tags, params: ToolPath, querystring: CallApproval, body: Arguments, response: { 200: CallResult, 202: InputRequired, ...errors } }
  }, async (request, reply) => {
    const { params: { server_name: server, tool_name: named }, query: { approval } } = request
    const principal = principalOf(request)
    const tools = await serverFor(gateway, principal, server).list('tools', principal?.owner)
    return await answer(request, reply, { server, tool: toolOfPath(named, tools), arguments: request.body, ...approval !== undefined && { approval } }) as never
  })

  async function answer (request: FastifyRequest, reply: FastifyReply, body: CallBody): Promise<unknown> {
    const call = new OpenCall(reply, calls, disconnects)
    try {
      const principal = principalOf(request)
      const { server, tool, _meta: meta } = body
      const checking = checkTool(gateway, principal, server, tool)
      if (checking !== undefined) await checking
      const callTool = (listeners: CallListeners): Promise<Outcome> => recordCall({ server, tool, principal, protocol: 'mcp-gateway' }, request.log,
        () => interactive.call(body, principal, call, listeners), outcomeOf)
      if (!wantsEvents(request.headers.accept)) {
        const outcome = await callTool({ meta })
        if ('status' in outcome) reply.code(202)
        return outcome
      }
      return await sendCallEvents(reply, async onProgress => {
        const outcome = await callTool({ onProgress, meta })
        return { event: 'status' in outcome ? outcome.status : 'result', data: outcome }
      }, err => ({ event: 'error', data: failures.of(err, request).body }))
    } finally {
      call.end()
    }
  }

  app.get('/approvals/:approval_id', {
    schema: { operationId: 'getMcpApproval', summary: 'A call that waits for an approval', tags, params: ApprovalId, response: { 200: Approval, ...errors } }
  }, async request => await gateway.approvals.get(principalOf(request), request.params.approval_id))

  app.post('/approvals/:approval_id', {
    bodyLimit,
    schema: { operationId: 'answerMcpApproval', summary: 'Approve or decline a call', tags, params: ApprovalId, body: ApprovalBody, response: { 200: Approval, ...errors } }
  }, async request => await gateway.approvals.answer(principalOf(request), request.params.approval_id, request.body.approved))

  for (const [path, kind, schema, operationId, summary] of [
    ['/mcp/resources', 'resources', ResourceList, 'listMcpResources', 'Resources of the MCP servers'],
    ['/mcp/resources/templates', 'templates', TemplateList, 'listMcpTemplates', 'Resource templates of the MCP servers'],
    ['/mcp/prompts', 'prompts', PromptList, 'listMcpPrompts', 'Prompts of the MCP servers']
  ] as const) {
    app.get(path, {
      schema: { operationId, summary, tags, querystring: ServerQuery, response: { 200: schema, ...errors } }
    }, async (request, reply) => {
      const { server } = request.query
      return bodies.send(request, reply, kind, server ?? '', server === undefined ? await all(kind, request) : await ofOne(kind, server, request))
    })
  }

  app.post('/mcp/resources/read', {
    bodyLimit,
    preValidation: withoutNullMembers,
    schema: { operationId: 'readMcpResource', summary: 'Read a resource', tags, body: ReadBody, response: { 200: ReadResult, ...errors } }
  }, async (request, reply) => {
    const call = new OpenCall(reply, calls, disconnects)
    try {
      const { server, uri, _meta: meta } = request.body
      const principal = principalOf(request)
      const upstream = serverOfResource(gateway, principal, server, uri)
      return contentsBody(await upstream.readResource(uri, { signal: call, principal, meta })) as never
    } finally {
      call.end()
    }
  })

  app.post('/mcp/prompts/get', {
    bodyLimit,
    preValidation (request, _reply, done) {
      leaveOutNulls(request)
      const body = request.body as { arguments?: unknown } | undefined
      if (isRecord(body?.arguments)) body.arguments = withoutNulls(body.arguments)
      done()
    },
    schema: { operationId: 'getMcpPrompt', summary: 'Fill in a prompt', tags, body: PromptBody, response: { 200: PromptResult, ...errors } }
  }, async (request, reply) => {
    const { server, prompt, arguments: args = {}, _meta: meta } = request.body
    const call = new OpenCall(reply, calls, disconnects)
    try {
      const principal = principalOf(request)
      const upstream = serverOfPrompt(gateway, principal, server, prompt)
      const { description, messages } = await upstream.getPrompt(prompt, args, { signal: call, principal, meta })
      return { description: typeof description === 'string' ? description : '', messages: Array.isArray(messages) ? messages : [] }
    } finally {
      call.end()
    }
  })

  app.get('/mcp/openapi.json', {
    schema: { operationId: 'getMcpOpenApi', summary: 'The tools as an OpenAPI document', tags, response: { 200: Type.Record(Type.String(), Type.Unknown()) } }
  }, async request => await toolsDocument(await all('tools', request), { url: baseUrl(request, app.prefix, publicUrl) }))

  app.get('/mcp/openapi/:file', {
    schema: { operationId: 'getMcpOpenApiOfServer', summary: 'The tools of one MCP server as an OpenAPI document: <server_name>.json', tags, params: DocumentFile, response: { 200: Type.Record(Type.String(), Type.Unknown()), ...errors } }
  }, async request => {
    const server = request.params.file.replace(/\.json$/, '')
    return await toolsDocument(await ofOne('tools', server, request), { url: baseUrl(request, app.prefix, publicUrl), server })
  })
  refuseOthers()

  async function all (kind: ListKind, request: FastifyRequest): Promise<Awaited<ReturnType<Gateway['list']>>['items']> {
    const { items, unavailable } = await entriesFor(gateway, kind, principalOf(request))
    for (const { server, error } of unavailable) gateway.log.warn({ mcpServer: server, err: error, list: kind }, 'an MCP server is left out of a list')
    return items
  }

  async function ofOne (kind: ListKind, server: string, request: FastifyRequest): ReturnType<typeof all> {
    const principal = principalOf(request)
    const items = await serverFor(gateway, principal, server).list(kind, principal?.owner)
    return items.map(item => ({ server, item })).filter(item => isListedFor(principal, kind, item))
  }
}

/** Clients send null for what they leave out. Arguments of tools are fitted to the schema of the tool. */
function leaveOutNulls (request: FastifyRequest): void {
  if (isRecord(request.body)) request.body = withoutNulls(request.body)
}

const withoutNullMembers: preValidationHookHandler = (request, _reply, done) => {
  leaveOutNulls(request)
  done()
}

function withoutNulls (members: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  return Object.values(members).includes(null) ? Object.fromEntries(Object.entries(members).filter(([, value]) => value !== null)) : members
}

function outcomeOf (outcome: Outcome): string {
  return 'status' in outcome ? 'input-required' : outcomeOfTool(outcome.result)
}

/** Whether a caller prefers events; one that accepts any type gets JSON. */
function wantsEvents (accept: string | undefined): boolean {
  return accept !== undefined && /text\/event-stream/i.test(accept) && negotiate(accept.toLowerCase(), ['application/json', 'text/event-stream']) === 'text/event-stream'
}

/**
 * The Fastify plugin. Routes under the scope's prefix: GET /mcp/tools, GET /mcp/tools/<server_name>,
 * POST /mcp/call, GET /mcp/resources and POST /mcp/resources/read, and in addition
 * /mcp/tools/<server_name>/<tool_name>, /mcp/openapi/<server_name>.json,
 * /mcp/servers, /mcp/servers/<server_name>/restart, /mcp/prompts, /mcp/prompts/get, /mcp/resources/templates,
 * /mcp/openapi.json and /approvals/<approval_id>. It adds no hook, parser or error handler to the scope around it.
 * @example await app.register(mcpGatewayPlugin, { servers: { files: { command: 'mcp-server-filesystem', args: ['.']
 * } } })
 */
export const mcpGatewayPlugin = fp(plugin, { name: '@polyvac/mcp-gateway', fastify: '5.x', encapsulate: true })
