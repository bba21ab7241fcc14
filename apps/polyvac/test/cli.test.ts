import { test } from 'tap'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { cp, mkdtemp, readFile, rm, writeFile, mkdir, readdir } from 'node:fs/promises'
import { createServer, type AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { isLoopbackHost } from '@polyvac/core/plugin'
import { checkAddress } from '@polyvac/host/command'
import { readArguments } from '../src/arguments.js'
import { folderConfig } from '../src/load-config.js'
import { runPolyvac, withoutPackage } from '../../../test/fixtures/command.js'
import { until } from '../../../test/fixtures/until.js'

// the built command line, as people run it; `npm test` builds first
const cli = fileURLToPath(new URL('../dist/cli.js', import.meta.url))
const fixtures = fileURLToPath(new URL('../../host/test/fixtures', import.meta.url))

function run (args: string[], cwd: string, env: Record<string, string> = {}) {
  const { NODE_OPTIONS, ...rest } = process.env
  const child = spawn(process.execPath, [cli, ...args], { cwd, env: { ...rest, PORT: '0', ...env }, stdio: ['ignore', 'pipe', 'pipe'] })
  const out = { stdout: '', stderr: '' }
  child.stdout.setEncoding('utf8').on('data', (text: string) => { out.stdout += text })
  child.stderr.setEncoding('utf8').on('data', (text: string) => { out.stderr += text })
  const ended = new Promise<{ code: number | null, signal: string | null }>(resolve => { child.on('close', (code, signal) => { resolve({ code, signal }) }) })
  return { child, out, ended }
}

async function workspace (t: { teardown: (end: () => unknown) => void }): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'polyvac-cli-'))
  await cp(fixtures, folder, { recursive: true })
  t.teardown(() => rm(folder, { recursive: true, force: true }))
  return folder
}

const post = async (url: string, question: string): Promise<{ answer: string }> =>
  await (await fetch(url, { method: 'POST', headers: { 'content-type': 'application/json', connection: 'close' }, body: JSON.stringify({ user_input: question }) })).json() as { answer: string }

test('start serves, follows the configuration, and stops on SIGTERM after its answers', async t => {
  const folder = await workspace(t)
  const file = join(folder, 'vac_config.yaml')
  await writeFile(join(folder, 'interpreter.mjs'), `export default async function * (question) {
    console.error("asked " + question)
    yield "slow "
    await new Promise(resolve => setTimeout(resolve, Number(question)))
    yield "answer"
  }`)
  const { child, out, ended } = run(['start', '--watch'], folder)
  t.teardown(() => child.kill('SIGKILL'))
  const url = await until(() => /http:\/\/127\.0\.0\.1:\d+/.exec(out.stdout)?.[0], 'the banner shows the address')
  t.match(out.stdout, new RegExp(`^ {2}config {3}${file}\n`), 'the banner begins with the configuration in force')
  t.match(out.stdout, /vac {6}tides {2}\(documents, 1 file, 2 passages, indexed in \d+\.\d s\)/)
  t.match(await post(`${url}/vac/tides`, 'When does a spring tide occur?'), { answer: /twice each month/ })

  await writeFile(file, (await readFile(file, 'utf8')).replace('own:', 'renamed:'))
  await until(async () => (await fetch(`${url}/vac`).then(response => response.text())).includes('renamed'), 'the changed configuration is in force')
  t.pass('a changed configuration is taken over')
  await writeFile(file, 'kind: vacConfig\nvac: { a: 1 }\nservice: { async_steam: true }\n')
  await until(() => out.stderr.includes('did you mean "async_stream"?'), 'the error of the configuration is printed')
  t.match(out.stderr, /the configuration in force stays, without the credentials that were removed/)
  const ready = await (await fetch(`${url}/ready`)).json() as object
  t.match(ready, { configuration: [{ file, line: 2 }, { file, line: 3, column: 12, message: /async_steam/, hint: /async_stream/ }] })
  t.match(await post(`${url}/vac/renamed`, '0'), { answer: 'slow answer' })

  const last = post(`${url}/vac/renamed`, '700')
  await until(() => out.stderr.includes('asked 700'), 'the interpreter runs')
  child.kill('SIGTERM')
  t.match(await last, { answer: 'slow answer' }, 'an answer in progress is finished')
  t.strictSame(await ended, { code: 0, signal: null })
})

