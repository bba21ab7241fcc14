import { test } from 'tap'
import { createGateway, type SignInStore } from '../src/index.js'
import { SealedTexts } from '../src/sign-in/sealed-texts.js'
import { memoryStore, SignInRecords } from '../src/sign-in/sign-in-store.js'
import { withSignIn } from '../src/tool-source/sign-in.js'
import { until } from '../../../test/fixtures/until.js'
import { authorizationServer, Browser, protectedServer, type AuthorizationServer } from './fixtures/authorization-server.mjs'
import { KEY, service, textOf, type Service } from './fixtures/sign-in-service.js'
import { changeText } from '../../../test/fixtures/change-text.mjs'

const grantsOf = ({ seen }: AuthorizationServer): number => seen.filter(({ method, url }) => method === 'POST' && url === '/token').length

test('the first call answers 401 with an address, and after the sign-in there the call succeeds', async t => {
  const as = await authorizationServer(t)
  const upstream = await protectedServer(t, as)
  const { call, base, gateway } = await service(t, { url: upstream.url, oauth: { issuer: as.base } })
  const asked = await call('alice')
  t.match(asked, { status: 401, body: { code: 'MCP_SIGN_IN_REQUIRED', server: 'mail', tool: 'whoami' } })
  const { url } = asked.body.details
  t.ok(url.startsWith(`${base}/mcp/sign-in?ticket=`))
  t.equal(asked.headers.get('www-authenticate'), `Polyvac-Sign-In url="${url}"`)
  const browser = new Browser()
  const page = await browser.open(url)
  t.match(page.text, /<strong>alice<\/strong>/)
  t.notMatch(page.text, /<script/)
  const done = await browser.signIn(url, 'alice@mail')
  t.match(done, { status: 200, text: /Signed in to mail/ })
  const authorize = new URL(browser.visited.find(visited => visited.startsWith(`${as.base}/auth?`))!)
  t.match(Object.fromEntries(authorize.searchParams), {
    response_type: 'code', code_challenge_method: 'S256', resource: upstream.url, scope: 'mcp offline_access', redirect_uri: `${base}/mcp/sign-in/callback/mail`
  })
  t.equal(textOf(await call('alice')), 'alice@mail')

  t.equal((await call('bob')).status, 401, 'another owner does not share the sign-in')
  const lists = await Promise.all(['alice', 'bob'].map(async owner => {
    const { tools } = await (await fetch(`${base}/mcp/tools`, { headers: { 'x-owner': owner } })).json() as { tools: Array<{ name: string }> }
    return tools.map(({ name }) => name)
  }))
  t.strictSame(lists, [['whoami'], ['sign_in']])
  t.match(gateway.status(), [{ name: 'mail', state: 'ready', owners: 1 }])
  t.notOk([...upstream.seen, ...as.seen.map(({ authorization = '' }) => authorization)].some(sent => sent.includes('token-of-the-caller')), 'the token of the caller is sent to no upstream server')
})

test('a registered client, a metadata document and dynamic registration are used as the authorization server supports them', async t => {
  const callbacks = { redirect_uris: ['https://agents.example/mcp/sign-in/callback/mail'] }
  const registered = { client_id: 'registered', client_secret: 'registered-secret', ...callbacks, grant_types: ['authorization_code', 'refresh_token'] }
  const document = async (): Promise<Response> => await fetch(`${service1.base}/mcp/sign-in/client/mail`)
  let service1: Service = undefined as unknown as Service
  for (const { ways, clients, oauth, client } of [
    { ways: ['registration', 'documents'], clients: [registered], oauth: { client_id: 'registered', client_secret: 'registered-secret' }, client: /^https:\/\/agents\.example\/mcp\/sign-in\/client\/mail$/ },
    { ways: ['registration'], clients: [registered], oauth: { client_id: 'registered', client_secret: 'registered-secret' }, client: /^registered$/ },
    { ways: ['registration'], clients: [], oauth: {}, client: /^(?!https|registered)/ }
  ]) {
    const as = await authorizationServer(t, { ways, clients, fetch: document })
    const upstream = await protectedServer(t, as)
    const { call, base } = service1 = await service(t, { url: upstream.url, oauth: { ...oauth, issuer: as.base } }, memoryStore(), 'https://agents.example')
    const { body: { details: { url } } } = await call('alice')
    t.match(url, /^https:\/\/agents\.example\/mcp\/sign-in\?ticket=/)
    const browser = new Browser({ 'https://agents.example': base })
    t.match(await browser.signIn(url, 'alice'), { status: 200 })
    t.match(new URL(browser.visited.find(visited => visited.startsWith(`${as.base}/auth?`))!).searchParams.get('client_id'), client)
    t.equal(textOf(await call('alice')), 'alice')
  }
})

