import Fastify from 'fastify'
import { a2aPlugin } from '@polyvac/a2a'
import { createVacs } from '@polyvac/core'
import { createHost } from '@polyvac/host'
import { sqliteTaskStore } from '@polyvac/tasks/sqlite'
import { vacPlugin } from '@polyvac/vac'
import { test } from 'tap'
import { spawn, spawnSync } from 'node:child_process'
import { createServer, type AddressInfo } from 'node:net'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { emptyFolder, root, runPolyvac } from '../../../test/fixtures/command.js'
import { HttpClient } from '../src/client/http-client.js'
import { findService } from '../src/client/service-speaker.js'
import { until } from '../../../test/fixtures/until.js'

const INTERPRETER = `export default async function * (question, vac, history, { signal }) {
  if (question === 'wait') {
    yield 'waiting'
    await new Promise((resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason)))
  }
  if (question === 'ignore') {
    yield 'ignoring'
    await new Promise(() => {})
  }
  if (question === 'fail') throw new Error('secret')
  if (question === 'book') return { input_required: 'Which day?' }
  yield 'heard ' + question + ' after ' + history.map(({ content }) => content).join('|')
  yield { answer: 'heard ' + question + '\\x1b[2J', source_documents: [{ page_content: 'p', metadata: { source: 'a\\x1b[2J.md' } }] }
}`

/** `polyvac chat` on a pseudo terminal of util-linux; Ctrl+C is the character 0x03. */
function startTerminal (t: Parameters<typeof emptyFolder>[0], args: readonly string[], cwd: string) {
  const command = [process.execPath, join(root, 'apps/polyvac/dist/cli.js'), 'chat', ...args].map(word => `'${word}'`).join(' ')
  const { NODE_OPTIONS, ...env } = process.env
  const child = spawn('script', ['-qefc', command, '/dev/null'], { cwd, env: { ...env, TERM: 'xterm' }, stdio: 'pipe' })
  t.teardown(() => { child.kill('SIGKILL') })
  const out = { stdout: '' }
  child.stdout.setEncoding('utf8').on('data', (text: string) => { out.stdout += text })
  return { child, out, ended: new Promise<number | null>(resolve => { child.on('close', resolve) }) }
}

const hasScript = spawnSync('script', ['--version'], { encoding: 'utf8' }).stdout?.includes('util-linux') === true

/** `polyvac chat`, whose standard input is the conversation: the command of other tests reads it for their own end. */
function startChat (t: Parameters<typeof emptyFolder>[0], args: readonly string[], cwd: string) {
  const { NODE_OPTIONS, ...env } = process.env
  const child = spawn(process.execPath, [join(root, 'apps/polyvac/dist/cli.js'), 'chat', ...args], { cwd, env, stdio: 'pipe' })
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
  const app = await createHost({ config: join(cwd, 'vac_config.yaml'), server: { logger: false, forceCloseConnections: true } })
  t.teardown(() => app.close())
  const url = await app.listen({ host: '127.0.0.1', port: 0 })
  for (const args of [['one'], ['one', '--url', url]]) {
    const { code, stdout } = await runPolyvac(['chat', ...args], cwd, { input: 'book\nMonday\n' })
    t.equal(code, 0)
    t.match(stdout, /Which day\?[^]*heard Monday after book\|[^]*\[1\] a\\u001b\[2J\.md/)
    t.notMatch(stdout, '\x1b')
  }
  const own = await runPolyvac(['chat', 'one'], cwd, { input: 'fail\n' })
  t.equal(own.code, 1)
  t.match(own.stderr, /^the interpreter of the VAC "one" failed: secret \(file:[^?]*interpreter\.mjs:\d+:\d+\)$/m)
  t.notMatch(own.stderr, 'request id')
  const json = await runPolyvac(['chat', 'one', '--url', url, '--json'], cwd, { input: 'a\nfail\n' })
  t.equal(json.code, 1, 'a failed answer of a pipe sets the exit code')
  const [first, second] = json.stdout.trim().split('\n').map(line => JSON.parse(line) as unknown)
  t.match(first, { answer: /^heard a/ })
  t.match(second, { error: { message: /under the request id [\w-]+$/ } })
  t.notMatch(json.stdout, 'secret')
})

