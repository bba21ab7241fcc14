import { test, type Test } from 'tap'
import type { SignInStore } from '../src/index.js'
import { SealedTexts } from '../src/sign-in/sealed-texts.js'
import { memoryStore, SignInRecords, type SignIn } from '../src/sign-in/sign-in-store.js'
import { authorizationServer, Browser, protectedServer } from './fixtures/authorization-server.mjs'
import { KEY, service, textOf, type Service } from './fixtures/sign-in-service.js'

const CALLBACK = '/mcp/sign-in/callback'

/** The address that a call of the owner answers with. */
async function asked ({ call }: Service, owner: string, server?: string): Promise<string> {
  const { status, body } = await call(owner, 'whoami', server)
  if (status !== 401) throw new Error(JSON.stringify(body))
  return body.details.url
}

async function alone (t: Test, store?: SignInStore) {
  const as = await authorizationServer(t)
  const upstream = await protectedServer(t, as)
  return { as, upstream, one: await service(t, { url: upstream.url, oauth: { issuer: as.base } }, store) }
}

/** A browser that signed in at the authorization server, and the callback that it did not open yet. */
async function atCallback (url: string, account: string, proxied?: Readonly<Record<string, string>>): Promise<{ browser: Browser, callback: string }> {
  const browser = new Browser(proxied)
  const { url: callback } = await browser.signIn(url, account, { stopAt: CALLBACK })
  return { browser, callback }
}

