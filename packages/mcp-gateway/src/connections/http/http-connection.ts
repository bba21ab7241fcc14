import { Redactor, within } from '@polyvac/core/plugin'
import type { HeaderParameter } from '@polyvac/mcp-protocol'
import { Agent, fetch, Headers, type RequestInit } from 'undici'
import { CallTimeoutError, SignInFailedError, SignInRequiredError } from '../../errors.js'
import { RpcError } from '../../protocol/json-rpc.js'
import { unfilledVariables, unsetVariables, type NamedServer } from '../../config/server-config.js'
import { Session } from '../../session/session.js'
import { shortened } from '../../session/tool-text.js'
import type { Transport } from '../../session/transport.js'
import { causeOf, isUnreachable, type Cause } from '../cause.js'
import { ownVariables, sessionOptions, type Binding, type Connection, type ConnectionContext, type End, type KnownBinding } from '../connection.js'
import { isRefusedAgain, mayConcernSession, namesSession } from '../lost-session.js'
import type { Authorization } from '../authorization.js'
import { HttpError } from '../http-error.js'
import { HttpSseTransport } from './http-sse-transport.js'
import { OAuth } from './oauth.js'
import { paramHeaders, type ParametersOf } from './param-headers.js'
import { StreamableTransport } from './streamable-transport.js'

type ErrnoException = NodeJS.ErrnoException

/** Longest wait in ms for the server's answer to the end of its session. */
const GOODBYE_MS = 200

/** Longest wait in ms for the response to `server/discover` of a server whose era is not known. */
const PROBE_MS = 5_000

/** Characters of a response that are searched for secrets, of which fewer are shown. */
const MAX_READ_CHARS = 8_000

/** A connection over HTTP: Streamable HTTP of either era, or HTTP with SSE of 2024-11-05. */
export class HttpConnection implements Connection {
  readonly pid = undefined
  readonly missingEnv: readonly string[]
  readonly isMisconfigured: boolean
  readonly redact: Redactor
  wasStale = false
  session!: Session
  readonly #config: NamedServer
  readonly #parts: ConnectionContext
  readonly #known: KnownBinding
  readonly #url: URL
  /** Without timeouts: each call has its own. */
  // @keyed none: the connections to one server of the configuration, one for each request in flight; maxInFlight
  readonly #agent = new Agent({ headersTimeout: 0, bodyTimeout: 0 })
  #oauth: Authorization | undefined
  #streamable: StreamableTransport | undefined
  #failure: unknown
  /** Of HTTP with SSE: the SDK's client reports an error of its stream in its place. */
  #renewalFailure: unknown
  #hung = false
  /** The look in flight, with its failure. */
  #look: Promise<unknown> | undefined

  constructor (config: NamedServer, parts: ConnectionContext, known: KnownBinding) {
    const { headers = {}, oauth } = config
    this.#config = config
    this.#parts = parts
    this.#known = known
    this.missingEnv = unfilledVariables(config)
    this.isMisconfigured = this.missingEnv.length > 0
    const marked = new Set(config.secret_headers?.map(name => name.toLowerCase()))
    const values = [...Object.entries(headers), ['url', config.url] as const, ...ownVariables(parts)]
    this.redact = new Redactor(values, [...Object.keys(headers).filter(name => marked.has(name.toLowerCase())), ...config.secret_env ?? []])
    const { client_secret: secret } = oauth ?? {}
    if (secret !== undefined) this.redact.add(secret, 'oauth.client_secret')
    this.#url = new URL(this.isMisconfigured ? 'http://localhost' : config.url ?? '')
  }

