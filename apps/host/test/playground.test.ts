import { test } from 'tap'
import { request } from 'node:http'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { createHost } from '../src/index.js'
import { emptyFolder, polyvac } from '../../../test/fixtures/command.js'

test('createHost serves the playground where its switch is on, and the page knows which routes are there', async t => {
  for (const [enable_playground, status] of [[true, 200], [false, 404], [undefined, 404]] as const) {
    const app = await createHost({ vacs: ['demo'], stream_interpreter: 'echo', enable_playground, server: { logger: false } })
    t.teardown(() => app.close())
    t.equal((await app.inject('/playground/')).statusCode, status, String(enable_playground))
    const home = await app.inject({ url: '/', headers: { accept: 'text/html' } })
    t.equal(/curl -s [^ ]*\/vac\/demo/.test(home.body), status !== 200, 'without it the front page has commands')
    if (status !== 200) continue
    t.match(home.body, /src="playground\/page\.js"/)
    t.match(home.headers, { vary: 'accept, accept-encoding', 'content-security-policy': /script-src 'self'/ })
    t.match((await app.inject({ url: '/', headers: { accept: 'application/json' } })).json(), { vacs: ['demo'], left_out: {}, questions: { demo: ['What can you do?'] } })
    t.match((await app.inject('/playground/settings.json')).json(), { title: 'Polyvac', routes: { home: '../', vac: '../vac', a2a: null, card: null, mcp: null, gateway: null } })
  }
})

test('examples of an entry are on the page, in the list of VACs and in agent cards', async t => {
  const examples = ['Where is my parcel?', 'May I return shoes?']
  const app = await createHost({ vacs: { shop: { examples }, other: {} }, stream_interpreter: 'echo', enable_playground: true, enable_a2a_agent: true, tasks: { store: 'memory' }, server: { logger: false } })
  t.teardown(() => app.close())
  t.strictSame((await app.inject({ url: '/', headers: { accept: 'application/json' } })).json().questions, { shop: examples, other: ['What can you do?'] })
  t.strictSame((await app.inject('/vac')).json().vacs.map((vac: { examples?: unknown }) => vac.examples), [examples, undefined])
  const { skills } = (await app.inject('/.well-known/agent-card.json')).json()
  t.strictSame(skills.map((skill: { examples?: unknown }) => skill.examples), [examples, examples, undefined, undefined])
})

test('the configuration names and colours the page, which opens without credentials', async t => {
  const app = await createHost({
    vacs: ['demo'],
    stream_interpreter: 'echo',
    enable_playground: true,
    playground: { title: 'Nordlys', read_only: true, sign_in: '/login', theme: { accent: '#702' } },
    authenticate: ({ headers }) => headers.authorization === 'Bearer sesame' ? { owner: 'ada' } : undefined,
    server: { logger: false }
  })
  t.teardown(() => app.close())
  t.match((await app.inject('/playground/settings.json')).json(), { title: 'Nordlys', readOnly: true, signIn: '/login' })
  t.equal((await app.inject('/playground/theme.css')).body, ':root{--accent:#702}\n')
  const page = await app.inject({ url: '/', headers: { accept: 'text/html' } })
  t.equal(page.statusCode, 200)
  t.notMatch(page.body, /demo/)
  t.equal((await app.inject({ url: '/', headers: { accept: 'application/json' } })).statusCode, 401)
  t.equal((await app.inject({ url: '/', headers: { accept: 'text/html', 'if-none-match': String(page.headers.etag) } })).statusCode, 304)
})

test('the command serves the playground on a loopback address, except in production', async t => {
  const folder = await emptyFolder(t)
  await mkdir(join(folder, 'docs'))
  await writeFile(join(folder, 'docs/tea.md'), '# Tea\n\nGreen tea is brewed for two minutes.\n')
  for (const [env, status] of [['', 200], ['production', 404]] as const) {
    const { out, url } = polyvac(t, ['docs'], folder, { NODE_ENV: env })
    t.equal((await fetch(`${await url()}/playground/`)).status, status, env)
    t.equal(/chat +http:\S+\d\/ /.test(out.stdout), status === 200, 'the banner names it')
    t.equal(/page +http:\S+\d\/ /.test(out.stdout), status !== 200, 'and otherwise the page')
  }
})

test('a name of another site that resolves to this machine does not reach the page or what it uses', async t => {
  const app = await createHost({ vacs: ['demo'], stream_interpreter: 'echo', enable_playground: true, server: { logger: false } })
  t.teardown(() => app.close())
  const url = await app.listen({ port: 0, host: '127.0.0.1' })
  const status = async (path: string, host: string): Promise<number | undefined> => await new Promise((resolve, reject) => {
    request(`${url}${path}`, { headers: { host }, agent: false }, response => { response.resume(); resolve(response.statusCode) }).on('error', reject).end()
  })
  for (const path of ['/playground/', '/playground/page.js', '/playground/settings.json', '/vac', '/ready']) {
    t.same([await status(path, 'rebound.example:8080'), await status(path, 'localhost:8080')], [403, 200], path)
  }
})
