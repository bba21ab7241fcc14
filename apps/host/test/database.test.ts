import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import { createServer, type AddressInfo } from 'node:net'
import { join } from 'node:path'
import { inspect } from 'node:util'
import { test, type Test } from 'tap'
import { postgresServer, query, testDatabase } from '../../../test/fixtures/postgres.js'
import { until } from '../../../test/fixtures/until.js'
import { createHost } from '../src/index.js'
import { emptyFolder, json, polyvac, runPolyvac, withoutPackage } from '../../../test/fixtures/command.js'

// its characters need percent-encoding; the canary is the same in both forms
const CANARY = 'c4n4ry'
const PASSWORD = `${CANARY}/@:#%x`
const CONFIG = `kind: vacConfig
service: { stream_interpreter: echo, enable_a2a_agent: true, enable_mcp_server: true }
vac: { demo: {} }
`

/** A folder with a configuration. */
async function workspace (t: Test, config = CONFIG): Promise<string> {
  const folder = await emptyFolder(t)
  await writeFile(join(folder, 'vac_config.yaml'), config)
  return folder
}

/** The address for a new role with the password; `rights` is SQL, where `$` is the role and `#` the database. */
async function addressOf (admin: string, rights: readonly string[] = ['GRANT CREATE ON DATABASE # TO $']): Promise<string> {
  const url = new URL(admin)
  const database = url.pathname.slice(1)
  const role = `role_${database}`
  const [known] = await query(admin, 'SELECT 1 AS one FROM pg_roles WHERE rolname = $1', [role])
  if (known === undefined) await query(admin, `CREATE ROLE ${role} LOGIN PASSWORD '${PASSWORD}'`)
  for (const right of rights) await query(admin, right.replaceAll('$', role).replaceAll('#', database))
  url.username = role
  url.password = encodeURIComponent(PASSWORD)
  return url.href
}

async function send (url: string): Promise<{ status: number, retryAfter: string | null, text: string }> {
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tasks/send', params: { skillName: 'vac_query_demo', input: { query: 'hello' } } })
  const response = await fetch(`${url}/a2a/tasks/send`, { method: 'POST', headers: { 'content-type': 'application/json', connection: 'close' }, body })
  return { status: response.status, retryAfter: response.headers.get('retry-after'), text: await response.text() }
}

test('a host whose database is down listens, refuses what needs tasks with 503, and recovers by itself', async t => {
  const server = await postgresServer(t)
  const DATABASE_URL = await addressOf(server.url())
  await server.crash()
  const { out, url: address } = polyvac(t, ['start'], await workspace(t), { DATABASE_URL })
  const url = await address()
  t.match(out.stdout, /^ {2}tasks {4}PostgreSQL at 127\.0\.0\.1:\d+\/postgres$/m)
  await until(() => /"the database of the tasks is not reached; requests that need tasks get 503 until it is"/.test(out.stderr), 'the log has the reason')

  t.equal((await json(`${url}/health`)).status, 'healthy')
  const ready = await fetch(`${url}/ready`, { headers: { connection: 'close' } })
  t.equal(ready.status, 503)
  t.strictSame((await ready.json() as { reasons: unknown }).reasons, [{ part: 'tasks', reason: 'the task store cannot write; the log has the reason' }])
  t.match(await json(`${url}/vac/demo`, { user_input: 'hello' }), { answer: /hello/ }, 'a route without tasks answers')
  for (const { status, retryAfter } of [await send(url), await send(url)]) t.strictSame({ status, retryAfter }, { status: 503, retryAfter: '1' })
  const v1 = await fetch(`${url}/a2a/v1/tasks/x`, { headers: { connection: 'close', 'a2a-version': '1.0' } })
  t.strictSame([v1.status, v1.headers.get('retry-after')], [503, '1'])
  t.equal((await fetch(`${url}/.well-known/jwks.json`, { headers: { connection: 'close' } })).status, 503)
  t.equal((await fetch(`${url}/.well-known/agent.json`, { headers: { connection: 'close' } })).status, 200)

  const isReady = async (): Promise<boolean> => (await fetch(`${url}/ready`, { headers: { connection: 'close' } })).status === 200
  const completes = async (): Promise<boolean> => (await send(url)).text.includes('"state":"completed"')
  await server.start()
  await until(isReady, 'the host is ready')
  await until(completes, 'a task completes')
  t.equal((await json(`${url}/.well-known/jwks.json`)).keys.length, 1)

  await server.crash()
  await until(async () => (await send(url)).status === 503, 'a request for a task gets 503')
  t.equal((await send(url)).retryAfter, '1')
  await until(async () => !await isReady(), 'the host is not ready')
  await server.start()
  await until(isReady, 'the host is ready again')
  await until(completes, 'a task completes again')
  t.notMatch(`${out.stdout}${out.stderr}`, CANARY)
})