test('a token is refreshed once for all calls, with rotation; a revoked one leads to another sign-in; a restart keeps both', async t => {
  const as = await authorizationServer(t)
  const upstream = await protectedServer(t, as)
  const store = memoryStore()
  const entry = { url: upstream.url, oauth: { issuer: as.base } }
  const first = await service(t, entry, store)
  t.match(await first.signIn('alice'), { status: 200 })
  t.equal(textOf(await first.call('alice')), 'alice')
  await first.close()
  const sealed = String(await store.get('alice', 'mail'))
  const tokens = (): string[] => [...new Set(upstream.seen)].filter(Boolean).map(value => value.replace('Bearer ', ''))
  for (const token of tokens()) t.notMatch(sealed, token, 'the store has no token in clear')

  const replicas = await Promise.all([service(t, entry, store), service(t, entry, store)])
  for (const replica of replicas) t.equal(textOf(await replica.call('alice')), 'alice', 'without another sign-in')
  const before = grantsOf(as)
  upstream.refused.add(tokens().at(-1)!)
  const answers = await Promise.all(replicas.flatMap(replica => [replica.call('alice'), replica.call('alice'), replica.call('alice')]))
  t.strictSame(answers.map(textOf), Array(6).fill('alice'))
  t.equal(grantsOf(as), before + 1, 'one refresh for the calls of all replicas')

  const { seen } = upstream
  const current = seen.at(-1)!.replace('Bearer ', '')
  await (await as.provider.AccessToken.find(current) as unknown as { destroy (): Promise<void> }).destroy()
  const [replica] = replicas
  const opened = new SealedTexts(KEY).open(String(await store.get('alice', 'mail')), ['sign-in', 'alice', 'mail']) as { refreshToken: string }
  await (await as.provider.RefreshToken.find(opened.refreshToken))!.destroy()
  t.equal((await replica!.call('alice')).status, 401)
  t.match(await replica!.signIn('alice', 'alice-again'), { status: 200 })
  t.equal(textOf(await replica!.call('alice')), 'alice-again')
  const stranger = createGateway({ servers: { mail: { per_owner: true, ...entry } }, signIn: { store, key: 'x'.repeat(32), url: 'http://127.0.0.1:9' } })
  t.teardown(() => stranger.close())
  await t.rejects(stranger.call('mail', 'whoami', {}, { principal: { owner: 'alice' } }), { code: 'MCP_SIGN_IN_REQUIRED' }, 'a text of another key counts as none')
})

test('a refresh of another replica whose clock is ahead is waited for', async t => {
  const as = await authorizationServer(t)
  const upstream = await protectedServer(t, as)
  const entry = { url: upstream.url, oauth: { issuer: as.base } }
  const kept = memoryStore()
  let reads = 0
  const store: SignInStore = { ...kept, get: async (...of) => { reads++; return await kept.get(...of) } }
  const tokens: string[] = []
  const services: Service[] = []
  for (const place of [store, memoryStore()]) {
    const one = await service(t, entry, place)
    t.match(await one.signIn('alice'), { status: 200 })
    t.equal(textOf(await one.call('alice')), 'alice')
    tokens.push(upstream.seen.at(-1)!.replace('Bearer ', ''))
    services.push(one)
  }
  const records = new SignInRecords(kept, new SealedTexts(KEY))
  // it took its lease of 15 s now, by a clock that is a second ahead
  await records.change('alice', { name: 'mail' }, before => ({ ...before, refreshingUntil: Date.now() + 16_000 }))
  upstream.refused.add(tokens[0]!)
  const before = grantsOf(as)
  reads = 0
  const answer = services[0]!.call('alice')
  await until(() => reads > 4, 'it looks for the new token again and again')
  await records.change('alice', { name: 'mail' }, before => ({ ...before, token: tokens[1] }))
  t.equal(textOf(await answer), 'alice')
  t.equal(grantsOf(as), before)
})

