import type { Authenticate } from '@polyvac/core'
import Fastify, { type FastifyInstance } from 'fastify'
import { exportJWK, generateKeyPair, SignJWT, UnsecuredJWT, type JWK } from 'jose'
import { createHmac, createPublicKey, generateKeyPairSync, sign as signBytes } from 'node:crypto'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createToken, firstOf, jwtAuthentication, platformAuthentication, tokenAuthentication, trustedProxies } from '@polyvac/auth'
import { authenticateCallers } from '@polyvac/core/plugin'
import t, { type Test } from 'tap'
import { until } from '../../../test/fixtures/until.js'
import { IssuerKeys, KEYS_COOLDOWN_MS, KEYS_MAX_AGE_MS, KEYS_MAX_STALE_MS, KEYS_RETRY_MS } from '../src/issuer-keys.js'
import { IssuerRequests, MAX_ISSUER_BYTES } from '../src/issuer-request.js'

const AUDIENCE = 'https://agents.example.org'

/** An app whose only route answers with the caller. */
function appWith (t: Test, authenticate: Authenticate): FastifyInstance {
  const app = Fastify()
  const principalOf = authenticateCallers(app, authenticate)
  app.get('/', async request => principalOf(request))
  t.teardown(() => app.close())
  return app
}

async function ask (app: FastifyInstance, authorization: string | string[] | undefined, headers: Record<string, string> = {}) {
  const response = await app.inject({ url: '/', headers: { ...headers, ...authorization !== undefined && { authorization: authorization as string } } })
  return { status: response.statusCode, ...response.json<{ owner?: string, scopes?: string[], code?: string }>() }
}

