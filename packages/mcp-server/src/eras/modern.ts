import { isInner, isRecord } from '@polyvac/core/plugin'
import {
  decodeHeader, HEADERS, isLogLevel, isModern, LOG_LEVELS, MODERN_META, MODERN_REVISIONS, NAME_PARAMETERS, namesModern,
  type ClientCapabilities, type LogLevel
} from '@polyvac/mcp-protocol'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { ModernCall } from '../calls/modern-call.js'
import { runCall } from '../calls/run-call.js'
import type { McpContext } from '../context.js'
import { ResponseWriter } from '../http/response.js'
import { modernMethods } from '../methods/modern.js'
import { messageKind, refusal, RpcError, type Params, type Request } from '../protocol/rpc.js'

/** Whether a message is of revision 2026-07-28 or later: its `_meta` names the revision. */
export function isModernMessage (body: unknown): boolean {
  return isRecord(body) && isRecord(body.params) && isRecord(body.params._meta) && MODERN_META.protocolVersion in body.params._meta
}

/** Whether the body or the header of a request names revision 2026-07-28 or later. */
export function speaksModern ({ headers }: FastifyRequest, body: unknown): boolean {
  return isModernMessage(body) || namesModern(headers[HEADERS.protocolVersion])
}

/** Revision 2026-07-28: each request stands alone. The checks are in the order of the specification. */
export class Modern {
  readonly #server: McpContext

  constructor (server: McpContext) {
    this.#server = server
  }

  /** Handles a POST. @throws RpcError with a status */
  post (request: FastifyRequest, reply: FastifyReply, body: unknown): void {
    if (Array.isArray(body)) throw refusal('this revision does not have batches; send one message')
    const kind = messageKind(body)
    if (kind === 'response') throw refusal('this server sends no requests to clients of this revision; a response has no request')
    // clients send no notifications over HTTP: they close the connection instead
    if (kind === 'notification') {
      reply.code(202).send()
      return
    }
    const { id, method, params = {} } = body as Request
    const { version, capabilities, level } = readMeta(params)
    const { headers } = request
    // messages of standard input have no headers
    const hasHeaders = !isInner(request.raw.socket)
    if (hasHeaders) {
      checkHeader('MCP-Protocol-Version', headers[HEADERS.protocolVersion], version)
      checkHeader('Mcp-Method', headers[HEADERS.method], method)
    }
    if (!isModern(version)) {
      const data = { supported: [...MODERN_REVISIONS], requested: version }
      throw new RpcError('unsupportedVersion', `revision ${JSON.stringify(version.slice(0, 40))} is not served this way`, data, 400)
    }
    const parameter = NAME_PARAMETERS.get(method)
    if (hasHeaders && parameter !== undefined) checkName(headers[HEADERS.name], params[parameter], parameter)
    const handler = modernMethods.get(method)
    if (handler === undefined) throw refusal(`unknown method: ${JSON.stringify(method.slice(0, 100))}`, 404, 'methodNotFound')
    const server = this.#server
    const { calls, disconnects, principalOf } = server
    const options = { request, response: new ResponseWriter(reply), id, method, params, principal: principalOf(request), disconnects }
    const call = new ModernCall(options, version, capabilities, level, server)
    runCall(calls, call, () => handler(server, call))
  }
}

interface RequestMeta { readonly version: string, readonly capabilities: ClientCapabilities, readonly level: LogLevel | undefined }

/** @throws RpcError -32602 with status 400 */
function readMeta ({ _meta: meta }: Params): RequestMeta {
  const {
    [MODERN_META.protocolVersion]: version, [MODERN_META.clientCapabilities]: capabilities, [MODERN_META.logLevel]: level
  } = isRecord(meta) ? meta : {}
  if (typeof version !== 'string') throw refusal(`\`_meta\` must have ${MODERN_META.protocolVersion}, a string`, 400, 'invalidParams')
  if (!isRecord(capabilities) || !areCapabilities(capabilities)) {
    throw refusal(`\`_meta\` must have ${MODERN_META.clientCapabilities}, an object of objects`, 400, 'invalidParams')
  }
  if (level !== undefined && !isLogLevel(level)) {
    throw refusal(`${MODERN_META.logLevel} must be one of ${LOG_LEVELS.join(', ')}`, 400, 'invalidParams')
  }
  return { version, capabilities, level }
}

function areCapabilities (capabilities: Params): capabilities is ClientCapabilities {
  return ['elicitation', 'sampling', 'roots', 'extensions'].every(key => capabilities[key] === undefined || isRecord(capabilities[key]))
}

/** @throws RpcError -32020 */
function checkHeader (name: string, sent: unknown, value: string): void {
  if (typeof sent === 'string' && sent.trim() === value) return
  throw refusal(`the header ${name} must repeat the body: ${JSON.stringify(value.slice(0, 100))}`, 400, 'headerMismatch')
}

/** @throws RpcError -32020 */
function checkName (sent: unknown, value: unknown, parameter: string): void {
  // a parameter of another type, without the header, is refused by the method
  const matches = typeof value === 'string' ? typeof sent === 'string' && decodeHeader(sent.trim()) === value : sent === undefined
  if (!matches) throw refusal(`the header Mcp-Name must repeat \`${parameter}\` of the body, a string`, 400, 'headerMismatch')
}
