import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { test } from 'tap'
import { root } from './fixtures/pages.js'

test('the agent of the example answers with the same text, sources and calls on each protocol', async t => {
  const folder = join(root, 'examples', 'agent')
  await t.resolves(promisify(execFile)(process.execPath, ['test.mjs'], { cwd: folder }))
})
