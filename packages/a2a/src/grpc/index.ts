// The public API of @polyvac/a2a/grpc: every export here is public and follows semantic versioning.
import type {
  sendUnaryData, Server, ServerCredentials, ServerUnaryCall, ServerWritableStream, StatusObject
} from '@grpc/grpc-js'
import {
  beginning, innerRequest, integer, isRecord, optional, readOptions, text, within, type OptionRules
} from '@polyvac/core/plugin'
import type { FastifyInstance } from 'fastify'
import type { IncomingMessage } from 'node:http'
import { text as textOf } from 'node:stream/consumers'
import { grpcStatusOf } from '../dialects/v1/failures.js'
import { A2aOptionsError, GrpcCannotListenError } from '../errors.js'
import { OPTIONS } from '../options.js'
import { loadPeers, type Peers } from './peers.js'
import { readEvents, endsStream } from './read-events.js'
import { ProtobufCodec, type StatusDetail, type RpcMethod } from './protobuf-codec.js'

export interface A2aGrpcOptions {
  /** Address to listen on. Default 127.0.0.1. */
  readonly host?: string | undefined
  /** Port to listen on; 0 takes a free one. Default 0. */
  readonly port?: number | undefined
  /** The prefix that the a2a plugin is registered under. Default: none. */
  readonly prefix?: string | undefined
  /** Certificates, from `ServerCredentials.createSsl` of @grpc/grpc-js. Default: none, in clear text. */
  readonly credentials?: ServerCredentials | undefined
  /** Calls that one connection may have open at once, streams too; more of them wait at the client. Default 1,000. */
  readonly maxCalls?: number | undefined
  /** Largest message that a call may send, in bytes; a larger one is refused with RESOURCE_EXHAUSTED. Default 4 MiB. */
  readonly maxMessageBytes?: number | undefined
}

export interface A2aGrpc {
  /** Where it listens; 0 before the application is ready. */
  readonly port: number
  /** Takes no more calls and ends those there are. `app.close()` does it, too. */
  close (): Promise<void>
}

/** How long calls may take over their end, in ms; then they are cut off. */
export const CLOSE_GRACE_MS = 500
/** Calls of one connection at once: a client that opens them without end is held up by HTTP/2 itself. */
export const MAX_CALLS = 1_000

export const GRPC_OPTIONS = {
  host: text('127.0.0.1'),
  port: integer(0, { min: 0, max: 65_535 }),
  prefix: optional('a text', value => typeof value === 'string', ''),
  credentials: optional<ServerCredentials | undefined>('server credentials of @grpc/grpc-js', isRecord),
  maxCalls: integer(MAX_CALLS),
  maxMessageBytes: integer(OPTIONS.bodyLimit.default)
} satisfies OptionRules<A2aGrpcOptions>

/** Details besides an error, in bytes; HTTP/2 peers refuse headers of more than 8 or 16 KiB in all. */
export const MAX_DETAIL_BYTES = 4096
export const MAX_MESSAGE_CHARS = 1024

type Call = ServerUnaryCall<Buffer, Buffer> | ServerWritableStream<Buffer, Buffer>
type Failure = Partial<StatusObject> & Error
interface RpcError { readonly code: number, readonly message: string, readonly data?: readonly StatusDetail[] }
interface RpcResponse { readonly result?: unknown, readonly error?: RpcError }

/** Metadata that speaks of the connection rather than of the caller. */
const NOT_FORWARDED =
  /^(?::|grpc-|content-|te$|host$|connection$|transfer-encoding$|accept-encoding$|expect$|upgrade$)|-bin$/

/**
 * Serves A2A 1.0 over gRPC (service `lf.a2a.v1.A2AService`) for an application that has the a2a plugin, as soon as the
 * application is ready. Calls go through it as requests to its JSON-RPC route do, their metadata as headers.
 * @throws A2A_GRPC_MISSING; and the application does not get ready for A2A_PLUGIN_OPTIONS, A2A_GRPC_CANNOT_LISTEN
 * @example
 * await app.register(a2aPlugin, { vacs, tasks, grpcUrl: 'localhost:50051' })
 * await a2aGrpc(app, { port: 50051 })
 */
