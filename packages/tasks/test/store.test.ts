import { test } from 'tap'
import { conformance } from './conformance.js'
import { fileOf, openStore } from './fixtures/store.js'

test('the store in memory', async t => {
  conformance(t, 'memory', async (t, settings = {}) => await openStore(t, { path: ':memory:', ...settings }))
})

test('the store in a file', async t => {
  conformance(t, 'file', async (t, settings = {}) => await openStore(t, { path: await fileOf(t), ...settings }))
})
