import { createToken } from '@polyvac/auth'
import type { Page } from 'playwright-core'
import Fastify from 'fastify'
import type { AddressInfo } from 'node:net'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import tap, { test, type Test } from 'tap'
import { authorizationServer, protectedServer } from '../../../packages/mcp-gateway/test/fixtures/authorization-server.mjs'
import { browserMissing, closeBrowser, openPage } from '../../../test/fixtures/browser.js'
import { until } from '../../../test/fixtures/until.js'
import { emptyFolder } from '../../../test/fixtures/command.js'
import { createHost } from '../src/index.js'

tap.teardown(closeBrowser)

const CALLBACK = '/mcp/sign-in/callback'

/** A host with the servers `mail` and `evil`, each with another issuer. */
async function serve (t: Test) {
  const [honest, hostile] = [await authorizationServer(t), await authorizationServer(t)]
  const [mail, evil] = [await protectedServer(t, honest), await protectedServer(t, hostile)]
  const tokens = Object.fromEntries(['alice', 'mallory'].map(owner => [owner, createToken(owner)]))
  const folder = await emptyFolder(t)
  await writeFile(join(folder, 'vac_config.yaml'), JSON.stringify({
    kind: 'vacConfig',
    service: {
      stream_interpreter: 'echo',
      auth: { tokens: Object.values(tokens).map(({ entry }) => entry) },
      mcp_servers: {
        mail: { url: mail.url, per_owner: true, oauth: { issuer: honest.base } },
        evil: { url: evil.url, per_owner: true, oauth: { issuer: hostile.base } }
      }
    },
    vac: { demo: { display_name: 'Demo' } }
  }))
  const app = await createHost({ config: join(folder, 'vac_config.yaml'), server: { logger: false, forceCloseConnections: true } })
  t.teardown(() => app.close())
  const url = await app.listen({ host: '127.0.0.1', port: 0 })
  const call = async (owner: string, server = 'mail'): Promise<any> => await (await fetch(`${url}/mcp/call`, {
    method: 'POST', headers: { authorization: `Bearer ${tokens[owner]!.token}`, 'content-type': 'application/json' }, body: JSON.stringify({ server, tool: 'whoami', arguments: {} })
  })).json()
  return { url, honest, hostile, call, ask: async (owner: string, server?: string): Promise<string> => (await call(owner, server)).details.url }
}

/** A browser of one person, in which no request leaves the machine. */
async function person (t: Test): Promise<Page> {
  const page = await openPage(t, 'about:blank', { allow: [/./] })
  await page.context().route(({ hostname }) => hostname !== '127.0.0.1' && hostname !== 'localhost', async route => { await route.abort() })
  return page
}

/** Signs in at an authorization server, and permits what it asks for, until it sends the browser back. */
async function signInAt (page: Page, account: string): Promise<string> {
  await until(async () => {
    if (page.url().includes(CALLBACK)) return true
    const login = page.locator('input[name=login]')
    const isAsked = await login.isVisible().catch(() => false)
    if (isAsked) {
      await login.fill(account, { timeout: 5_000 }).catch(() => {})
      await page.locator('input[name=password]').fill('x', { timeout: 5_000 }).catch(() => {})
    }
    const submit = page.locator('button[type=submit]')
    if (await submit.isVisible().catch(() => false)) await submit.click({ timeout: 5_000 }).catch(() => {})
    return false
  }, 'the authorization server sends the browser back')
  return await page.locator('body').innerText()
}

/** Sends the form of the page, and resolves to the address at the authorization server. */
async function beginAt (page: Page, ticket: string): Promise<URL> {
  const authorize = page.waitForRequest(request => request.url().includes('/auth?'))
  await page.goto(ticket)
  await page.getByRole('button', { name: /^Continue to/ }).click()
  return new URL((await authorize).url())
}

const cookiesOf = async (page: Page): Promise<string[]> =>
  (await page.context().cookies()).map(({ name }) => name).filter(name => name.includes('polyvac_sign_in'))

