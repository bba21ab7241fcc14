import { test } from 'tap'
import { agent, card, json, type Agent, type Came, type Json } from './fixtures/agent.js'
import { open } from './fixtures/remote.js'

const answer = (call: Json): object => ({ jsonrpc: '2.0', id: call.id, result: { message: { messageId: '1', role: 'ROLE_AGENT', parts: [{ text: 'Yes.' }] } } })

interface Guarded extends Agent {
  /** The requests at the interface. */
  readonly asked: () => Came[]
  readonly tokens: () => Came[]
}

/** An agent whose card has these schemes. `allows` decides about a request; `/token` gives numbered tokens. */
async function guarded (t: Parameters<typeof agent>[0], more: (origin: string) => Json, { allows = () => true, expires = 3_600, basic = true }: { allows?: (came: Came) => boolean | number, expires?: number, basic?: boolean } = {}): Promise<Guarded> {
  let tokens = 0
  const made: Agent = await agent(t, (came, response) => {
    if (came.url === '/.well-known/agent-card.json') return json(response, 200, card(`${made.origin}/rpc`, more(made.origin)))
    if (came.url === '/openid') return json(response, 200, { token_endpoint: `${made.origin}/token` })
    if (came.url === '/token') {
      if (!basic && came.headers.authorization !== undefined) return json(response, 401, { error: 'invalid_client' })
      return json(response, 200, { access_token: `token-${++tokens}`, token_type: 'Bearer', expires_in: expires })
    }
    if (!came.url.startsWith('/rpc')) return false
    const allowed = allows(came)
    return allowed === true ? json(response, 200, answer(came.body)) : json(response, allowed === false ? 401 : allowed, {})
  })
  return { ...made, asked: () => made.came.filter(({ url }) => url.startsWith('/rpc')), tokens: () => made.came.filter(({ url }) => url === '/token') }
}

const needs = (...names: string[]): Json => ({ securityRequirements: names.map(name => ({ schemes: Object.fromEntries(name.split('+').map(one => [one, { list: [] }])) })) })

test('keys go where the scheme has them: header, query, cookie', async t => {
  const raw = await guarded(t, () => ({
    securitySchemes: {
      a: { apiKeySecurityScheme: { location: 'header', name: 'X-Key' } }, b: { apiKeySecurityScheme: { location: 'query', name: 'key' } }, c: { apiKeySecurityScheme: { location: 'cookie', name: 'sid' } }
    },
    ...needs('z', 'a+b+c')
  }))
  await open(t, raw.origin, { auth: { a: { apiKey: 'KA' }, b: { apiKey: 'K&B' }, c: { apiKey: 'K;C' } } }).vac.ask({ question: 'hi' })
  t.match(raw.asked(), [{ url: '/rpc?key=K%26B', headers: { 'x-key': 'KA', cookie: 'sid=K%3BC' } }])
})

test('schemes of 0.3, and bearer and basic of 1.0', async t => {
  const old = await guarded(t, origin => ({
    supportedInterfaces: undefined, protocolVersion: '0.3.0', url: `${origin}/rpc`, preferredTransport: 'JSONRPC', securitySchemes: { k: { type: 'apiKey', in: 'header', name: 'X-Old' } }, security: [{ k: [] }]
  }))
  await t.rejects(open(t, old.origin).vac.ask({ question: 'hi' }), { code: 'REMOTE_AGENT_CARD', message: /needs credentials for k; add them under `auth`/ })
  t.strictSame(old.asked(), [])
  const asked = open(t, old.origin, { auth: { k: { apiKey: 'K' } } }).vac.ask({ question: 'hi' })
  // the answer is one of 1.0, which is read all the same
  t.equal((await asked).answer, 'Yes.')
  t.match(old.asked(), [{ headers: { 'x-old': 'K', 'a2a-version': '0.3' }, body: { method: 'message/stream' } }])
  for (const [scheme, credential, header] of [['Bearer', { token: 'T' }, 'Bearer T'], ['basic', { username: 'me', password: 'pw' }, `Basic ${btoa('me:pw')}`]] as const) {
    const raw = await guarded(t, () => ({ securitySchemes: { s: { httpAuthSecurityScheme: { scheme } } }, ...needs('s') }))
    await open(t, raw.origin, { auth: { s: credential } }).vac.ask({ question: 'hi' })
    t.match(raw.asked(), [{ headers: { authorization: header } }])
  }
})

test('client credentials: one token for questions at once, another one when it is refused, and when it is nearly over', async t => {
  const oauth = (origin: string): Json => ({ securitySchemes: { o: { oauth2SecurityScheme: { flows: { clientCredentials: { tokenUrl: `${origin}/token`, scopes: { ask: '', read: '' } } } } } }, ...needs('o') })
  const auth = { o: { clientId: 'id', clientSecret: 's3cret' } }
  let refused = ''
  const raw = await guarded(t, oauth, { allows: ({ headers }) => headers.authorization !== refused })
  const { vac } = open(t, raw.origin, { auth })
  await Promise.all(['a', 'b', 'c'].map(async question => await vac.ask({ question })))
  t.match(raw.tokens(), [{ headers: { authorization: `Basic ${btoa('id:s3cret')}` }, text: 'grant_type=client_credentials&scope=ask+read' }])
  t.equal(raw.tokens().length, 1)
  refused = 'Bearer token-1'
  t.equal((await vac.ask({ question: 'd' })).answer, 'Yes.')
  t.equal(raw.tokens().length, 2)
  t.match(raw.asked().at(-1), { headers: { authorization: 'Bearer token-2' } })
  const short = await guarded(t, oauth, { expires: 0, basic: false })
  const { vac: often } = open(t, short.origin, { auth })
  await often.ask({ question: 'a' })
  await often.ask({ question: 'b' })
  t.match(short.tokens().at(-1), { text: /client_id=id&client_secret=s3cret/ }, 'a server without Basic gets them in the body')
  t.match(short.asked().at(-1), { headers: { authorization: 'Bearer token-2' } })
})