test('a callback is refused for another browser, another owner, a changed or used state and another issuer', async t => {
  const as = await authorizationServer(t)
  const upstream = await protectedServer(t, as)
  const { call, base } = await service(t, { url: upstream.url, oauth: { issuer: as.base } })
  const begin = async (): Promise<{ browser: Browser, callback: string }> => {
    const { body: { details: { url } } } = await call('alice')
    const browser = new Browser()
    const { url: callback } = await browser.signIn(url, 'alice', { stopAt: '/mcp/sign-in/callback' })
    return { browser, callback }
  }
  const { browser, callback } = await begin()
  const state = new URL(callback).searchParams.get('state')!
  t.match(await new Browser().open(callback), { status: 400, text: /another browser began it/ })
  const changed = callback.replace(state, changeText(state))
  t.match(await browser.open(changed), { status: 400, text: /was changed, or belongs to another caller/ })
  const answerTo = async (url: string): Promise<unknown> => {
    const response = await fetch(url, { headers: { 'x-owner': 'bob' } })
    const { date: _date, ...headers } = Object.fromEntries(response.headers)
    return [response.status, headers, await response.text()]
  }
  t.strictSame(await answerTo(callback), await answerTo(changed), 'that of another owner is answered like one that does not exist')
  const { body: { details: { url: page } } } = await call('alice')
  t.strictSame(await answerTo(page), await answerTo(page.replace(/[^=]+$/, changeText)), 'the page, too')
  t.equal((await call('alice')).status, 401)
  t.match(await browser.open(callback), { status: 200 })
  t.match(await browser.open(callback), { status: 400, text: /was completed/ }, 'a second use of the state')
  t.equal(textOf(await call('alice')), 'alice')

  const bob = await service(t, { url: upstream.url, oauth: { issuer: as.base } })
  const { body: { details: { url } } } = await bob.call('bob')
  t.equal((await fetch(url, { headers: { 'x-owner': 'alice' } })).status, 400, 'the page of another owner')
  const other = new Browser()
  const { url: mixed } = await other.signIn(url, 'bob', { stopAt: '/mcp/sign-in/callback' })
  t.ok(new URL(mixed).searchParams.get('iss'), 'the authorization server names itself')
  t.match(await other.open(mixed.replace(/iss=[^&]+/, 'iss=https%3A%2F%2Fattacker.example')), { status: 500, text: /[Ii]ssuer/ })
  t.equal((await bob.call('bob')).status, 401)
  t.match(await bob.signIn('bob'), { status: 200 })
  for (const query of ['', '?ticket=', `?ticket=${'x'.repeat(10_000)}`, '?ticket=a&ticket=b', '?ticket=v1.AAAA']) t.equal((await fetch(`${base}/mcp/sign-in${query}`)).status, 400)
  t.equal((await fetch(`${base}/mcp/sign-in/callback/mail?state[]=1&error=<script>`)).status, 400)
})

test('without `issuer` no other origin is trusted, and a server that rejects the resource indicator gets none', async t => {
  const as = await authorizationServer(t, { rejectsResource: true })
  const upstream = await protectedServer(t, as)
  const untrusting = await service(t, { url: upstream.url, oauth: {} })
  const refused = await untrusting.call('alice')
  t.match(refused, { status: 500, body: { code: 'MCP_SIGN_IN_FAILED', error: new RegExp(`set oauth.issuer to .*${as.base}`) } })
  t.strictSame(as.seen, [], 'the authorization server that the metadata names gets no request')
  const trusting = await service(t, { url: upstream.url, oauth: { issuer: as.base, resource: false } })
  t.match(await trusting.signIn('alice'), { status: 200 })
  t.equal(textOf(await trusting.call('alice')), 'alice')
})

