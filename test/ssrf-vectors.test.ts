import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { test } from 'tap'
import { isPublicAddress, redirectOf } from '@polyvac/core/plugin'
import { AddressGuard } from '../packages/a2a/src/push/address-guard.js'
import { TokenRequests } from '../packages/mcp-gateway/src/connections/http/token-requests.js'

// The URLs of ssrfcheck, and the special-purpose ranges of Microsoft AntiSSRF (recommendedV1). The guards judge them
// with a stub resolver, and nothing is sent.

const require = createRequire(import.meta.url)
const data = join(dirname(require.resolve('ssrfcheck/package.json')), 'tests/data')
const [refused, accepted, publicAddresses] = ['should-not-pass.js', 'should-pass.js', 'valid-ips-list.js'].map(file => require(join(data, file)) as string[]) as [string[], string[], string[]]

/** CIDR ranges by their first and last address. */
const RANGES: ReadonlyArray<readonly [string, string]> = [
  ['0.0.0.0', '0.255.255.255'], ['10.0.0.0', '10.255.255.255'], ['100.64.0.0', '100.127.255.255'], ['127.0.0.0', '127.255.255.255'],
  ['168.63.129.16', '168.63.129.16'], ['169.254.0.0', '169.254.255.255'], ['169.254.169.254', '169.254.169.254'], ['172.16.0.0', '172.31.255.255'],
  ['192.0.0.0', '192.0.0.255'], ['192.0.2.0', '192.0.2.255'], ['192.31.196.0', '192.31.196.255'], ['192.52.193.0', '192.52.193.255'],
  ['192.88.99.0', '192.88.99.255'], ['192.168.0.0', '192.168.255.255'], ['192.175.48.0', '192.175.48.255'], ['198.18.0.0', '198.19.255.255'],
  ['198.51.100.0', '198.51.100.255'], ['203.0.113.0', '203.0.113.255'], ['224.0.0.0', '239.255.255.255'], ['240.0.0.0', '255.255.255.255'],
  ['::1', '::1'], ['::', '::'], ['64:ff9b::', '64:ff9b::ffff:ffff'], ['64:ff9b:1::', '64:ff9b:1:ffff:ffff:ffff:ffff:ffff'],
  ['100::', '100::ffff:ffff:ffff:ffff'], ['100:0:0:1::', '100::1:ffff:ffff:ffff:ffff'], ['2001::', '2001:1ff:ffff:ffff:ffff:ffff:ffff:ffff'],
  ['2001:db8::', '2001:db8:ffff:ffff:ffff:ffff:ffff:ffff'], ['2002::', '2002:ffff:ffff:ffff:ffff:ffff:ffff:ffff'], ['2620:4f:8000::', '2620:4f:8000:ffff:ffff:ffff:ffff:ffff'],
  ['3fff::', '3fff:fff:ffff:ffff:ffff:ffff:ffff:ffff'], ['5f00::', '5f00:ffff:ffff:ffff:ffff:ffff:ffff:ffff'], ['fc00::', 'fdff:ffff:ffff:ffff:ffff:ffff:ffff:ffff'],
  ['fe80::', 'febf:ffff:ffff:ffff:ffff:ffff:ffff:ffff'], ['fec0::', 'feff:ffff:ffff:ffff:ffff:ffff:ffff:ffff'], ['ff00::', 'ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff']
]

/** Spellings of an IPv4 address that URLs take: decimal, hexadecimal, octal, short, and inside IPv6. */
function spellings (address: string): string[] {
  if (address.includes(':')) return [`[${address}]`]
  const bytes = address.split('.').map(Number)
  const number = bytes.reduce((total, byte) => total * 256 + byte, 0)
  return [
    address, String(number), `0x${number.toString(16)}`, bytes.map(byte => `0${byte.toString(8)}`).join('.'), `${bytes[0]}.${number % 2 ** 24}`, `${address}.`,
    `[::ffff:${address}]`, `[::${address}]`, `[64:ff9b::${address}]`, `[::ffff:0:${address}]`, `[2002:${number.toString(16).padStart(8, '0').replace(/(....)(....)/, '$1:$2')}::]`
  ]
}

const UPSTREAM = new URL('https://mcp.example/mcp')

