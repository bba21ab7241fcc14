import { isRecord, unlessAborted, type Redactor } from '@polyvac/core/plugin'
import type { Credentials } from '../auth/credentials.js'
import type { OwnerToken } from '../auth/owner-token.js'
import type { UsableCard } from '../card/card-source.js'
import { HttpFailure, rpcFailureOf } from '../http/failures.js'
import { parseBody, type AgentRequests, type AgentResponse } from '../http/requests.js'
import { METHODS, PATHS, type Method } from '../protocol/methods.js'

export interface ConnectionOptions {
  readonly requests: AgentRequests
  readonly credentials: Credentials
  readonly owner: OwnerToken
  /** Headers of the configuration, for the origin of the agent that it names. */
  readonly origin: string
  readonly headers: Readonly<Record<string, string>>
  readonly extensions: readonly string[]
  /** What the agent knows of this service, which it may repeat; tokens are added as they are sent. */
  readonly secrets: Redactor
}

type Json = Record<string, unknown>

/** Calls the methods of one agent by the binding of its card. */
export class Connection {
  readonly usable: UsableCard
  readonly #options: ConnectionOptions
  #calls = 0

  constructor (usable: UsableCard, options: ConnectionOptions) {
    this.usable = usable
    this.#options = options
  }

  get extensions (): readonly string[] { return this.#options.extensions }

  get secrets (): Redactor { return this.#options.secrets }

  /** The result of a method. @throws RpcFailure, HttpFailure, or what undici throws */
  async call (method: Method, params: Json, signal: AbortSignal): Promise<unknown> {
    const response = await this.#send(method, params, signal)
    return this.#resultOf(await response.json(), response.status)
  }

  /** The results of a method that streams, as they come. An agent may answer with one, and no stream. */
  async * stream (method: Method, params: Json, signal: AbortSignal): AsyncGenerator<unknown, void> {
    const response = await this.#send(method, params, signal)
    if (response.mediaType !== 'text/event-stream') {
      yield this.#resultOf(await response.json(), response.status)
      return
    }
    try {
      for await (const data of response.events()) yield this.#resultOf(parseBody(data, () => new HttpFailure(response.status, 'an event that is not JSON')), response.status)
    } finally {
      response.drop()
    }
  }

  /** Sends a request, and sends it again with another token where the first one is refused. */
  async #send (method: Method, params: Json, signal: AbortSignal): Promise<AgentResponse> {
    for (let isAgain = false; ; isAgain = true) {
      const response = await this.#sendOnce(method, params, signal)
      const { status } = response
      if (status !== 401 && status !== 403) return response
      response.drop()
      if (isAgain || !await this.#renew(status, response.headers['www-authenticate'], signal)) throw new HttpFailure(status)
    }
  }

  /** Whether a request may succeed with other tokens. A key of the configuration stays the same. */
  async #renew (status: number, challenge: string | string[] | undefined, signal: AbortSignal): Promise<boolean> {
    const { credentials, owner } = this.#options
    const isDropped = status === 401 && credentials.refused()
    return await unlessAborted(owner.renew(status, challenge), signal) || isDropped
  }

  async #sendOnce (method: Method, params: Json, signal: AbortSignal): Promise<AgentResponse> {
    const { requests, credentials, owner, headers, extensions, origin, secrets } = this.#options
    const { card, target: { version, binding } } = this.usable
    const proof = await credentials.proof(card, owner, signal)
    for (const [name, value] of Object.entries({ ...proof.headers, ...proof.query })) secrets.add(value, name)
    const { url, verb, body } = binding === 'JSONRPC' ? this.#rpc(method, params) : this.#rest(method, params)
    for (const [name, value] of Object.entries(proof.query)) url.searchParams.set(name, value)
    const media = binding === 'JSONRPC' ? 'application/json' : 'application/a2a+json'
    const isStream = method === 'stream' || method === 'subscribe'
    return await requests.send(url, {
      method: verb,
      headers: {
        ...url.origin === origin ? headers : {},
        ...proof.headers,
        ...body !== undefined && { 'content-type': media },
        accept: isStream ? 'text/event-stream, application/json' : `${media}, application/json`,
        'a2a-version': version,
        ...extensions.length > 0 && { [version === '1.0' ? 'a2a-extensions' : 'x-a2a-extensions']: extensions.join(', ') }
      },
      body,
      signal
    })
  }

  #rpc (method: Method, params: Json): { readonly url: URL, readonly verb: 'POST', readonly body: string } {
    const { url, version } = this.usable.target
    return { url: new URL(url), verb: 'POST', body: JSON.stringify({ jsonrpc: '2.0', id: ++this.#calls, method: METHODS[version][method], params }) }
  }

  #rest (method: Method, { id = '', tenant, ...rest }: Json): { readonly url: URL, readonly verb: 'GET' | 'POST', readonly body: string | undefined } {
    const { method: verb, path } = PATHS[method]
    const url = new URL(this.usable.target.url)
    const below = [...typeof tenant === 'string' ? [encodeURIComponent(tenant)] : [], path(encodeURIComponent(String(id)))]
    url.pathname = `${url.pathname.replace(/\/$/, '')}/${below.join('/')}`
    return { url, verb, body: verb === 'GET' ? undefined : JSON.stringify(rest) }
  }

  /** @throws RpcFailure for an error, HttpFailure for what is neither an error nor a result of A2A */
  #resultOf (body: unknown, status: number): unknown {
    const failure = rpcFailureOf(body, this.secrets)
    if (failure !== undefined) throw failure
    if (status >= 300) throw new HttpFailure(status)
    if (this.usable.target.binding === 'HTTP+JSON') return body
    if (!isRecord(body) || body.result === undefined) throw new HttpFailure(status, 'JSON that is not a response of JSON-RPC')
    return body.result
  }
}
