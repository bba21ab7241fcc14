import { test } from 'tap'
import { testDatabase } from '../../../test/fixtures/postgres.js'
import { postgresTaskStore } from '../src/postgres/index.js'

test('processes that store a value at once all get the same one, and one of two replacements wins', async t => {
  const url = await testDatabase(t)
  const stores = [postgresTaskStore({ url }), postgresTaskStore({ url })]
  await t.rejects(stores[0]!.shared!.get('key'), { code: 'TASK_STORE_CLOSED' })
  t.teardown(async () => { await Promise.all(stores.map(store => store.close())) })
  await Promise.all(stores.map(store => store.open()))
  const values = stores.map(store => store.shared!)
  t.equal(await values[0]!.get('key'), undefined)
  const stored = await Promise.all(Array.from({ length: 20 }, (_, index) => values[index % 2]!.putIfAbsent('key', `value ${index}`)))
  t.equal(new Set(stored).size, 1)
  t.equal(await values[1]!.get('key'), stored[0])
  const replaced = await Promise.all(values.map((shared, index) => shared.replace('key', stored[0]!, `next ${index}`)))
  t.equal(replaced.filter(Boolean).length, 1)
  t.equal(await values[0]!.get('key'), `next ${replaced.indexOf(true)}`)
  t.equal(await values[0]!.replace('other', 'x', 'y'), false)
})
