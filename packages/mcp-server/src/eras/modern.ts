import { isInner, isRecord, placeOf, quoteName } from '@polyvac/core/plugin'
import {
  decodeHeader, HEADERS, isLogLevel, isModern, LOG_LEVELS, MODERN_META, MODERN_REVISIONS, NAME_PARAMETERS, namesModern,
  readCapabilities,
  type ClientCapabilities
} from '@polyvac/mcp-protocol'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { ModernCall, type ModernMeta } from '../calls/modern-call.js'
import { runCall } from '../calls/run-call.js'
import type { McpContext } from '../context.js'
import { ResponseWriter } from '../http/response.js'
import { modernMethods } from '../methods/modern.js'
import {
  checkLengths, headerMismatch, messageKind, refusal, RpcError, unknownMethod, type Params, type Request
} from '../protocol/rpc.js'

/** Whether a message is of revision 2026-07-28 or later: its `_meta` names the revision. */
export function isModernMessage (body: unknown): boolean {
  const { _meta: meta } = isRecord(body) && isRecord(body.params) ? body.params : {}
  return isRecord(meta) && MODERN_META.protocolVersion in meta
}

/** Whether the body or the header of a request names revision 2026-07-28 or later. */
export function speaksModern ({ headers }: FastifyRequest, body: unknown): boolean {
  return isModernMessage(body) || namesModern(headers[HEADERS.protocolVersion])
}

/** Revision 2026-07-28: each request stands by itself. The checks are in the order of the specification. */
export class Modern {
  readonly #server: McpContext

  constructor (server: McpContext) {
    this.#server = server
  }

  /** Handles a POST. @throws RpcError with a status */
  post (request: FastifyRequest, reply: FastifyReply, body: unknown): void {
    if (Array.isArray(body)) throw refusal('this revision does not have batches; send one message')
    const kind = messageKind(body)
    if (kind === 'response') throw refusal('servers of this revision send no requests; a response has no request')
    // clients send no notifications over HTTP: they close the connection instead
    if (kind === 'notification') {
      reply.code(202).send()
      return
    }
    const { id, method, params = {} } = body as Request
    checkLengths(params)
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
      throw new RpcError('unsupportedVersion', `revision ${quoteName(version)} is not served this way`, data, 400)
    }
    const parameter = NAME_PARAMETERS.get(method)
    if (hasHeaders && parameter !== undefined) checkName(headers[HEADERS.name], params[parameter], parameter)
    const handler = modernMethods.get(method)
    if (handler === undefined) throw unknownMethod(method, 404)
    const server = this.#server
    const { calls, disconnects, principalOf } = server
    const response = new ResponseWriter(reply)
    const principal = principalOf(request)
    const options = { request, response, id, method, params, principal, place: placeOf(request), sessionId: undefined, disconnects }
    const call = new ModernCall(options, { version, capabilities, level }, server)
    call.place?.hold()
    void runCall(calls, call, () => handler(server, call))
  }
}

/** @throws RpcError -32602 with status 400 */
function readMeta ({ _meta }: Params): Omit<ModernMeta, 'version'> & { readonly version: string } {
  const meta = isRecord(_meta) ? _meta : {}
  const version = meta[MODERN_META.protocolVersion]
  const capabilities = meta[MODERN_META.clientCapabilities]
  const level = meta[MODERN_META.logLevel]
  if (typeof version !== 'string') throw invalidMeta(MODERN_META.protocolVersion, 'a string')
  if (!areCapabilities(capabilities)) throw invalidMeta(MODERN_META.clientCapabilities, 'an object of objects')
  if (level !== undefined && !isLogLevel(level)) throw invalidMeta(MODERN_META.logLevel, LOG_LEVELS.join(' or '))
  return { version, capabilities: readCapabilities(capabilities), level }
}

function invalidMeta (key: string, expected: string): RpcError {
  return refusal(`\`_meta\` must have ${key}, ${expected}`, 400, 'invalidParams')
}

function areCapabilities (capabilities: unknown): capabilities is ClientCapabilities {
  if (!isRecord(capabilities)) return false
  const { elicitation, sampling, roots, extensions } = capabilities
  return isOptional(elicitation) && isOptional(sampling) && isOptional(roots) && isOptional(extensions)
}

function isOptional (value: unknown): boolean {
  return value === undefined || isRecord(value)
}

/** @throws RpcError -32020 */
function checkHeader (name: string, sent: unknown, value: string): void {
  if (typeof sent === 'string' && sent.trim() === value) return
  throw headerMismatch(`the header ${name} must repeat the body: ${quoteName(value)}`)
}

/** @throws RpcError -32020 */
function checkName (sent: unknown, value: unknown, parameter: string): void {
  // a parameter of another type, without the header, is refused by the method
  const decoded = typeof sent === 'string' ? decodeHeader(sent.trim()) : undefined
  if (typeof value === 'string' ? decoded === value : sent === undefined) return
  throw headerMismatch(`the header Mcp-Name must repeat \`${parameter}\` of the body, a string`)
}
