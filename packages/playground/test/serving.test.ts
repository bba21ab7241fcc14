import tap, { test } from 'tap'
import basicAuth from '@fastify/basic-auth'
import Fastify from 'fastify'
import { createVacs } from '@polyvac/core'
import { vacPlugin } from '@polyvac/vac'
import { readdirSync, readFileSync } from 'node:fs'
import { gunzipSync } from 'node:zlib'
import { browserMissing, closeBrowser, openPage } from '../../../test/fixtures/browser.js'
import { playgroundPlugin } from '../src/index.js'
import { until } from '../../../test/fixtures/until.js'
import { startApp } from './fixtures/app.js'
import { chooseProtocol, openInspector } from './fixtures/chat.js'
import { violationsOfThemes } from './fixtures/axe.js'

/** Most bytes of the compressed files that the browser loads before the first question. */
const MAX_PAGE_BYTES = 70_000
/** Most bytes of all files, also those that views and MCP load later. */
const MAX_TOTAL_BYTES = 100_000

tap.teardown(closeBrowser)

const echo = async (question: string): Promise<string> => question

test('each file has a strong ETag for each coding, and is not sent again', async t => {
  const app = Fastify()
  t.teardown(() => app.close())
  await app.register(playgroundPlugin, { prefix: '/a' })
  await app.register(playgroundPlugin, { prefix: '/b', readOnly: true, routes: { mcp: null } })
  const html = (await app.inject('/a/playground/')).body
  // what the document names is what the browser loads: the test below compares it with the browser
  const first = ['', ...[...html.matchAll(/(?:href|src)="((?!data:)[^"]+)"/g)].map(([, path]) => path!)]
  const parts = readdirSync(new URL('../dist/page/parts/', import.meta.url)).filter(name => name.endsWith('.js')).map(name => `parts/${name}`)
  const later = ['inspector.css', ...parts.filter(part => !first.includes(part))]
  t.ok(later.some(part => part.startsWith('parts/inspector-')) && later.some(part => part.startsWith('parts/mcp-chat-')))
  let size = 0
  let total = 0
  for (const path of [...first, ...later]) {
    const url = `/a/playground/${path}`
    const tags = new Set<unknown>()
    for (const [accept, coding] of [['br, gzip', 'br'], ['gzip', 'gzip'], ['identity', undefined]]) {
      const response = await app.inject({ url, headers: { 'accept-encoding': accept } })
      t.equal(response.headers['content-encoding'], coding)
      t.equal(response.headers.vary, 'accept-encoding')
      t.equal(response.headers['x-content-type-options'], 'nosniff')
      t.match(response.headers['content-security-policy'], /^default-src 'none'.*frame-ancestors 'none'/)
      t.match(response.headers.etag, /^"/)
      tags.add(response.headers.etag)
      const again = await app.inject({ url, headers: { 'accept-encoding': accept, 'if-none-match': String(response.headers.etag) } })
      t.same([again.statusCode, again.body], [304, ''])
      if (coding !== 'gzip') continue
      total += response.rawPayload.length
      if (first.includes(path)) size += response.rawPayload.length
      if (path !== 'theme.css') t.ok(gunzipSync(response.rawPayload).length > response.rawPayload.length)
    }
    t.equal(tags.size, 3)
    t.equal((await app.inject({ method: 'HEAD', url })).statusCode, 200)
    const refused = await app.inject({ method: 'POST', url: '/a/playground/page.js' })
    t.same([refused.statusCode, refused.headers.allow], [405, 'GET, HEAD'])
  }
  t.ok(size <= MAX_PAGE_BYTES, `the browser loads ${size} bytes gzipped first; it may load ${MAX_PAGE_BYTES}`)
  t.ok(total <= MAX_TOTAL_BYTES, `the page has ${total} bytes gzipped; it may have ${MAX_TOTAL_BYTES}`)
  t.comment(`gzipped bytes: ${size} first, ${total} in all`)
  t.equal((await app.inject('/a/playground/parts/none.js')).statusCode, 404)
  t.match((await app.inject('/a/playground/settings.json')).json(), { readOnly: false, routes: { mcp: '../mcp' } })
  t.match((await app.inject('/b/playground/settings.json')).json(), { readOnly: true, routes: { mcp: null } })
  t.match((await app.inject('/a/playground')).headers, { location: 'playground/' })
})

test('the browser loads the other views and MCP when they are opened', { skip: browserMissing }, async t => {
  const { page: url } = await startApp(t, echo)
  const page = await openPage(t, 'about:blank', { allow: [/another origin/, /Failed to load resource|Failed to fetch/] })
  const loaded: string[] = []
  page.on('request', request => { if (/\.(?:js|css|svg)$|playground\/$/.test(request.url())) loaded.push(request.url().slice(url.length)) })
  await page.goto(url)
  await page.locator('[data-testid=chat-vac] option').waitFor({ state: 'attached' })
  await page.getByTestId('chat-question').fill('Hello')
  await page.getByTestId('chat-question').press('Enter')
  await page.locator('[data-testid=chat-answer][data-state=done]').waitFor()
  const html = await (await fetch(url)).text()
  const named = [...html.matchAll(/(?:href|src)="((?!data:)[^"]+)"/g)].map(([, path]) => path!)
  t.strictSame([...new Set(loaded)].sort(), ['', ...named].sort(), 'first only what the document names')
  await page.goto(`${url}#/chat/demo?protocol=mcp`)
  await page.getByTestId('chat-question').fill('Hello')
  await page.getByTestId('chat-question').press('Enter')
  await until(async () => await page.locator('[data-testid=chat-answer][data-state=done]').count() === 2, 'MCP answers')
  t.ok(loaded.some(path => path.startsWith('parts/mcp-chat-')) && !loaded.some(path => path.startsWith('parts/inspector-') || path === 'inspector.css'))
  await page.route('**/parts/inspector-*', async route => { await route.abort() })
  await page.getByTestId('inspect').click()
  await page.getByTestId('view-problem').getByText('load the page again').waitFor()
  await page.unrouteAll()
  await page.reload()
  await openInspector(page)
  t.ok(loaded.includes('inspector.css'))
  await page.getByTestId('nav-compare').click()
  await page.getByTestId('compare').waitFor()
})

test('the page offers the protocols of OpenAI where the app has its routes, next to the direct ones', async t => {
  const vacs = createVacs({ vacs: ['one'], streamInterpreter: question => question })
  const routesOf = async (options: object, playground: object = {}): Promise<object> => {
    const app = Fastify()
    t.teardown(() => app.close())
    // before the routes that it looks for
    await app.register(playgroundPlugin, playground)
    await app.register(vacPlugin, { vacs, ...options })
    return (await app.inject('/playground/settings.json')).json().routes
  }
  t.match(await routesOf({}), { vac: '../vac', openai: '../openai/v1', responses: null })
  t.match(await routesOf({ protocols: ['direct', 'openai', 'responses'] }), { openai: '../openai/v1', responses: '../openai/v1', ai_sdk: null, ag_ui: null })
  t.match(await routesOf({ protocols: ['direct', 'ai_sdk', 'ag_ui'] }), { openai: null, ai_sdk: '../ai', ag_ui: '../ag-ui' })
  t.match(await routesOf({ protocols: ['direct', 'responses'] }), { openai: null, responses: '../openai/v1' })
  t.match(await routesOf({ protocols: ['direct'] }), { vac: '../vac', openai: null, responses: null })
  t.match(await routesOf({ prefix: '/agents' }, { routes: { vac: '/agents/vac' } }), { vac: '/agents/vac', openai: '/agents/openai/v1' })
  t.match(await routesOf({ prefix: '/agents', protocols: ['direct'] }, { routes: { vac: '../agents/vac' } }), { vac: '../agents/vac', openai: null })
  t.match(await routesOf({ prefix: '/agents' }), { openai: null }, 'none at the address that holds by default')
  t.match(await routesOf({}, { routes: { openai: null } }), { openai: null }, 'as named')
  t.match(await routesOf({ protocols: ['direct'] }, { routes: { openai: 'https://example.com/v1' } }), { openai: 'https://example.com/v1' }, 'as named')
})

test('a theme is a style sheet with its variables, and a value that would do more is refused', async t => {
  const app = Fastify()
  t.teardown(() => app.close())
  await app.register(playgroundPlugin, { theme: { accent: 'light-dark(#702, rgb(255 0 0 / 50%))', on_accent: '#fff', font: '"Fira Sans", sans-serif' }, signIn: '/login' })
  const { headers, body } = await app.inject('/playground/theme.css')
  t.match(headers, { 'content-type': /^text\/css/, etag: /^"/ })
  t.equal(body, ':root{--accent:light-dark(#702, rgb(255 0 0 / 50%));--on-accent:#fff;--font:"Fira Sans", sans-serif}\n')
  t.match((await app.inject('/playground/settings.json')).json(), { signIn: '/login' })
  for (const theme of [{ accent: 'red;}*{display:none' }, { accent: 'url(https://example.com)' }, { color: 'red' }, { text: 7 }, 'dark']) {
    await t.rejects(async () => await Fastify().register(playgroundPlugin, { theme } as object), { code: 'PLAYGROUND_OPTIONS' })
  }
})

test('an option that the plugin does not have is refused', async t => {
  for (const options of [{ titel: 'x' }, { readOnly: 'yes' }, { routes: { vacs: '/vac' } }]) {
    const app = Fastify()
    await t.rejects(async () => await app.register(playgroundPlugin, options as object), { code: 'PLAYGROUND_OPTIONS' })
  }
})

test('the page works under a prefix and behind the authentication of its scope', { skip: browserMissing }, async t => {
  const { page: url } = await startApp(t, echo, {
    prefix: '/agents/one',
    async before (scope) {
      await scope.register(basicAuth, { validate: async (name, password) => { if (name !== 'ada' || password !== 'pass') throw new Error('no') }, authenticate: true })
      scope.addHook('onRequest', scope.basicAuth)
    }
  })
  t.equal((await fetch(url)).status, 401)
  const page = await openPage(t, url, { httpCredentials: { username: 'ada', password: 'pass' } })
  await page.getByTestId('chat-question').fill('Hello')
  await page.getByTestId('chat-send').click()
  await page.locator('[data-testid=chat-answer][data-state=done]').getByText('Hello').waitFor()
})

test('a bearer token is kept only for the tab', { skip: browserMissing }, async t => {
  const { page: url } = await startApp(t, echo, {
    before: scope => {
      scope.addHook('onRequest', async (request, reply) => {
        if (request.url.startsWith('/vac') && request.headers.authorization !== 'Bearer sesame') return await reply.code(401).send({ error: 'no token' })
      })
    }
  })
  const page = await openPage(t, url, { allow: [/401/] })
  await page.getByTestId('sign-in').waitFor()
  t.strictSame(await violationsOfThemes(page), [])
  await page.getByTestId('token').fill('wrong')
  await page.getByTestId('token-save').click()
  await page.getByTestId('problem').getByText('no token').waitFor()
  t.equal(await page.getByTestId('token').inputValue(), '')
  // the keyboard goes on in the field
  await page.keyboard.type('sésame')
  await page.getByTestId('token-problem').getByText('ASCII').waitFor()
  t.strictSame(await violationsOfThemes(page), [])
  await page.keyboard.press('Enter')
  await page.getByTestId('token').fill('')
  await page.keyboard.type('sesame')
  await page.keyboard.press('Enter')
  await page.getByTestId('sign-in').waitFor({ state: 'detached' })
  t.equal(await page.evaluate('localStorage.length'), 0)
  await page.reload()
  await page.locator('[data-testid=chat-vac] option').waitFor({ state: 'attached' })
})

test('another token shows nothing of the former caller', { skip: browserMissing }, async t => {
  const { page: url } = await startApp(t, echo, {
    before: scope => {
      scope.addHook('onRequest', async (request, reply) => {
        if (request.url.startsWith('/vac') && !/^Bearer (?:alice|bob)$/.test(request.headers.authorization ?? '')) return await reply.code(401).send({ error: 'no token' })
      })
    }
  })
  const page = await openPage(t, url, { allow: [/401/] })
  const enter = async (token: string): Promise<void> => {
    await page.getByTestId('token').fill(token)
    await page.getByTestId('token').press('Enter')
  }
  await enter('alice')
  await page.getByTestId('chat-question').fill('a secret of alice')
  await page.getByTestId('chat-send').click()
  await page.locator('[data-testid=chat-answer][data-state=done]').getByText('a secret of alice').waitFor()
  await page.getByTestId('access').locator('summary').click()
  await enter('bob')
  await page.getByTestId('chat-empty').waitFor()
  t.equal(await page.getByTestId('chat-answer').count(), 0)
  t.notMatch(await page.evaluate('JSON.stringify(sessionStorage)'), /secret|alice/)
  await page.goto(`${url}#/timeline`)
  await page.locator('[data-testid=trace][data-state=empty]').waitFor()
  await page.goto(`${url}#/raw`)
  await page.getByTestId('raw-exchange').first().waitFor()
  t.equal(await page.getByTestId('raw-exchange').filter({ hasText: 'ask demo' }).count(), 0)
  await page.reload()
  await page.goto(`${url}#/chat`)
  await page.getByTestId('chat-empty').waitFor()
})

test('the cookie of an app goes with each request, and the end of its session is shown as that', { skip: browserMissing }, async t => {
  let session = 'sid=1'
  const { page: url } = await startApp(t, echo, {
    before: scope => {
      scope.addHook('onRequest', async ({ headers, url }, reply) => {
        if (headers.cookie !== session) return await reply.code(401).type('text/html').send(url.startsWith('/a2a') ? '' : '<h1>Sign in</h1>')
      })
    }
  })
  const page = await openPage(t, 'about:blank', { allow: [/401/, /another origin/] })
  await page.context().addCookies([{ name: 'sid', value: '1', url: new URL('/', url).href, httpOnly: true, sameSite: 'Strict' }])
  await page.goto(url)
  await page.getByTestId('chat-question').fill('Hello')
  await page.getByTestId('chat-send').click()
  await page.locator('[data-testid=chat-answer][data-state=done]').waitFor()
  await openInspector(page)
  session = 'sid=2'
  for (const [protocol, problem] of [['direct', /answered 401: sign in again, or enter a token under Access\.$/], ['a2a', /answered 401: sign in again, or enter a token under Access\.$/], ['mcp', /load a part of itself: .* sign in again/]] as const) {
    await page.getByTestId('chat-clear').click()
    await chooseProtocol(page, protocol)
    await page.getByTestId('chat-question').fill('Hello')
    await page.getByTestId('chat-send').click()
    await page.getByTestId('chat-problem').waitFor()
    t.match(await page.getByTestId('chat-problem').textContent(), problem, protocol)
  }
})

test('a refusal of the app before the settings of the page is shown as that', { skip: browserMissing }, async t => {
  let status = 200
  const { page: url } = await startApp(t, echo, {
    before: scope => {
      scope.addHook('onRequest', async (_request, reply) => {
        if (status !== 200) return await reply.code(status).send({ statusCode: status, error: 'Refused', message: 'by the app' })
      })
    }
  })
  const page = await openPage(t, url, { allow: [/status of (?:401|429)/] })
  await page.locator('[data-testid=chat-vac] option').waitFor({ state: 'attached' })
  await page.getByTestId('access').locator('summary').click()
  for (const [code, text] of [[401, 'The page cannot ask: Refused: sign in again, or enter a token under Access'], [429, 'The page cannot ask: Refused']] as const) {
    status = code
    await page.getByTestId('token-save').click()
    await page.getByTestId('problem').getByText(text, { exact: true }).waitFor()
    t.equal(await page.locator('[data-testid=chat-vac] option').count(), 1, 'the page keeps its settings')
  }
})

test('axe-core finds no violation, and 360 px suffice, in both themes', { skip: browserMissing }, async t => {
  const { page: url } = await startApp(t, async () => ({ answer: '# Title\n\n- **one**\n\n```\ncode\n```', source_documents: [{ page_content: 'text', metadata: { source: 'a.md' } }] }))
  const page = await openPage(t, url)
  await page.locator('[data-testid=chat-vac] option').waitFor({ state: 'attached' })
  await page.getByTestId('chat-question').fill('Hello')
  await page.getByTestId('chat-question').press('Enter')
  await page.locator('[data-testid=chat-answer][data-state=done]').waitFor()
  t.strictSame(await violationsOfThemes(page), [])
})

test('a page of another origin cannot read answers, send JSON or show the page in a frame', { skip: browserMissing }, async t => {
  let asked = 0
  const { url } = await startApp(t, async () => { asked++; return 'secret' })
  const other = Fastify()
  t.teardown(() => other.close())
  other.get('/', async (_request, reply) => await reply.type('text/html').send('<!doctype html><title>other</title><link rel="icon" href="data:,">'))
  const page = await openPage(t, await other.listen({ port: 0, host: '127.0.0.1' }), { allow: [/./] })
  const results = await page.evaluate(async url => {
    const { fetch, document } = globalThis as any
    const attempts = [
      fetch(`${url}/playground/settings.json`), fetch(`${url}/vac`),
      fetch(`${url}/vac/demo`, { method: 'POST', headers: { 'content-type': 'application/json' }, body: '{"user_input":"x"}' }),
      fetch(`${url}/vac/demo`, { method: 'POST', mode: 'no-cors', body: '{"user_input":"x"}' }).then(({ type }: { type: string }) => { throw new Error(type) })
    ]
    const frame = document.createElement('iframe')
    const loaded = new Promise(resolve => { frame.onload = resolve })
    frame.src = `${url}/playground/`
    document.body.append(frame)
    await loaded
    const isShown = (() => { try { return frame.contentDocument !== null } catch { return true } })()
    return [...(await Promise.allSettled(attempts)).map(({ status }) => status), isShown]
  }, url)
  t.strictSame(results, ['rejected', 'rejected', 'rejected', 'rejected', false])
  t.equal(asked, 0, 'no VAC was asked')
  t.equal(await page.frames()[1]?.locator('[data-testid=view-chat]').count(), 0)
})

test('the README names each test id', async t => {
  const folder = new URL('../page/', import.meta.url)
  const readme = readFileSync(new URL('../README.md', import.meta.url), 'utf8')
  for (const name of readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter(name => name.endsWith('.tsx'))) {
    const source = readFileSync(new URL(name, folder), 'utf8')
    for (const [, id] of source.matchAll(/(?:data-testid|testId)='([^']+)'/g)) t.match(readme, `\`${id}\``, `${name}: ${id}`)
  }
})
