import { test } from 'tap'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createGateway } from '../src/index.js'
import { OAuth } from '../src/connections/http/oauth.js'
import type { Resolve } from '@polyvac/core/plugin'
import { started, until } from './fixtures/app.js'

const SECRET = 'hush-hush-0123'

interface Seen { readonly url: string, readonly authorization: string | undefined, readonly body: string }
interface Listening { readonly base: string, readonly seen: Seen[] }

/** A server on loopback that keeps each request. */
async function listen (t: { teardown (work: () => void): void }, answer: (req: IncomingMessage, res: ServerResponse, base: string) => void): Promise<Listening> {
  const seen: Seen[] = []
  const server = createServer((req, res) => {
    let body = ''
    req.on('data', chunk => { body += chunk })
    req.on('end', () => {
      seen.push({ url: req.url ?? '', authorization: req.headers.authorization, body })
      answer(req, res, base)
    })
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => { server.closeAllConnections(); server.close() })
  const base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return { base, seen }
}

const json = (res: ServerResponse, body: object): void => { res.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(body)) }
const metadata = (issuer: string, token = `${issuer}/token`): object => ({ issuer, token_endpoint: token, authorization_endpoint: `${issuer}/authorize`, response_types_supported: ['code'] })

/** An issuer that grants tokens, as the metadata of a hostile server names it. */
async function greedyIssuer (t: { teardown (work: () => void): void }): Promise<Listening> {
  return await listen(t, (req, res, base) => {
    if (req.url?.startsWith('/.well-known/oauth-protected-resource') === true) return json(res, { resource: base, authorization_servers: [base] })
    if (req.url?.startsWith('/.well-known/') === true) return json(res, metadata(base))
    json(res, { access_token: 'stolen', token_type: 'bearer' })
  })
}

for (const issuer of ['none', 'of the configuration'] as const) {
  test(`a server whose 401 names a metadata document elsewhere gets no secret sent there (issuer: ${issuer})`, async t => {
    const elsewhere = await greedyIssuer(t)
    const own = await listen(t, (_req, res) => { res.writeHead(401, { 'www-authenticate': `Bearer resource_metadata="${elsewhere.base}/.well-known/oauth-protected-resource"` }).end() })
    const real = await listen(t, (_req, res) => { res.writeHead(503).end() })
    const { gateway } = await started(t, [{
      name: 'own', url: `${own.base}/mcp`, oauth: { client_id: 'me', client_secret: SECRET, ...issuer !== 'none' && { issuer: real.base } }
    }])
    await until(() => gateway.get('own').status().attempt > 1)
    t.strictSame(elsewhere.seen, [], 'no request goes to the host that the server names')
    t.notMatch(JSON.stringify(gateway.status()), SECRET)
  })
}

test('a server whose own metadata document names another issuer gets no secret sent there', async t => {
  const elsewhere = await greedyIssuer(t)
  let reads = 0
  const own = await listen(t, (req, res, base) => {
    if (req.url?.startsWith('/.well-known/oauth-protected-resource') === true) {
      reads++
      return json(res, { resource: base, authorization_servers: [elsewhere.base] })
    }
    res.writeHead(401, { 'www-authenticate': `Bearer resource_metadata="${base}/.well-known/oauth-protected-resource"` }).end()
  })
  const { gateway } = await started(t, [{ name: 'own', url: `${own.base}/mcp`, oauth: { client_id: 'me', client_secret: SECRET } }])
  await until(() => gateway.get('own').status().attempt > 1)
  t.ok(reads > 0, 'the document was read')
  t.strictSame(elsewhere.seen, [], 'no request goes to the issuer that the server names')
})