test('SIGTERM ends a host at once that waits for a database, also for one that does not answer', async t => {
  const silent = createServer(() => {})
  silent.listen(0, '127.0.0.1')
  await once(silent, 'listening')
  t.teardown(() => { silent.close() })
  const refusing = createServer()
  refusing.listen(0, '127.0.0.1')
  await once(refusing, 'listening')
  const { port } = refusing.address() as AddressInfo
  refusing.close()
  for (const at of [port, (silent.address() as AddressInfo).port]) {
    const { child, ended, out } = polyvac(t, ['start', '--grace', '30'], await workspace(t), { DATABASE_URL: `postgres://ann:${CANARY}@127.0.0.1:${at}/tasks` })
    child.stdout.on('data', () => { if (!child.killed && out.stdout.includes('http://127.0.0.1:')) child.kill('SIGTERM') })
    t.equal(await ended, 0)
    t.equal(child.signalCode, null, 'SIGTERM right after the banner does not kill it')
    t.notMatch(`${out.stdout}${out.stderr}`, CANARY)
  }
})

test('a database that refuses the service ends the start with the reason and the remedy, without the password', async t => {
  const admin = await testDatabase(t)
  const url = await addressOf(admin)
  const changed = (change: (url: URL) => void): string => {
    const other = new URL(url)
    change(other)
    return other.href
  }
  const forbidden = await addressOf(admin, ['REVOKE CREATE ON DATABASE # FROM $'])
  const wrongs: ReadonlyArray<readonly [object, string, RegExp]> = [
    [{ url: changed(other => { other.password = `${CANARY}%25` }) }, 'TASK_STORE_DATABASE', /password authentication failed.*check user name and password/],
    [{ url: changed(other => { other.pathname = '/no_such_database' }) }, 'TASK_STORE_DATABASE', /no_such_database.*CREATE DATABASE/],
    [{ url: forbidden }, 'TASK_STORE_DATABASE', /permission denied.*polyvac migrate/],
    [{ url, schema: 'pg_tasks' }, 'TASK_STORE_OPTION', /option 'schema' is 'pg_tasks'/],
    [{ url, schema: 'a b' }, 'HOST_OPTIONS', /tasks/],
    [{ url, pool: 0 }, 'HOST_OPTIONS', /tasks/]
  ]
  for (const [tasks, code, message] of wrongs) {
    let log = ''
    const logger = { level: 'trace', stream: { write (line: string) { log += line } } }
    const host = createHost({ vacs: ['demo'], stream_interpreter: 'echo', enable_a2a_agent: true, tasks, server: { logger } })
    const error = await host.then(() => undefined, (err: Error & { code?: string }) => err)
    t.equal(error?.code, code)
    t.match(error?.message, message)
    t.notMatch(`${inspect(error)}${log}`, CANARY)
  }
  const folder = await workspace(t)
  for (const command of ['start', 'migrate']) {
    const { code, stdout, stderr } = await runPolyvac([command], folder, { env: { DATABASE_URL: changed(other => { other.password = CANARY }) } })
    t.equal(code, 1, command)
    t.match(stderr, /^polyvac: .*check user name and password/m, 'a text for people, not a stack')
    t.notMatch(`${stdout}${stderr}`, CANARY, command)
  }
})

test('after polyvac migrate a role without the right to create serves tasks', async t => {
  const admin = await testDatabase(t)
  const folder = await workspace(t)
  const migrated = await runPolyvac(['migrate'], folder, { env: { DATABASE_URL: admin } })
  t.equal(migrated.code, 0)
  t.match(migrated.stdout, /^the tables of the tasks are up to date: 127\.0\.0\.1:\d+\/polyvac_test_\w+\n$/)
  const url = await addressOf(admin, [
    'REVOKE CREATE ON DATABASE # FROM $',
    'GRANT USAGE ON SCHEMA polyvac, polyvac_jobs TO $',
    'GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA polyvac, polyvac_jobs TO $',
    'GRANT USAGE, SELECT ON ALL SEQUENCES IN SCHEMA polyvac, polyvac_jobs TO $',
    'GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA polyvac_jobs TO $'
  ])
  const app = await createHost({ config: join(folder, 'vac_config.yaml'), tasks: { url }, server: { logger: false } })
  t.teardown(() => app.close())
  const service = await app.listen({ host: '127.0.0.1', port: 0 })
  await until(async () => (await send(service)).text.includes('"state":"completed"'), 'a task completes')
})

test('without the packages of PostgreSQL the start ends with the command that installs them', async t => {
  const { out, ended } = polyvac(t, ['start'], await workspace(t), { DATABASE_URL: `postgres://ann:${CANARY}@127.0.0.1:1/tasks`, NODE_OPTIONS: withoutPackage('pg') })
  t.equal(await ended, 1)
  t.match(out.stderr, /npm install pg pg-boss@12\.35\.0/)
  t.notMatch(out.stderr, CANARY)
})
