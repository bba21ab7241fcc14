import { test } from 'tap'
import { SignedStates } from '../src/plugin.js'

const KEY = 'a key for this test, of 32 bytes or more'

test('a key from a function is read at each use, and its error reaches the caller until there is one', t => {
  let key: string | undefined
  const states = new SignedStates(() => {
    if (key === undefined) throw new Error('not yet')
    return key
  })
  t.throws(() => states.sign('value', 'call', 60_000), { message: 'not yet' })
  key = KEY
  const text = states.sign('value', 'call', 60_000)
  t.strictSame(new SignedStates(KEY).read(text, 'call'), { value: 'value' }, 'it is the key of another process')
  key = 'short'
  t.throws(() => states.read(text, 'call'), { code: 'INVALID_STATE_KEY', message: /it has 5/ })
  t.throws(() => new SignedStates('short'), { code: 'INVALID_STATE_KEY' })
  t.end()
})

test('a state whose end is rounded up is the same text until then', t => {
  const states = new SignedStates('k'.repeat(32))
  // so far apart that no midnight is between the two calls
  const step = 1_000 * 86_400_000
  t.equal(states.sign('a', 'call', 1, step), states.sign('a', 'call', 2, step))
  t.not(states.sign('a', 'call', 1, step), states.sign('a', 'call', step + 1, step))
  t.strictSame(states.read(states.sign('a', 'call', 0, step), 'call'), { value: 'a' })
  t.end()
})