test('SIGINT stops the answer, and the next one ends the conversation', async t => {
  const { child, out, ended } = startChat(t, ['one'], await folder(t))
  child.stdin.write('wait\n')
  await until(() => out.stdout.includes('waiting'), 'the answer begins')
  child.kill('SIGINT')
  await until(() => out.stderr.includes('the answer was stopped'), 'the answer is stopped')
  child.stdin.write('more\n')
  await until(() => out.stdout.includes('heard more'), 'the conversation goes on')
  child.kill('SIGINT')
  t.equal(await ended, 0)
})

test('chat continues a conversation that a service keeps, lists them and opens one', async t => {
  const cwd = await folder(t)
  const app = await createHost({ config: join(cwd, 'vac_config.yaml') })
  t.teardown(async () => { await app.close() })
  const url = await app.listen({ host: '127.0.0.1', port: 0 })
  const told = await runPolyvac(['chat', 'one', '--url', url, '--conversation', 'tea'], cwd, { input: 'first\n' })
  t.equal(told.code, 0, told.stderr)
  const { stdout } = await runPolyvac(['chat', 'one', '--url', url], cwd, { input: '/list\n/open tea\nsecond\n/open gone\n' })
  t.match(stdout, /tea {2}\d{4}-\d\d-\d\d \d\d:\d\d {2}first/)
  t.match(stdout, /> first\n/)
  const { turns } = await (await fetch(`${url}/vac/one/conversations/tea`)).json() as { turns: { question: string }[] }
  t.strictSame(turns.map(({ question }) => question), ['first', 'second'])
  const own = await runPolyvac(['chat', 'one'], cwd, { input: '/list\n' })
  t.match(own.stdout, /kept by a running service/)
  t.match((await runPolyvac(['chat', 'one', '--conversation', 'tea'], cwd, { input: '' })).stderr, /name it with --url/)
})

test('chat names the VACs to choose from, and why a service cannot be used', async t => {
  const cwd = await folder(t)
  const which = await runPolyvac(['chat'], cwd)
  t.equal(which.code, 2)
  t.match(which.stderr, /name the VAC to chat with: one, two/)
  const closed = createServer().listen(0, '127.0.0.1')
  await until(() => closed.listening, 'a port is free')
  const { port } = closed.address() as AddressInfo
  await new Promise(resolve => closed.close(resolve))
  const dead = await runPolyvac(['chat', '--url', `http://127.0.0.1:${port}`], cwd)
  t.equal(dead.code, 1)
  t.match(dead.stderr, /^polyvac: the service http:\/\/127\.0\.0\.1:\d+\/: .*ECONNREFUSED/)
})

test('on a terminal, chat asks for the VAC, stops with Ctrl+C, and ends with the next one', { skip: !hasScript && 'script of util-linux is not installed' }, async t => {
  const { child, out, ended } = startTerminal(t, [], await folder(t))
  await until(() => out.stdout.includes('number or name of the VAC'), 'the VACs are listed')
  child.stdin.write('2\r')
  await until(() => out.stdout.includes('two> '), 'the prompt names the VAC')
  child.stdin.write('wait\r')
  await until(() => out.stdout.includes('waiting'), 'the answer begins')
  child.stdin.write('\x03')
  await until(() => out.stdout.includes('the answer was stopped'), 'the answer is stopped')
  child.stdin.write('more\r')
  await until(() => out.stdout.includes('heard more after'), 'the conversation goes on')
  child.stdin.write('ignore\r')
  await until(() => out.stdout.includes('ignoring'), 'an interpreter ignores the signal')
  child.stdin.write('\x03\x03')
  t.equal(await ended, 0)
  t.notMatch(out.stdout, /ERR_|at .*\.js:/)
})

test('an interpreter that never ends is an error with the exit code 1', async t => {
  const { child, out, ended } = startChat(t, ['one'], await folder(t))
  child.stdin.end('ignore\n')
  await until(() => out.stdout.includes('ignoring'), 'the answer begins')
  await until(() => out.stderr !== '' || child.exitCode !== null, 'the command ends')
  t.equal(await ended, 1)
  t.match(out.stderr, /a promise that nothing settles/)
})