test('a redirect of the issuer is not followed, and its answer is bounded in bytes', async t => {
  const elsewhere = await greedyIssuer(t)
  for (const answer of [
    (res: ServerResponse) => { res.writeHead(307, { location: `${elsewhere.base}/token` }).end() },
    (res: ServerResponse) => {
      res.writeHead(200, { 'content-type': 'application/json' })
      res.end(JSON.stringify({ access_token: 'granted', token_type: 'bearer', padding: 'x'.repeat(1024 * 1024) }))
    }
  ]) {
    const issuer = await listen(t, (req, res, base) => {
      if (req.url === '/token') return answer(res)
      json(res, metadata(base))
    })
    const oauth = new OAuth({ client_id: 'me', client_secret: SECRET, issuer: issuer.base }, new URL(`${issuer.base}/mcp`), () => {})
    t.teardown(() => oauth.close())
    await t.rejects(oauth.renew(401, undefined))
    t.equal(oauth.authorization, undefined)
  }
  t.strictSame(elsewhere.seen, [])
})

test('the secret goes to no private address and over no plain http that the issuer names', async t => {
  const asked: string[] = []
  const resolve: Resolve = (hostname, done) => {
    asked.push(hostname)
    done(null, hostname === 'rebound.example' ? [{ address: '93.184.216.34', family: 4 }, { address: '10.0.0.1', family: 4 }] : [{ address: '169.254.169.254', family: 4 }])
  }
  const upstream = new URL('https://mcp.example/mcp')
  const { TokenRequests } = await import('../src/connections/http/token-requests.js')
  const requests = new TokenRequests([upstream, new URL('https://login.example')], resolve)
  t.teardown(() => requests.close())
  for (const url of ['http://login.example/token', 'https://127.0.0.1/token', 'https://[::1]/token', 'https://localhost/token', 'https://10.0.0.1/token', 'https://0x7f.1/token', 'https://[::ffff:169.254.169.254]/', 'https://me:pw@token.example/', 'data:text/plain,x']) {
    await t.rejects(requests.fetch(url), /the secret is not sent to/, url)
  }
  t.strictSame(asked, [], 'they are refused before a lookup')
  for (const url of ['https://token.example/token', 'https://rebound.example/token']) await t.rejects(requests.fetch(url), /has an address that is not public/, url)
  t.strictSame(asked, ['token.example', 'rebound.example'])
})

test('an issuer that is not https is refused at the start, except on the machine of the server', t => {
  const oauth = { client_id: 'me', client_secret: SECRET }
  for (const entry of [
    { url: 'http://mcp.example/mcp', oauth }, { url: 'https://mcp.example/mcp', oauth: { ...oauth, issuer: 'http://login.example' } },
    { url: 'https://mcp.example/mcp', oauth: { ...oauth, issuer: 'http://127.0.0.1:9' } }, { url: 'https://mcp.example/mcp', oauth: { ...oauth, issuer: 'login.example' } }
  ]) t.throws(() => createGateway({ servers: { own: entry } }), { code: 'MCP_GATEWAY_OPTIONS', message: /the client secret would be sent to/ })
  for (const entry of [
    { url: 'https://mcp.example/mcp', oauth }, { url: 'http://localhost:9/mcp', oauth: { ...oauth, issuer: 'http://127.0.0.1:9' } }
  ]) t.ok(createGateway({ servers: { own: entry } }))
  t.end()
})

test('a token and the ways in which a secret is sent appear in no error', async t => {
  const basic = Buffer.from(`me:${SECRET}`).toString('base64')
  let isGranted = false
  const own = await listen(t, (req, res, base) => {
    if (req.url === '/token') {
      isGranted = true
      return json(res, { access_token: 'token-abcdef', token_type: 'bearer' })
    }
    if (req.url?.startsWith('/.well-known/oauth-protected') === true) return res.writeHead(404).end()
    if (req.url?.startsWith('/.well-known/') === true) return json(res, metadata(base))
    res.writeHead(401).end(`you sent ${req.headers.authorization}, and I know ${basic} and ${SECRET}`)
  })
  const { gateway, call } = await started(t, [{ name: 'own', url: `${own.base}/mcp`, oauth: { client_id: 'me', client_secret: SECRET } }])
  await until(() => isGranted && gateway.get('own').status().attempt > 1)
  const text = JSON.stringify([gateway.status(), await call('own', 'a')])
  t.match(text, /HTTP status 401/)
  for (const secret of [SECRET, basic, 'token-abcdef']) t.notMatch(text, secret)
})
