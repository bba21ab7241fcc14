import { isInner, isRecord } from '@polyvac/core/plugin'
import {
  decodeHeader, HEADERS, isLogLevel, isModern, LOG_LEVELS, MODERN_META, MODERN_REVISIONS, NAME_PARAMETERS, namesModern, type ClientCapabilities, type LogLevel
} from '@polyvac/mcp-protocol'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { ResponseWriter } from '../http/response.js'
import { modernMethods } from '../methods/modern.js'
import { ModernCall } from '../calls/modern-call.js'
import { messageKind, RpcError, type Params, type Request } from '../protocol/rpc.js'
import { runCall } from '../calls/run-call.js'
import type { McpContext } from '../context.js'

/** Whether a message is of revision 2026-07-28 or later: each says so itself. */
export function isModernMessage (body: unknown): boolean {
  return isRecord(body) && isRecord(body.params) && isRecord(body.params._meta) && MODERN_META.protocolVersion in body.params._meta
}

/** Whether a request speaks revision 2026-07-28 or later: its body or its header says so. */
export function speaksModern ({ headers }: FastifyRequest, body: unknown): boolean {
  return isModernMessage(body) || namesModern(headers[HEADERS.protocolVersion])
}

/** Revision 2026-07-28: each request stands alone and says who asks. The checks are in the order of the specification. */
export class Modern {
  readonly #server: McpContext

  constructor (server: McpContext) {
    this.#server = server
  }

  /** A POST. @throws RpcError with a status */
  post (request: FastifyRequest, reply: FastifyReply, body: unknown): void {
    if (Array.isArray(body)) throw new RpcError('invalidRequest', 'this revision has no batches; send one message', undefined, 400)
    const kind = messageKind(body)
    if (kind === 'response') throw new RpcError('invalidRequest', 'this server asks nothing of clients; a response has no request', undefined, 400)
    // a client has no notification to send over HTTP: it closes the connection instead
    if (kind === 'notification') {
      reply.code(202).send()
      return
    }
    const { id, method, params = {} } = body as Request
    const { version, capabilities, level } = readEnvelope(params)
    const { headers } = request
    // a line of standard input has none
    const hasHeaders = !isInner(request.raw.socket)
    if (hasHeaders) {
      checkHeader('MCP-Protocol-Version', headers[HEADERS.protocolVersion], version)
      checkHeader('Mcp-Method', headers[HEADERS.method], method)
    }
    if (!isModern(version)) {
      throw new RpcError('unsupportedVersion', `revision ${JSON.stringify(version.slice(0, 40))} is not served this way`, { supported: [...MODERN_REVISIONS], requested: version }, 400)
    }
    const named = NAME_PARAMETERS.get(method)
    if (hasHeaders && named !== undefined) checkName(headers[HEADERS.name], params[named], named)
    const handler = modernMethods.get(method)
    if (handler === undefined) throw new RpcError('methodNotFound', `unknown method: ${JSON.stringify(method.slice(0, 100))}`, undefined, 404)
    const server = this.#server
    const { calls, leaving, principalOf } = server
    const answer = new ResponseWriter(reply)
    const call = new ModernCall({ request, answer, id, method, params, principal: principalOf(request), leaving }, version, capabilities, level, server)
    runCall(calls, call, () => handler(server, call))
  }
}

interface Envelope { readonly version: string, readonly capabilities: ClientCapabilities, readonly level: LogLevel | undefined }

/** @throws RpcError -32602 with status 400 */
function readEnvelope ({ _meta: meta }: Params): Envelope {
  const { [MODERN_META.protocolVersion]: version, [MODERN_META.clientCapabilities]: capabilities, [MODERN_META.logLevel]: level } = isRecord(meta) ? meta : {}
  if (typeof version !== 'string') throw new RpcError('invalidParams', `\`_meta\` must have ${MODERN_META.protocolVersion}, a string`, undefined, 400)
  if (!isRecord(capabilities) || !areCapabilities(capabilities)) throw new RpcError('invalidParams', `\`_meta\` must have ${MODERN_META.clientCapabilities}, an object of objects`, undefined, 400)
  if (level !== undefined && !isLogLevel(level)) {
    throw new RpcError('invalidParams', `${MODERN_META.logLevel} must be one of ${LOG_LEVELS.join(', ')}`, undefined, 400)
  }
  return { version, capabilities, level }
}

function areCapabilities (capabilities: Params): capabilities is ClientCapabilities {
  return ['elicitation', 'sampling', 'roots', 'extensions'].every(key => capabilities[key] === undefined || isRecord(capabilities[key]))
}

/** @throws RpcError -32020 */
function checkHeader (name: string, sent: unknown, value: string): void {
  if (typeof sent !== 'string' || sent.trim() !== value) {
    throw new RpcError('headerMismatch', `the header ${name} must repeat the body: ${JSON.stringify(value.slice(0, 100))}`, undefined, 400)
  }
}

/** @throws RpcError -32020 */
function checkName (sent: unknown, value: unknown, parameter: string): void {
  // a parameter of another type is the method's to refuse
  if (sent !== undefined && typeof value !== 'string') throw new RpcError('headerMismatch', `the header Mcp-Name must repeat \`${parameter}\`, which is no string`, undefined, 400)
  if (typeof value === 'string' && (typeof sent !== 'string' || decodeHeader(sent.trim()) !== value)) {
    throw new RpcError('headerMismatch', `the header Mcp-Name must repeat \`${parameter}\` of the body`, undefined, 400)
  }
}
