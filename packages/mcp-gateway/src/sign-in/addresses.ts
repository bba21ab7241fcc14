import { formerToolName } from '@polyvac/core/plugin'
import type { SignInOptions } from '../sign-in-options.js'

/** The addresses of the pages of sign-ins, and what browsers see of them. */
export class SignInAddresses {
  /** The address that the application listens on, with the prefix of the plugin. */
  listensAt: string | undefined
  readonly #options: Pick<SignInOptions, 'url' | 'clientDocument'>

  constructor (options: Pick<SignInOptions, 'url' | 'clientDocument'>) {
    this.#options = options
  }

  /** Where browsers reach the plugin; undefined while the service has no address. */
  get known (): string | undefined {
    const { url } = this.#options
    return ((typeof url === 'function' ? url() : url) ?? this.listensAt)?.replace(/\/+$/, '')
  }

  /** @throws without an address of the service */
  get page (): string {
    const { known } = this
    if (known === undefined) throw new Error('the address of this service is not known; set the option signIn.url, service.public_url in the host')
    return `${known}/mcp/sign-in`
  }

  /** The origin of the pages, as browsers write it in `Origin`. */
  get origin (): string | undefined { return this.known === undefined ? undefined : new URL(this.known).origin }

  get isSecure (): boolean { return this.page.startsWith('https:') }

  /**
   * The redirect URI of a server. Each has another one: an authorization server that another server of the
   * configuration names cannot have a code sent to that server (RFC 9700, section 4.4.2).
   */
  callback (server: string): string {
    return `${this.page}/callback/${pathName(server)}`
  }

  /** The client metadata document of a server, with only its redirect URI. */
  document (server: string): string {
    return this.#options.clientDocument?.(pathName(server)) ?? `${this.page}/client/${pathName(server)}`
  }
}

/** A server in a path: its name, or a cut one with a hash. Issuers know the redirect URI, so it stays. */
export function pathName (server: string): string {
  return formerToolName(server)
}
