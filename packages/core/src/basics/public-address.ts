import ipaddr from 'ipaddr.js'

/**
 * Addresses in public space that only a machine of that cloud can reach: Azure's host agent, which hands out
 * credentials.
 */
const HOST_AGENTS: readonly string[] = ['168.63.129.16']

/**
 * Where IANA gives out addresses; outside it are spellings such as `::127.0.0.1`, which some tables take for unicast.
 */
const GLOBAL_IPV6 = ipaddr.IPv6.parseCIDR('2000::/3')

/** Whether an IP address, in any spelling, is in public space: a request to it reaches nothing of this network. */
export function isPublicAddress (address: string): boolean {
  if (!ipaddr.isValid(address)) return false
  const ip = ipaddr.process(address)
  if (ip.range() !== 'unicast') return false
  return ip.kind() === 'ipv6' ? ip.match(GLOBAL_IPV6) : !HOST_AGENTS.includes(ip.toString())
}

/** The address of a caller for counts: of IPv6 the network of 64 bits, which one customer has as a whole. */
export const addressBlock = remembered((address: string): string => {
  if (!ipaddr.isValid(address)) return address
  const ip = ipaddr.process(address)
  return ip.kind() === 'ipv4' ? ip.toString() : (ip as ipaddr.IPv6).parts.slice(0, 4).map(part => part.toString(16)).join(':')
})

/**
 * Whether a host of a URL, or an address to bind, is this machine: by its address in any spelling, or by the name
 * `localhost` and those below it (RFC 6761). Another name may be any address.
 */
export const isLoopbackHost = remembered((hostname: string): boolean => {
  const host = hostname.replace(/^\[|\]$/g, '')
  return ipaddr.isValid(host) ? ipaddr.process(host).range() === 'loopback' : /^(?:.*\.)?localhost\.?$/i.test(host)
})

/** How many answers are kept, and how long a text with one may be: longer than any address, and than most names. */
const MAX_KEPT = 64

/** The same with its latest answers kept: for other names than addresses ipaddr.js throws. */
function remembered<Answer> (read: (text: string) => Answer): (text: string) => Answer {
  // @keyed address or name of a host, which a caller chose | holds: a boolean or an address | whose: all callers |
  //   bound: MAX_KEPT of at most MAX_KEPT characters | share: of no owner: past it all are read again |
  //   test: packages/core/test/public-address.test.ts: answers are the same however many hosts callers name
  const answers = new Map<string, Answer>()
  return text => {
    const known = answers.get(text)
    if (known !== undefined) return known
    const answer = read(text)
    if (answers.size >= MAX_KEPT) answers.clear()
    if (text.length <= MAX_KEPT) answers.set(text, answer)
    return answer
  }
}
