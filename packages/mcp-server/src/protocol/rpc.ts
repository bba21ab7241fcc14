import { Bytes, isRecord, quoteName, suggestion } from '@polyvac/core/plugin'
import { CODES, type ClientCapabilities, type CodeName } from '@polyvac/mcp-protocol'
import type { FastifyReply, FastifyRequest } from 'fastify'

/** Errors of an upstream server that the caller caused. */
const CAUSED_BY_CALLER: readonly CodeName[] = ['invalidParams', 'missingCapability', 'urlElicitationRequired']

/** JSON-RPC ids are strings or numbers; null stands for a request whose id cannot be read. */
export type RequestId = string | number

/** A JSON-RPC error response. Its message is sent to the caller. */
export class RpcError extends Error {
  readonly code: number

  /** @param status the HTTP status; by default 200 */
  constructor (code: CodeName, message: string, readonly data?: unknown, readonly status?: number) {
    super(message)
    this.code = CODES[code]
  }

  /** A caller's error for an upstream server's. What this process sent wrong is an internal error. */
  static fromUpstream ({ code, message, data }: ErrorObject): RpcError {
    const name = CAUSED_BY_CALLER.find(name => CODES[name] === code) ?? 'internalError'
    return new RpcError(name, message, data, name === 'missingCapability' ? 400 : undefined)
  }
}

/** What a server announces of its scopes. */
export interface Announcement {
  /** The scopes of all VACs and tools. */
  scopes (): readonly string[]
  /** Names the scopes that a request needs in the headers of its response. */
  challenge (request: FastifyRequest, reply: FastifyReply, needed: readonly string[]): void
}

/** The refusal of a call that lacks a scope which is announced: status 403. */
export class ScopeRefusal extends RpcError {
  /** @param needed the scopes that the caller has, and the one that it lacks */
  constructor (scope: string, readonly needed: readonly string[], readonly announcement: Announcement) {
    super('invalidRequest', `the credentials lack ${scope}; get credentials with that scope`, { code: 'MCP_INSUFFICIENT_SCOPE' }, 403)
  }
}

/** An error for a request that is invalid in its transport or its form. */
export function refusal (message: string, status = 400, code: CodeName = 'invalidRequest'): RpcError {
  return new RpcError(code, message, undefined, status)
}

/** An error for a header that does not repeat the body: -32020, with status 400. */
export function headerMismatch (message: string): RpcError {
  return refusal(message, 400, 'headerMismatch')
}

/** An error for a client that lacks capabilities: -32021, with status 400. */
export function missingCapability (message: string, requiredCapabilities: ClientCapabilities): RpcError {
  return new RpcError('missingCapability', message, { requiredCapabilities }, 400)
}

/** An error for a method that does not exist, or not for this call: -32601, by default with status 200. */
export function methodNotFound (message: string, status?: number): RpcError {
  return new RpcError('methodNotFound', message, undefined, status)
}

export function unknownMethod (method: string, status?: number): RpcError {
  return methodNotFound(`unknown method: ${quoteName(method)}`, status)
}

/** An error for parameters that the method does not accept: -32602, with status 200. */
export function invalidParams (message: string): RpcError {
  return new RpcError('invalidParams', message)
}

/** An error for a name that does not exist: -32602, with the nearest of the names that do. */
export function unknownName (kind: string, name: string, names: readonly string[]): RpcError {
  return invalidParams(`unknown ${kind}: ${quoteName(name)}; ${suggestion(name, names, `the ${kind}s`)}`)
}

/** An error for a bound that is reached for the moment: status 503. */
export function overload (message: string): RpcError {
  return refusal(message, 503, 'internalError')
}

export interface Notification { readonly method: string, readonly params?: Params | undefined }
export interface Request extends Notification { readonly id: RequestId }
export interface Response { readonly id: RequestId, readonly result?: Params, readonly error?: ErrorObject }
export interface ErrorObject { readonly code: number, readonly message: string, readonly data?: unknown }
export type Params = Readonly<Record<string, unknown>>

/** JSON as text, or as bytes where it is large. */
export type Json = string | Bytes

/** A response around a result in JSON: most results are serialized once and sent many times. */
export function resultText (id: RequestId, result: Json): Json {
  const head = `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":`
  return typeof result === 'string' ? `${head}${result}}` : new Bytes([Buffer.from(head), ...result.pieces, Buffer.from('}')])
}