test('an error of syntax in an interpreter is shown with its place, at the start and with --watch', async t => {
  const folder = await workspace(t)
  const file = join(folder, 'interpreter.mjs')
  const good = await readFile(file, 'utf8')
  await writeFile(file, 'export default function () {\n  return 1 +* 2\n}\n')
  const refused = await runPolyvac(['start'], folder)
  t.equal(refused.code, 1)
  t.match(refused.stderr, /interpreter\.mjs:2:13 {2}Unexpected token '\*'\n {4}2 \| {3}return 1 \+\* 2\n {6}\| {13}\^\n$/)
  await writeFile(file, good)
  const { child, out } = run(['start', '--watch'], folder)
  t.teardown(() => child.kill('SIGKILL'))
  const url = await until(() => /http:\/\/127\.0\.0\.1:\d+/.exec(out.stdout)?.[0], 'the banner shows the address')
  await writeFile(file, 'export default () => {\n')
  await until(() => /interpreter\.mjs:1:23 {2}Unexpected end of input\n[^]*the configuration in force stays/.test(out.stderr), 'the error is shown')
  t.match(await post(`${url}/vac/own`, 'x'), { answer: /x/ })
})

test('a stop waits at most the grace time', async t => {
  const folder = await workspace(t)
  await writeFile(join(folder, 'interpreter.mjs'), 'export default () => { console.error("asked"); return new Promise(() => {}) }')
  const { child, out, ended } = run(['start', '--grace', '2'], folder)
  t.teardown(() => child.kill('SIGKILL'))
  const url = await until(() => /http:\/\/127\.0\.0\.1:\d+/.exec(out.stdout)?.[0], 'the banner shows the address')
  const waiting = post(`${url}/vac/own`, 'x')
  await until(() => out.stderr.includes('asked'), 'the interpreter runs')
  child.kill('SIGTERM')
  t.match(await waiting, { error: { code: 'SHUTTING_DOWN' } }, 'the answer that would never end is ended')
  t.strictSame(await ended, { code: 0, signal: null })
})

test('ask answers on the command line, with sources or as JSON', async t => {
  const folder = await workspace(t)
  const asked = await runPolyvac(['ask', 'tides', 'When does a spring tide occur?'], folder)
  t.equal(asked.code, 0)
  t.match(asked.stdout, /twice each month.*\[1\]\n\n\[1\] tides\.md:\d+(-\d+)? {2}.*Spring tides\n$/s)
  t.equal(asked.stderr, '')

  const json = await runPolyvac(['ask', './docs', 'When does a spring tide occur?', '--json'], folder)
  t.equal(json.code, 0)
  t.match(JSON.parse(json.stdout), { answer: /twice/, source_documents: [{}] })

  const which = await runPolyvac(['ask', 'When?'], folder)
  t.equal(which.code, 2)
  t.match(which.stderr, /^polyvac: name the VAC to ask: own, tides/)
})

test('check prints all problems with their places, and nothing more', async t => {
  const folder = await workspace(t)
  const good = await runPolyvac(['check'], folder)
  t.equal(good.code, 0)
  t.match(good.stdout, /: good; 2 VACs: own, tides\n$/)
  await writeFile(join(folder, 'docs/letter.wpd'), '')
  t.match((await runPolyvac(['check'], folder)).stdout, /1 file left out: 1 \.wpd; to read them: name other endings in `extensions`[^]*: good; 2 VACs/)
  await writeFile(join(folder, 'vac_config.yaml'), 'kind: vacConfig\nvac:\n  docs:\n    model: 7\n    agnet: documents\nservice:\n  async_steam: true\n')
  const bad = await runPolyvac(['check'], folder)
  t.equal(bad.code, 1)
  t.match(bad.stderr, /vac_config\.yaml:4:12 {2}vac\.docs\.model: expected string, got 7\n.*\n.*\n.*vac_config\.yaml:7:3 {2}unknown key "async_steam" in service\n.*\n.*did you mean "async_stream"\?\n.*:5:5 {2}unknown key "agnet"[^]*did you mean "agent"\?\n$/)
})

test('start on a folder of documents needs no configuration', async t => {
  const folder = await workspace(t)
  const { child, out, ended } = run(['./docs'], folder)
  t.teardown(() => child.kill('SIGKILL'))
  const url = await until(() => /http:\/\/127\.0\.0\.1:\d+/.exec(out.stdout)?.[0], 'the banner shows the address')
  t.match(await post(`${url}/vac/docs`, 'When does a spring tide occur?'), { answer: /twice each month/ })
  child.kill('SIGINT')
  t.match(await ended, { code: 0 })
  t.strictSame(Object.keys(folderConfig('/tmp/My $HOME docs & more').vac), ['My-HOME-docs-more'])
  t.strictSame(Object.keys(folderConfig(`/tmp/${'x'.repeat(63)}\u{10400}`).vac), ['x'.repeat(63)])
})

