import type { FetchLike } from '@modelcontextprotocol/client'
import { IssuerGuard, type Resolve } from '@polyvac/core/plugin'
import { Agent, request } from 'undici'

/** Longest metadata or token response in bytes. */
const MAX_BYTES = 256 * 1024
/** Longest time in ms for one of these requests. */
const MAX_MS = 10_000

/** The HTTP client for OAuth metadata and tokens. It follows no redirect. */
export class TokenRequests {
  readonly #guard: IssuerGuard
  // @keyed none: the connections to the issuer of one server of the configuration, one for each request in progress
  readonly #agent: Agent

  /** @param named the URLs of the configuration: that of the MCP server first */
  constructor (named: readonly URL[], resolve?: Resolve) {
    this.#guard = new IssuerGuard(named, 'the secret is not sent to', resolve)
    this.#agent = new Agent({
      maxResponseSize: MAX_BYTES,
      connect: { timeout: MAX_MS, lookup: this.#guard.lookup }
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
  check (url: URL): void {
    this.#guard.check(url)
  }
}
