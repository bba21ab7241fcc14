import { deadlineSignal, isRecord, MAX_BODY_DEPTH, peerJsonProblem, unlessAborted, type Redactor } from '@polyvac/core/plugin'
import { RemoteAgentCardError, RemoteAgentLoopError, RemoteAgentUnauthorizedError, RemoteAgentUnavailableError } from '../errors.js'
import { HttpFailure, isRefusedCertificate } from '../http/failures.js'
import type { AgentRequests, AgentResponse } from '../http/requests.js'
import { readCard, VERSIONS, type AgentCard, type AgentInterface, type Version } from './agent-card.js'
import { cardAddresses } from './card-addresses.js'
import { freshFor } from './freshness.js'
import type { CardVerifier } from './signature.js'

/** Longest card in bytes. */
export const MAX_CARD_BYTES = 1024 * 1024
/** Longest time for one request of a card, in ms. */
const CARD_MS = 10_000
/** How long a failure stands, so that questions do not ask a dead agent for its card one after the other, in ms. */
const FAILED_MS = 1_000

export interface CardOptions {
  /** The name of the agent here, for errors. */
  readonly name: string
  /** The address of the agent, or of its card. */
  readonly url: URL
  readonly requests: AgentRequests
  /** The headers of the configuration. */
  readonly headers: Readonly<Record<string, string>>
  /** Extensions that the configuration names. */
  readonly extensions: readonly string[]
  /** The only version to use. Default: the best one of the card. */
  readonly version: Version | undefined
  /** Verifies cards; undefined: they are not verified. */
  readonly verifier: CardVerifier | undefined
  /** What a request for the card carries, which its server may repeat. */
  readonly secrets: Redactor
  /** Origins of this service: an agent there would be asked by itself. */
  readonly ownOrigins: () => readonly string[]
}

/** A card that can be used, and the interface to use. */
export interface UsableCard {
  readonly card: AgentCard
  readonly target: AgentInterface
}

interface Kept extends UsableCard {
  readonly address: URL
  readonly validators: Readonly<Record<string, string>>
  readonly freshUntil: number
}

/** The card of one agent: read at first use, and again by a conditional request once it is not fresh. */
export class CardSource {
  readonly #options: CardOptions
  #kept: Kept | undefined
  #failed: { readonly error: Error, readonly until: number } | undefined
  #reading: Promise<Kept> | undefined

