import { BlockList, isIP } from 'node:net'
import { AuthOptionsError } from './errors.js'

/** Names that Fastify's `trustProxy` has as well. */
const NAMED: Readonly<Record<string, readonly string[]>> = {
  loopback: ['127.0.0.0/8', '::1/128'],
  linklocal: ['169.254.0.0/16', 'fe80::/10'],
  uniquelocal: ['10.0.0.0/8', '172.16.0.0/12', '192.168.0.0/16', 'fc00::/7']
}

/**
 * Whether an address is one of the proxies in front of the service: for Fastify's `trustProxy` and for
 * `platformAuthentication`.
 * @param proxies addresses, ranges such as 10.0.0.0/8, or `loopback`, `linklocal`, `uniquelocal`
 * @throws AUTH_OPTIONS
 * @example Fastify({ trustProxy: trustedProxies(['10.0.0.0/8']) })
 */
export function trustedProxies (proxies: readonly string[]): (address: string | undefined) => boolean {
  const list = new BlockList()
  for (const range of proxies.flatMap(name => NAMED[name] ?? [name])) addRange(list, range)
  return address => {
    const family = isIP(address ?? '')
    return family !== 0 && list.check(address!, family === 4 ? 'ipv4' : 'ipv6')
  }
}

function addRange (list: BlockList, range: string): void {
  const [address = '', bits] = range.split('/')
  const family = isIP(address)
  const max = family === 4 ? 32 : 128
  const length = bits === undefined ? max : /^\d{1,3}$/.test(bits) ? Number(bits) : NaN
  // a range of all addresses would trust every caller
  if (family === 0 || !(length >= 1 && length <= max)) {
    throw new AuthOptionsError(`${JSON.stringify(range)} is not an address of a proxy; use one like 10.0.0.1, a range like 10.0.0.0/8, or loopback, linklocal, uniquelocal`)
  }
  list.addSubnet(address, length, family === 4 ? 'ipv4' : 'ipv6')
}
