import { isLoopbackHost, isPublicAddress } from '@polyvac/core/plugin'
import { lookup as systemLookup, type LookupAddress } from 'node:dns'
import { request as httpRequest } from 'node:http'
import { request as httpsRequest } from 'node:https'
import { isIP, type LookupFunction } from 'node:net'

/** Longest metadata or key set in bytes. */
export const MAX_ISSUER_BYTES = 256 * 1024
/** Longest time in ms for one of these requests. */
export const MAX_ISSUER_MS = 5_000

/** All addresses of a name. */
export type Resolve = (hostname: string, done: (err: Error | null, addresses: LookupAddress[]) => void) => void

const resolveBySystem: Resolve = (hostname, done) => systemLookup(hostname, { all: true }, done)

/**
 * Reads JSON of an issuer. Its metadata names further addresses, which are not trusted: only https, no redirect, and
 * no address of a private network except on the hosts that the configuration names. An issuer on this machine may use
 * http.
 */
export class IssuerRequests {
  readonly #named: ReadonlySet<string>
  readonly #isLocal: boolean
  readonly #lookup: LookupFunction

  /** @param named the URLs of the configuration: that of the issuer first */
  constructor (named: readonly URL[], resolve: Resolve = resolveBySystem) {
    this.#named = new Set(named.map(({ hostname }) => hostname))
    this.#isLocal = isLoopbackHost(named[0]?.hostname ?? '')
    this.#lookup = this.#checkedLookup(resolve)
  }

  /** Rejects without a request where the URL is refused. */
  async readJson (address: string): Promise<unknown> {
    const url = new URL(address)
    this.#check(url)
    const request = url.protocol === 'https:' ? httpsRequest : httpRequest
    return await new Promise((resolve, reject) => {
      const signal = AbortSignal.timeout(MAX_ISSUER_MS)
      const call = request(url, { lookup: this.#lookup, agent: false, signal, headers: { accept: 'application/json' } }, response => {
        const chunks: Buffer[] = []
        let bytes = 0
        response.on('error', reject)
        response.on('data', (chunk: Buffer) => {
          bytes += chunk.length
          if (bytes > MAX_ISSUER_BYTES) call.destroy(new Error(`${url.origin} answered with more than ${MAX_ISSUER_BYTES} bytes`))
          else chunks.push(chunk)
        })
        response.on('end', () => {
          if (response.statusCode !== 200) return reject(new Error(`${url.href} answered with status ${response.statusCode}`))
          try {
            resolve(JSON.parse(Buffer.concat(chunks).toString('utf8')))
          } catch {
            reject(new Error(`${url.href} did not answer with JSON`))
          }
        })
      })
      call.on('error', reject)
      call.end()
    })
  }

  #check ({ protocol, hostname, origin, username }: URL): void {
    const isLoopback = isLoopbackHost(hostname)
    const isSecure = protocol === 'https:' || (protocol === 'http:' && isLoopback && this.#isLocal)
    if (!isSecure || username !== '') throw new Error(`keys are not read from ${origin}: it is not https, or names a user`)
    const host = hostname.replace(/^\[|\]$/g, '')
    // a literal address is connected to without a lookup
    const isPrivate = isLoopback ? !this.#isLocal : isIP(host) !== 0 && !isPublicAddress(host)
    if (isPrivate && !this.#named.has(hostname)) throw new Error(`keys are not read from ${origin}, which is not a public address`)
  }

  /** Checks each address of a name with the connection that uses it: the answer of another lookup may differ. */
  #checkedLookup (resolve: Resolve): LookupFunction {
    return (hostname, options, done) => {
      resolve(hostname, (err, addresses = []) => {
        const isTrusted = this.#named.has(hostname) || (this.#isLocal && isLoopbackHost(hostname))
        const isRefused = !isTrusted && addresses.some(({ address }) => !isPublicAddress(address))
        const problem = err ?? (isRefused ? new Error(`keys are not read from ${hostname}, which has an address that is not public`) : null)
        const [first] = addresses
        if (problem !== null || first === undefined) return done(problem ?? new Error(`${hostname} has no address`), '', 0)
        if (options.all === true) done(null, addresses)
        else done(null, first.address, first.family)
      })
    }
  }
}