export async function a2aGrpc (app: FastifyInstance, options: A2aGrpcOptions = {}): Promise<A2aGrpc> {
  const { host, port, prefix, credentials, maxCalls, maxMessageBytes } =
    readOptions(GRPC_OPTIONS, options, A2aOptionsError, 'a2aGrpc')
  const peers = await loadPeers()
  const { grpc } = peers
  const server = new grpc.Server({
    'grpc.max_receive_message_length': maxMessageBytes, 'grpc.max_concurrent_streams': maxCalls
  })
  let closed: Promise<void> | undefined
  const close = async (): Promise<void> => await (closed ??= shutDown(server))
  // the streams that it waits for are ended by the plugin's own hook, which comes after
  app.addHook('preClose', done => {
    close().catch(err => { app.log.error({ err }, 'the gRPC server did not close') })
    done()
  })
  app.addHook('onClose', close)

  const url = `${prefix.replace(/\/+$/, '')}/a2a`
  const wire = new ProtobufCodec(peers)
  const same = (bytes: Buffer): Buffer => bytes
  const caller = new Caller(app, url, peers, wire)
  for (const method of wire.methods) {
    const { path, streams } = method
    const handler = streams
      ? (call: ServerWritableStream<Buffer, Buffer>) => { caller.stream(method, call) }
      : (call: ServerUnaryCall<Buffer, Buffer>, done: sendUnaryData<Buffer>) => { caller.answer(method, call, done) }
    server.register(path, handler, same, same, streams ? 'serverStream' : 'unary')
  }
  let bound = 0
  app.addHook('onReady', async () => {
    if (!app.hasRoute({ method: 'POST', url })) {
      throw new A2aOptionsError(`a2aGrpc finds no route POST ${url}; register the a2a plugin, and name its prefix`)
    }
    const address = `${host.includes(':') ? `[${host}]` : host}:${port}`
    bound = await new Promise((resolve, reject) => {
      server.bindAsync(address, credentials ?? grpc.ServerCredentials.createInsecure(), (err, port) => {
        if (err === null) resolve(port)
        else reject(new GrpcCannotListenError(address, err.message))
      })
    })
  })
  return { get port () { return bound }, close }
}

/** Turns calls into requests, and answers into messages. */
class Caller {
  readonly #app: FastifyInstance
  readonly #url: string
  readonly #peers: Peers
  readonly #wire: ProtobufCodec

  constructor (app: FastifyInstance, url: string, peers: Peers, wire: ProtobufCodec) {
    this.#app = app
    this.#url = url
    this.#peers = peers
    this.#wire = wire
  }

  answer (method: RpcMethod, call: ServerUnaryCall<Buffer, Buffer>, done: sendUnaryData<Buffer>): void {
    this.#request(method, call).then(async response => {
      this.#sendHeaders(call, response)
      done(null, await method.write(this.#resultOf(await textOf(response), response)))
    }).catch(err => { done(this.#failure(err)) })
  }

  stream (method: RpcMethod, call: ServerWritableStream<Buffer, Buffer>): void {
    this.#pass(method, call).then(() => { call.end() }, err => { call.emit('error', this.#failure(err)) })
  }

  async #pass (method: RpcMethod, call: ServerWritableStream<Buffer, Buffer>): Promise<void> {
    const response = await this.#request(method, call)
    this.#sendHeaders(call, response)
    if (!String(response.headers['content-type']).startsWith('text/event-stream')) {
      this.#resultOf(await textOf(response), response)
    }
    let ended = false
    for await (const data of readEvents(response)) {
      const event = this.#resultOf(data, response)
      ended = endsStream(event)
      if (call.write(await method.write(event))) continue
      await new Promise<void>(resolve => {
        const go = (): void => {
          call.off('drain', go)
          call.off('cancelled', go)
          response.off('close', go)
          resolve()
        }
        call.on('drain', go).on('cancelled', go)
        response.on('close', go)
      })
    }
    if (!ended) throw this.#cutOff()
  }

  async #request ({ name, read }: RpcMethod, call: Call): Promise<IncomingMessage> {
    const cancelled = new AbortController()
    call.on('cancelled', () => { cancelled.abort() })
    return await innerRequest(this.#app, {
      method: 'POST',
      path: this.#url,
      headers: this.#headersOf(call),
      remoteAddress: addressOf(call.getPeer()),
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: name, params: this.#read(read, call.request) }),
      signal: cancelled.signal
    }).response
  }