test('a server of HTTP with SSE asks for the sign-in, refreshes its token, and asks again after a revocation', async t => {
  const as = await authorizationServer(t)
  const upstream = await protectedServer(t, as, undefined, { isSse: true })
  const store = memoryStore()
  const { call, signIn, gateway } = await service(t, { url: upstream.url, oauth: { issuer: as.base } }, store)
  t.match(await call('alice'), { status: 401, body: { code: 'MCP_SIGN_IN_REQUIRED', details: { url: /sign-in\?ticket=/ } } })
  t.match(await signIn('alice', 'alice@mail'), { status: 200 })
  t.equal(textOf(await call('alice')), 'alice@mail')
  t.equal((await call('bob')).status, 401)
  t.match(await signIn('bob', 'bob@mail'), { status: 200 })
  t.strictSame((await Promise.all([call('alice'), call('bob')])).map(textOf), ['alice@mail', 'bob@mail'])
  t.match(gateway.status(), [{ owners: 2 }])

  const before = grantsOf(as)
  for (const authorization of upstream.seen) upstream.refused.add(authorization.replace('Bearer ', ''))
  t.equal(textOf(await call('alice')), 'alice@mail')
  t.equal(grantsOf(as), before + 1, 'one refresh')

  const { refreshToken } = new SealedTexts(KEY).open(String(await store.get('alice', 'mail')), ['sign-in', 'alice', 'mail']) as { refreshToken: string }
  await (await as.provider.RefreshToken.find(refreshToken))!.destroy()
  for (const authorization of upstream.seen) upstream.refused.add(authorization.replace('Bearer ', ''))
  t.match(await call('alice'), { status: 401, body: { code: 'MCP_SIGN_IN_REQUIRED' } })
  t.match(await signIn('alice', 'alice-again'), { status: 200 })
  t.equal(textOf(await call('alice')), 'alice-again')
})

test('a client of 2025-11-25 that cannot be asked during its call gets -32042 with the address', async t => {
  const as = await authorizationServer(t)
  const upstream = await protectedServer(t, as)
  const { gateway } = await service(t, { url: upstream.url, oauth: { issuer: as.base } })
  const context = { era: 'legacy', capabilities: { elicitation: { url: {} } }, signal: new AbortController().signal } as unknown as Parameters<typeof withSignIn>[1]
  const cannot = async (): Promise<never> => { throw Object.assign(new Error('no session'), { code: 'MCP_CANNOT_ASK' }) }
  const failure: unknown = await withSignIn(gateway, context, cannot, async () => await gateway.get('mail').callRaw('whoami', {}, { principal: { owner: 'alice' } })).catch((err: unknown) => err)
  t.match(failure, { rpcError: { code: -32042, data: { elicitations: [{ mode: 'url', url: /sign-in\?ticket=/, elicitationId: /./ }] } } })
  const stopped = { ...context, signal: AbortSignal.abort(new Error('left')) } as typeof context
  const accept = async (questions: object): Promise<any> => Object.fromEntries(Object.keys(questions).map(key => [key, { action: 'accept' }]))
  await t.rejects(withSignIn(gateway, stopped, accept, async () => await gateway.get('mail').callRaw('whoami', {}, { principal: { owner: 'alice' } })), { message: 'left' })
})

test('an entry with per_owner needs a url and oauth, and one without it a client', t => {
  for (const [entry, problem] of [
    [{ command: 'x', per_owner: true }, /only to a server with a url and oauth/], [{ url: 'https://a.example', per_owner: true }, /only to a server with a url and oauth/],
    [{ url: 'https://a.example', oauth: {} }, /no client_id and client_secret/],
    [{ url: 'https://a.example', oauth: {}, per_owner: true, headers: { Authorization: 'Bearer x' } }, /an authorization for all owners/],
    [{ url: 'http://a.example', oauth: {}, per_owner: true }, /not an https address/]
  ] as const) t.throws(() => createGateway({ servers: { mail: entry } }), { code: 'MCP_GATEWAY_OPTIONS', message: problem })
  t.throws(() => createGateway({ servers: {}, signIn: { key: 'short' } }), { code: 'MCP_GATEWAY_OPTIONS' })
  t.end()
})
