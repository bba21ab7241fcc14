import { ClientCredentialsProvider } from '@modelcontextprotocol/sdk/client/auth-extensions.js'
import { SSEClientTransport } from '@modelcontextprotocol/sdk/client/sse.js'
import { StreamableHTTPClientTransport, StreamableHTTPError } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { Agent, fetch, type RequestInit } from 'undici'
import { McpError } from '@modelcontextprotocol/sdk/types.js'
import type { OAuthClientProvider } from '@modelcontextprotocol/sdk/client/auth.js'
import type { FetchLike, Transport } from '@modelcontextprotocol/sdk/shared/transport.js'
import type { Binding, Connection, ConnectionContext, End, KnownBinding } from '../connection.js'
import { requestFetch } from './request-fetch.js'
import { ModernAdapter } from '../modern-adapter.js'
import { redactor, type Redact } from '../redact.js'
import { unfilledVariables, type NamedServer } from '../../config/server-config.js'
import { CLOSED, wordsOf } from '../../session/rpc-channel.js'
import { Session } from '../../session/session.js'
import { shortened } from '../../session/tool-text.js'

/** How long a server may take to hear that its session ends, in ms. */
const GOODBYE_MS = 200

/** How long a server may take to say that it speaks the newer era, in ms, before the older one is tried. */
const PROBE_MS = 5_000

/** A connection to a server that is reached over HTTP: Streamable HTTP of either era, else HTTP with SSE of 2024. */
export class HttpConnection implements Connection {
  readonly pid = undefined
  readonly missingEnv: readonly string[]
  readonly isMisconfigured: boolean
  readonly redact: Redact
  wasStale = false
  session!: Session
  readonly #config: NamedServer
  readonly #parts: ConnectionContext
  readonly #known: KnownBinding
  readonly #auth: OAuthClientProvider | undefined
  /** The calls have a time of their own; that of Node's `fetch` ends every answer after 300 s. */
  readonly #agent = new Agent({ headersTimeout: 0, bodyTimeout: 0 })
  readonly #fetch = ((url, init) => fetch(url, { ...init, dispatcher: this.#agent } as RequestInit)) as FetchLike
  #streamable: StreamableHTTPClientTransport | undefined
  #failure: unknown
  #hung = false

  constructor (config: NamedServer, parts: ConnectionContext, known: KnownBinding) {
    const { headers = {}, oauth } = config
    this.#config = config
    this.#parts = parts
    this.#known = known
    this.missingEnv = unfilledVariables(config)
    this.isMisconfigured = this.missingEnv.length > 0
    const bearer = Object.values(headers).map(value => value.replace(/^(?:Bearer|Basic) /i, ''))
    this.redact = redactor([...Object.values(headers), ...bearer, ...oauth === undefined ? [] : [oauth.client_secret]])
    this.#auth = oauth === undefined
      ? undefined
      : new ClientCredentialsProvider({
        clientId: oauth.client_id, clientSecret: oauth.client_secret, ...oauth.scope !== undefined && { scope: oauth.scope }, ...oauth.issuer !== undefined && { expectedIssuer: oauth.issuer }
      } as { clientId: string, clientSecret: string, expectedIssuer: string })
  }

  async open (signal: AbortSignal): Promise<void> {
    if (this.isMisconfigured) {
      this.#failure = new Error(`${this.missingEnv.join(', ')} ${this.missingEnv.length === 1 ? 'is' : 'are'} not set, though its entry needs it: set it in the environment of the service`)
      throw this.#failure
    }
    const { binding } = this.#known
    const failures: unknown[] = []
    // a server of both eras is spoken to in the newer one, where its questions belong to their calls
    for (const next of binding === undefined ? ['modern', 'streamable', 'sse'] as const : [binding]) {
      const session = this.session = this.#sessionOver(next)
      const stop = (): void => { session.close().catch(() => {}) }
      signal.addEventListener('abort', stop, { once: true })
      try {
        const { startTimeoutMs } = this.#parts.limits
        // the first question may fall on deaf ears
        await session.connect(next === 'modern' && binding === undefined ? Math.min(startTimeoutMs / 2, PROBE_MS) : startTimeoutMs)
        this.#known.binding = next
        return
      } catch (err) {
        failures.push(err)
        await session.close()
        // only a refusal shows that the server speaks something else; 401 and a closed port do not
        if (signal.aborted || !(isRefusal(err) || (next === 'modern' && isNoAnswer(err)))) break
      } finally {
        signal.removeEventListener('abort', stop)
      }
    }
    // what spoke before may speak otherwise after an update
    this.#known.binding = undefined
    this.#failure = failures[1] ?? failures[0]
    throw this.#failure
  }

  async close (): Promise<void> {
    await this.#goodbye()
    await this.session?.close()
    await this.#agent.destroy()
  }

  kill (): void {
    this.#hung = true
    this.session.close().catch(() => {})
  }

  async ended (): Promise<End> {
    await this.close()
    const problem = this.#hung
      ? 'it did not answer and the connection was closed'
      : this.#failure === undefined ? 'its connection was closed' : this.problemOf(this.#failure)
    return { problem, stderr: [] }
  }

  stderr (): readonly string[] {
    return []
  }

  problemOf (err: unknown): string {
    const { code, cause } = err as { code?: unknown, cause?: { message?: string, code?: string } }
    if (code === REQUEST_TIMEOUT) return `it did not answer within ${this.#parts.limits.startTimeoutMs / 1000} s`
    if (err instanceof StreamableHTTPError && typeof code === 'number' && code > 0) return this.redact(`${shortened(statusText(code, err.message))}`)
    const why = cause?.message || cause?.code
    return this.redact(shortened(`${wordsOf(err)}${why === undefined ? '' : `: ${why}`}`))
  }