  #read (read: RpcMethod['read'], bytes: Buffer): unknown {
    try {
      return read(bytes)
    } catch (err) {
      throw this.#makeFailure('INVALID_ARGUMENT', `the message cannot be read: ${(err as Error).message}`, [])
    }
  }

  #headersOf (call: Call): Record<string, string> {
    const headers: Record<string, string> = { 'content-type': 'application/json', host: call.getHost() }
    for (const name of Object.keys(call.metadata.getMap())) {
      if (!NOT_FORWARDED.test(name)) headers[name] = call.metadata.get(name).join(', ')
    }
    return headers
  }

  #sendHeaders (call: Call, { headers }: IncomingMessage): void {
    const metadata = new this.#peers.grpc.Metadata()
    for (const name of ['a2a-extensions', 'www-authenticate', 'retry-after']) {
      const value = headers[name]
      if (typeof value === 'string') metadata.set(name, value)
    }
    call.sendMetadata(metadata)
  }

  /** The result of a JSON-RPC answer. A refusal of the application, in another format, counts by its status. */
  #resultOf (json: string, { statusCode: status = 500 }: IncomingMessage): unknown {
    const { result, error } = parseAnswer(json)
    if (result !== undefined) return result
    const { code, message, data = [] } =
      typeof error === 'object' ? error : { code: 0, message: `the application refused the call with HTTP ${status}` }
    throw this.#makeFailure(grpcStatusOf(code, status), message, data)
  }

  #makeFailure (name: string, given: string, details: readonly StatusDetail[]): Failure {
    const { status: codes, Metadata } = this.#peers.grpc
    const code = codes[name as keyof typeof codes]
    const message = beginning(given, MAX_MESSAGE_CHARS)
    const metadata = new Metadata()
    let bytes = this.#wire.status(code, message, details)
    if (bytes.length > MAX_DETAIL_BYTES) bytes = this.#wire.status(code, message, details.slice(0, 1))
    metadata.set('grpc-status-details-bin', bytes)
    return Object.assign(new Error(message), { code, details: message, metadata })
  }

  #cutOff (): Failure {
    return this.#makeFailure('UNAVAILABLE',
      'the call was cut off and its task may go on; read the task, or subscribe to it again', [])
  }

  #failure (err: unknown): Failure {
    const { code, metadata } = err as { readonly code?: unknown, readonly metadata?: unknown }
    if (typeof code === 'number' && metadata !== undefined) return err as Failure
    // the reader was too slow or disconnected, or the application closes
    if (code === 'ECONNRESET' || code === 'ABORT_ERR') return this.#cutOff()
    this.#app.log.error({ err }, 'a gRPC call failed')
    return this.#makeFailure('INTERNAL', 'the call failed; the log has the reason', [])
  }
}

function parseAnswer (json: string): RpcResponse {
  try {
    return JSON.parse(json) as RpcResponse
  } catch {
    return {}
  }
}

/** The address of a peer, from what `getPeer()` of grpc-js returns, without the port. */
function addressOf (peer: string): string {
  return /^\[?(.*?)\]?:\d+$/.exec(peer)?.[1] ?? peer
}

async function shutDown (server: Server): Promise<void> {
  const ended = new Promise<void>(resolve => { server.tryShutdown(() => { resolve() }) })
  await within(ended, CLOSE_GRACE_MS, () => { server.forceShutdown() })
  await ended
}
