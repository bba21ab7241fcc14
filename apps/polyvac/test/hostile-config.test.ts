import { test } from 'tap'
import { execFileSync } from 'node:child_process'
import { mkdir, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { until } from '../../../test/fixtures/until.js'
import { emptyFolder, json, polyvac, runPolyvac } from '../../../test/fixtures/command.js'

const config = (interpreter: string, name = 'demo'): string => JSON.stringify({
  kind: 'vacConfig',
  service: { stream_interpreter: interpreter, load_timeout: 1, tasks: { store: 'memory' } },
  vac: { [name]: {} }
})

test('after a module that never loads and a hostile file, the next change of the configuration is in force', async t => {
  const folder = await emptyFolder(t)
  const file = join(folder, 'vac_config.yaml')
  await writeFile(join(folder, 'forever.mjs'), 'await new Promise(() => {})\nexport default () => "never"\n')
  await writeFile(file, config('echo'))
  const { out, url } = polyvac(t, ['start'], folder)
  const service = await url()
  await writeFile(file, config('./forever.mjs'))
  await until(() => /"\.\/forever\.mjs" cannot be used: loading it failed: it did not load within 1 s; a top-level await/.test(out.stderr), 'the module is reported')
  await writeFile(file, '['.repeat(30_000))
  await until(() => out.stderr.includes('nested more than 64 levels deep'), 'the nested file is reported')
  t.equal((await json(`${service}/vac/demo`, { user_input: 'still here' })).answer.includes('still here'), true, 'the old configuration answers')
  // an editor replaces the file by another kind of file
  await rm(file)
  execFileSync('mkfifo', [file])
  await until(() => out.stderr.includes('it is a device, a pipe or a socket'), 'the pipe is reported')
  await writeFile(join(folder, 'next'), config('echo', 'renamed'))
  await rename(join(folder, 'next'), file)
  await until(async () => (await json(`${service}/vac`)).vacs[0].name === 'renamed', 'the next change is in force')
})

/** NODE_OPTIONS of a process that loses the result of its first thread, as if the machine were too slow for it. */
const FIRST_THREAD_IS_LATE = `--import=data:text/javascript,${encodeURIComponent(`import { Worker } from "node:worker_threads"
let isFirst = true
const emit = Worker.prototype.emit
Worker.prototype.emit = function (name, ...args) {
  if (name !== "message" || !isFirst) return emit.call(this, name, ...args)
  isFirst = false
  return true
}`)}`

test('a change is in force although it is made while the host is created, and one that is not read in time is read again', async t => {
  const folder = await emptyFolder(t)
  const file = join(folder, 'vac_config.yaml')
  const next = JSON.stringify(config('echo', 'second'))
  await writeFile(join(folder, 'change.mjs'), `import { writeFileSync } from 'node:fs'\nwriteFileSync(${JSON.stringify(file)}, ${next})\nexport default () => 'x'\n`)
  await writeFile(file, config('./change.mjs'))
  const { out, url } = polyvac(t, ['start'], folder, { NODE_OPTIONS: FIRST_THREAD_IS_LATE })
  const service = await url()
  const isInForce = async (name: string): Promise<boolean> => (await json(`${service}/vac`)).vacs[0].name === name
  await until(async () => await isInForce('second'), 'the change is in force')
  t.match(out.stderr, /checking the file took longer than 10 s/)
  await writeFile(file, config('echo', 'third'))
  await until(async () => await isInForce('third'), 'the next change is in force')
})

test('check ends with the reason where the configuration or its .env is not a file, or has 200,000 keys', async t => {
  const folder = await emptyFolder(t)
  const file = join(folder, 'vac_config.yaml')
  const check = async (): Promise<string> => {
    const { code, stderr } = await runPolyvac(['check'], folder)
    t.equal(code, 1)
    return stderr
  }
  execFileSync('mkfifo', [file])
  t.match(await check(), /it is a device, a pipe or a socket/)
  await rm(file)
  await mkdir(file)
  t.match(await check(), /it is a folder/)
  await rm(file, { recursive: true })
  await writeFile(file, `kind: vacConfig\n${Array.from({ length: 200_000 }, (_, i) => `k${i}: 1`).join('\n')}\n`)
  t.match(await check(), /more than 300000 tokens/)
  await writeFile(file, config('echo'))
  execFileSync('mkfifo', [join(folder, '.env')])
  t.match(await check(), /\.env {2}cannot be read: it is a device, a pipe or a socket/)
})

test('control characters of the configuration are escaped on the terminal', async t => {
  const folder = await emptyFolder(t)
  await writeFile(join(folder, 'vac_config.yaml'), 'kind: vacConfig # \x1b[2J\n"ke\\ey\x1b]0;title\x07": 1\nvac: { demo: {} }\n')
  const { code, stderr } = await runPolyvac(['check'], folder)
  t.equal(code, 1)
  t.match(stderr, /\\u001b/)
  t.notMatch(stderr, '\x1b')
})