async function serve (t: Test, listener: RequestListener): Promise<string> {
  const server = createServer(listener)
  await new Promise<void>(resolve => { server.listen(0, '127.0.0.1', resolve) })
  t.teardown(() => { server.close() })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

/** An issuer on loopback; `keys` may change, and it can be switched off. */
async function issuerFor (t: Test) {
  const state = { keys: [] as JWK[], isDown: false, reads: 0, url: '' }
  state.url = await serve(t, (request, response) => {
    if (state.isDown) return response.writeHead(500).end()
    if (request.url === '/keys') {
      state.reads++
      return response.end(JSON.stringify({ keys: state.keys }))
    }
    if (request.url !== '/.well-known/openid-configuration') return response.writeHead(404).end()
    response.end(JSON.stringify({ issuer: state.url, jwks_uri: `${state.url}/keys` }))
  })
  const makeKey = async (kid: string, alg = 'ES256') => {
    const { publicKey, privateKey } = await generateKeyPair(alg)
    state.keys.push({ ...await exportJWK(publicKey), kid, alg })
    return async (claims: Record<string, unknown> = {}, header: Record<string, unknown> = {}) =>
      `Bearer ${await new SignJWT({ iss: state.url, aud: AUDIENCE, sub: 'alice', exp: Date.now() / 1000 + 60, ...claims })
        .setProtectedHeader({ alg, kid, ...header }).sign(privateKey)}`
  }
  return { state, makeKey }
}

t.test('a static token names its owner, and every other credential is refused', async t => {
  const { token, entry } = createToken('alice', ['vac:docs'])
  const other = createToken('bob')
  t.notMatch(JSON.stringify(entry), token)
  const app = appWith(t, tokenAuthentication({ tokens: [entry, other.entry] }))
  t.match(await ask(app, `Bearer ${token}`), { status: 200, owner: 'alice', scopes: ['vac:docs'] })
  t.match(await ask(app, `bEARER ${other.token}`), { status: 200, owner: 'bob', scopes: undefined })
  const refused = [
    undefined, '', 'Bearer', 'Bearer ', `Bearer\t${token}`, token, `Basic ${token}`, `Bearer ${token}x`, `Bearer ${token} ${token}`,
    `Bearer ${token},Bearer ${token}`, `Bearer ${'a'.repeat(9_000)}`, `Bearer ${entry.sha256}`, [`Bearer ${token}`, `Bearer ${other.token}`]
  ]
  for (const header of refused) t.match(await ask(app, header), { status: 401 }, String(header).slice(0, 60))
  const [first, second] = [createToken('a').token, createToken('a').token]
  t.not(first, second)
})

t.test('entries and options that are not safe are refused', async t => {
  const { entry } = createToken('alice')
  for (const tokens of [[], [{ ...entry, owner: '' }], [{ ...entry, sha256: 'secret' }], Array.from({ length: 1_001 }, () => entry)]) {
    t.throws(() => tokenAuthentication({ tokens }), { code: 'AUTH_OPTIONS' })
  }
  const good = { issuer: 'https://login.example.org', audience: AUDIENCE }
  for (const wrong of [
    { issuer: 'http://login.example.org' }, { issuer: 'login' }, { issuer: 'https://login.example.org?x=1' }, { audience: '' }, { audience: [] },
    { jwks: 'http://keys.example.org' }, { algorithms: ['none'] }, { algorithms: ['RS256', 'HS256'] }
  ]) t.throws(() => jwtAuthentication({ ...good, ...wrong }), { code: 'AUTH_OPTIONS' }, JSON.stringify(wrong))
  t.throws(() => platformAuthentication({ platform: 'cloud_run', trustedProxies: [] }), { code: 'AUTH_OPTIONS', message: /around it/ })
  t.throws(() => platformAuthentication({ platform: { header: 'a b' }, trustedProxies: ['loopback'] }), { code: 'AUTH_OPTIONS' })
  for (const range of ['0.0.0.0/0', '::/0', '10.0.0.0/33', '10.0.0.0/x', 'proxy.example.org', '']) {
    t.throws(() => trustedProxies([range]), { code: 'AUTH_OPTIONS' }, range)
  }
  const isProxy = trustedProxies(['10.0.0.0/8', '::1', 'linklocal'])
  t.same(['10.1.2.3', '::ffff:10.1.2.3', '::1', '169.254.1.1', '11.0.0.1', '::2', '', undefined].map(isProxy), [true, true, true, true, false, false, false, false])
})

t.test('a JWT counts only with the issuer, audience, time, algorithm and key that are configured', async t => {
  const { state, makeKey } = await issuerFor(t)
  const sign = await makeKey('k1')
  const app = appWith(t, jwtAuthentication({ issuer: state.url, audience: [AUDIENCE, 'other'] }))
  t.match(await ask(app, await sign()), { status: 200, owner: `${state.url}|alice`, scopes: undefined })
  const now = Date.now() / 1000
  t.match(await ask(app, await sign({ exp: now - 10 })), { status: 200 }, 'within the difference of clocks')
  t.match(await ask(app, await sign({ nbf: now + 10, aud: ['x', 'other'] })), { status: 200 })
  const claims = [
    { iss: 'https://evil.example.org' }, { iss: undefined }, { aud: 'https://other.example.org' }, { aud: undefined }, { exp: now - 60 },
    { exp: undefined }, { nbf: now + 120 }, { sub: '' }, { sub: undefined }, { sub: 'a'.repeat(600) }, { sub: 7 }
  ]
  for (const claim of claims) t.match(await ask(app, await sign(claim)), { status: 401 }, JSON.stringify(claim).slice(0, 60))
  const good = { iss: state.url, aud: AUDIENCE, sub: 'alice', exp: now + 60 }
  t.match(await ask(app, `Bearer ${new UnsecuredJWT(good).encode()}`), { status: 401 }, 'alg none')
  const secret = new TextEncoder().encode(JSON.stringify(state.keys[0]).padEnd(64))
  t.match(await ask(app, `Bearer ${await new SignJWT(good).setProtectedHeader({ alg: 'HS256', kid: 'k1' }).sign(secret)}`), { status: 401 }, 'HS256')
  const [head, body, signature] = (await sign()).split('.') as [string, string, string]
  const forged = Buffer.from(JSON.stringify({ ...good, sub: 'mallory' })).toString('base64url')
  for (const token of [`${head}.${forged}.${signature}`, `${head}.${body}.`, `${head}.${body}`, 'Bearer a.b.c', 'Bearer abc']) {
    t.match(await ask(app, token), { status: 401 }, token.slice(0, 30))
  }
  t.equal(state.reads, 1, 'the keys are read once')
  const rsa = appWith(t, jwtAuthentication({ issuer: state.url, audience: AUDIENCE, algorithms: ['RS256'] }))
  t.match(await ask(rsa, await sign()), { status: 401 }, 'an algorithm that is not on the list')
})

t.test('nothing that a JWT names in its header chooses the key, and a public key is not a secret', async t => {
  const { state, makeKey } = await issuerFor(t)
  const sign = await makeKey('k1')
  let reads = 0
  const elsewhere = await serve(t, (_request, response) => { reads++; response.end('{}') })
  const app = appWith(t, jwtAuthentication({ issuer: state.url, audience: AUDIENCE }))
  const own = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const jwk = own.publicKey.export({ format: 'jwk' })
  const payload = { iss: state.url, aud: AUDIENCE, sub: 'mallory', exp: Date.now() / 1000 + 60 }
  const encode = (value: unknown): string => Buffer.from(typeof value === 'string' ? value : JSON.stringify(value)).toString('base64url')
  const forge = (header: object, body: unknown = payload): string => {
    const text = `${encode({ alg: 'ES256', kid: 'k1', ...header })}.${encode(body)}`
    return `${text}.${signBytes('sha256', Buffer.from(text), { key: own.privateKey, dsaEncoding: 'ieee-p1363' }).toString('base64url')}`
  }
  const headers = [
    {}, { jwk }, { jwk, kid: undefined }, { jku: `${elsewhere}/keys` }, { x5u: `${elsewhere}/cert` }, { x5c: ['MIIB'] }, { kid: '../../../dev/null' }, { kid: `${elsewhere}/keys` },
    { kid: "x' OR '1'='1" }, { kid: 'k1\0' }, { kid: 7 }, { kid: { toString: 'k1' } }, { typ: 'dpop+jwt' }, { crit: ['b64'], b64: false }, { crit: ['unknown'], unknown: 1 }, { alg: 'es256' }, { alg: ['ES256'] }, { alg: 'ES384' }
  ]
  for (const header of headers) t.match(await ask(app, `Bearer ${forge(header)}`), { status: 401 }, JSON.stringify(header).slice(0, 60))
  const pem = createPublicKey({ key: state.keys[0] as never, format: 'jwk' }).export({ format: 'pem', type: 'spki' })
  for (const secret of [pem, JSON.stringify(state.keys[0]), '', 'k1']) {
    const text = `${encode({ alg: 'HS256', kid: 'k1' })}.${encode(payload)}`
    t.match(await ask(app, `Bearer ${text}.${createHmac('sha256', secret).update(text).digest('base64url')}`), { status: 401 }, 'a public key as secret')
  }
  for (const body of ['', 'null', '[]', '"x"', `${'['.repeat(5_000)}${']'.repeat(5_000)}`, '{"sub":"alice","sub":"mallory"}']) t.match(await ask(app, `Bearer ${forge({}, body)}`), { status: 401 }, body.slice(0, 30))
  t.match(await ask(app, await sign({ more: 'x'.repeat(100_000) })), { status: 401 }, 'a token of 100 kB')
  t.match(await ask(app, `${await sign()}`), { status: 200, owner: `${state.url}|alice` })
  t.equal(reads, 0, 'no address of a token is read')
})

t.test('claims name the owner and the scopes', async t => {
  const { state, makeKey } = await issuerFor(t)
  const sign = await makeKey('k1', 'RS256')
  const options = { issuer: state.url, jwks: `${state.url}/keys`, audience: AUDIENCE, owner_claim: 'email', scope_claim: 'scp' }
  const app = appWith(t, jwtAuthentication(options))
  const email = { email: 'a@example.org', email_verified: true }
  t.match(await ask(app, await sign({ ...email, scp: 'vac:docs  admin' })), { status: 200, owner: 'a@example.org', scopes: ['vac:docs', 'admin'] })
  t.match(await ask(app, await sign({ ...email, scp: ['vac:docs', 7] })), { status: 200, scopes: ['vac:docs'] })
  t.strictSame((await ask(app, await sign(email))).scopes, [], 'no claim is no scope')
  t.match(await ask(app, await sign({ email: 'a@example.org' })), { status: 401 }, 'an email that is not verified')
  t.match(await ask(app, await sign({ ...email, email: { a: 1 } })), { status: 401 })
})

t.test('keys rotate, survive an outage of the issuer, and are read at most once in a cooldown', async t => {
  const { state, makeKey } = await issuerFor(t)
  let now = 0
  const keys = new IssuerKeys({ issuer: state.url, now: () => now })
  const find = async (kid: string): Promise<string> => await Promise.resolve(keys.find({ alg: 'ES256', kid }, { payload: '', signature: '' }))
    .then(() => 'found', (err: unknown) => (err as { code: string }).code)
  state.isDown = true
  t.equal(await find('k1'), 'ISSUER_UNAVAILABLE')
  state.isDown = false
  t.equal(await find('k1'), 'ISSUER_UNAVAILABLE', 'not asked again at once')
  now += KEYS_RETRY_MS
  await makeKey('k1')
  t.equal(await find('k1'), 'found')
  await makeKey('k2')
  const unknown = await Promise.all(Array.from({ length: 100 }, async (_, i) => await find(`x${i}`)))
  t.same(new Set(unknown), new Set(['ERR_JWKS_NO_MATCHING_KEY']))
  t.equal(state.reads, 1, 'a flood of unknown keys causes no read within the cooldown')
  now += KEYS_COOLDOWN_MS
  t.same(await Promise.all([find('k2'), find('k2'), find('x')]), ['found', 'found', 'ERR_JWKS_NO_MATCHING_KEY'], 'a new key')
  t.equal(state.reads, 2)
  state.keys.shift()
  now += KEYS_MAX_AGE_MS + 1
  t.equal(await find('k2'), 'found', 'old keys are used while new ones are read')
  await until(async () => await find('k1') === 'ERR_JWKS_NO_MATCHING_KEY', 'the key that the issuer dropped is gone')
  state.isDown = true
  now += KEYS_MAX_STALE_MS - 1
  t.equal(await find('k2'), 'found', 'an outage')
  now += 2
  t.equal(await find('k2'), 'ISSUER_UNAVAILABLE', 'after a day')
  const app = appWith(t, jwtAuthentication({ issuer: state.url, audience: AUDIENCE }))
  const sign = await makeKey('k3')
  t.match(await ask(app, await sign()), { status: 503, code: 'ISSUER_UNAVAILABLE' }, 'closed, not open, without keys')
  t.match(await ask(app, 'Bearer not.for.it'), { status: 401 })
})

t.test('metadata of an issuer leads to no private address, no other issuer and no redirect, and is bounded', async t => {
  let body: unknown = ''
  let requests = 0
  const canary = await serve(t, (_request, response) => { requests++; response.end('{"keys":[]}') })
  const url = await serve(t, (request, response) => {
    if (request.url === '/redirect') return response.writeHead(302, { location: canary }).end()
    if (request.url === '/large') return response.end(`"${'a'.repeat(MAX_ISSUER_BYTES)}"`)
    if (request.url === '/text') return response.end('hello')
    response.end(JSON.stringify(body))
  })
  const local = new IssuerRequests([new URL(url)])
  await t.rejects(local.readJson(`${url}/redirect`), /status 302/)
  await t.rejects(local.readJson(`${url}/large`), /more than/)
  await t.rejects(local.readJson(`${url}/text`), /JSON/)
  await t.rejects(local.readJson('file:///etc/passwd'), /https/)
  const addresses = (address: string) => (_name: string, done: (err: null, found: Array<{ address: string, family: number }>) => void) => {
    done(null, [{ address: '93.184.216.34', family: 4 }, { address, family: 4 }])
  }
  for (const address of ['127.0.0.1', '169.254.169.254', '10.0.0.1', '100.64.0.1']) {
    const remote = new IssuerRequests([new URL('https://login.example.org')], addresses(address))
    await t.rejects(remote.readJson('https://keys.example.net/keys'), /not public/, `a name with ${address}`)
    await t.rejects(remote.readJson(`https://${address}/keys`), /not a public/, address)
  }
  const remote = new IssuerRequests([new URL('https://login.example.org')])
  for (const refused of [canary, `${canary.replace('http', 'https')}/`, 'https://localhost/keys', 'https://[::1]/', 'http://keys.example.net', 'https://u:p@keys.example.net']) {
    await t.rejects(remote.readJson(refused), /keys are not read/, refused)
  }
  const find = async (): Promise<string> => await Promise.resolve(new IssuerKeys({ issuer: url }).find({ alg: 'ES256', kid: 'k' }, { payload: '', signature: '' }))
    .then(() => 'found', (err: unknown) => (err as { code: string }).code)
  for (const wrong of [{}, [], null, { issuer: 'https://evil.example.org', jwks_uri: canary }, { issuer: url, jwks_uri: 7 }, { issuer: url, jwks_uri: 'https://10.0.0.1/' }]) {
    body = wrong
    t.equal(await find(), 'ISSUER_UNAVAILABLE', JSON.stringify(wrong))
  }
  t.equal(requests, 0)
})

t.test('a platform names the caller only through its own addresses', async t => {
  const header = platformAuthentication({ platform: { header: 'X-Forwarded-User' }, trustedProxies: ['127.0.0.1'] })
  const app = appWith(t, header)
  t.match(await ask(app, undefined, { 'x-forwarded-user': 'alice' }), { status: 200, owner: 'alice' })
  for (const value of ['', 'a'.repeat(600)]) t.match(await ask(app, undefined, { 'x-forwarded-user': value }), { status: 401 })
  t.match(await ask(app, undefined, { 'x-forwarded-user': ['alice', 'bob'] as unknown as string }), { status: 401 }, 'twice')
  const around = appWith(t, platformAuthentication({ platform: { header: 'x-forwarded-user' }, trustedProxies: ['10.0.0.1'] }))
  t.match(await ask(around, undefined, { 'x-forwarded-user': 'alice', 'x-forwarded-for': '10.0.0.1' }), { status: 401 })

  const run = appWith(t, platformAuthentication({ platform: 'cloud_run', trustedProxies: ['loopback'] }))
  const token = (claims: object): string => {
    const all = { iss: 'https://accounts.google.com', sub: '42', exp: Date.now() / 1000 + 60, ...claims }
    return `Bearer ${new UnsecuredJWT(all).encode()}SIGNATURE_REMOVED_BY_GOOGLE`
  }
  t.match(await ask(run, token({})), { status: 200, owner: 'https://accounts.google.com|42' })
  t.match(await ask(run, 'Bearer other', { 'x-serverless-authorization': token({ iss: 'accounts.google.com' }) }), { status: 200 })
  for (const claims of [{ iss: 'https://evil.example.org' }, { sub: '' }, { exp: 1 }, { exp: undefined }]) t.match(await ask(run, token(claims)), { status: 401 })
  t.match(await ask(run, 'Bearer x.y.z'), { status: 401 })
})

t.test('of several functions the first that knows the caller decides', async t => {
  const { state, makeKey } = await issuerFor(t)
  const sign = await makeKey('k1')
  const { token, entry } = createToken('alice', [])
  const both = firstOf(
    tokenAuthentication({ tokens: [entry] }), jwtAuthentication({ issuer: state.url, audience: AUDIENCE }),
    platformAuthentication({ platform: { header: 'x-user' }, trustedProxies: ['127.0.0.1'] }))
  const app = appWith(t, both)
  t.match(await ask(app, `Bearer ${token}`, { 'x-user': 'carol' }), { owner: 'alice', scopes: [] })
  t.match(await ask(app, await sign(), { 'x-user': 'carol' }), { owner: `${state.url}|alice` })
  t.match(await ask(app, undefined, { 'x-user': 'carol' }), { owner: 'carol' })
  t.match(await ask(app, undefined), { status: 401 })
  t.same(both.scheme, { issuers: [state.url] })
  const jwt = jwtAuthentication({ issuer: state.url, audience: AUDIENCE })
  t.equal(firstOf(jwt), jwt)
})