  async isStale (err: unknown): Promise<boolean> {
    if (!(err instanceof StreamableHTTPError) || !isRefusal(err)) return false
    this.wasStale ||= (err.code === 404 && this.#streamable?.sessionId !== undefined) || await this.#speaksOtherwise()
    return this.wasStale
  }

  /** Whether the server refuses even the smallest request of the era that it spoke before: it was replaced by another version. */
  async #speaksOtherwise (): Promise<boolean> {
    try {
      await this.session.ping(this.#parts.limits.pingTimeoutMs)
      return false
    } catch (err) {
      if (!(err instanceof StreamableHTTPError) || !isRefusal(err)) return false
      this.#known.binding = undefined
      return true
    }
  }

  isUnreachable (err: unknown): boolean {
    const { code } = ((err as { cause?: unknown } | undefined)?.cause ?? {}) as { code?: unknown }
    const isLost = UNREACHABLE.has(code)
    if (isLost) this.#failure ??= err
    return isLost
  }

  #sessionOver (binding: Binding): Session {
    const { name, allow, deny, timeout, url, headers = {} } = this.#config
    const { limits, log, onChange, onUpdated } = this.#parts
    const open = new Map<string | number, AbortController>()
    const requestInit = { headers }
    const fetch = requestFetch({
      fetch: this.#fetch,
      maxMessageBytes: limits.maxMessageBytes,
      isModern: binding === 'modern',
      schemaOf: tool => session.knownTools(tool)?.get(tool)?.inputSchema,
      onRelated: (message, id) => { session.requests.receive(message, id) },
      onLost: (id, message, data) => { if (!session.requests.fail(id, message, data)) modern?.lost(id) },
      open
    })
    const address = new URL(url ?? '')
    let transport: Transport
    let modern: ModernAdapter | undefined
    this.#streamable = undefined
    if (binding === 'sse') {
      transport = new SSEClientTransport(address, { requestInit, fetch: withHeaders(this.#fetch, headers), ...this.#auth !== undefined && { authProvider: this.#auth } })
    } else {
      const streamable = new StreamableHTTPClientTransport(address, {
        requestInit,
        fetch,
        reconnectionOptions: { initialReconnectionDelay: 500, maxReconnectionDelay: 30_000, reconnectionDelayGrowFactor: 2, maxRetries: 8 },
        ...this.#auth !== undefined && { authProvider: this.#auth }
      })
      if (binding === 'modern') transport = modern = new ModernAdapter(streamable as Transport, id => { open.get(id)?.abort() })
      else {
        this.#streamable = streamable
        transport = streamable as Transport
      }
    }
    const session = new Session(transport, {
      name,
      limits,
      callTimeoutMs: timeout === undefined ? limits.callTimeoutMs : timeout * 1000,
      allow,
      deny,
      isModern: binding === 'modern',
      tellsChanges: false,
      onChange,
      onUpdated,
      // its answer would be waited for as long as the server holds it open; in the era without sessions this is the cancellation
      onCancelled: id => { open.get(id)?.abort() },
      onTrouble: err => log.debug({ mcpServer: name, err: this.redact(err.message) }, 'trouble with an MCP server')
    })
    return session
  }

  /** Tells the server that the session ends, as long as that takes no time to speak of. */
  async #goodbye (): Promise<void> {
    const streamable = this.#streamable
    if (streamable?.sessionId === undefined || this.wasStale || this.session?.open !== true) return
    this.#streamable = undefined
    let timer: NodeJS.Timeout | undefined
    await Promise.race([streamable.terminateSession().catch(() => {}), new Promise(resolve => { timer = setTimeout(resolve, GOODBYE_MS) })])
    clearTimeout(timer)
  }
}

/** What befalls a connection that cannot be made; one answer that is cut short says nothing of the others. */
const UNREACHABLE: ReadonlySet<unknown> = new Set(['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'EHOSTUNREACH', 'ENETUNREACH', 'EHOSTDOWN', 'UND_ERR_CONNECT_TIMEOUT'])

/** The client's code for a request that took too long. */
const REQUEST_TIMEOUT = -32001

/** An answer that is no success, with the body that it had. */
function statusText (status: number, message: string): string {
  const body = message.replace(/^(?:Streamable HTTP error: )?(?:Error POSTing to endpoint(?: \(HTTP \d+\))?: ?)?/, '').trim()
  const remedy = status === 401 || status === 403 ? '; check `headers` or `oauth` of its entry' : ''
  return `it answered with HTTP status ${status}${remedy}${body === '' ? '' : `: ${body}`}`
}

function isRefusal (err: unknown): boolean {
  if (err instanceof McpError) return err.code !== REQUEST_TIMEOUT && wordsOf(err) !== CLOSED
  const { code } = err as { code?: unknown }
  return err instanceof StreamableHTTPError && typeof code === 'number' && code >= 400 && code < 500 && code !== 401 && code !== 403 && code !== 429
}

/** What a server of the older era may make of a method that it does not know, beside a refusal: it falls over, shows a page, or says nothing. */
function isNoAnswer (err: unknown): boolean {
  if (err instanceof McpError) return err.code === REQUEST_TIMEOUT
  if (err instanceof StreamableHTTPError) return err.code === 500 || err.code === 501 || err.code === -1
  return err instanceof SyntaxError || Array.isArray((err as { issues?: unknown } | undefined)?.issues)
}

/** The event source of the SDK sends no headers of its own. */
function withHeaders (fetch: FetchLike, headers: Readonly<Record<string, string>>): FetchLike {
  return async (url, init) => {
    const all = new Headers(init?.headers)
    for (const [name, value] of Object.entries(headers)) all.set(name, value)
    return await fetch(url, { ...init, headers: all })
  }
}