test('no address of a special-purpose range is a push address, an endpoint of OAuth or the target of a redirect', async t => {
  const addresses = RANGES.flat()
  const [passed, resolved]: [string[], string[]] = [[], []]
  const guard = new AddressGuard({ lookup: async name => [{ address: byName.get(name)! }] })
  const byName = new Map(addresses.map((address, i) => [`name-${i}.example`, address]))
  const requests = new TokenRequests([UPSTREAM], (name, done) => done(null, [{ address: byName.get(name)!, family: byName.get(name)!.includes(':') ? 6 : 4 }]))
  t.teardown(() => requests.close())
  for (const address of addresses) {
    if (isPublicAddress(address)) passed.push(address)
    for (const host of spellings(address)) {
      const url = `https://${host}/`
      if (await isTaken(guard.check(url, new AbortController().signal))) passed.push(`push ${url}`)
      if (await isTaken(requests.fetch(url))) passed.push(`oauth ${url}`)
      if (redirects(url)) passed.push(`redirect ${url}`)
    }
  }
  for (const name of byName.keys()) {
    if (await isTaken(guard.check(`https://${name}/`, new AbortController().signal))) resolved.push(`push ${byName.get(name)}`)
    const failure = await requests.fetch(`https://${name}/`).then(() => 'it was sent', (err: Error) => `${err.message} ${(err.cause as Error | undefined)?.message ?? ''}`)
    if (!failure.includes('not public')) resolved.push(`oauth ${byName.get(name)}: ${failure}`)
  }
  t.strictSame({ passed, resolved }, { passed: [], resolved: [] })
})

test('no URL that ssrfcheck refuses reaches a private address, and those that it accepts pass', async t => {
  const passed: string[] = []
  // every name has a private address: a URL passes only where it names a public address
  const guard = new AddressGuard({ ports: [80, 22, 8080, 3000], lookup: async () => [{ address: '10.0.0.1' }] })
  const requests = new TokenRequests([UPSTREAM], (_name, done) => done(null, [{ address: '10.0.0.1', family: 4 }]))
  t.teardown(() => requests.close())
  const variants = (url: string): string[] => [url, url.replace(/^http:/i, 'https:'), `https://${url}`]
  for (const url of refused.flatMap(variants)) {
    if (await isTaken(guard.check(url, new AbortController().signal))) passed.push(`push ${url}`)
    if (await isTaken(requests.fetch(url))) passed.push(`oauth ${url}`)
    if (redirects(url)) passed.push(`redirect ${url}`)
  }
  t.strictSame(passed, [])
  const open = new AddressGuard({ ports: [80, 8080, 3000, 8888], lookup: async () => [{ address: '93.184.216.34' }] })
  const wrong: string[] = []
  for (const url of [...publicAddresses.map(address => `https://${address}`), ...accepted.filter(url => /^https?:/.test(url)).map(url => url.replace(/^http:/, 'https:'))]) {
    // ssrfcheck takes these, which have a user name or a port that is not for receivers
    const { username, port } = new URL(url)
    if (username !== '' || !['', '80', '8080', '3000', '8888'].includes(port)) continue
    if (!await isTaken(open.check(url, new AbortController().signal))) wrong.push(url)
  }
  // a public address inside an IPv6 one is refused, too: where such a packet goes depends on the network
  t.strictSame(wrong.filter(url => !/\[(?:::|64:ff9b:|::ffff:0:)/.test(url)), [])
})

/** Whether a guard takes a URL. A refusal is an error without a connection. */
async function isTaken (check: Promise<unknown>): Promise<boolean> {
  return await check.then(() => true, (err: Error) => /ECONN|ENOTFOUND|ENETUNREACH|timed? ?out/i.test(`${err.message} ${(err.cause as Error | undefined)?.message ?? ''}`))
}

/** Whether the gateway would send the headers of an upstream server there. */
function redirects (location: string): boolean {
  const exchange = { status: 307, headers: { location }, request: { method: 'POST' } } as unknown as Parameters<typeof redirectOf>[0]
  const target = redirectOf(exchange, UPSTREAM)
  return target !== undefined && target.origin !== UPSTREAM.origin
}
