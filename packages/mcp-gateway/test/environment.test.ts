import { test } from 'tap'
import { createGateway } from '../src/index.js'
import { childEnvironment } from '../src/config/child-environment.js'
import { bad, folder, started, textOf } from './fixtures/app.js'
import { realpathSync } from 'node:fs'

const env = { PATH: process.env.PATH, HOME: '/home/nobody', API_KEY: 'key-of-a-provider', DATABASE_URL: 'postgres://secret', SIGNING: 'of our own', POLYVAC_TOKEN: 'ours too' }

test('a bare entry inherits the environment of the service without its secrets, and the log names the entry', async t => {
  const lines: unknown[] = []
  const log = { debug () {}, warn () {}, error () {}, info: (obj: object, message?: string) => { lines.push([obj, message]) } }
  const { call } = await started(t, [bad(), bad({}, { name: 'named', env: {} })], { env, secretEnv: ['SIGNING'], log })
  const seen = JSON.parse(textOf(await call('bad', 'env')))
  t.match(seen, { API_KEY: '[redacted]', HOME: '/home/nobody' }, 'it has the key, which callers do not see')
  for (const name of ['DATABASE_URL', 'SIGNING', 'POLYVAC_TOKEN']) t.notOk(name in seen, name)
  const told = lines.filter(line => /inherit the environment/.test(JSON.stringify(line)))
  t.strictSame((told as Array<[object]>).map(([obj]) => obj), [{ mcpServers: ['bad'] }])
})

test('an entry that names env or inherit_env sees the safe list, those, and nothing else', async t => {
  const { call } = await started(t, [
    bad({}, { name: 'env', env: { OWN: '1' } }),
    bad({}, { name: 'inherit', inherit_env: ['API_KEY'] }),
    bad({}, { name: 'none', inherit_env: [] })
  ], { env: { ...env, TERM: 'dumb', OTHER: 'x' } })
  const names = async (server: string): Promise<string[]> => Object.keys(JSON.parse(textOf(await call(server, 'env'))))
    // the test runner's own, which it gives to every process
    .filter(name => name !== 'NODE_OPTIONS' && !name.startsWith('_TAPJS')).sort()
  t.strictSame(await names('env'), ['HOME', 'OWN', 'PATH', 'TERM'])
  t.strictSame(await names('inherit'), ['API_KEY', 'HOME', 'PATH', 'TERM'])
  t.strictSame(await names('none'), ['HOME', 'PATH', 'TERM'])
})

test('inheritEnv none makes that the rule for all', t => {
  t.strictSame(childEnvironment({ command: 'x' }, { env, inheritEnv: 'none', secretEnv: [] }), { env: { PATH: env.PATH, HOME: env.HOME }, missing: [], inheritsAll: false })
  t.end()
})

test('a shell function is not inherited', t => {
  t.notOk('F' in childEnvironment({ command: 'x' }, { env: { F: '() { :; }' }, inheritEnv: 'all', secretEnv: [] }).env)
  t.end()
})

test('secrets stay out of errors, states and logs', async t => {
  const logged: string[] = []
  const write = (obj: object, message?: string): void => { logged.push(JSON.stringify([obj, message])) }
  const servers = [bad({ crash: 3, secret: 'API_KEY' }), bad({ secret: 'TOKEN' }, { name: 'own', env: { TOKEN: 'a-token-of-mine' } })]
  const { call, get } = await started(t, servers, { env, log: { debug: write, info: write, warn: write, error: write } })
  await call('bad', 'echo', { message: 'x' })
  await call('own', 'exit')
  const seen = JSON.stringify([(await get('/mcp/servers')).body, await call('bad', 'echo', { message: 'x' }), await call('own', 'exit'), logged])
  t.notMatch(seen, /key-of-a-provider|a-token-of-mine/)
  t.match(seen, /the key is \[redacted\]/)
})

test('a variable that is not there is named in the state of the server', async t => {
  const { gateway, call, get } = await started(t, [bad({ crash: 1 }, { name: 'github', inherit_env: ['GITHUB_TOKEN'] }), bad({}, { name: 'unfilled', env: { KEY: '${NO_SUCH_KEY}' } }), bad()], { env }) // eslint-disable-line no-template-curly-in-string
  t.match(await call('github', 'x'), { status: 500, body: { error: /the environment has no GITHUB_TOKEN/ } })
  t.match(await call('unfilled', 'x'), { status: 500, body: { error: /NO_SUCH_KEY is not set, though its entry needs it/ } })
  t.match((await get('/mcp/servers')).body.servers, [{ missingEnv: ['GITHUB_TOKEN'] }, { state: 'failed', missingEnv: ['NO_SUCH_KEY'] }, {}])
  t.equal((await call('bad', 'echo', { message: 'up' })).status, 200)
  t.equal(gateway.get('unfilled').status().pid, undefined, 'it is not started with a text that is no key')
})

test('arguments are argv, never a shell\'s', async t => {
  const args = ['$(id)', ';', 'a b', '`id`', '*', "'"]
  const config = bad()
  const { call } = await started(t, [{ ...config, args: [...config.args!, ...args] }])
  t.strictSame(JSON.parse(textOf(await call('bad', 'argv'))), args)
})

test('a command runs in the folder that is named', async t => {
  const dir = realpathSync(folder(t))
  const { call } = await started(t, [bad({}, { cwd: '.' })], { folder: dir })
  t.equal(textOf(await call('bad', 'cwd')), dir)
})

test('a configuration that cannot work is refused at once, with all that is wrong', t => {
  const refused = (servers: unknown): string => { try { createGateway({ servers: servers as never }); return 'taken' } catch (err) { return (err as Error).message } }
  t.match(refused([{ command: 'x' }]), /servers\[0\] has no name/)
  t.match(refused([{ name: 'a', command: 'x' }, { name: 'a', command: 'y' }]), /two servers are named "a"/)
  t.match(refused([{ name: 'a' }]), /has no "command": add "command:", or "url:"/)
  t.match(refused([{ name: 'a', command: 'x', url: 'http://x' }]), /has a command and a url: keep one/)
  t.match(refused([{ name: 'a', command: 'x', args: ['a\0b'] }]), /NUL/)
  t.match(refused([{ name: 'a', command: '../x' }]), /whole path/)
  t.match(refused([{ name: 'a', url: 'file:///etc/passwd' }]), /http\(s\)/)
  t.match(refused([{ name: 'a', command: 'x', timeout: 'long', colour: 'red' }]), /timeout: expected number.*|colour/)
  t.equal(refused({ a: { command: 'x', args: [], env: {}, type: 'stdio' } }), 'taken')
  t.end()
})
