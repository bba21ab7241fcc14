import type { FetchLike } from '@modelcontextprotocol/client'
import { isLoopbackHost, isPublicAddress } from '@polyvac/core/plugin'
import { lookup as systemLookup, type LookupAddress } from 'node:dns'
import { isIP, type LookupFunction } from 'node:net'
import { Agent, request } from 'undici'

/** Longest metadata or token response in bytes. */
const MAX_BYTES = 256 * 1024
/** Longest time in ms for one of these requests. */
const MAX_MS = 10_000

export type Resolve = (hostname: string, done: (err: Error | null, addresses: LookupAddress[]) => void) => void

const resolveBySystem: Resolve = (hostname, done) => systemLookup(hostname, { all: true }, done)

/**
 * The HTTP client for OAuth metadata and tokens. Metadata is text of another server, so what it names is not trusted:
 * only https (http within this machine if the MCP server is there, too), no redirect, and no address of a private
 * network except that of a host that the configuration names.
 */
export class TokenRequests {
  readonly #named: ReadonlySet<string>
  readonly #isLocal: boolean
  readonly #agent: Agent

  /** @param named the URLs of the configuration: that of the MCP server first */
  constructor (named: readonly URL[], resolve: Resolve = resolveBySystem) {
    this.#named = new Set(named.map(({ hostname }) => hostname))
    this.#isLocal = isLoopbackHost(named[0]?.hostname ?? '')
    this.#agent = new Agent({
      maxResponseSize: MAX_BYTES,
      connect: { timeout: MAX_MS, lookup: this.#lookup(resolve) }
    })
  }

  /** For the SDK. Rejects without a request where the URL is refused. */
  readonly fetch: FetchLike = async (input, init = {}) => {
    const url = new URL(input)
    this.check(url)
    const { statusCode: status, headers, body } = await request(url, {
      method: (init.method ?? 'GET') as 'GET' | 'POST',
      headers: Object.fromEntries(new Headers(init.headers as Record<string, string>)),
      body: init.body == null ? null : String(init.body as URLSearchParams),
      dispatcher: this.#agent,
      signal: AbortSignal.timeout(MAX_MS)
    })
    const text = await body.text()
    if (status >= 300 && status < 400) throw new Error(`${url.origin} answered with a redirect, which is not followed`)
    return new Response(status === 204 ? null : text, { status, headers: { 'content-type': String(headers['content-type'] ?? '') } })
  }

  async close (): Promise<void> {
    await this.#agent.destroy()
  }

  /** @throws for a URL that gets no secret, before any lookup */
  check ({ protocol, hostname, origin, username }: URL): void {
    const isLoopback = isLoopbackHost(hostname)
    const isSecure = protocol === 'https:' || (protocol === 'http:' && isLoopback && this.#isLocal)
    if (!isSecure) throw new Error(`the secret is not sent to ${origin}, which is not https`)
    const host = hostname.replace(/^\[|\]$/g, '')
    // a literal address is connected to without a lookup
    const isPrivate = isLoopback ? !this.#isLocal : isIP(host) !== 0 && !isPublicAddress(host)
    if (username !== '' || (isPrivate && !this.#named.has(hostname))) throw new Error(`the secret is not sent to ${origin}, which is not a public address`)
  }

  /** Checks each address of a name with the connection that uses it: the answer of another lookup may differ. */
  #lookup (resolve: Resolve): LookupFunction {
    return (hostname, options, done) => {
      resolve(hostname, (err, addresses = []) => {
        const isTrusted = this.#named.has(hostname) || (this.#isLocal && isLoopbackHost(hostname))
        const isRefused = !isTrusted && addresses.some(({ address }) => !isPublicAddress(address))
        const problem = err ?? (isRefused ? new Error(`the secret is not sent to ${hostname}, which has an address that is not public`) : null)
        const [first] = addresses
        if (problem !== null || first === undefined) return done(problem ?? new Error(`${hostname} has no address`), '', 0)
        if (options.all === true) done(null, addresses)
        else done(null, first.address, first.family)
      })
    }
  }
}