  async open (signal: AbortSignal): Promise<void> {
    if (this.isMisconfigured) {
      this.#failure = unsetVariables(this.missingEnv)
      throw this.#failure
    }
    const { oauth } = this.#config
    const addSecret = (token: string): void => { this.redact.add(token) }
    if (this.#parts.authorization !== undefined) {
      this.#oauth = await this.#parts.authorization(addSecret)
    } else if (oauth !== undefined) {
      this.#oauth = new OAuth(oauth as ConstructorParameters<typeof OAuth>[0], this.#url, addSecret)
    }
    const { binding } = this.#known
    const failures: unknown[] = []
    // the newer era first: its input requests belong to their calls
    for (const next of binding === undefined ? ['modern', 'streamable', 'sse'] as const : [binding]) {
      const session = this.session = this.#createSession(next)
      const stop = (): void => { session.close().catch(() => {}) }
      signal.addEventListener('abort', stop, { once: true })
      try {
        const { startTimeoutMs } = this.#parts.limits
        // servers of the older era may not answer server/discover: use a short timeout
        const isProbe = next === 'modern' && binding === undefined
        await session.connect(isProbe ? Math.min(startTimeoutMs / 2, PROBE_MS) : startTimeoutMs)
        this.#known.binding = next
        return
      } catch (err) {
        failures.push(this.#renewalFailure ?? err)
        await session.close()
        // only a refusal shows that the server supports another binding; 401 and a closed port do not
        if (signal.aborted || !(isRefusal(err) || (next === 'modern' && isNoAnswer(err)))) break
      } finally {
        signal.removeEventListener('abort', stop)
      }
    }
    // after an update a server may support other bindings
    this.#known.binding = undefined
    this.#failure = failures.find(isSignIn) ?? failures[1] ?? failures[0]
    throw this.#failure
  }

  async close (): Promise<void> {
    await this.#endSession()
    await this.session?.close()
    await Promise.all([this.#agent.destroy(), this.#oauth?.close()])
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
    return { problem, cause: this.#cause, stderr: [] }
  }

  get refusal (): Error | undefined {
    return isSignIn(this.#failure) ? this.#failure : undefined
  }

  get #cause (): Cause {
    if (this.#failure instanceof SignInRequiredError) return 'SIGN_IN_REQUIRED'
    if (this.isMisconfigured) return 'MISSING_VARIABLE'
    return this.#hung ? 'NO_ANSWER' : this.#failure === undefined ? 'CLOSED' : causeOf(this.#failure)
  }

  stderr (): readonly string[] {
    return []
  }

  problemOf (err: unknown): string {
    if (err instanceof CallTimeoutError) return `it did not answer within ${this.#parts.limits.startTimeoutMs / 1000} s; \`start_timeout\` of its entry gives it more`
    if (err instanceof HttpError) return this.#shown(statusText(err))
    const { message, code = 'no reason given', cause } = err as Partial<ErrnoException> & { cause?: Partial<ErrnoException> }
    const why = cause?.message || cause?.code
    return this.#shown(`${message || code}${why === undefined ? '' : `: ${why}`}`)
  }

  /** Redacted before it is shortened: half of a secret is not found. */
  #shown (text: string): string {
    return shortened(this.redact.text(text.slice(0, MAX_READ_CHARS)))
  }

  async isStale (err: unknown): Promise<boolean> {
    const isModern = this.#known.binding === 'modern'
    if (isModern ? !(err instanceof HttpError && isRefusal(err)) : !mayConcernSession(err)) return false
    this.wasStale ||= this.#endsSession(err) || await this.#isLookRefused(err)
    return this.wasStale
  }

  /** Whether 404 answers a request of a session: the specification gives it no other meaning. */
  #endsSession (err: unknown): boolean {
    const hasSession = this.#known.binding === 'sse' || this.#streamable?.sessionId !== undefined
    return hasSession && err instanceof HttpError && err.status === 404
  }

  /** Whether the server refuses a look as well: it forgot the session, or another version took its place. */
  #isLookRefused (refusal: unknown): Promise<boolean> {
    // requests that are refused together need one look
    this.#look ??= this.session.look(this.#parts.limits.pingTimeoutMs, namesSession(refusal)).then(() => undefined, (err: unknown) => err)
      .finally(() => { this.#look = undefined })
    return this.#look.then(err => {
      if (!this.#endsSession(err) && !isRefusedAgain(refusal, err)) return false
      if (!this.#endsSession(err) && !namesSession(err) && isRefusal(err)) this.#known.binding = undefined
      return true
    })
  }

  isUnreachable (err: unknown): boolean {
    const isLost = isUnreachable(err)
    if (isLost) this.#failure ??= err
    return isLost
  }

  #createSession (binding: Binding): Session {
    const parametersOf = (tool: string): readonly HeaderParameter[] => session.knownTools(tool)?.headerParameters(tool) ?? []
    const session: Session = new Session(this.#createTransport(binding, parametersOf), {
      ...sessionOptions(this.#config, this.#parts, this.redact),
      isModern: binding === 'modern',
      hasHeaders: binding === 'modern',
      hasReliableNotifications: false
    })
    return session
  }

  #createTransport (binding: Binding, parametersOf: ParametersOf): Transport {
    const { headers = {} } = this.#config
    this.#streamable = undefined
    if (binding === 'sse') return new HttpSseTransport(this.#url, { requestInit: { headers }, fetch: this.#fetch })
    const transport = new StreamableTransport({
      url: this.#url,
      agent: this.#agent,
      headers,
      maxMessageBytes: this.#parts.limits.maxMessageBytes,
      oauth: this.#oauth,
      headersOf: binding === 'modern' ? message => paramHeaders(message, parametersOf) : undefined
    })
    if (binding === 'streamable') this.#streamable = transport
    return transport
  }

  /** For the SDK's SSE client. Headers of the configuration and the token go to no other origin. */
  readonly #fetch = async (url: string | URL, init?: object): Promise<Response> => {
    const isOwn = new URL(url).origin === this.#url.origin
    let authorization: string | undefined
    const send = async (): Promise<Response> => {
      const headers = new Headers((init as RequestInit | undefined)?.headers)
      authorization = this.#oauth?.authorization
      if (isOwn && authorization !== undefined) headers.set('authorization', authorization)
      for (const [name, value] of Object.entries(isOwn ? this.#config.headers ?? {} : {})) headers.set(name, value)
      return await fetch(url, { ...init, headers, dispatcher: this.#agent }) as unknown as Response
    }
    const isMessage = (init as RequestInit | undefined)?.method === 'POST'
    const response = await send()
    const isRefused = response.status === 401 || response.status === 403
    if (!isOwn || !isRefused || !await this.#renew(response, authorization)) return await passed(response, isMessage)
    await response.body?.cancel()
    return await passed(await send(), isMessage)
  }

  async #renew ({ status, headers }: Response, used: string | undefined): Promise<boolean> {
    try {
      return await this.#oauth?.renew(status, headers.get('www-authenticate') ?? '', used) === true
    } catch (err) {
      this.#renewalFailure = err
      throw err
    }
  }

  /** Ends the session at the server, waiting at most `GOODBYE_MS`. */
  async #endSession (): Promise<void> {
    const streamable = this.#streamable
    if (streamable?.sessionId === undefined || this.wasStale || !this.session.open) return
    this.#streamable = undefined
    await within(streamable.endSession().catch(() => {}), GOODBYE_MS)
  }
}

function isSignIn (err: unknown): err is Error {
  return err instanceof SignInRequiredError || err instanceof SignInFailedError
}

/** @throws HttpError for a message that is refused: the SDK's error has the status only in its text */
async function passed (response: Response, isMessage: boolean): Promise<Response> {
  if (isMessage && response.status >= 400) throw new HttpError(response.status, await response.text())
  return response
}

/** A response that is not the expected one, with its body. */
function statusText ({ status, body }: HttpError): string {
  const remedy = status === 401 || status === 403 ? '; check `headers` or `oauth` of its entry' : ''
  const what = status < 300 ? ' and no response to the request' : ''
  return `it answered with HTTP status ${status}${what}${remedy}${body.trim() === '' ? '' : `: ${body.trim()}`}`
}

function isRefusal (err: unknown): boolean {
  if (err instanceof HttpError) return err.status < 500 && ![401, 403, 429].includes(err.status)
  return err instanceof RpcError
}

/** How a server of the older era may fail on an unknown method, apart from a refusal. */
function isNoAnswer (err: unknown): boolean {
  return err instanceof CallTimeoutError || (err instanceof HttpError && (err.status === 500 || err.status === 501))
}
