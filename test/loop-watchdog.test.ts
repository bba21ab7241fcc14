import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'tap'
import { root } from './fixtures/pages.js'
import { readersEnvironment, run, startHost } from './fixtures/service.js'
import { until } from './fixtures/until.js'

/**
 * Does 200 ms of reference work: in one turn, or with a turn for other work after each 10 ms. A block counts the
 * requests that ended since the last tick, so the work begins some ticks after the requests before it ended.
 */
const INTERPRETER = `import { setImmediate as nextTurn, setTimeout as delay } from 'node:timers/promises'
import { doReferenceWork } from ${JSON.stringify(join(root, 'test/fixtures/reference-work.mjs'))}
export async function stream_interpreter (question) {
  await delay(50)
  for (let i = 0; i < 20; i++) {
    doReferenceWork()
    if (question === 'in turns') await nextTurn()
  }
  return 'done'
}
`

test('the run of a test file reports a route, and a step, that keeps the event loop, and passes', async t => {
  const { code, stdout } = await run(root, process.execPath, ['scripts/test.mjs', 'test/fixtures/planted-block.test.ts'])
  t.equal(code, 0)
  t.match(stdout, /\nblock: \S*planted-block\.test\.ts: the test file kept its event loop, in ms: \d+, more than 60; last request: GET \/planted\nblock: \S*planted-block\.test\.ts: the step keeps the event loop, in ms: \d+, more than 50\n\n2 passed, 0 failed\n$/)
})

test('a host that keeps its event loop is reported, and one that works in turns is not', async t => {
  const config = 'kind: vacConfig\nservice: { stream_interpreter: ./worker.mjs }\nvac: { worker: {} }\n'
  const folder = t.testdir({ 'vac_config.yaml': config, 'worker.mjs': INTERPRETER, blocks: '' })
  const blocks = join(folder, 'blocks')
  const { POLYVAC_BLOCKS: before } = readersEnvironment
  t.teardown(() => { readersEnvironment.POLYVAC_BLOCKS = before })
  readersEnvironment.POLYVAC_BLOCKS = blocks
  const host = await startHost(folder)
  t.teardown(() => host.close())
  const ask = async (question: string): Promise<number> => {
    const headers = { 'content-type': 'application/json' }
    return (await fetch(`${host.url}/vac/worker`, { method: 'POST', headers, body: JSON.stringify({ user_input: question }) })).status
  }
  t.equal(await ask('at once'), 200)
  const found = await until(() => readFileSync(blocks, 'utf8'), 'the block is reported')
  t.match(found, /loop-watchdog\.test\.ts: a server of it kept its event loop, in ms: \d+, more than 60; last request: POST \/vac\/worker\n$/)
  t.equal(await ask('in turns'), 200)
  t.equal(readFileSync(blocks, 'utf8'), found)
})