test('a cookie is set only for the form of the page, and no page has one, a frame, a script or an opener', async t => {
  const { one } = await alone(t)
  const owner = 'eve"><script>alert(1)</script><!--'
  const url = await asked(one, owner)
  const page = await fetch(url)
  const text = await page.text()
  t.match(text, /Sign in to mail/)
  t.match(text, /<strong>eve&#34;&#62;&#60;script&#62;/)
  t.notMatch(text, '<script')
  t.strictSame(page.headers.getSetCookie(), [])
  const { origin } = new URL(url)
  const form = async (headers: Record<string, string>): Promise<Response> =>
    await fetch(url, { method: 'POST', headers, body: new URLSearchParams() })
  const others: Array<Record<string, string>> = [
    {}, { origin: 'null' }, { origin: 'https://attacker.example' }, { origin: `${origin}0` }, { origin: origin.replace('http:', 'https:') }, { origin: `${origin}, ${origin}` },
    ...['cross-site', 'same-site', 'none'].map(site => ({ origin, 'sec-fetch-site': site })), { origin: 'null', 'sec-fetch-site': 'same-origin' }, { 'sec-fetch-site': 'same-origin' }
  ]
  for (const headers of others) {
    const refused = await form(headers)
    t.match([refused.status, refused.headers.getSetCookie()], [400, []], JSON.stringify(headers))
    t.match(await refused.text(), /another page sent the form/)
  }
  const [first, second] = await Promise.all([form({ origin }), form({ origin, 'sec-fetch-site': 'same-origin' })])
  const cookies = [first, second].map(({ headers }) => headers.getSetCookie())
  for (const cookie of cookies) t.match(cookie, [/^polyvac_sign_in_[\w-]{10}=[\w-]{43}; Path=\/; Max-Age=\d+; HttpOnly; SameSite=Lax$/])
  t.not(String(cookies[0]).split(';')[0], String(cookies[1]).split(';')[0], 'another one at each time')
  const pages = [page, first, await form({}), await fetch(`${origin}${CALLBACK}/mail?state=x&code=y`), await fetch(`${origin}/mcp/sign-in`)]
  for (const { headers } of pages) {
    t.match(Object.fromEntries(headers), {
      'cross-origin-opener-policy': 'same-origin',
      'x-frame-options': 'DENY',
      'referrer-policy': /^(?:no-referrer|same-origin)$/,
      'cache-control': 'no-store',
      'content-security-policy': /^default-src 'none'; .*frame-ancestors 'none'$/
    })
  }
  t.equal((await fetch(url, { method: 'POST', headers: { origin }, body: 'x'.repeat(2_000) })).status, 413)
})

test('a sign-in is completed in the browser that sent the form: not in another with the same link, nor with its first form', async t => {
  const { one } = await alone(t)
  const url = await asked(one, 'alice')
  const mine = await atCallback(url, 'alice')
  const other = await atCallback(url, 'mallory')
  t.match(await other.browser.open(mine.callback), { status: 400, text: /another browser began it/ })
  t.match(await mine.browser.open(other.callback), { status: 400, text: /another browser began it/ })
  t.match(await new Browser().open(mine.callback), { status: 400, text: /another browser began it/ }, 'without a cookie')
  // the code of one browser with the state of the other: the verifier is that of the other
  const fresh = await atCallback(await asked(one, 'bob'), 'bob')
  const inFresh = new URL(fresh.callback)
  inFresh.searchParams.set('code', new URL(mine.callback).searchParams.get('code')!)
  t.match(await fresh.browser.open(inFresh.href), { status: 500, text: /invalid_grant|grant request is invalid/i }, 'a code of another browser')
  t.equal((await one.call('bob')).status, 401)

  // the form again: the first tab cannot go on, the second can
  const { browser } = mine
  const again = await browser.signIn(url, 'alice', { stopAt: CALLBACK })
  t.match(await browser.open(mine.callback), { status: 400, text: /this one began it again/ })
  t.match(await browser.open(again.url), { status: 200 })
  t.match(await browser.open(again.url), { status: 400, text: /was completed/ })
  t.equal(textOf(await one.call('alice')), 'alice')
  t.match(await browser.open(url, { method: 'POST', body: new URLSearchParams() }), { status: 400, text: /was completed/ }, 'the form after the end')
})

test('one browser completes the sign-ins of two owners, each with its own cookie, and an expired one not at all', async t => {
  const store = memoryStore()
  const { one } = await alone(t, store)
  const browser = new Browser()
  const callbacks: string[] = []
  for (const owner of ['alice', 'bob']) callbacks.push((await browser.signIn(await asked(one, owner), owner, { stopAt: CALLBACK })).url)
  for (const callback of callbacks) t.match(await browser.open(callback), { status: 200 })
  // the session of the browser at the authorization server is that of the first account
  t.equal(textOf(await one.call('alice')), 'alice')
  t.equal((await one.call('bob')).status, 200)

  const url = await asked(one, 'carol')
  const late = await atCallback(url, 'carol')
  await new SignInRecords(store, new SealedTexts(KEY)).change('carol', { name: 'mail' }, before => ({ ...before, pending: { ...before.pending!, until: Date.now() - 1 } }))
  for (const { status, text } of [await browser.open(url), await browser.open(url, { method: 'POST', body: new URLSearchParams() }), await late.browser.open(late.callback)]) {
    t.match([status, text], [400, /has expired/])
  }
})

test('a replica completes what another one began, where both have the key and the address', async t => {
  const as = await authorizationServer(t)
  const upstream = await protectedServer(t, as)
  const store = memoryStore()
  const entry = { url: upstream.url, oauth: { issuer: as.base } }
  const origin = 'https://agents.example'
  const [first, second] = [await service(t, entry, store, origin), await service(t, entry, store, `${origin}/`)]
  const proxied = { [origin]: first.base }
  const { browser, callback } = await atCallback(await asked(first, 'alice'), 'alice', proxied)
  t.match(callback, new RegExp(`^${origin}${CALLBACK}/mail\\?`))
  proxied[origin] = second.base
  t.match(await browser.open(callback), { status: 200 })
  for (const { call } of [first, second]) t.equal(textOf(await call('alice')), 'alice')
  const page = await fetch((await asked(first, 'bob')).replace(origin, first.base), { method: 'POST', headers: { origin } })
  t.match(page.headers.getSetCookie(), [/^__Host-polyvac_sign_in_[\w-]+=.*; Path=\/; .*; Secure$/], 'no other host can set it')
})

test('a code reaches only the server whose redirect URI it was sent to, and an issuer that announces iss has to send its own', async t => {
  const [honest, hostile] = [await authorizationServer(t), await authorizationServer(t)]
  const [mail, evil] = [await protectedServer(t, honest), await protectedServer(t, hostile)]
  const one = await service(t, { url: mail.url, oauth: { issuer: honest.base } }, undefined, undefined, { evil: { url: evil.url, per_owner: true, oauth: { issuer: hostile.base } } })
  const grants = (): number => hostile.seen.filter(({ method, url }) => method === 'POST' && url === '/token').length
  const begun = async (server: string, account: string): Promise<{ browser: Browser, callback: string, authorize: URL }> => {
    const { browser, callback } = await atCallback(await asked(one, 'alice', server), account)
    return { browser, callback, authorize: new URL(browser.visited.find(visited => visited.includes('/auth?'))!) }
  }
  const [atMail, atEvil] = [await begun('mail', 'alice'), await begun('evil', 'alice')]
  t.strictSame([atMail, atEvil].map(({ authorize }) => authorize.searchParams.get('redirect_uri')), [`${one.base}${CALLBACK}/mail`, `${one.base}${CALLBACK}/evil`])

  // the hostile server leads the browser to the honest one, as the client that is known there
  const lured = new URL(atMail.authorize)
  lured.searchParams.set('state', atEvil.authorize.searchParams.get('state')!)
  lured.searchParams.set('code_challenge', atEvil.authorize.searchParams.get('code_challenge')!)
  t.match(await atEvil.browser.signIn(lured.href, 'alice'), { status: 400, text: /authorization server of another MCP server answered/ })
  lured.searchParams.set('redirect_uri', `${one.base}${CALLBACK}/evil`)
  t.match(await atEvil.browser.signIn(lured.href, 'alice'), { status: 400, text: /redirect_uri/ }, 'the honest server knows one redirect URI')
  t.equal(grants(), 0, 'the hostile server gets no code')

  // each callback at the path of the other
  const swapped = (from: string, to: string, { browser, callback }: { browser: Browser, callback: string }): Promise<{ status: number, text: string }> => browser.open(callback.replace(`${CALLBACK}/${from}`, `${CALLBACK}/${to}`))
  for (const answer of [await swapped('mail', 'evil', atMail), await swapped('evil', 'mail', atEvil), await swapped('mail', 'none', atMail)]) t.match(answer, { status: 400, text: /another MCP server/ })

  // none of these used up the state
  t.match(await atMail.browser.open(atMail.callback), { status: 200 })
  t.equal(textOf(await one.call('alice')), 'alice')

  // a client that anybody can register: the honest server names itself
  for (const iss of [honest.base, undefined, `${hostile.base}/`, '']) {
    const { browser, callback } = await begun('evil', 'alice')
    const url = new URL(callback)
    t.equal(url.searchParams.get('iss'), hostile.base)
    if (iss === undefined) url.searchParams.delete('iss')
    else url.searchParams.set('iss', iss)
    t.match(await browser.open(url.href), { status: 500, text: /[Ii]ssuer/ }, String(iss))
  }
  t.equal(grants(), 0)
})

test('a client of earlier versions, with the callback of all servers, refreshes its token and is registered again for a sign-in', async t => {
  const store = memoryStore()
  const { as, upstream, one } = await alone(t, store)
  const records = new SignInRecords(store, new SealedTexts(KEY))
  t.match(await one.signIn('alice'), { status: 200 })
  t.equal(textOf(await one.call('alice')), 'alice')
  // as they were stored: the address of the sign-in had the state, and the record the verifier
  await records.change('alice', { name: 'mail' }, before => ({ ...before, redirectUri: `${one.base}${CALLBACK}` }))
  upstream.refused.add(upstream.seen.at(-1)!.replace('Bearer ', ''))
  t.equal(textOf(await one.call('alice')), 'alice', 'its refresh token holds')

  const registrations = (): number => as.seen.filter(({ url }) => url === '/reg').length
  const before = registrations()
  const url = await asked(one, 'bob')
  t.equal(registrations(), before + 1)
  const old = { id: 'old', url: `${as.base}/auth?state=old`, verifier: 'v'.repeat(43), scope: undefined, wanted: undefined, until: Date.now() + 600_000 }
  await records.change('bob', { name: 'mail' }, ({ client, issuer }): SignIn => ({ client, issuer, redirectUri: `${one.base}${CALLBACK}`, pending: old }))
  t.match(await new Browser().open(url), { status: 400, text: /replaced/ })
  t.match(await one.signIn('bob'), { status: 200 })
  t.equal(registrations(), before + 2, 'the client with the redirect URI of the server')
  t.equal(textOf(await one.call('bob')), 'bob')
  t.match(await (await fetch(`${one.base}/mcp/sign-in/client.json`)).json(), { client_id: `${one.base}/mcp/sign-in/client.json`, redirect_uris: [`${one.base}${CALLBACK}`] })
})

test('a metadata document has the redirect URI of one server, also of one that does not exist', async t => {
  const { one } = await alone(t)
  for (const server of ['mail', 'none', 'x'.repeat(64)]) {
    t.match(await (await fetch(`${one.base}/mcp/sign-in/client/${server}`)).json(), { client_id: `${one.base}/mcp/sign-in/client/${server}`, redirect_uris: [`${one.base}${CALLBACK}/${server}`] })
  }
  for (const server of ['x'.repeat(65), 'a%20b', '%3Cscript%3E']) t.equal((await fetch(`${one.base}/mcp/sign-in/client/${server}`)).status, 400, server)
})

test('a record of a server is none of an agent with its name, nor that of an agent one for another origin', async t => {
  const records = new SignInRecords(memoryStore(), new SealedTexts(KEY))
  const server = { name: 'mail', url: 'https://a.example' }
  const agent = { ...server, agent: { scheme: 'login' } }
  const elsewhere = { ...agent, url: 'https://b.example' }
  for (const [kept, others] of [[server, [agent, elsewhere]], [agent, [server, elsewhere]]] as const) {
    await records.change('alice', kept, () => ({ token: 'T' }))
    t.equal((await records.get('alice', { ...kept, url: `${kept.url}/other/path` })).token, 'T')
    for (const other of others) t.strictSame(await records.get('alice', other), {})
    t.strictSame(await records.get('bob', kept), {})
  }
})