test('without direct routes, chat asks over A2A, and without a card over the OpenAI-compatible API', async t => {
  const vacs = createVacs({
    vacs: ['own'],
    streamInterpreter: async function * (question, _vac, history) {
      if (question === 'book') return { input_required: 'Which day?' }
      yield 'heard '
      yield `${question} after ${history.map(({ content }) => String(content)).join('|')}`
    }
  })
  for (const protocol of ['a2a', '0.3', 'openai'] as const) {
    const app = Fastify({ forceCloseConnections: true })
    const tasks = sqliteTaskStore({ path: ':memory:' })
    await tasks.open()
    t.teardown(async () => { await app.close(); await tasks.close() })
    if (protocol === '0.3') {
      app.addHook('onSend', async ({ url }, _reply, payload) => {
        if (!url.startsWith('/.well-known/') || typeof payload !== 'string') return payload
        const { supportedInterfaces, ...card } = JSON.parse(payload) as Record<string, unknown>
        return JSON.stringify(card)
      })
    }
    app.addHook('onRequest', async ({ url }, reply) => { if (url.startsWith('/vac')) return await reply.code(404).send() })
    if (protocol === 'openai') await app.register(vacPlugin, { vacs })
    else await app.register(a2aPlugin, { vacs, tasks })
    const client = new HttpClient(await app.listen({ host: '127.0.0.1', port: 0 }))
    const { names, speakerOf } = await findService(client)
    t.strictSame(names, ['own'], protocol)
    const speak = speakerOf('own')
    const ask = async (question: string) => {
      const chunks = []
      for await (const chunk of speak(question, [{ role: 'user', content: 'before' }], new AbortController().signal)) chunks.push(chunk)
      return { text: chunks.slice(0, -1).join(''), last: chunks.at(-1) }
    }
    t.match(await ask('hello'), { text: /^heard hello after /, last: { answer: /^heard hello after / } }, protocol)
    if (protocol === 'openai') continue
    t.match((await ask('book')).last, { input_required: 'Which day?' })
    t.match(await ask('Monday'), { text: /^heard Monday after .*Which day\?/ }, `${protocol}: the reply goes to the task`)
  }
  const bare = Fastify({ forceCloseConnections: true })
  t.teardown(() => bare.close())
  await t.rejects(findService(new HttpClient(await bare.listen({ host: '127.0.0.1', port: 0 }))), { code: 'SERVICE_FAILED', message: /no agent card and no list of models/ })
})

test('over A2A, chat prints the message of a completed task that has no artifact', async t => {
  const agent = Fastify({ forceCloseConnections: true })
  t.teardown(() => agent.close())
  agent.get('/.well-known/agent-card.json', async ({ host }) => ({
    name: 'brief', supportedInterfaces: [{ url: `http://${host}/a2a`, protocolBinding: 'JSONRPC', protocolVersion: '1.0' }]
  }))
  const events = [
    { task: { id: 't', contextId: 'c', status: { state: 'TASK_STATE_SUBMITTED' } } },
    { statusUpdate: { taskId: 't', contextId: 'c', status: { state: 'TASK_STATE_WORKING', message: { parts: [{ text: 'I look it up' }] } } } },
    { statusUpdate: { taskId: 't', contextId: 'c', status: { state: 'TASK_STATE_COMPLETED', message: { parts: [{ text: 'It is 5' }] } } } }
  ]
  agent.post('/a2a', async (_request, reply) => await reply.type('text/event-stream')
    .send(events.map(result => `data: ${JSON.stringify({ jsonrpc: '2.0', id: 1, result })}\n\n`).join('')))
  const { speakerOf } = await findService(new HttpClient(await agent.listen({ host: '127.0.0.1', port: 0 })))
  const chunks = []
  for await (const chunk of speakerOf('brief')('2 + 3', [], new AbortController().signal)) chunks.push(chunk)
  t.match(chunks, ['It is 5', { answer: 'It is 5' }])
})

test('chat takes the address of an OpenAI-compatible API, and a refusal without an error object is one', async t => {
  const api = Fastify({ forceCloseConnections: true })
  t.teardown(() => api.close())
  let status = 401
  api.get('/base/models', async () => ({ data: [{ id: 'own' }] }))
  api.post('/base/chat/completions', async (_request, reply) => await reply.code(status).send({ detail: 'canary' }))
  const { names, speakerOf } = await findService(new HttpClient(`${await api.listen({ host: '127.0.0.1', port: 0 })}/base`))
  t.strictSame(names, ['own'])
  const ask = async () => await speakerOf('own')('hello', [], new AbortController().signal)[Symbol.asyncIterator]().next()
  await t.rejects(ask(), { code: 'SERVICE_FAILED', message: /it answered 401; send a token with --header/ })
  status = 500
  await t.rejects(ask(), { code: 'SERVICE_FAILED', message: /it answered 500$/ })
})