const RESPONSE_HEAD = /^{"jsonrpc":"2\.0","id":("(?:[^"\\]|\\.)*"|[-+.\de]+),"(?:result|error)":/
const PROGRESS_HEAD = /^{"jsonrpc":"2\.0","method":"notifications\/progress","params":{"progressToken":(?:"(?:[^"\\]|\\.)*"|[-+.\de]+),"progress":([-+.\de]+)/

/** What the first piece of a large message has: the id of a response, or the progress of a notification. */
export function messageHead (text: string): Partial<Request> {
  const id = RESPONSE_HEAD.exec(text)?.[1]
  if (id !== undefined) return { id: JSON.parse(id) as RequestId }
  const progress = PROGRESS_HEAD.exec(text)?.[1]
  return progress === undefined ? {} : { method: 'notifications/progress', params: { progress: Number(progress) } }
}

/** The responses to a batch. */
export function batchText (texts: readonly Json[]): Json {
  if (texts.every(text => typeof text === 'string')) return `[${texts.join(',')}]`
  const pieces = texts.flatMap((text, i) => [Buffer.from(i === 0 ? '[' : ','), ...typeof text === 'string' ? [Buffer.from(text)] : text.pieces])
  return new Bytes([...pieces, Buffer.from(']')])
}

export function errorText (id: RequestId | null, { code, message, data }: ErrorObject): string {
  return JSON.stringify({ jsonrpc: '2.0', id, error: { code, message, data } })
}

/** Whether a number is an id. JSON.parse rounds larger ones, and the response would carry the id of another request. */
export function isNumberId (value: unknown): value is number {
  return typeof value === 'number' && Math.abs(value) <= Number.MAX_SAFE_INTEGER
}

/** Longest id of a request and longest progress token, in characters: every message about the request repeats them. */
const MAX_ID_CHARS = 1_000
/** Longest URI, cursor or id in the parameters of a request, in characters: sessions and sources keep them. */
export const MAX_NAME_CHARS = 8 * 1024

/** @throws RpcError -32602 for a URI, a cursor, an id or a progress token that is too long */
export function checkLengths (params: Params): void {
  // not a loop over the keys: V8 finds a member that is absent by its name in the code, and slowly by a variable
  const { uri, cursor, level, taskId, requestId, protocolVersion } = params
  checkLength('uri', uri)
  checkLength('cursor', cursor)
  checkLength('level', level)
  checkLength('taskId', taskId)
  checkLength('requestId', requestId)
  checkLength('protocolVersion', protocolVersion)
  const { progressToken } = isRecord(params._meta) ? params._meta : {}
  if (typeof progressToken === 'string' && progressToken.length > MAX_ID_CHARS) {
    throw invalidParams(`\`progressToken\` has more than ${MAX_ID_CHARS} characters`)
  }
}

function checkLength (key: string, value: unknown): void {
  if (typeof value === 'string' && value.length > MAX_NAME_CHARS) throw invalidParams(`\`${key}\` has more than ${MAX_NAME_CHARS} characters`)
}

/** The kind of message that a JSON value is. @throws RpcError -32600 for any other value */
export function messageKind (value: unknown): 'request' | 'notification' | 'response' {
  if (!isRecord(value) || value.jsonrpc !== '2.0') throw refusal('a JSON-RPC 2.0 message has `jsonrpc`, which is "2.0"')
  const { id, method, params } = value
  if (id !== undefined && typeof id !== 'string' && !isNumberId(id)) {
    throw refusal('`id` must be a string, or a number of at most 2^53 - 1')
  }
  if (typeof id === 'string' && id.length > MAX_ID_CHARS) throw refusal(`\`id\` has more than ${MAX_ID_CHARS} characters`)
  if (method === undefined) {
    if (id !== undefined && isRecord(value.error) !== isRecord(value.result)) return 'response'
    throw refusal('a message has a `method`, or an `id` with either `result` or `error`')
  }
  if (typeof method !== 'string') throw refusal('`method` must be a string')
  if (params !== undefined && !isRecord(params)) throw refusal('`params` must be an object')
  return id === undefined ? 'notification' : 'request'
}
