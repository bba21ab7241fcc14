import { Agent, request as httpRequest } from 'node:http'
import { Caller as GrpcClient, type Told } from '../../packages/a2a/test/fixtures/grpc-caller.js'

/** One request over HTTP. */
export interface Sent {
  readonly method?: string
  readonly path: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: unknown
  /** A text in the last event that is read of a stream that stays open. Empty: the headers suffice. */
  readonly until?: string
}

/** One call over gRPC. */
export interface Called { readonly rpc: string, readonly params: Readonly<Record<string, unknown>>, readonly streams: boolean }

export interface Seen { readonly status: number, readonly headers: Readonly<Record<string, unknown>>, readonly text: string }

/** Longest wait for an answer in ms; one that does not come is seen as status 0. */
const MAX_WAIT_MS = 120_000
/** Statuses of HTTP for INVALID_ARGUMENT, NOT_FOUND, PERMISSION_DENIED, FAILED_PRECONDITION and UNAUTHENTICATED. */
const GRPC_STATUSES: Readonly<Record<number, number>> = { 3: 400, 5: 404, 7: 403, 9: 400, 16: 401 }
/** Headers that differ between two answers to the same request. */
const OF_THE_ANSWER = new Set(['date', 'x-request-id', 'connection', 'keep-alive', 'transfer-encoding', 'etag', 'content-length'])
/** Headers of a stream of events that an answer in JSON has not. */
const OF_A_STREAM = new Set(['content-type', 'cache-control', 'x-accel-buffering'])

/** Sends to one service, over HTTP and gRPC. */
export class Wire {
  readonly url: string
  readonly #agent = new Agent({ keepAlive: true, maxSockets: 8 })
  readonly #grpc: GrpcClient

  constructor (url: string, grpcPort: number) {
    this.url = url
    this.#grpc = new GrpcClient(grpcPort)
  }

  close (): void {
    this.#agent.destroy()
    this.#grpc.client.close()
  }

  async send (sent: Sent | Called, authorization: string | undefined): Promise<Seen> {
    const credentials = authorization === undefined ? {} : { authorization }
    return 'rpc' in sent ? await this.#call(sent, credentials) : await this.#request(sent, credentials)
  }

  async #call ({ rpc, params, streams }: Called, headers: Record<string, string>): Promise<Seen> {
    try {
      if (!streams) return { status: 200, headers: {}, text: JSON.stringify(await this.#grpc.call(rpc, params, headers)) }
      const stream = this.#grpc.stream(rpc, params, headers)
      // a stream that is left ends with an error
      stream.on('error', () => {})
      const { value } = await stream[Symbol.asyncIterator]().next() as IteratorResult<unknown>
      stream.cancel()
      return { status: 200, headers: {}, text: JSON.stringify(value) ?? '' }
    } catch (err) {
      const { code, details, told, metadata } = err as Told
      return { status: GRPC_STATUSES[code] ?? 500, headers: {}, text: JSON.stringify([code, details, told, Object.keys(metadata.getMap()).sort()]) }
    }
  }

  #request ({ method = 'POST', path, headers, body, until }: Sent, credentials: Record<string, string>): Promise<Seen> {
    const { hostname, port } = new URL(this.url)
    const payload = body === undefined || typeof body === 'string' ? body : JSON.stringify(body)
    const all = { ...payload !== undefined && { 'content-type': 'application/json', 'content-length': Buffer.byteLength(payload) }, ...headers, ...credentials }
    return new Promise(resolve => {
      const request = httpRequest({ agent: this.#agent, hostname, port, method, path, headers: all })
      const timer = setTimeout(() => { request.destroy() }, MAX_WAIT_MS)
      const finish = (seen: Seen): void => {
        clearTimeout(timer)
        resolve(seen)
      }
      request.on('error', err => { finish({ status: 0, headers: {}, text: String(err) }) })
      request.on('response', response => {
        let text = ''
        const isStream = String(response.headers['content-type']).startsWith('text/event-stream')
        const done = (): void => { finish({ status: response.statusCode!, headers: response.headers, text }) }
        const leave = (): void => {
          const at = isStream && until !== undefined ? text.indexOf(until) : -1
          const end = until === '' ? 0 : text.indexOf('\n\n', at)
          if (at === -1 || end === -1) return
          text = text.slice(0, end)
          done()
          request.destroy()
        }
        response.setEncoding('utf8').on('data', (chunk: string) => { text += chunk; leave() }).on('end', done).on('error', done)
        leave()
      })
      request.end(payload)
    })
  }
}

/** An answer as one text in which new ids, times and the given id do not differ. */
export function shown (seen: Seen, id = ''): string {
  const { status, headers, text } = asJson(seen)
  const kept = Object.entries(headers).filter(([name]) => !OF_THE_ANSWER.has(name)).sort()
  const whole = JSON.stringify([status, kept, text])
  // a position in a stream does not occur in an answer, but its digits are part of others
  const plain = /^[\d_]*$/.test(id) ? whole : whole.replaceAll(id, 'ID').replaceAll(encodeURIComponent(id), 'ID')
  return plain.replace(/conv_[\w-]{22}/g, 'CONVERSATION').replace(/[0-9a-f]{8}-[0-9a-f-]{27}/g, 'UUID').replace(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, 'TIME')
}

/** A response of MCP that is not there at once comes as a stream with one event: how busy the machine is decides. */
function asJson (seen: Seen): Seen {
  const only = /^id: [\w-]+\nevent: message\ndata: (\{.*\})\n\n$/.exec(seen.text)?.[1]
  if (only === undefined || !String(seen.headers['content-type']).startsWith('text/event-stream')) return seen
  const headers = Object.entries(seen.headers).filter(([name]) => !OF_A_STREAM.has(name))
  return { ...seen, headers: Object.fromEntries([...headers, ['content-type', 'application/json; charset=utf-8']]), text: only }
}
