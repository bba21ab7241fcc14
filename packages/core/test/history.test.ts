import { deepStrictEqual } from 'node:assert'
import { test } from 'tap'
import fc from 'fast-check'
import { normaliseHistory } from '../src/vac/history.js'

const user = (content: string) => ({ role: 'user', content })
const assistant = (content: string) => ({ role: 'assistant', content })

const dialects: Array<[string, unknown, unknown]> = [
  ['role and content', [user('a'), assistant('b'), { role: 'system', content: 'c' }], [user('a'), assistant('b'), { role: 'system', content: 'c' }]],
  ['Human and AI by name, content or text', [{ name: 'Human', content: 'a' }, { name: 'AI', text: 'b' }], [user('a'), assistant('b')]],
  ['human and ai as one-key objects', [{ human: 'a' }, { ai: 'b' }], [user('a'), assistant('b')]],
  ['human and ai in one object', [{ human: 'a', ai: 'b' }], [user('a'), assistant('b')]],
  ['pairs', [['a', 'b'], ['c', 'd']], [user('a'), assistant('b'), user('c'), assistant('d')]],
  ['a pair whose second half is open', [['a', null], ['b']], [user('a'), user('b')]],
  ['sender types', [{ sender: { type: 'HUMAN' }, text: 'a' }, { sender: { type: 'BOT' }, text: 'b' }], [user('a'), assistant('b')]],
  ['user and bot ids', [{ user: 'U1', text: 'a' }, { bot_id: 'B1', text: 'b' }], [user('a'), assistant('b')]],
  ['content as a list of parts', [{ role: 'user', content: [{ type: 'text', text: 'a' }, { type: 'image_url' }, { type: 'text', text: 'b' }] }], [user('ab')]],
  ['two user turns in a row, all kept', [user('a'), user('b')], [user('a'), user('b')]],
  ['a mixture', [['a', 'b'], user('c'), { ai: 'd' }], [user('a'), assistant('b'), user('c'), assistant('d')]],
  ['nothing', null, []]
]

test('every format is converted, with all turns in their order', async t => {
  for (const [name, given, wanted] of dialects) t.strictSame(normaliseHistory(given), wanted, name)
})

test('an entry that is not a turn is named by its index', async t => {
  for (const bad of [[42], [{}], [{ role: 'nobody', content: 'x' }], [{ role: 'constructor', content: 'x' }], ['text'], [['a', 'b', 'c']], [[]], [null], [{ role: 'user', content: 7 }]]) {
    t.throws(() => normaliseHistory([user('fine'), ...bad]), { code: 'INVALID_HISTORY', statusCode: 400, message: /chat_history\[1\]/ })
  }
  t.throws(() => normaliseHistory('text'), { code: 'INVALID_HISTORY' })
})

test('a conversation gives the same turns in all formats', async () => {
  const turn = fc.record({ role: fc.constantFrom('user', 'assistant'), content: fc.string() }, { noNullPrototype: true })
  fc.assert(fc.property(fc.array(turn), conversation => {
    const named = conversation.map(({ role, content }) => ({ name: role === 'user' ? 'Human' : 'AI', content }))
    const keyed = conversation.map(({ role, content }) => ({ [role === 'user' ? 'human' : 'ai']: content }))
    const pairs = conversation.map(({ role, content }) => role === 'user' ? [content, null] : [null, content])
    for (const dialect of [conversation, named, keyed, pairs]) deepStrictEqual(normaliseHistory(dialect), conversation)
  }))
})
