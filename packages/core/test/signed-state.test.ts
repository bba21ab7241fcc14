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
