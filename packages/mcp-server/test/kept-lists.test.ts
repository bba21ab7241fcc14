import { test } from 'tap'
import { Catalog, Entry } from '../src/lists/catalog.js'
import { sourceOf } from './fixtures/wire.js'

test('the lists of callers with other scopes are kept up to a bound, and made again after it', async t => {
  const source = { ...sourceOf({}), mayUse: (_kind: unknown, name: string, principal: { readonly scopes?: readonly string[] | undefined } | undefined) => principal?.scopes?.includes(name) !== false }
  const definitions = Array.from({ length: 70 }, (_, i) => ({ name: `t${i}`, inputSchema: { type: 'object' as const } }))
  const catalog = new Catalog('tools', definitions.map(definition => new Entry(definition, source)))
  const listOf = (name: string) => catalog.of({ owner: 'alice', scopes: [name] })
  const first = listOf('t0')
  t.strictSame(first.ids, ['t0'])
  for (let i = 1; i < 64; i++) listOf(`t${i}`)
  t.equal(listOf('t0'), first, 'kept')
  listOf('t64')
  const again = listOf('t0')
  t.not(again, first, 'one list more, and all are made again')
  t.strictSame(again.ids, ['t0'])
})