test('a refusal is tried once more with another token; a key, and 403, are not tried again', async t => {
  const auth = { o: { clientId: 'id', clientSecret: 's3cret' } }
  const oauth = (origin: string): Json => ({ securitySchemes: { o: { oauth2SecurityScheme: { flows: { clientCredentials: { tokenUrl: `${origin}/token`, scopes: {} } } } } }, ...needs('o') })
  for (const [status, times] of [[401, 2], [403, 1]] as const) {
    const raw = await guarded(t, oauth, { allows: () => status })
    await t.rejects(open(t, raw.origin, { auth }).vac.ask({ question: 'hi' }), { code: 'REMOTE_AGENT_UNAUTHORIZED', message: new RegExp(`status ${status}`) })
    t.equal(raw.asked().length, times)
  }
  const key = await guarded(t, () => ({ securitySchemes: { k: { apiKeySecurityScheme: { location: 'header', name: 'x-key' } } }, ...needs('k') }), { allows: () => false })
  await t.rejects(open(t, key.origin, { auth: { k: { apiKey: 'K' } } }).vac.ask({ question: 'hi' }), { code: 'REMOTE_AGENT_UNAUTHORIZED' })
  t.equal(key.asked().length, 1)
})

test('`perOwner` needs the tokens of owners, for one scheme', async t => {
  const perOwner = { perOwner: true } as const
  t.throws(() => open(t, 'http://127.0.0.1:9', { auth: { o: perOwner } }), { code: 'REMOTE_AGENT_OPTIONS', message: /`auth\.o\.perOwner` needs the option `signIn`/ })
  const signIn = async (): Promise<never> => { throw new Error('must not be called') }
  t.throws(() => open(t, 'http://127.0.0.1:9', { auth: { o: perOwner, p: perOwner } }, { signIn }), { code: 'REMOTE_AGENT_OPTIONS', message: /two schemes with `perOwner`/ })
  const key = await guarded(t, () => ({ securitySchemes: { k: { httpAuthSecurityScheme: { scheme: 'Bearer' } } }, ...needs('k') }))
  await t.rejects(open(t, key.origin, { auth: { k: perOwner } }, { signIn }).vac.ask({ question: 'hi' }), { code: 'REMOTE_AGENT_UNAUTHORIZED', message: /the scheme k has no sign-in for owners/ })
  t.strictSame(key.asked(), [])
})

test('a card cannot send the secret to another origin; the entry can', async t => {
  const thief = await guarded(t, () => ({}))
  const oauth = (): Json => ({ securitySchemes: { o: { oauth2SecurityScheme: { flows: { clientCredentials: { tokenUrl: `${thief.origin}/token`, scopes: {} } } } } }, ...needs('o') })
  const raw = await guarded(t, oauth)
  await t.rejects(open(t, raw.origin, { auth: { o: { clientId: 'id', clientSecret: 's3cret' } } }).vac.ask({ question: 'hi' }), { code: 'REMOTE_AGENT_UNAUTHORIZED', message: /name the token endpoint as `tokenUrl`/ })
  t.strictSame(thief.came, [])
  await open(t, raw.origin, { auth: { o: { clientId: 'id', clientSecret: 's3cret', tokenUrl: `${thief.origin}/token`, scope: 'mine' } } }).vac.ask({ question: 'hi' })
  t.match(thief.tokens(), [{ text: 'grant_type=client_credentials&scope=mine' }])
})

test('an issuer of OpenID Connect names the token endpoint', async t => {
  const raw = await guarded(t, origin => ({ securitySchemes: { o: { openIdConnectSecurityScheme: { openIdConnectUrl: `${origin}/openid` } } }, ...needs('o') }))
  await open(t, raw.origin, { auth: { o: { clientId: 'id', clientSecret: 's3cret' } } }).vac.ask({ question: 'hi' })
  t.match(raw.asked(), [{ headers: { authorization: 'Bearer token-1' } }])
})

test('headers of the entry go to its origin, not to another one that the card names', async t => {
  const other = await guarded(t, () => ({}))
  const raw = await guarded(t, () => ({ supportedInterfaces: [{ url: `${other.origin}/rpc`, protocolBinding: 'JSONRPC', protocolVersion: '1.0' }] }))
  const headers = { 'x-gateway': 'HUSH' }
  await open(t, raw.origin, { headers }).vac.ask({ question: 'hi', principal: { owner: 'me' }, extra: { authorization: 'Bearer of the caller' } })
  t.match(raw.came, [{ url: '/.well-known/agent-card.json', headers }])
  t.equal(other.asked().length, 1)
  t.notOk(JSON.stringify(other.came).includes('HUSH'))
  t.notOk(JSON.stringify(other.came).includes('of the caller'))
  const same = await guarded(t, () => ({}))
  await open(t, same.origin, { headers }).vac.ask({ question: 'hi' })
  t.match(same.asked(), [{ headers }])
})
