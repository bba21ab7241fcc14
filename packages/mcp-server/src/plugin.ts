import { authenticateCallers, Stop } from '@polyvac/core'
import fp from 'fastify-plugin'
import type { FastifyPluginAsync, FastifyRequest } from 'fastify'
import { McpServerOptionsError } from './errors.js'
import { DEFAULTS, type McpServerOptions } from './options.js'
import { Registry } from './registry.js'
import { isLegacy, NEWEST_LEGACY } from './revisions.js'
import { errorText, messageKind, resultText, RpcError, type Params, type Request } from './rpc.js'
import type { CallContext, ToolSource } from './tool-source.js'
import { version as ownVersion } from './version.js'

/** An MCP server at /mcp. */
const routes: FastifyPluginAsync<McpServerOptions> = async (app, options) => {
  const { sources, name = DEFAULTS.name, version = ownVersion, instructions, authenticate, bodyLimit = DEFAULTS.bodyLimit } = options
  if (!Array.isArray(sources) || sources.some(source => typeof (source as ToolSource | undefined)?.list !== 'function')) {
    throw new McpServerOptionsError('the mcp-server plugin needs `sources`: a list of tool sources, such as [vacTools(vacs)]')
  }
  const registry = new Registry(sources, app.log)
  const principalOf = authenticateCallers(app, authenticate)
  app.addHook('onClose', async () => { registry.close() })

  app.post('/mcp', { bodyLimit }, async (request, reply) => {
    if (messageKind(request.body) !== 'request') return reply.code(202).send()
    const { id, method, params = {} } = request.body as Request
    reply.type('application/json; charset=utf-8')
    try {
      return resultText(id, JSON.stringify(await answer(method, params, request)))
    } catch (err) {
      if (err instanceof RpcError) return errorText(id, err)
      throw err
    }
  })

  async function answer (method: string, params: Params, request: FastifyRequest): Promise<unknown> {
    switch (method) {
      case 'initialize': return {
        protocolVersion: isLegacy(params.protocolVersion) ? params.protocolVersion : NEWEST_LEGACY,
        capabilities: { tools: {} },
        serverInfo: { name, version },
        instructions
      }
      case 'ping': return {}
      case 'tools/list': return { tools: (await registry.catalog('tools')).entries.map(({ definition }) => definition) }
      case 'tools/call': {
        const entry = (await registry.catalog('tools')).get(String(params.name))
        if (entry === undefined) throw new RpcError('invalidParams', `unknown tool: ${JSON.stringify(params.name)}`)
        return await entry.source.call(entry.definition.name, params.arguments as Params ?? {}, contextOf(request))
      }
      default: throw new RpcError('methodNotFound', `unknown method: ${JSON.stringify(method)}`)
    }
  }

  function contextOf (request: FastifyRequest): CallContext {
    return {
      signal: new Stop(),
      principal: principalOf(request),
      log: request.log,
      capabilities: {},
      era: 'legacy',
      protocolVersion: NEWEST_LEGACY,
      progress: () => undefined,
      message: () => undefined,
      ask: async () => { throw new RpcError('internalError', 'nobody can be asked') },
      disconnect: () => {}
    }
  }
}

/** The plugin. Route under the scope's prefix: /mcp. It adds no hook, parser or error handler to the scope around it. */
export const mcpServerPlugin = fp(routes, { name: '@polyvac/mcp-server', fastify: '5.x', encapsulate: true })
