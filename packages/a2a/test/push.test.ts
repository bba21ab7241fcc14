import { createHash, createHmac } from 'node:crypto'
import { once } from 'node:events'
import { mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { createServer as createNetServer, type AddressInfo } from 'node:net'
import { createServer as createTlsServer } from 'node:tls'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import fc from 'fast-check'
import { importJWK, SignJWT, UnsecuredJWT, type JWK } from 'jose'
import { test } from 'tap'
import { request } from 'undici'
import { sqliteTaskStore } from '@polyvac/tasks/sqlite'
import { until } from '../../../test/fixtures/until.js'
import { openSigningKeys, SigningKeys, verifyNotification } from '../src/index.js'
import { AddressGuard } from '../src/push/address-guard.js'
import { checkSecrets } from '../src/push/push-secrets.js'
import { receiver } from './push/receiver.js'
import { deliveryTo, ISSUER, never, sender } from './push/sender.js'
import { privateAnswers, privateHosts } from './push/vectors.js'

const refused = { code: 'PUSH_URL_REFUSED', statusCode: 400 }
const addresses = (...list: string[]) => list.map(address => ({ address }))

test('no spelling of a private address is reached, at registration, at delivery, or by the dispatcher itself', async t => {
  const canary = await receiver(t)
  const { guard, handler, logged } = await sender(t, { ports: [canary.port] })
  for (const host of privateHosts) {
    for (const scheme of ['https', 'http']) {
      const url = `${scheme}://${host}:${canary.port}/x`
      t.throws(() => guard.checkUrl(url), refused, url)
      await t.rejects(guard.check(url, never), refused, url)
      await t.rejects(request(url, { dispatcher: await guard.dispatcher() }), refused, `${url} past the check`)
      t.match(await handler(deliveryTo(url), never), { disable: /not sent to this URL/ }, `${url} is not tried again`)
    }
    t.throws(() => guard.checkUrl(`https://${host}/`), { ...refused, message: /not a public address/ }, host)
  }
  t.equal(canary.connections(), 0)
  t.notMatch(logged(), canary.host)
  const allowed = await sender(t, { allow: [canary.host] })
  t.equal(await allowed.handler(deliveryTo(`http://2130706433:${canary.port}/x`), never), 'delivered', 'and hears when it is allowed to')
  t.equal(canary.connections(), 1)
  for (const host of ['1.1.1.1', '93.184.215.14', '[2606:4700::1111]', 'receiver.example', 'localhost.example']) {
    t.equal(guard.checkUrl(`https://${host}/x?y=1`).hostname, host, `${host} is public`)
  }
})

test('a receiver that fails again and again has one log line in an interval', async t => {
  const failing = await receiver(t, (_request, response) => { response.writeHead(500).end() })
  const { handler, logged } = await sender(t, { allow: [failing.host] })
  for (let i = 0; i < 20; i++) t.match(await handler(deliveryTo(failing.url), never), { retryAt: Number })
  t.equal(failing.received.length, 20)
  t.equal(logged().split('\n').filter(line => line.includes('was refused')).length, 1)
})

test('a private IPv4 address is refused in any spelling', async () => {
  const guard = new AddressGuard()
  const address = fc.oneof(
    fc.tuple(fc.constantFrom(0, 10, 127), byte(), byte(), byte()),
    fc.tuple(fc.constant(192), fc.constant(168), byte(), byte()),
    fc.tuple(fc.constant(169), fc.constant(254), byte(), byte()),
    fc.tuple(fc.constant(172), fc.integer({ min: 16, max: 31 }), byte(), byte()),
    fc.tuple(fc.constant(100), fc.integer({ min: 64, max: 127 }), byte(), byte()))
  const style = fc.record({ radixes: fc.array(fc.constantFrom(8, 10, 16), { minLength: 4, maxLength: 4 }), parts: fc.integer({ min: 1, max: 4 }), wide: fc.boolean(), dot: fc.boolean(), six: fc.constantFrom('', '::ffff:', '64:ff9b::', '::', '2002:') })
  fc.assert(fc.property(address, style, (bytes, { radixes, parts, wide, dot, six }) => {
    const tail = bytes.slice(parts - 1).reduce((sum, part) => sum * 256 + part, 0)
    const text = [...bytes.slice(0, parts - 1), tail].map((part, index) => spell(part, radixes[index] ?? 10)).join('.') + (dot ? '.' : '')
    const pairs = [bytes[0] * 256 + bytes[1], bytes[2] * 256 + bytes[3]].map(pair => pair.toString(16)).join(':')
    const host = six === '' ? (wide ? widen(text) : text) : `[${six}${pairs}${six === '2002:' ? '::' : ''}]`
    try {
      guard.checkUrl(`https://${host}/`)
    } catch (error) {
      return (error as { code?: string }).code === 'PUSH_URL_REFUSED' && /not a public address/.test((error as Error).message)
    }
    return false
  }), { numRuns: 2_000 })

  function byte () { return fc.integer({ min: 0, max: 255 }) }
  function spell (part: number, radix: number): string { return { 8: '0', 10: '', 16: '0x' }[radix] + part.toString(radix) }
  function widen (text: string): string { return text.replace(/[0-9a-fx]/g, char => String.fromCharCode(char.charCodeAt(0) + 0xfee0)) }
})

test('a name is refused when any of its addresses is private, and again when it moves after registration', async t => {
  const canary = await receiver(t)
  const answers = new Map(Object.entries(privateAnswers))
  const lookup = async (name: string) => {
    const found = answers.get(name)
    if (found === undefined) throw Object.assign(new Error(`ENOTFOUND ${name}`), { code: 'ENOTFOUND' })
    return addresses(...found)
  }
  const { guard, handler, logged } = await sender(t, { ports: [canary.port], lookup })
  for (const name of answers.keys()) {
    const url = `https://${name}:${canary.port}/x`
    const error = await guard.check(url, never).then(() => undefined, (error: Error) => error)
    t.match(error, { ...refused, message: /has an address that is not public/ }, name)
    t.notMatch(error?.message, /127|169|10\.0|::/, 'what the name resolves to is not told')
    t.match(await handler(deliveryTo(url), never), { retryAt: Number }, `${name} may be mended`)
  }
  t.match(logged(), /"code":"PUSH_URL_REFUSED"/)

  const url = `https://rebind.example:${canary.port}/x`
  t.equal((await guard.check(url, never)).hostname, 'rebind.example', 'a name without an address passes until it has one')
  answers.set('rebind.example', ['93.184.215.14'])
  t.equal((await guard.check(url, never)).hostname, 'rebind.example')
  answers.set('rebind.example', ['127.0.0.1'])
  t.match(await handler(deliveryTo(url), never), { retryAt: Number })
  await t.rejects(guard.check(url, never), refused)
  t.equal(canary.connections(), 0)

  const slow = new AddressGuard({ lookup: () => new Promise(() => {}) })
  await t.rejects(slow.check('https://slow.example', AbortSignal.timeout(20)), { name: 'TimeoutError' }, 'a caller who leaves is not waited for')
  await t.rejects(slow.check('https://slow.example', AbortSignal.abort()), { name: 'AbortError' })
})

test('a connection goes to an address of its one lookup, under the name of the URL', async t => {
  const target = await receiver(t)
  let lookups = 0
  const lookup = async () => { lookups++; return addresses('127.0.0.3', '127.0.0.1') }
  const { handler, guard } = await sender(t, { allow: [`receiver.internal:${target.port}`], lookup })
  const url = `http://receiver.internal:${target.port}/x`
  t.equal(await handler(deliveryTo(url), never), 'delivered', 'the second address answers where the first does not')
  t.equal(target.received[0]?.headers.host, `receiver.internal:${target.port}`)
  t.equal(lookups, 1, 'nothing else looks the name up')
  t.equal(await handler(deliveryTo(url), never), 'delivered')
  t.equal(target.connections(), 1, 'the connection is used again')
  t.throws(() => guard.checkUrl(`http://receiver.internal:${target.port + 1}/`), refused, 'the entry is for one port')

  let serverName: string | undefined
  const secure = createTlsServer({ SNICallback: (name, done) => { serverName = name; done(null) } })
  secure.on('tlsClientError', () => {})
  await once(secure.listen(0, '127.0.0.1'), 'listening')
  t.teardown(() => { secure.close() })
  const { port } = secure.address() as AddressInfo
  const tls = await sender(t, { allow: ['127.0.0.0/8'], ports: [port], lookup: async () => addresses('127.0.0.1') })
  t.match(await tls.handler(deliveryTo(`https://secure.example:${port}/`), never), { retryAt: Number }, 'without a certificate nothing is sent')
  t.equal(serverName, 'secure.example')
})

test('an address that may not get notifications is refused with its reason and without its secrets, and the process lives', async t => {
  const guard = new AddressGuard({ allow: ['receiver.internal', '10.1.0.0/16', '127.0.0.1:9000', '[fd00::1]:8080', 'fd01::/16', '::1', 'BÜCHER.example'] })
  for (const [url, reason] of [
    ['https://user:hunter2@receiver.example/', /user name or password/], ['https://hunter2@receiver.example/', /user name or password/],
    ['data:text/plain,hunter2', /not https/], ['file:///etc/passwd', /not https/], ['unix:/run/hunter2.sock', /not https/], ['hunter2:x@receiver.example', /not https/],
    ['ftp://receiver.example/', /not https/], ['javascript:hunter2', /not https/], ['blob:https://receiver.example/hunter2', /not https/], ['http://receiver.example/', /not https/],
    ['https://receiver.example:22/', /port 22 is none of 443, 8443/], ['https://receiver.example:80/', /port 80/], ['http://127.0.0.1:9001/', /not https/],
    ['https://[fd00::1]/', /not a public address/],
    [`https://receiver.example/${'x'.repeat(65_536)}`, /longer than 2048/], ['receiver.example', /not a URL/], ['', /not a URL/], ['//receiver.example', /not a URL/],
    [undefined, /not a URL/], [{}, /not a URL/], ['https://', /not a URL/]
  ] as const) {
    const error = await guard.check(url as string, never).then(() => undefined, (error: Error) => error)
    t.match(error, { ...refused, message: reason }, String(url).slice(0, 60))
    t.notMatch(error?.message, /hunter2/)
  }
  for (const url of [
    'https://receiver.example/', 'https://receiver.example:8443/', 'http://receiver.internal/', 'https://RECEIVER.internal.:22/', 'http://10.1.2.3:4/', 'http://0xa010203/',
    'http://127.1:9000/', 'http://[fd00::1]:8080/', 'https://[fd01::2]:99/', 'http://[::1]:5/', 'http://bücher.example/', `https://receiver.example/${'x'.repeat(2_000)}`
  ]) t.equal(guard.checkUrl(url).href, new URL(url).href, url)
  for (const entry of ['', 'https://receiver.example', 'a b', '*.example', 'user@host', 'host:0', 'host:70000', 'host:port', '10.0.0.0/33', '10.0.0/x', '::ffff:10.0.0.0/104', '[::1', 7]) {
    t.throws(() => new AddressGuard({ allow: [entry as string] }), { code: 'PUSH_ALLOW_ENTRY', message: `'${entry}'` }, `entry '${entry}'`)
  }
  await delay(50)
})

test('a notification carries its id, its secrets and a signature that the receiver can check', async t => {
  const target = await receiver(t)
  const { handler, keys, logged } = await sender(t, { allow: [target.host] })
  const secrets = { token: 'tok-1', authentication: { scheme: 'Basic', credentials: 'dTpw' } }
  const own = deliveryTo(target.url, { secrets })
  t.equal(await handler(own, never), 'delivered')
  t.equal(await handler(deliveryTo(target.url, { id: 'ü\r\nx: y' }), never), 'delivered')
  const [first, second] = target.received
  t.match(first?.headers, {
    'content-type': 'application/json',
    'user-agent': 'polyvac',
    'webhook-id': own.id,
    'webhook-timestamp': /^\d{10}$/,
    'x-a2a-notification-token': 'tok-1',
    'a2a-notification-token': 'tok-1',
    authorization: 'Basic dTpw'
  })
  t.equal(first?.body, JSON.stringify({ taskId: own.taskId, seq: 2 }))
  t.equal(second?.headers.authorization, `Bearer ${second?.headers['x-a2a-notification-signature']}`, 'without credentials of its own')
  t.notOk('x-a2a-notification-token' in (second?.headers ?? {}))
  t.match(second?.headers, { 'webhook-id': createHash('sha256').update('ü\r\nx: y').digest('hex'), x: undefined }, 'an id of any shape')
  for (const { headers, body } of target.received) {
    const verified = await verifyNotification({ headers, body, jwks: keys.publicJwks(), audience: `http://${target.host}`, issuer: ISSUER })
    t.match(verified, { id: headers['webhook-id'], issuer: ISSUER, taskId: JSON.parse(body).taskId, issuedAt: Number })
  }
  t.match(logged(), /"status":200/)

  const passed = await sender(t, { allow: [target.host] }, { payload: async () => undefined })
  t.equal(await passed.handler(own, never), 'delivered', 'an event without a payload is passed over')
  t.equal(target.received.length, 2)
})

test('the status of the receiver decides what becomes of a delivery', async t => {
  const hits: number[] = []
  const canary = await receiver(t)
  const answers: Array<[number, Record<string, string>]> = []
  const target = await receiver(t, (request, response) => {
    const [status, headers] = answers.shift() ?? [200, {}]
    hits.push(status)
    response.writeHead(status, headers).end('x')
  })
  const { handler } = await sender(t, { allow: ['127.0.0.1'] })
  /** The wait is from a time between `begun` and `ended` on. */
  async function wait (status: number, headers: Record<string, string> = {}, tries = 0): Promise<{ least: number, most: number }> {
    answers.push([status, headers])
    const begun = Date.now()
    const outcome = await handler(deliveryTo(target.url, { tries }), never)
    const retryAt = typeof outcome === 'object' && 'retryAt' in outcome ? outcome.retryAt : NaN
    return { least: retryAt - Date.now(), most: retryAt - begun }
  }
  for (const status of [200, 201, 202, 204]) t.ok(Number.isNaN((await wait(status)).least), `${status} is delivered`)
  for (const status of [301, 302, 303, 307, 308]) {
    const { least, most } = await wait(status, { location: `http://${canary.host}/` })
    t.ok(most > 400 && least <= 1_000, `${status} is a failure`)
  }
  t.equal(canary.connections(), 0, 'and nobody follows it')
  for (const status of [400, 401, 404, 500, 502]) t.ok((await wait(status, { 'retry-after': '60' }, 3)).least <= 8_000, `${status} is tried again after the usual wait`)
  for (const [value, least, most] of [
    ['7', 6_500, 7_000], ['0', 500, 1_000], ['99999999999', 3_599_000, 3_600_000], [new Date(Date.now() + 30_000).toUTCString(), 5_000, 30_000],
    [new Date(0).toUTCString(), 500, 1_000], ['soon', 1_500, 4_000], ['-5', 1_500, 4_000], ['1e9', 1_500, 4_000]
  ] as const) {
    for (const status of [429, 503]) {
      const seen = await wait(status, { 'retry-after': value }, 2)
      t.ok(seen.most >= least && seen.least <= most, `${status} with Retry-After ${value} waits from ${seen.least} to ${seen.most} ms`)
    }
  }
  t.ok((await wait(429, {}, 2)).most >= 1_500, 'without the header, the usual wait')
  answers.push([410, {}])
  t.match(await handler(deliveryTo(target.url), never), { disable: /410/ })
})

test('a store gets 500, 500, 200 as one delivery in its place, and 410 as the end', async t => {
  const statuses = [500, 500, 200]
  const target = await receiver(t, (request, response) => { response.writeHead(request.url === '/gone' ? 410 : statuses.shift() ?? 200).end() })
  const { handler } = await sender(t, { allow: [target.host] })
  const store = sqliteTaskStore({ path: ':memory:' })
  await store.open()
  t.teardown(() => store.close())
  const { task } = await store.create('alice', { skill: 's', input: {}, push: { id: 'hook', url: target.url } })
  await store.setPush('alice', task.id, { id: 'gone', url: target.url.replace('hook', 'gone'), after: 0 })
  store.deliver(handler)
  store.work(async (record, { emit }) => { await emit({ message: { parts: [{ type: 'text', text: 'done' }] } } as never) })
  const read = async () => ({ hook: await store.getPush('alice', task.id, 'hook'), gone: await store.getPush('alice', task.id, 'gone'), record: await store.get('alice', task.id) })
  const seqs = () => target.received.filter(({ url }) => url === '/hook').map(({ body }) => JSON.parse(body).seq as number)
  const now = await until(async () => {
    const now = await read()
    return now.gone?.disabled !== null && seqs().length >= 5 && now
  }, 'one receiver has five deliveries, the other is disabled')
  const [first] = seqs()
  t.strictSame(seqs().slice(0, 3), [first, first, first], 'the same event until it arrives')
  t.strictSame(seqs().slice(2), [...new Set(seqs())].sort((a, b) => a - b), 'then the others in order, once each')
  t.equal(new Set(target.received.filter(({ url }) => url === '/hook').slice(0, 3).map(({ headers }) => headers['webhook-id'])).size, 1)
  t.match(now.gone?.disabled, /410/)
  t.equal(target.received.filter(({ url }) => url === '/gone').length, 1)
})

test('a receiver that hangs, drips or answers without end costs its own delivery only', async t => {
  const hanging = await receiver(t, () => {})
  const silent = createNetServer(socket => { socket.on('error', () => {}) })
  await once(silent.listen(0, '127.0.0.1'), 'listening')
  t.teardown(() => { silent.close() })
  let written = 0
  const endless = await receiver(t, (request, response) => {
    const chunk = Buffer.alloc(65_536)
    const write = (): void => {
      do written += chunk.length
      while (written < 2 ** 30 && !response.destroyed && response.write(chunk))
    }
    response.on('drain', write)
    write()
  })
  const half = await receiver(t, (request, response) => { response.write('half an answer') })
  const { handler, logged, close } = await sender(t, { allow: ['127.0.0.1'] }, { timeoutMs: 200 })
  t.match(await handler(deliveryTo(hanging.url), never), { retryAt: Number })
  t.match(await handler(deliveryTo(`http://127.0.0.1:${(silent.address() as AddressInfo).port}/`), never), { retryAt: Number })
  t.match(logged(), /"code":"PUSH_TIMEOUT"/)
  const patient = await sender(t, { allow: ['127.0.0.1'] })
  t.equal(await patient.handler(deliveryTo(half.url), never), 'delivered', 'the status counts, the rest of the answer does not')
  t.equal(await patient.handler(deliveryTo(endless.url), never), 'delivered')
  await until(() => hanging.open() + half.open() + endless.open() === 0, 'the connections are gone')
  t.ok(written < 16 * 2 ** 20, `cut after ${written} bytes`)

  const stop = new AbortController()
  const stopped = handler(deliveryTo(hanging.url), stop.signal)
  setTimeout(() => { stop.abort() }, 20)
  t.match(await stopped, { retryAt: Number }, 'the worker stops')
  await t.rejects(handler(deliveryTo(hanging.url), AbortSignal.abort()), { name: 'AbortError' })
  const failing = await sender(t, { allow: ['127.0.0.1'] }, { payload: async () => { throw new Error('the store is away') } })
  await t.rejects(failing.handler(deliveryTo(half.url), never), /the store is away/, 'what the payload throws is told to the store')

  const waiting = await sender(t, { allow: ['127.0.0.1'] })
  const many = Array.from({ length: 20 }, () => waiting.handler(deliveryTo(hanging.url), new AbortController().signal))
  await until(() => hanging.open() === 20, 'none waits for the connection of another one')
  await Promise.all([waiting.close(), waiting.close()])
  for (const outcome of await Promise.all(many)) t.match(outcome, { retryAt: Number })
  await t.rejects(waiting.handler(deliveryTo(half.url), never), { code: 'PUSH_CLOSED' })
  await close()
})

test('no token, credential, body, signature or query reaches the log, whatever goes wrong', async t => {
  const target = await receiver(t, (request, response) => { request.url?.startsWith('/reset') === true ? response.destroy() : response.writeHead(500).end('echo hunter2') })
  const { handler, logged } = await sender(t, { allow: [target.host] }, { timeoutMs: 300, payload: async () => ({ type: 'application/json', body: '"hunter2 body"' }) })
  const secrets = { token: 'hunter2', authentication: { scheme: 'Bearer', credentials: 'hunter2' } }
  for (const url of [
    `http://${target.host}/ok?key=hunter2#hunter2`, `http://${target.host}/reset/hunter2`, `http://hunter2:hunter2@${target.host}/`, 'http://127.0.0.1:1/hunter2',
    'hunter2:x', 'https://unknown.invalid/hunter2'
  ]) {
    const outcome = await handler(deliveryTo(url, { secrets }), never)
    t.notMatch(JSON.stringify(outcome), /hunter2/)
  }
  const broken = await handler(deliveryTo(target.url, { secrets: { token: 'hunter2\r\nx: y' } }), never)
  t.match(broken, { disable: /token/ })
  t.notMatch(JSON.stringify(broken), /hunter2/)
  t.notMatch(logged(), /hunter2|eyJ/)
  t.match(logged(), new RegExp(`"host":"${target.host}","status":500`))
})

test('secrets are what a header can carry', async t => {
  t.strictSame(checkSecrets(undefined), {})
  t.strictSame(checkSecrets({ token: '', authentication: { scheme: 'Bearer', credentials: '' }, other: 1 }), {})
  const good = { token: 'a b', authentication: { scheme: 'ApiKey', credentials: 'x=y, z' } }
  t.strictSame(checkSecrets(good), good)
  for (const [secrets, name] of [
    [{ token: 'hunter2\r\nx: y' }, 'token'], [{ token: 'hunter2\n' }, 'token'], [{ token: 'hunter2\0' }, 'token'], [{ token: ' hunter2' }, 'token'], [{ token: 'hunter2ü' }, 'token'],
    [{ token: 'hunter2'.repeat(1_000) }, 'token'], [{ token: 7 }, 'token'], [[], 'secrets'], ['hunter2', 'secrets'], [{ authentication: 'hunter2' }, 'authentication'],
    [{ authentication: { scheme: 'Bearer hunter2', credentials: 'x' } }, 'authentication.scheme'], [{ authentication: { credentials: 'hunter2' } }, 'authentication.scheme'],
    [{ authentication: { scheme: 'Bearer', credentials: 'hunter2\r\nHost: x' } }, 'authentication.credentials']
  ] as const) {
    let error: Error | undefined
    try { checkSecrets(secrets) } catch (thrown) { error = thrown as Error }
    t.match(error, { code: 'PUSH_SECRETS_INVALID', statusCode: 400, message: `'${name}'` })
    t.notMatch(error?.message, /hunter2/)
  }
})

test('a receiver believes what was signed for it by a key it knows, lately, and nothing else', async t => {
  const keys = await SigningKeys.generate()
  const jwks = keys.publicJwks()
  const [secret] = keys.privateJwks().keys as [JWK]
  const [shared] = jwks.keys as [JWK]
  const body = '{"state":"completed"}'
  const audience = 'https://receiver.example'
  const claims = { aud: audience, jti: 'd-1', taskId: 't-1', iss: ISSUER, body }
  const good = await keys.sign(claims)
  const verify = (token: string | undefined, more: object = {}) =>
    verifyNotification({ headers: { 'webhook-id': 'd-1', 'x-a2a-notification-signature': token }, body, jwks, audience, issuer: ISSUER, ...more })
  t.match(await verify(good), { id: 'd-1', taskId: 't-1', issuer: ISSUER })
  t.match(await verify(undefined, { headers: new Headers({ 'webhook-id': 'd-1', authorization: `Bearer ${good}` }), body: Buffer.from(body) }), { id: 'd-1' })
  t.match(await verify(undefined, { headers: { 'Webhook-Id': 'd-1', Authorization: `bearer ${good}` }, issuer: undefined }), { id: 'd-1' })

  const now = Math.floor(Date.now() / 1_000)
  const claim = { iss: ISSUER, aud: audience, jti: 'd-1', taskId: 't-1', iat: now, exp: now + 300, request_body_sha256: createHash('sha256').update(body).digest('hex') }
  const key = await importJWK(secret, 'ES256')
  const kid = shared.kid as string
  const sign = (payload: object, header: object = {}) => new SignJWT({ ...payload }).setProtectedHeader({ alg: 'ES256', typ: 'JWT', kid, ...header }).sign(key)
  t.match(await verify(await sign(claim)), { id: 'd-1' }, 'the control')
  const [head, middle] = [{ alg: 'HS256', typ: 'JWT', kid }, claim].map(part => Buffer.from(JSON.stringify(part)).toString('base64url'))
  const confused = `${head}.${middle}.${createHmac('sha256', JSON.stringify(shared)).update(`${head}.${middle}`).digest('base64url')}`
  const stranger = await (await SigningKeys.generate()).sign(claims)
  const forged = { code: 'NOTIFICATION_FORGED', statusCode: 401 }
  for (const [name, token] of Object.entries({
    'alg none': new UnsecuredJWT({ ...claim }).encode(),
    'HS256 with the public key': confused,
    'a wrong kid': await sign(claim, { kid: 'other' }),
    'a key of somebody else': stranger,
    'a key of somebody else under our kid': `${good.split('.')[0]}.${stranger.split('.').slice(1).join('.')}`,
    'another audience': await keys.sign({ ...claims, aud: 'https://other.example' }),
    'another issuer': await keys.sign({ ...claims, iss: 'https://other.example' }),
    'another type': await sign(claim, { typ: 'at+jwt' }),
    'no body hash': await sign({ ...claim, request_body_sha256: undefined }),
    'from the future': await sign({ ...claim, iat: now + 600, exp: now + 900 }),
    'no end': await sign({ ...claim, exp: undefined }),
    'no JWT': 'abc',
    'cut off': good.slice(0, -5)
  })) await t.rejects(verify(token), forged, name)
  for (const [name, ago] of [['old', 600], ['old with a long life', 400]] as const) {
    await t.rejects(verify(await sign({ ...claim, iat: now - ago, exp: ago === 400 ? now + 9_999 : now - ago + 300 })), { code: 'NOTIFICATION_EXPIRED', statusCode: 401 }, name)
  }
  await t.rejects(verify(good, { body: body.replace('completed', 'failed') }), { ...forged, message: /body/ })
  await t.rejects(verify(good, { headers: { 'webhook-id': 'd-2', 'x-a2a-notification-signature': good } }), { ...forged, message: /webhook-id/ })
  for (const headers of [{}, { 'webhook-id': 'd-1' }, { 'webhook-id': 'd-1', authorization: 'Basic x' }, { 'x-a2a-notification-signature': good }, { 'webhook-id': 'd-1', 'x-a2a-notification-signature': [good, good] }]) {
    await t.rejects(verify(undefined, { headers }), { code: 'NOTIFICATION_UNSIGNED', statusCode: 401 })
  }
})

test('keys rotate without a notification lost, and receivers read them where they are published', async t => {
  const old = await SigningKeys.generate()
  const fresh = await SigningKeys.generate()
  const rotated = await SigningKeys.from({ keys: [...fresh.privateJwks().keys, ...old.privateJwks().keys] })
  t.equal(rotated.publicJwks().keys.length, 2)
  t.notMatch(JSON.stringify(rotated.publicJwks()), /"d"/)
  t.match(rotated.publicJwks().keys[0], { kty: 'EC', crv: 'P-256', alg: 'ES256', use: 'sig', kid: String })
  let published = old.publicJwks()
  let reads = 0
  const site = await receiver(t, (request, response) => { reads++; response.setHeader('content-type', 'application/json').end(JSON.stringify(published)) })
  const claims = { aud: 'https://r.example', jti: 'd', taskId: 't', iss: ISSUER, body: '{}' }
  const verify = async (keys: SigningKeys, more: object = { jwksUrl: site.url }) =>
    await verifyNotification({ headers: { 'webhook-id': 'd', 'x-a2a-notification-signature': await keys.sign(claims) }, body: '{}', audience: claims.aud, ...more })
  for (const keys of [old, rotated]) t.match(await verify(keys, { jwks: rotated.publicJwks() }), { id: 'd' }, 'signed before and after')
  t.match(await verify(old), { id: 'd' })
  published = rotated.publicJwks()
  for (let i = 0; i < 20; i++) await verify(fresh).catch(error => { t.match(error, { code: 'NOTIFICATION_FORGED' }) })
  t.ok(reads <= 2, `${reads} reads for a flood of unknown keys`)
  await t.rejects(verify(old, { jwksUrl: 'http://127.0.0.1:1/' }), { code: 'NOTIFICATION_KEYS', statusCode: 503 })
  await t.rejects(verify(old, { jwksUrl: 'nowhere' }), { code: 'NOTIFICATION_KEYS' })
  await t.rejects(verify(old, {}), { code: 'NOTIFICATION_KEYS' })

  const [key] = old.privateJwks().keys as [JWK]
  for (const jwks of [{}, null, { keys: [] }, { keys: [{}] }, { keys: [null] }, { keys: [{ ...key, d: undefined }] }, { keys: [key, key] }, { keys: [{ ...key, x: 'AAAA' }] }, { keys: [{ ...key, x: 7 }] }, { keys: [{ ...key, d: 'AAAA' }] }, { keys: [{ ...key, kid: 7 }] }, { keys: [{ kty: 'RSA' }] }]) {
    await t.rejects(SigningKeys.from(jwks as never), { code: 'PUSH_SIGNING_KEYS' }, JSON.stringify(jwks)?.slice(0, 40))
  }
})

test('a key file is made once, only for its owner, and never overwritten', async t => {
  const folder = await mkdtemp(join(tmpdir(), 'push-keys-'))
  t.teardown(() => rm(folder, { recursive: true, force: true }))
  const path = join(folder, 'deep', 'keys.json')
  const all = await Promise.all(Array.from({ length: 32 }, (_, index) => delay(index / 4).then(() => openSigningKeys(path))))
  t.equal(new Set(all.map(keys => JSON.stringify(keys.privateJwks()))).size, 1, 'all that start at once have the same key')
  t.equal((await stat(path)).mode & 0o777, 0o600)
  t.strictSame(await readdir(join(folder, 'deep')), ['keys.json'])
  t.strictSame((await openSigningKeys(path)).publicJwks(), all[0]?.publicJwks())
  for (const text of ['', '{ "d": "hunter2"', '{}', '{"keys":[{"d":"hunter2"}]}']) {
    await writeFile(path, text)
    const error = await openSigningKeys(path).then(() => undefined, (error: Error) => error)
    t.match(error, { code: 'PUSH_SIGNING_KEYS', message: path })
    t.notMatch(error?.message, /hunter2/)
    t.equal(await readFile(path, 'utf8'), text)
  }
  await t.rejects(openSigningKeys(folder), { code: 'PUSH_SIGNING_KEYS', message: folder })
})
