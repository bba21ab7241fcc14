/** Hosts of URLs that lead into the machine's own network, however they are spelled. */
export const privateHosts: readonly string[] = [
  // loopback: plain, short, decimal, hexadecimal, octal, mixed, full-width, with a dot at the end
  '127.0.0.1', '127.1', '127.0.1', '2130706433', '0x7f000001', '0x7f.0x0.0x0.0x1', '0x7f.1', '017700000001', '0177.0.0.1', '0177.0x0.1',
  '127.255.255.254', '１２７.０.０.１', '127。0。0。1', '①②⑦.0.0.1', '%31%32%37.0.0.1', '127.0.0.1.', 'localhost', 'LOCALHOST', 'localhost.', 'api.localhost',
  // this host, private, link-local with the metadata services, shared, protocol assignments, benchmarks, multicast,
  // broadcast
  '0', '0.0.0.0', '10.0.0.1', '167772161', '172.16.0.1', '172.31.255.255', '192.168.1.1', '0xc0a80101', '169.254.1.1', '169.254.169.254',
  '2852039166', '0xa9fea9fe', '0251.0376.0251.0376', '100.64.0.1', '100.100.100.200', '192.0.0.192', '192.0.2.1', '198.18.0.1', '203.0.113.9',
  '224.0.0.1', '240.0.0.1', '255.255.255.255', '168.63.129.16',
  // IPv6: unspecified, loopback, compatible, mapped, translated, NAT64, 6to4, Teredo, unique local,
  // link-local, site-local, multicast, documentation
  '[::]', '[::1]', '[0:0:0:0:0:0:0:1]', '[::127.0.0.1]', '[::ffff:127.0.0.1]', '[::ffff:7f00:1]', '[::ffff:a9fe:a9fe]', '[::ffff:0:127.0.0.1]',
  '[64:ff9b::127.0.0.1]', '[64:ff9b::a9fe:a9fe]', '[64:ff9b:1::a00:1]', '[2002:7f00:1::]', '[2002:a9fe:a9fe::1]', '[2001:0:7f00:1::]',
  '[fc00::1]', '[fd00:ec2::254]', '[fe80::1]', '[fec0::1]', '[ff02::1]', '[2001:db8::1]', '[100::1]', '[5f00::1]', '[1234::1]'
]

/** What a name may resolve to, each list holding an address that is not public. */
export const privateAnswers: Readonly<Record<string, readonly string[]>> = {
  'loopback.example': ['127.0.0.1'],
  'two.example': ['93.184.215.14', '127.0.0.1'],
  'families.example': ['93.184.215.14', '::1'],
  'last.example': ['93.184.215.14', '2606:4700::1111', '1.1.1.1', '8.8.8.8', '9.9.9.9', '10.0.0.1'],
  'mapped.example': ['::ffff:127.0.0.1'],
  'nat64.example': ['64:ff9b::7f00:1'],
  'six-to-four.example': ['2002:7f00:1::1'],
  'link-local.example': ['fe80::1%lo'],
  'metadata.example': ['169.254.169.254'],
  'unspecified.example': ['0.0.0.0'],
  'nonsense.example': ['not an address']
}
