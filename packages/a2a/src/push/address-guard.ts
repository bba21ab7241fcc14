import { lookup as systemLookup } from 'node:dns/promises'
import { isIP } from 'node:net'
import { isPublicAddress, unlessAborted, within } from '@polyvac/core/plugin'
import type { Agent } from 'undici'
import { AllowList, bareHost } from './allow-list.js'
import { PushUrlRefusedError } from './errors.js'

const MAX_URL_LENGTH = 2_048
const PORTS: readonly number[] = [443, 8443]
const LOOKUP_TIMEOUT_MS = 5_000

/** All addresses of a name, as `dns.lookup` gives them. Rejects where there are none. */
export type Lookup = (name: string) => Promise<ReadonlyArray<{ readonly address: string }>>

export interface AddressGuardOptions {
  /**
   * Receivers the operator vouches for: `receiver.internal`, `127.0.0.1:9000`, `10.0.0.0/8`. Such a host may be
   * private, speak plain http and listen on any port, or on the one port given. A range also vouches for what names
   * resolve to. Empty by default: a caller who may set a push URL could otherwise reach all that this machine reaches.
   */
  readonly allow?: readonly string[] | undefined
  /**
   * Ports that any public receiver may listen on, besides 443 and 8443. Every further one is a service that could be
   * prodded.
   */
  readonly ports?: readonly number[] | undefined
  /** Resolves names. Default: as the operating system does. */
  readonly lookup?: Lookup | undefined
}

/**
 * Keeps requests to addresses that callers give away from the machine's own network (server-side request forgery).
 * A name is looked up again for every connection, since its owner may have changed after the check.
 */
export class AddressGuard {
  readonly #allow: AllowList
  readonly #ports: readonly number[]
  readonly #lookup: Lookup
  // @keyed origin of a webhook, which a caller chose | holds: its connections | whose: the owner of the push config |
  //   bound: connections of the deliveries in progress, MAX_DELIVERIES, and IDLE_TIMEOUT_MS after them; an origin
  //   leaves with its last connection | share: the owner: a quarter of the deliveries | test:
  //   packages/tasks/test/conformance.ts: push: owners are served in turn, and one owner has a quarter of the
  //   deliveries at once
  #agent: Promise<Agent> | undefined
  #closed: Promise<void> | undefined

  constructor (options: AddressGuardOptions = {}) {
    const { allow, ports = [], lookup = name => systemLookup(name, { all: true }) } = options
    this.#allow = new AllowList(allow)
    this.#ports = [...PORTS, ...ports]
    this.#lookup = lookup
  }

  /** The checks that need no network. Throws PUSH_URL_REFUSED (400). */
  checkUrl (url: string): URL {
    if (typeof url === 'string' && url.length > MAX_URL_LENGTH) {
      throw new PushUrlRefusedError(`it is longer than ${MAX_URL_LENGTH} characters`, 'give a shorter one')
    }
    if (!URL.canParse(url)) {
      throw new PushUrlRefusedError('it is not a URL', 'give one like https://receiver.example/notifications')
    }
    const parsed = new URL(url)
    if (parsed.protocol !== 'https:' && parsed.protocol !== 'http:') {
      throw new PushUrlRefusedError('it is not https', 'give one that begins with https://')
    }
    if (parsed.username !== '' || parsed.password !== '') {
      throw new PushUrlRefusedError('it holds a user name or password', 'send them as `authentication` instead')
    }
    this.#checkOrigin(parsed.protocol, bareHost(parsed.hostname), portOf(parsed))
    return parsed
  }

  /** As `checkUrl`, and every address of the name. A name that does not resolve passes: each connection looks again. */
  async check (url: string, signal: AbortSignal): Promise<URL> {
    signal.throwIfAborted()
    const parsed = this.checkUrl(url)
    const host = bareHost(parsed.hostname)
    const found = isIP(host) === 0
      ? await within(unlessAborted(this.#lookup(host).catch(() => []), signal), LOOKUP_TIMEOUT_MS, () => [])
      : []
    for (const { address } of found) this.#checkAddress(host, portOf(parsed), address)
    return parsed
  }

  /**
   * The addresses a connection may be made to, each of them checked. Throws PUSH_URL_REFUSED, or what the lookup threw.
   */
  async resolve (protocol: string, hostname: string, port: number): Promise<string[]> {
    const host = bareHost(hostname)
    this.#checkOrigin(protocol, host, port)
    if (isIP(host) !== 0) return [host]
    const found = await this.#lookup(host)
    for (const { address } of found) this.#checkAddress(host, port, address)
    return found.map(({ address }) => address)
  }

  /**
   * For `fetch` and `request` of undici: no connection but to checked addresses. undici is loaded at first use, since a
   * start is quicker without.
   */
  dispatcher (): Promise<Agent> {
    this.#agent ??= import('./guarded-agent.js')
      .then(({ guardedAgent }) => guardedAgent((...host) => this.resolve(...host)))
    return this.#agent
  }

  /** Ends every connection of the dispatcher, also those in use. */
  close (): Promise<void> {
    this.#closed ??= this.#agent?.then(async agent => { await agent.destroy() }) ?? Promise.resolve()
    return this.#closed
  }

  #checkOrigin (protocol: string, host: string, port: number): void {
    if (this.#allow.has(host, port)) return
    const remedy = 'or have the operator allow this host'
    if (protocol !== 'https:') {
      throw new PushUrlRefusedError('it is not https', `give one that begins with https://, ${remedy}`)
    }
    if (isIP(host) === 0 ? /^(.*\.)?localhost$/.test(host) : !isPublicAddress(host)) {
      throw new PushUrlRefusedError(
        `'${host}' is not a public address`, `give one that the internet reaches, ${remedy}`)
    }
    if (!this.#ports.includes(port)) {
      throw new PushUrlRefusedError(`port ${port} is none of ${this.#ports.join(', ')}`, `use one of them, ${remedy}`)
    }
  }

  // the error leaves out the address found: it would let callers read the names of the network behind
  #checkAddress (host: string, port: number, address: string): void {
    if (isPublicAddress(address) || this.#allow.has(host, port) || this.#allow.has(address, port)) return
    throw new PushUrlRefusedError(
      `'${host}' has an address that is not public`,
      'give a host that the internet reaches, or have the operator allow it')
  }
}

function portOf (url: URL): number {
  if (url.port !== '') return Number(url.port)
  return url.protocol === 'https:' ? 443 : 80
}