test('in a browser, the page names owner and server, its form leads to the sign-in, and the call continues', { skip: browserMissing }, async t => {
  const { ask, call } = await serve(t)
  const page = await person(t)
  const ticket = await ask('alice')
  await page.goto(ticket)
  t.match(await page.locator('body').innerText(), /The caller alice of this service asks for access to mail/)
  t.strictSame(await cookiesOf(page), [], 'no cookie of the page alone')
  const authorize = await beginAt(page, ticket)
  t.match(authorize.searchParams.get('redirect_uri'), /\/mcp\/sign-in\/callback\/mail$/)
  t.equal((await cookiesOf(page)).length, 1)
  t.match(await signInAt(page, 'alice@mail'), /Signed in to mail/)
  t.match(await call('alice'), { result: { content: [{ text: 'alice@mail' }] } })
})

test('a page of another origin completes no sign-in in the browser of its visitor: popup, frame, form, link of the issuer', { skip: browserMissing }, async t => {
  const { ask, call } = await serve(t)
  const ticket = await ask('mallory')
  const attacker = Fastify()
  t.teardown(() => attacker.close())
  attacker.get('/', async (_request, reply) => await reply.type('text/html').send(`<!doctype html><title>other</title><link rel="icon" href="data:,">
<form method="post" action="${ticket}"></form>`))
  await attacker.listen({ port: 0, host: '127.0.0.1' })
  const { port } = attacker.server.address() as AddressInfo

  // what mallory learns from the page with an own browser
  const own = await person(t)
  const authorize = await beginAt(own, ticket)

  const victim = await person(t)
  for (const origin of [`http://localhost:${port}`, `http://127.0.0.1:${port}`]) {
    await victim.goto(origin)
    const opened = victim.context().waitForEvent('page')
    const handle = await victim.evaluateHandle((address: string) => (globalThis as any).open(address), ticket)
    const popup = await opened
    await popup.getByRole('button', { name: /^Continue to/ }).waitFor()
    t.equal(await popup.evaluate(() => (globalThis as any).opener), null, 'the page has no opener')
    await until(() => handle.evaluate((popup: any) => popup.closed as boolean), 'the opener has no hold on the page')
    await popup.close()

    const isShown = await victim.evaluate(async (address: string) => {
      const { document } = globalThis as any
      const frame = document.createElement('iframe')
      const loaded = new Promise(resolve => { frame.onload = resolve })
      frame.src = address
      document.body.append(frame)
      await loaded
      return frame.contentDocument !== null
    }, ticket)
    t.equal(isShown, false)
    t.equal(await victim.frames()[1]?.getByRole('button').count() ?? 0, 0, 'the frame does not show the page')

    const tab = await victim.context().newPage()
    await tab.goto(origin)
    const answered = tab.waitForResponse(response => response.request().method() === 'POST')
    await tab.evaluate(() => { (globalThis as any).document.forms[0].submit() })
    t.equal((await answered).status(), 400, 'the form of another page')
    await tab.close()
    t.strictSame(await cookiesOf(victim), [])
  }

  // the address at the issuer that mallory's browser got: the person signs in there, and gives consent
  await victim.goto(`http://localhost:${port}`)
  await victim.evaluate((address: string) => { (globalThis as any).location.href = address }, authorize.href)
  t.match(await signInAt(victim, 'alice@mail'), /another browser began it/)
  t.match(await call('mallory'), { code: 'MCP_SIGN_IN_REQUIRED' })

  // and mallory's own browser still completes it, with an own account
  t.match(await signInAt(own, 'mallory@mail'), /Signed in to mail/)
  t.match(await call('mallory'), { result: { content: [{ text: 'mallory@mail' }] } })
})

test('the code of one server reaches no other, whose issuer leads the browser to that of the first', { skip: browserMissing }, async t => {
  const { ask, call, honest, hostile } = await serve(t)
  const page = await person(t)
  const atHonest = await beginAt(page, await ask('alice'))
  t.match(await signInAt(page, 'alice@mail'), /Signed in to mail/)

  const atHostile = await beginAt(page, await ask('alice', 'evil'))
  const lured = new URL(atHonest)
  for (const key of ['state', 'code_challenge']) lured.searchParams.set(key, atHostile.searchParams.get(key)!)
  await page.goto(lured.href)
  t.match(await signInAt(page, 'alice@mail'), /authorization server of another MCP server answered/)
  t.ok(honest.seen.some(({ url }) => url === lured.pathname + lured.search))
  t.strictSame(hostile.seen.filter(({ method, url }) => method === 'POST' && url === '/token'), [], 'the hostile server gets no code')
  t.match(await call('alice', 'evil'), { code: 'MCP_SIGN_IN_REQUIRED' })
})
