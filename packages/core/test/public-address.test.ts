import tap from 'tap'
import { addressBlock, isLoopbackHost } from '../src/basics/public-address.js'

tap.test('answers are the same however many hosts callers name', t => {
  const hosts: readonly (readonly [host: string, isLoopback: boolean])[] = [
    ['127.0.0.1', true], ['localhost', true], ['[::1]', true], ['::ffff:127.0.0.1', true], ['a.localhost', true], ['example.com', false],
    ['10.0.0.1', false], ['', false], ['x'.repeat(200), false], [`${'x'.repeat(200)}.localhost`, true]
  ]
  for (let round = 0; round < 3; round++) {
    for (let i = 0; i < 200; i++) t.notOk(isLoopbackHost(`host-${i}.example`))
    for (const [host, isLoopback] of hosts) t.equal(isLoopbackHost(host), isLoopback, host)
    t.strictSame(['10.1.2.3', '::ffff:10.1.2.3', '2001:db8:1:2:3::4', 'no address'].map(addressBlock), ['10.1.2.3', '10.1.2.3', '2001:db8:1:2', 'no address'])
  }
  t.end()
})
