import { test } from 'tap'
import { spawn } from 'node:child_process'
import { createServer, type AddressInfo } from 'node:net'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { emptyFolder, polyvac, root } from './command.js'
import { until } from '../../../test/fixtures/until.js'

const INTERPRETER = `export default async function * (question, vac, history, { signal }) {
  if (question === 'wait') {
    yield 'waiting'
    await new Promise((resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason)))
  }
  if (question === 'fail') throw new Error('secret')
  if (question === 'book') return { input_required: 'Which day?' }
  yield 'heard ' + question + ' after ' + history.map(({ content }) => content).join('|')
  yield { answer: 'heard ' + question + '\\x1b[2J', source_documents: [{ page_content: 'p', metadata: { source: 'a\\x1b[2J.md' } }] }
}`

/** `polyvac chat`, whose standard input is the conversation: the command of other tests reads it for their own end. */
function startChat (t: Parameters<typeof emptyFolder>[0], args: readonly string[], cwd: string) {
  const { NODE_OPTIONS, ...env } = process.env
  const child = spawn(process.execPath, [join(root, 'apps/host/dist/cli.js'), 'chat', ...args], { cwd, env, stdio: 'pipe' })
  t.teardown(() => { child.kill('SIGKILL') })
  const out = { stdout: '', stderr: '' }
  child.stdout.setEncoding('utf8').on('data', (text: string) => { out.stdout += text })
  child.stderr.setEncoding('utf8').on('data', (text: string) => { out.stderr += text })
  return { child, out, ended: new Promise<number | null>(resolve => { child.on('close', resolve) }) }
}

async function folder (t: Parameters<typeof emptyFolder>[0]): Promise<string> {
  const path = await emptyFolder(t)
  await writeFile(join(path, 'interpreter.mjs'), INTERPRETER)
  await writeFile(join(path, 'vac_config.yaml'), 'kind: vacConfig\nservice: { stream_interpreter: ./interpreter.mjs }\nvac: { one: {}, two: {} }\n')
  return path
}

test('chat answers each line of a pipe, with history, sources and neutralised control characters', async t => {
  const cwd = await folder(t)
  const service = polyvac(t, ['start'], cwd)
  const url = await service.url()
  for (const args of [['one'], ['one', '--url', url]]) {
    const { child, out, ended } = startChat(t, args, cwd)
    child.stdin.end('book\nMonday\n')
    t.equal(await ended, 0)
    t.match(out.stdout, /Which day\?[^]*heard Monday after book\|[^]*\[1\] a\\u001b\[2J\.md/)
    t.notMatch(out.stdout, '\x1b')
  }
  const json = startChat(t, ['one', '--url', url, '--json'], cwd)
  json.child.stdin.end('a\nfail\n')
  t.equal(await json.ended, 1, 'a failed answer of a pipe sets the exit code')
  const [first, second] = json.out.stdout.trim().split('\n').map(line => JSON.parse(line) as unknown)
  t.match(first, { answer: /^heard a/ })
  t.match(second, { error: { message: String } })
  t.notMatch(json.out.stdout, 'secret')
})

test('SIGINT stops the answer, and the next one ends the conversation', async t => {
  const { child, out, ended } = startChat(t, ['one'], await folder(t))
  child.stdin.write('wait\n')
  await until(() => out.stdout.includes('waiting'), 'the answer begins', { ms: 30_000 })
  child.kill('SIGINT')
  await until(() => out.stderr.includes('the answer was stopped'), 'the answer is stopped')
  child.stdin.write('more\n')
  await until(() => out.stdout.includes('heard more'), 'the conversation goes on')
  child.kill('SIGINT')
  t.equal(await ended, 0)
})

test('chat names the VACs to choose from, and why a service cannot be used', async t => {
  const cwd = await folder(t)
  const which = startChat(t, [], cwd)
  t.equal(await which.ended, 2)
  t.match(which.out.stderr, /name the VAC to chat with: one, two/)
  const closed = createServer().listen(0, '127.0.0.1')
  await until(() => closed.listening, 'a port is free')
  const { port } = closed.address() as AddressInfo
  await new Promise(resolve => closed.close(resolve))
  const dead = startChat(t, ['--url', `http://127.0.0.1:${port}`], cwd)
  t.equal(await dead.ended, 1)
  t.match(dead.out.stderr, /^polyvac: the service http:\/\/127\.0\.0\.1:\d+\/: .*ECONNREFUSED/)
})
