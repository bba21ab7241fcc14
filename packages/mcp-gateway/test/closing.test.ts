import { test } from 'tap'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { bad, folder, journal, lives, published, started, until } from './fixtures/app.js'

const pidsOf = (file: string): number[] => journal(file).map(line => /^(?:start|grandchild) (\d+)$/.exec(line)?.[1]).filter(pid => pid !== undefined).map(Number)

test('closing leaves nothing, however stubborn', async t => {
  const file = join(folder(t), 'journal')
  const npx = { name: 'shell', command: 'sh', args: ['-c', `${process.execPath} ${bad().args![0]!} --stubborn --grandchildren --journal=${file}; true`] }
  const { app, gateway } = await started(t, [bad({ stubborn: true, grandchildren: true, journal: file }), npx, published('everything')])
  await until(() => gateway.status().every(({ state }) => state === 'ready'))
  const pids = [...pidsOf(file), ...gateway.status().map(({ pid }) => pid!)]
  t.equal(new Set(pids).size, 6, 'two servers, their children, the shell and the published one')
  await app.close()
  t.strictSame(pids.filter(lives), [])
})

test('closing in the middle of starts and calls answers the calls', async t => {
  const { app, gateway, call } = await started(t, [bad({ slow: 5_000 }), bad({}, { name: 'up' })])
  await until(() => gateway.get('up').status().state === 'ready')
  const answers = [call('up', 'hang'), call('bad', 'echo', { message: 'x' })]
  await until(() => gateway.get('up').status().callsInFlight === 1)
  await app.close()
  for (const { status, body } of await Promise.all(answers)) t.match({ status, body }, { status: 503, body: { code: 'SHUTTING_DOWN' } })
})

test('the grandchildren of a server that ends by itself end with it', async t => {
  const file = join(folder(t), 'journal')
  const { call, gateway } = await started(t, [bad({ grandchildren: true, journal: file }, { restart: false })])
  await call('bad', 'exit')
  await until(() => gateway.get('bad').status().state === 'failed')
  const pids = pidsOf(file)
  t.equal(pids.length, 2)
  t.strictSame(pids.filter(lives), [])
})

for (const signal of ['SIGKILL', 'SIGTERM'] as const) {
  test(`nothing is left five seconds after ${signal} of the service`, async t => {
    const file = join(folder(t), 'journal')
    const servers = [bad({ stubborn: true, grandchildren: true, journal: file }), { ...published('everything'), name: 'everything' }]
    const host = spawn(process.execPath, [...process.execArgv, fileURLToPath(import.meta.resolve('./fixtures/host.js')), JSON.stringify(servers)], { stdio: ['ignore', 'pipe', 'inherit'] })
    t.teardown(() => { host.kill('SIGKILL') })
    await once(host.stdout, 'data')
    await until(() => pidsOf(file).length === 2 && journal(file).some(line => line.startsWith('notifications/initialized')))
    const pids = pidsOf(file)
    t.strictSame(pids.filter(lives), pids)
    host.kill(signal)
    await until(() => !pids.some(lives))
    t.pass('all gone')
  })
}