  constructor (options: CardOptions) { this.#options = options }

  /** Why the last request for it failed; undefined: it did not. */
  get problem (): Error | undefined { return this.#failed?.error }

  /** The card that is known, which may be old. */
  get known (): UsableCard | undefined { return this.#kept }

  /**
   * The card. Where the agent does not answer, an old one serves.
   * @throws REMOTE_AGENT_CARD, REMOTE_AGENT_LOOP, REMOTE_AGENT_SIGNATURE, REMOTE_AGENT_UNAUTHORIZED,
   *   REMOTE_AGENT_UNAVAILABLE
   */
  async get (signal: AbortSignal): Promise<UsableCard> {
    // a question that is aborted leaves the request to the others
    return await unlessAborted(this.read(), signal)
  }

  /** The same for who does not wait. */
  async read (): Promise<UsableCard> {
    const now = Date.now()
    if (this.#kept !== undefined && now < this.#kept.freshUntil) return this.#kept
    if (this.#failed !== undefined && now < this.#failed.until) {
      if (this.#kept !== undefined) return this.#kept
      throw this.#failed.error
    }
    // one request for all questions
    this.#reading ??= this.#request().finally(() => { this.#reading = undefined })
    return await this.#reading
  }

  async #request (): Promise<Kept> {
    try {
      this.#kept = await this.#requestCard()
      this.#failed = undefined
      return this.#kept
    } catch (err) {
      const error = err as Error
      this.#failed = { error, until: Date.now() + FAILED_MS }
      if (this.#kept !== undefined && error instanceof RemoteAgentUnavailableError) return this.#kept
      // a card that cannot be used replaces one that could
      this.#kept = undefined
      throw error
    }
  }

  async #requestCard (): Promise<Kept> {
    const { name, url } = this.#options
    const kept = this.#kept
    const addresses = new Map([...kept === undefined ? [] : [kept.address], ...cardAddresses(url)].map(address => [address.href, address]))
    for (const address of addresses.values()) {
      const deadline = deadlineSignal(CARD_MS)
      try {
        const response = await this.#send(address, address.href === kept?.address.href ? kept.validators : {}, deadline.signal)
        const freshUntil = Date.now() + freshFor(response.headers['cache-control'])
        if (response.status === 304 && kept !== undefined) {
          response.drop()
          return { ...kept, freshUntil }
        }
        const card = await this.#readBody(response)
        // keys may change where the card does not
        const validators = this.#options.verifier === undefined ? validatorsOf(response) : {}
        if (card !== undefined) return { ...this.#usable(card), address, validators, freshUntil }
      } catch (err) {
        // an agent that does not answer at one address does not at another
        if (isCoded(err)) throw err
        if (isRefusedCertificate(err)) throw Object.assign(new RemoteAgentUnauthorizedError(name, 'the certificate of the connection'), { cause: err })
        throw Object.assign(new RemoteAgentUnavailableError(name, err instanceof HttpFailure ? err.message : 'it cannot be reached'), { cause: err })
      } finally {
        deadline.end()
      }
    }
    throw new RemoteAgentCardError(name, 'no address of its entry has one', 'give the address of the card as `url`')
  }

  async #send (address: URL, validators: Kept['validators'], signal: AbortSignal): Promise<AgentResponse> {
    const { requests, headers, version, verifier } = this.#options
    // the signature is in the card of 1.0
    const asked = verifier === undefined ? version ?? VERSIONS[0] : VERSIONS[0]
    return await requests.send(address, {
      method: 'GET',
      // with `no-cache`, which other clients add to conditional requests, servers of Express never answer 304
      headers: {
        ...headers, accept: 'application/a2a+json, application/json', 'a2a-version': asked, 'cache-control': 'max-age=0', ...validators
      },
      signal
    })
  }

  /** Undefined where the card is elsewhere: a missing page, or the page of an application that answers every path. */
  async #readBody (response: AgentResponse): Promise<AgentCard | undefined> {
    const { name } = this.#options
    const { status } = response
    if (status === 401 || status === 403) {
      response.drop()
      throw new RemoteAgentUnauthorizedError(name, `its card, with status ${status}, which \`headers\` of the entry may open`)
    }
    if (status >= 500 || status === 429) {
      response.drop()
      throw new HttpFailure(status)
    }
    if (status !== 200) {
      response.drop()
      return undefined
    }
    let text: string
    try {
      text = await response.text(MAX_CARD_BYTES)
    } catch (err) {
      if (!(err instanceof HttpFailure)) throw err
      throw new RemoteAgentCardError(name, `it has ${err.message.replace('it answered with ', '')}`, 'make it shorter')
    }
    const problem = peerJsonProblem(text, MAX_CARD_BYTES, MAX_BODY_DEPTH)
    if (problem !== undefined) throw new RemoteAgentCardError(name, `it ${problem}`, 'have its operator make it simpler')
    const body = jsonOf(text)
    const card = readCard(body)
    const { verifier } = this.#options
    const content = card === undefined || verifier === undefined || !isRecord(body) ? card : readCard(await verifier.contentOf(body))
    return content && this.#shown(content)
  }

  /** The card without secrets in what people and errors show of it. */
  #shown (card: AgentCard): AgentCard {
    const { secrets } = this.#options
    const { name, description, required } = card
    return { ...card, name: secrets.text(name), description: secrets.text(description), required: secrets.value(required) }
  }

  #usable (card: AgentCard): UsableCard {
    const { name, version, extensions, ownOrigins, requests } = this.#options
    const target = card.interfaces.find(each => version === undefined || each.version === version)
    if (target === undefined) {
      const wanted = version === undefined ? '1.0 and 0.3' : version
      throw new RemoteAgentCardError(name, `it has no interface of A2A ${wanted} over JSONRPC or HTTP+JSON`, 'have its operator add one')
    }
    const missing = card.required.find(uri => !extensions.includes(uri))
    if (missing !== undefined) {
      throw new RemoteAgentCardError(name, `it requires the extension ${JSON.stringify(missing)}`, 'name it in `extensions` of the entry if your messages follow it')
    }
    const url = new URL(target.url)
    if (ownOrigins().includes(url.origin)) throw new RemoteAgentLoopError(name, 'its card names the address of this service')
    try {
      requests.check(url)
    } catch (err) {
      throw Object.assign(new RemoteAgentCardError(name, 'its interface has an address that is neither public and https nor that of its entry',
        'have its operator correct the card'), { cause: err })
    }
    return { card, target }
  }
}

function validatorsOf ({ headers }: AgentResponse): Record<string, string> {
  const { etag, 'last-modified': modified } = headers
  return {
    ...typeof etag === 'string' && { 'if-none-match': etag },
    ...typeof modified === 'string' && { 'if-modified-since': modified }
  }
}

/** Undefined for what is not JSON. */
function jsonOf (text: string): unknown {
  try {
    return JSON.parse(text) as unknown
  } catch {
    return undefined
  }
}

function isCoded (err: unknown): boolean {
  const { code } = (err ?? {}) as { code?: unknown }
  return typeof code === 'string' && code.startsWith('REMOTE_AGENT_')
}