test('the VAC of a folder with a name that it cannot have gets another one, and the command reports it', async t => {
  const folder = await workspace(t)
  for (const name of ['agent', 'info']) {
    await cp(join(folder, 'docs'), join(folder, name), { recursive: true })
    t.match(await runPolyvac(['check', `./${name}`], folder), {
      code: 0, stdout: new RegExp(`/${name}  the VAC of this folder is named "${name}-docs": the path /ag-ui/${name} belongs to routes[^]*: good; 1 VAC: ${name}-docs\\n`)
    })
  }
  t.match((await runPolyvac(['ask', './agent', 'When does a spring tide occur?'], folder)), { code: 0, stdout: /twice each month/ })
})

test('init writes a service that starts, and keeps existing files', async t => {
  const folder = await mkdtemp(join(tmpdir(), 'polyvac-init-'))
  t.teardown(() => rm(folder, { recursive: true, force: true }))
  await mkdir(join(folder, 'new'))
  await writeFile(join(folder, 'new', 'README.md'), 'mine')
  t.equal((await runPolyvac(['init', 'new'], folder)).code, 0)
  t.equal(await readFile(join(folder, 'new', 'README.md'), 'utf8'), 'mine')
  t.match(await readdir(join(folder, 'new')), [
    '.dockerignore', '.env.example', '.gitignore', 'Dockerfile', 'README.md', 'docs', 'interpreter.mjs', 'package.json', 'packages', 'service.test.mjs', 'vac_config.yaml'
  ])
  t.equal((await runPolyvac(['check', 'new'], folder)).code, 0)
  const { dependencies } = JSON.parse(await readFile(join(folder, 'new', 'package.json'), 'utf8')) as { dependencies: Record<string, string> }
  for (const name of ['polyvac', '@polyvac/host', '@polyvac/core']) t.ok(name in dependencies, name)
  for (const [name, where] of Object.entries(dependencies)) {
    t.match(where, /^file:packages\//, `${name} needs no registry`)
    await t.resolves(readFile(join(folder, 'new', where.slice('file:'.length))), where)
  }
})

test('openapi prints the document', async t => {
  const folder = await workspace(t)
  const { code, stdout } = await runPolyvac(['openapi'], folder)
  t.equal(code, 0)
  t.match(JSON.parse(stdout), { openapi: '3.1.0' })
})

test('failures are printed in one line with the remedy, without a stack', async t => {
  const folder = await workspace(t)
  const taken = createServer().listen(0, '127.0.0.1')
  t.teardown(() => { taken.close() })
  await once(taken, 'listening')
  const { port } = taken.address() as AddressInfo
  // these have opened the service, and take over the signals of their process
  const opened: Array<[string[], number, RegExp]> = [
    [['start', '--port', String(port)], 1, new RegExp(`port 127.0.0.1:${port} is in use; .*--port`)],
    [['start', '--host', '192.0.2.1', '--allow-unauthenticated'], 1, /cannot listen on 192\.0\.2\.1.*no such address/]
  ]
  const wrong: typeof opened = [
    [['start', '--host', '0.0.0.0'], 1, /0\.0\.0\.0 is reachable from other machines.*--allow-unauthenticated/],
    [['start', './nowhere'], 1, /nowhere {2}there is no such folder or file/],
    [['start', '--config', 'nowhere.yaml'], 1, /nowhere\.yaml {2}there is no such file/],
    [['start', '--port', 'eighty'], 2, /--port eighty is not a whole number/],
    [['start', '--nonsense'], 2, /Unknown option '--nonsense'/],
    [['start', '--log-level', 'loud'], 2, /--log-level loud is not one of/],
    [['check', 'a', 'b'], 2, /one word too many/]
  ]
  for (const [args, code, message] of [...opened, ...wrong]) {
    const child = opened.some(([words]) => words === args) ? run(args, folder) : undefined
    const { stdout, stderr, ...ended } = child === undefined ? await runPolyvac(args, folder) : { ...await child.ended, ...child.out }
    t.match(ended, { code }, args.join(' '))
    t.match(stderr, message, args.join(' '))
    t.notMatch(stderr, /^ +at /m, 'no stack')
    t.equal(stdout, '')
  }
  const empty = await mkdtemp(join(tmpdir(), 'polyvac-empty-'))
  t.teardown(() => rm(empty, { recursive: true, force: true }))
  const { code, stderr } = await runPolyvac([], empty)
  t.equal(code, 1)
  t.match(stderr, /there is no such file; name a folder of documents .* or write one with `polyvac init`/)
})

test('help and version', async t => {
  const help = await runPolyvac(['--help'], fixtures)
  t.equal(help.code, 0)
  t.match(help.stdout, /polyvac ask/)
  const version = run(['--version'], fixtures)
  t.match(await version.ended, { code: 0 })
  t.match(version.out.stdout, /^\d+\.\d+\.\d+\n$/)
})

test('arguments and environment are read as documented', async t => {
  const read = (argv: string[], env = {}) => readArguments(argv, env)
  t.match(read([]), { command: 'start', target: undefined, port: 8080, host: '127.0.0.1', grace: 10 })
  t.match(read(['./docs']), { command: 'start', target: './docs' })
  t.match(read(['start', 'x'], { PORT: '9', HOST: '::1', PUBLIC_URL: 'https://x' }), { target: 'x', port: 9, host: '::1', publicUrl: 'https://x' })
  t.match(read(['-p', '1'], { PORT: '9' }), { port: 1 })
  t.match(read(['ask', 'What is this?']), { command: 'ask', target: undefined, words: ['What is this?'] })
  t.match(read(['ask', fixtures, 'tides', 'What?']), { target: fixtures, words: ['tides', 'What?'] })
  t.match(read(['ask', 'docs', 'What?']), { target: undefined, words: ['docs', 'What?'] })
  t.match(read(['ask', './docs', 'What?']), { target: './docs', words: ['What?'] })
  t.match(read(['ask', 'my.yaml', 'What?']), { target: 'my.yaml', words: ['What?'] })
  t.match(read(['ask', 'and/or', 'which?']), { target: 'and/or' })
  t.match(read(['init']), { command: 'init', target: undefined })
  t.match(read(['init', 'new']), { command: 'init', target: 'new' })
})

test('only loopback addresses are private to this machine, in any spelling', async t => {
  const nobody = { authenticated: false, allowUnauthenticated: false }
  for (const host of [
    '127.0.0.1', '127.1.2.3', '127.1', '0x7f.1', '2130706433', '::1', '[::1]', '0:0:0:0:0:0:0:1', '::ffff:127.0.0.1', '::ffff:7f00:1', '::FFFF:127.1.2.3',
    'localhost', 'LOCALHOST', 'localhost.', 'foo.localhost', 'a.b.LocalHost'
  ]) {
    t.equal(isLoopbackHost(host), true, host)
    t.doesNotThrow(() => { checkAddress(host, nobody) }, host)
  }
  for (const host of [
    '0.0.0.0', '0', '::', '[::]', '192.168.1.1', '10.0.0.1', '128.0.0.1', '::ffff:8000:1', '::ffff:10.0.0.1', 'example.org', '127.0.0.1.example.org', 'localhost.example.org',
    'notlocalhost', 'localhost..', ''
  ]) {
    t.equal(isLoopbackHost(host), false, host)
    t.throws(() => { checkAddress(host, nobody) }, { code: 'PUBLIC_BIND_UNAUTHENTICATED' }, host)
  }
})

test('start --host LOCALHOST listens without authentication of callers', async t => {
  const folder = await workspace(t)
  const { child, out, ended } = run(['start', '--host', 'LOCALHOST', '--log-level', 'info'], folder)
  t.teardown(() => child.kill('SIGKILL'))
  await until(() => /http:\/\/\S+:\d+/.test(out.stdout), 'the banner shows the address', { ms: 60_000 })
  t.match(out.stdout, /chat +http/, 'as on 127.0.0.1')
  child.kill('SIGTERM')
  t.equal((await ended).code, 0)
})

test('help is a command, and an unknown one is refused with the nearest', async t => {
  const folder = await workspace(t)
  const help = await runPolyvac(['help'], folder)
  t.equal(help.code, 0)
  t.match(help.stdout, /polyvac \[start\]/)
  const unknown = await runPolyvac(['sttart'], folder)
  t.equal(unknown.code, 2)
  t.match(unknown.stderr, /"sttart" is not a command.*did you mean `polyvac start`/)
})

test('the version, the help and a refused argument load neither the host nor its packages', async t => {
  const folder = await workspace(t)
  const NODE_OPTIONS = ['fastify', '@sinclair/typebox', '@polyvac/core', '@polyvac/core/plugin', '@polyvac/host/command'].map(withoutPackage).join(' ')
  for (const [args, code, text] of [[['--version'], 0, /^\d+\.\d+\.\d+\n$/], [['--help'], 0, /polyvac \[start\]/], [['sttart'], 2, /is not a command/], [['--port', 'x'], 2, /is not a whole number/]] as const) {
    const { out, ended } = run([...args], folder, { NODE_OPTIONS })
    t.match(await ended, { code }, args[0])
    t.match(code === 0 ? out.stdout : out.stderr, text)
  }
  const { out, ended } = run(['check'], folder, { NODE_OPTIONS })
  t.match(await ended, { code: 1 })
  t.match(out.stderr, /Cannot find package/, 'other commands need them')
})

test('a command whose reader leaves ends without an error', async t => {
  const folder = await workspace(t)
  for (const args of [['openapi'], ['doctor', '--json']] as const) {
    const { child, out, ended } = run([...args], folder)
    child.stdout.destroy()
    t.strictSame(await ended, { code: 0, signal: null }, args[0])
    t.notMatch(out.stderr, /EPIPE|at /, args[0])
  }
})
