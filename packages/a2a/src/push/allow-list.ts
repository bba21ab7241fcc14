import { isIPv6 } from 'node:net'
import ipaddr from 'ipaddr.js'
import { PushAllowEntryError } from './errors.js'

type Range = ReturnType<typeof ipaddr.parseCIDR>
interface Entry { readonly name?: string, readonly range?: Range, readonly port?: number | undefined }

const HOST_AND_PORT = /^(\[[\d.:a-f]+\]|[^\s/\\:@?#%*[\]]+)(?::(\d{1,5}))?$/i

/** Hosts, ports and ranges an operator vouches for. Throws PUSH_ALLOW_ENTRY for an entry that cannot be read. */
export class AllowList {
  readonly #entries: readonly Entry[]

  constructor (entries: readonly string[] = []) {
    this.#entries = entries.map(readEntry)
  }

  /** Whether `host`, a name or an IP address, is on the list for `port`. */
  has (host: string, port: number): boolean {
    const ip = ipaddr.isValid(host) ? ipaddr.process(host) : undefined
    return this.#entries.some(({ name, range, port: only }) => (only === undefined || only === port) &&
      (ip === undefined ? name === host : range !== undefined && range[0].kind() === ip.kind() && ip.match(range)))
  }
}

function readEntry (entry: string): Entry {
  if (typeof entry !== 'string') throw new PushAllowEntryError(String(entry), 'is not a text')
  if (entry.includes('/')) return { range: readRange(entry) }
  const [, host, digits] = HOST_AND_PORT.exec(isIPv6(entry) ? `[${entry}]` : entry) ?? []
  if (host === undefined || !URL.canParse(`https://${host}`)) throw new PushAllowEntryError(entry, 'is not a host')
  const port = digits === undefined ? undefined : Number(digits)
  if (port === 0 || (port ?? 1) > 65_535) throw new PushAllowEntryError(entry, 'has a port outside 1 to 65535')
  const name = bareHost(new URL(`https://${host}`).hostname)
  if (!ipaddr.isValid(name)) return { name, port }
  const ip = ipaddr.process(name)
  return { range: [ip, ip.kind() === 'ipv4' ? 32 : 128] as Range, port }
}

function readRange (entry: string): Range {
  if (!ipaddr.isValidCIDR(entry)) throw new PushAllowEntryError(entry, 'is not a range')
  const range = ipaddr.parseCIDR(entry)
  if (range[0].kind() !== ipaddr.process(range[0].toString()).kind()) {
    throw new PushAllowEntryError(entry, 'is an IPv4 range written as IPv6')
  }
  return range
}

/** The host of a URL without the brackets of IPv6 and the dot that may end a full name. */
export function bareHost (hostname: string): string {
  return hostname.startsWith('[') ? hostname.slice(1, -1) : hostname.replace(/\.$/, '')
}
