import { test } from 'tap'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { until } from '../../../test/fixtures/until.js'
import { emptyFolder, json, polyvac } from '../../../test/fixtures/command.js'

const AGENT = `
export default async function * (question, vac, history, { signal }) {
  if (question === 'timer') setTimeout(() => { throw new Error('thrown by a timer') }, 5)
  if (question === 'rejection') Promise.reject(new Error('a forgotten rejection'))
  if (question === 'undefined') setImmediate(() => { throw undefined })
  if (question === 'getters') setImmediate(() => { throw { get message () { throw new Error('inner') }, get stack () { throw new Error('inner') } } })
  if (question === 'child') (await import('node:child_process')).spawn('/there/is/no/such/program')
  if (question === 'late') { setTimeout(() => { throw new Error('thrown after the answer') }, 50); return 'done' }
  if (question === 'fine') return 'fine'
  await new Promise(resolve => { signal.addEventListener('abort', resolve) })
}
`

const config = (service: object): string => JSON.stringify({
  kind: 'vacConfig', service: { stream_interpreter: './agent.mjs', tasks: { store: 'memory' }, ...service }, vac: { demo: {} }
})

/** Log lines about stray errors. */
const strayLines = (stderr: string): any[] => stderr.split('\n').filter(line => line.includes('"strayErrors"')).map(line => JSON.parse(line))

test('an error that an interpreter throws outside of its call fails that call, and the host goes on', async t => {
  const folder = await emptyFolder(t)
  await writeFile(join(folder, 'agent.mjs'), AGENT)
  await writeFile(join(folder, 'vac_config.yaml'), config({}))
  const { child, out, url, ended } = polyvac(t, ['start', '--grace', '2'], folder)
  const demo = `${await url()}/vac/demo`

  const first = await json(demo, { user_input: 'timer' })
  t.equal(first.error.code, 'VAC_INTERPRETER_FAILED', 'the only call in progress is the one that caused it')
  const [line] = await until(() => strayLines(out.stderr).length > 0 && strayLines(out.stderr), 'the error is in the log')
  t.match(line, { vac: 'demo', reqId: first.error.requestId, strayErrors: 1, err: { message: 'thrown by a timer' } })

  const waiting = fetch(demo, { method: 'POST', headers: { 'content-type': 'application/json' }, body: '{"user_input":"wait"}' })
  for (const question of ['rejection', 'timer', 'undefined', 'getters', 'child']) {
    t.match(await json(demo, { user_input: question }), { error: { code: 'VAC_INTERPRETER_FAILED' } }, `${question}: its call fails`)
  }
  t.equal((await json(demo, { user_input: 'late' })).answer, 'done')
  t.equal((await json(demo, { user_input: 'fine' })).answer, 'fine', 'other calls succeed')
  t.equal(child.exitCode, null, 'the process lives')
  t.equal(await Promise.race([waiting, 'in progress']), 'in progress', 'a call in progress beside them goes on')
  t.equal(strayLines(out.stderr).length, 1, 'the log has one line for ten seconds')
  waiting.catch(() => {})
  child.kill('SIGTERM')
  t.equal(await ended, 0)
})

test('on_stray_error: end stops the service at a stray error', async t => {
  const folder = await emptyFolder(t)
  await writeFile(join(folder, 'agent.mjs'), AGENT)
  await writeFile(join(folder, 'vac_config.yaml'), config({ on_stray_error: 'end' }))
  const { out, url, ended } = polyvac(t, ['start'], folder)
  await json(`${await url()}/vac/demo`, { user_input: 'timer' }).catch(() => {})
  t.equal(await ended, 1)
  t.match(out.stderr, /"err":\{[^}]*"message":"thrown by a timer"/)
})

test('a stray error in a worker thread fails only the calls of that thread', async t => {
  const folder = await emptyFolder(t)
  await writeFile(join(folder, 'agent.mjs'), AGENT)
  await writeFile(join(folder, 'vac_config.yaml'), config({ async_stream: false }))
  const { child, out, url } = polyvac(t, ['start'], folder)
  const demo = `${await url()}/vac/demo`
  for (const question of ['timer', 'rejection', 'undefined', 'getters']) {
    t.match(await json(demo, { user_input: question }), { error: { code: 'VAC_INTERPRETER_FAILED' } }, question)
  }
  t.equal((await json(demo, { user_input: 'late' })).answer, 'done')
  await until(() => out.stderr.includes('thrown after the answer'), 'the log has the error of an idle thread')
  t.equal((await json(demo, { user_input: 'fine' })).answer, 'fine')
  t.equal(child.exitCode, null)
})
