import { lookup as systemLookup, type LookupAddress } from 'node:dns'
import { isIP, type LookupFunction } from 'node:net'
import { isLoopbackHost, isPublicAddress } from '../basics/public-address.js'

/** All addresses of a name. */
export type Resolve = (hostname: string, done: (err: Error | null, addresses: LookupAddress[]) => void) => void

const resolveBySystem: Resolve = (hostname, done) => systemLookup(hostname, { all: true }, done)

/**
 * Which addresses of OAuth metadata a client connects to. Metadata is text of another server, so what it names is not
 * trusted: only https (http within this machine if the first named host is there, too), and no address of a private
 * network except that of a host that the configuration names.
 */
export class IssuerGuard {
  /** For the connection: checks each address of a name, since the answer of another lookup may differ. */
  readonly lookup: LookupFunction
  readonly #named: ReadonlySet<string>
  readonly #isLocal: boolean
  readonly #refusal: string

  /**
   * @param named the URLs of the configuration
   * @param refusal the beginning of the errors, before the address: 'the secret is not sent to'
   */
  constructor (named: readonly URL[], refusal: string, resolve: Resolve = resolveBySystem) {
    this.#named = new Set(named.map(({ hostname }) => hostname))
    this.#isLocal = isLoopbackHost(named[0]?.hostname ?? '')
    this.#refusal = refusal
    this.lookup = (hostname, options, done) => {
      resolve(hostname, (err, addresses = []) => {
        const isTrusted = this.#named.has(hostname) || (this.#isLocal && isLoopbackHost(hostname))
        const isRefused = !isTrusted && addresses.some(({ address }) => !isPublicAddress(address))
        const problem = err ?? (isRefused ? new Error(`${refusal} ${hostname}, which has an address that is not public`) : null)
        const [first] = addresses
        if (problem !== null || first === undefined) return done(problem ?? new Error(`${hostname} has no address`), '', 0)
        if (options.all === true) done(null, addresses)
        else done(null, first.address, first.family)
      })
    }
  }

  /** @throws for a URL that is refused before any lookup */
  check ({ protocol, hostname, origin, username }: URL): void {
    const isLoopback = isLoopbackHost(hostname)
    const isSecure = protocol === 'https:' || (protocol === 'http:' && isLoopback && this.#isLocal)
    if (!isSecure) throw new Error(`${this.#refusal} ${origin}, which is not https`)
    const host = hostname.replace(/^\[|\]$/g, '')
    // a literal address is connected to without a lookup
    const isPrivate = isLoopback ? !this.#isLocal : isIP(host) !== 0 && !isPublicAddress(host)
    if (username !== '' || (isPrivate && !this.#named.has(hostname))) throw new Error(`${this.#refusal} ${origin}, which is not a public address`)
  }
}
