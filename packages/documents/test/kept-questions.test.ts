import { test } from 'tap'
import { embeddingServer } from '../../../test/fixtures/embedding-server.js'
import { until } from '../../../test/fixtures/until.js'
import { openFolder } from '../src/index.js'
import { folderOf } from './fixtures/folder.js'

test('the vectors of questions are kept up to a bound, and the oldest one is asked for again', async t => {
  const server = await embeddingServer(t)
  const path = await folderOf(t, { 'tasks.md': '# Orders\n\nTo abort a job, post its number to the office.\n' })
  const memory = await openFolder({ path, indexFile: ':memory:', watch: false, embed: { model: 'test-embed', openai: { base_url: server.url } } })
  t.teardown(async () => { await memory.close() })
  await memory.ready
  await until(() => memory.stats().embedded === memory.stats().passages, 'all passages are embedded')
  const ask = async (i: number): Promise<void> => { await memory.search({ query: `Which errand has the number ${i}?`, threshold: 0, limit: 1 }) }
  const before = server.requests.length
  for (let i = 0; i < 50; i++) await ask(i)
  await ask(0)
  t.equal(server.requests.length - before, 50, 'a question is asked for once')
  await ask(50)
  await ask(0)
  t.equal(server.requests.length - before, 52, 'the oldest one had left')
})
