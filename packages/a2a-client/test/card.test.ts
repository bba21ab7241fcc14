import { test } from 'tap'
import { published } from './fixtures/published.js'
import { agent, card, json, type Agent, type Json } from './fixtures/agent.js'
import { hear, open } from './fixtures/remote.js'
import { remoteAgents } from '../src/index.js'
import { readCard } from '../src/card/agent-card.js'
import { cardAddresses } from '../src/card/card-addresses.js'
import { freshFor, MAX_FRESH_MS } from '../src/card/freshness.js'

const answers = (call: Json): object => ({ jsonrpc: '2.0', id: call.id, result: { message: { messageId: '1', role: 'ROLE_AGENT', parts: [{ text: 'Yes.' }] } } })

/** An agent with a card at one path, that answers messages. */
async function at (path: string, t: Parameters<typeof agent>[0], more: (origin: string) => Json = () => ({}), headers: Record<string, string> = {}): Promise<Agent> {
  const made: Agent = await agent(t, ({ url, method, body }, response) => {
    if (method === 'POST') return json(response, 200, answers(body))
    return url === path && json(response, 200, card(`${made.origin}/rpc`, more(made.origin)), headers)
  })
  return made
}

test('a card is looked for below the address, then at the origin; an address that ends in .json is the card', async t => {
  t.strictSame(cardAddresses(new URL('https://a.example/agents/x?y#z')).map(({ href }) => href), [
    'https://a.example/agents/x/.well-known/agent-card.json', 'https://a.example/.well-known/agent-card.json',
    'https://a.example/agents/x/.well-known/agent.json', 'https://a.example/.well-known/agent.json'
  ])
  for (const [path, url] of [['/agents/x/.well-known/agent-card.json', '/agents/x'], ['/.well-known/agent-card.json', '/agents/x'], ['/.well-known/agent.json', ''], ['/cards/x.json', '/cards/x.json']] as const) {
    const raw = await at(path, t)
    t.equal((await hear(open(t, raw.origin + url).vac, 'hi')).text, 'Yes.', path)
    t.match(raw.came[0], { headers: { 'a2a-version': '1.0', accept: /application\/a2a\+json/, 'cache-control': 'max-age=0' } })
  }
})

test('the page of an application that answers every path is not a card', async t => {
  const raw = await agent(t, (_came, response) => response.writeHead(200, { 'content-type': 'text/html' }).end('<html>'))
  await t.rejects(open(t, raw.origin).vac.ask({ question: 'hi' }), { code: 'REMOTE_AGENT_CARD', message: /no address of its entry has one; give the address of the card/ })
})

for (const version of ['1.0', '0.3'] as const) {
  test(`an old card is read again by a conditional request, which a published server of ${version} answers with 304`, async t => {
    const peer = await published(t, version)
    const { remote } = open(t, peer.url)
    const { now } = Date
    t.teardown(() => { Date.now = now })
    const signal = AbortSignal.timeout(60_000)
    await remote.load(signal)
    await remote.load(signal)
    t.strictSame(peer.cards, [200], 'a fresh card is not read')
    Date.now = () => now() + MAX_FRESH_MS + 1
    await remote.load(signal)
    t.match(remote.states(), [{ isReady: true }])
    t.strictSame(peer.cards.slice(1), version === '1.0' ? [304] : [peer.cards[1]])
  })
}

test('a card is fresh by its max-age, within bounds', t => {
  t.strictSame([undefined, 'max-age=60', 'public, max-age=0', 'no-store', 'max-age=99999999'].map(freshFor), [300_000, 60_000, 1_000, 1_000, MAX_FRESH_MS])
  t.end()
})

test('questions at once read the card once, and an old card serves while its agent does not answer', async t => {
  let isDown = false
  const raw: Agent = await agent(t, ({ method, body }, response) => {
    if (method === 'POST') return json(response, 200, answers(body))
    return isDown ? json(response, 503, {}) : json(response, 200, card(`${raw.origin}/rpc`), { 'cache-control': 'no-cache' })
  })
  const { vac, remote } = open(t, raw.origin)
  await Promise.all(['a', 'b', 'c'].map(async question => await vac.ask({ question })))
  t.equal(raw.came.filter(({ method }) => method === 'GET').length, 1)
  isDown = true
  const { now } = Date
  t.teardown(() => { Date.now = now })
  Date.now = () => now() + 5_000
  t.equal((await vac.ask({ question: 'd' })).answer, 'Yes.')
  t.match(remote.states(), [{ isReady: true, problem: { code: 'REMOTE_AGENT_UNAVAILABLE', message: /status 503/ } }])
})

test('a card is at most 1 MiB, and a redirect to another origin is not followed', async t => {
  const large = await at('/.well-known/agent-card.json', t, () => ({ description: 'x'.repeat(1024 * 1024) }))
  await t.rejects(open(t, large.origin).vac.ask({ question: 'hi' }), { code: 'REMOTE_AGENT_CARD', message: /more than 1048576 bytes/ })
  const other = await at('/.well-known/agent-card.json', t)
  const away = await agent(t, (_came, response) => response.writeHead(302, { location: `${other.origin}/.well-known/agent-card.json` }).end())
  await t.rejects(open(t, away.origin).vac.ask({ question: 'hi' }), { code: 'REMOTE_AGENT_CARD' })
  t.strictSame(other.came, [])
  const moved: Agent = await agent(t, ({ url, method, body }, response) => {
    if (method === 'POST') return json(response, 200, answers(body))
    return url === '/moved' ? json(response, 200, card(`${moved.origin}/rpc`)) : response.writeHead(302, { location: '/moved' }).end()
  })
  t.equal((await open(t, moved.origin).vac.ask({ question: 'hi' })).answer, 'Yes.', 'one within the origin is')
})

test('1.0 is preferred, then the order of the card counts; a tenant goes with every request', async t => {
  const both = readCard({
    ...card('http://a.example/10'),
    protocolVersion: '0.3.0',
    url: 'http://a.example/03',
    supportedInterfaces: [
      { url: 'grpc.example:1', protocolBinding: 'GRPC', protocolVersion: '1.0' }, { url: 'http://a.example/old', protocolBinding: 'JSONRPC', protocolVersion: '0.3' },
      { url: 'http://a.example/rest', protocolBinding: 'HTTP+JSON', protocolVersion: '1.0', tenant: '' }, { url: 'http://a.example/10', protocolBinding: 'JSONRPC', protocolVersion: '1.0', tenant: 'x' }
    ]
  })
  t.strictSame(both?.interfaces.map(({ url, version, tenant }) => [url, version, tenant]), [
    ['http://a.example/rest', '1.0', undefined], ['http://a.example/10', '1.0', 'x'], ['http://a.example/old', '0.3', undefined], ['http://a.example/03', '0.3', undefined]
  ])
  const raw = await at('/.well-known/agent-card.json', t, origin => ({ supportedInterfaces: [{ url: `${origin}/rpc`, protocolBinding: 'JSONRPC', protocolVersion: '1.0', tenant: 'blue' }] }))
  await open(t, raw.origin).vac.ask({ question: 'hi' })
  t.match(raw.calls(), [{ params: { tenant: 'blue' } }])
  const neither = await at('/.well-known/agent-card.json', t, () => ({ supportedInterfaces: [] }))
  await t.rejects(open(t, neither.origin).vac.ask({ question: 'hi' }), { code: 'REMOTE_AGENT_CARD', message: /no interface of A2A 1.0 and 0.3/ })
  await t.rejects(open(t, raw.origin, { protocol: '0.3' }).vac.ask({ question: 'hi' }), { code: 'REMOTE_AGENT_CARD', message: /no interface of A2A 0.3/ })
})

test('a required extension has to be in the entry, and goes with messages', async t => {
  const raw = await at('/.well-known/agent-card.json', t, () => ({ capabilities: { streaming: true, extensions: [{ uri: 'urn:x', required: true }, { uri: 'urn:y' }] } }))
  await t.rejects(open(t, raw.origin).vac.ask({ question: 'hi' }), { code: 'REMOTE_AGENT_CARD', message: /requires the extension "urn:x"/ })
  await open(t, raw.origin, { extensions: ['urn:x'] }).vac.ask({ question: 'hi' })
  t.match(raw.came.at(-1), { headers: { 'a2a-extensions': 'urn:x' }, body: { params: { message: { extensions: ['urn:x'] } } } })
})

test('a card cannot lead to this service, nor to private addresses that the entry does not name', async t => {
  const own = await at('/.well-known/agent-card.json', t)
  await t.rejects(open(t, own.origin, {}, { ownOrigins: [own.origin] }).vac.ask({ question: 'hi' }), { code: 'REMOTE_AGENT_LOOP', message: /the address of this service/ })
  for (const url of ['http://10.0.0.1/rpc', 'https://192.168.0.1/rpc', 'http://agents.example/rpc', 'https://[fe80::1]/rpc']) {
    const raw = await at('/.well-known/agent-card.json', t, () => ({ supportedInterfaces: [{ url, protocolBinding: 'JSONRPC', protocolVersion: '1.0' }] }))
    await t.rejects(open(t, raw.origin).vac.ask({ question: 'hi' }), { code: 'REMOTE_AGENT_CARD', message: /an address that is neither public and https/ }, url)
  }
})

test('a name of a card that resolves to a private address gets no connection', async t => {
  const raw = await at('/.well-known/agent-card.json', t, () => ({ supportedInterfaces: [{ url: 'https://inner.example/rpc', protocolBinding: 'JSONRPC', protocolVersion: '1.0' }] }))
  const asked: string[] = []
  const { vac } = open(t, raw.origin, {}, {
    resolve: (name, done) => {
      asked.push(name)
      done(null, [{ address: '10.0.0.7', family: 4 }])
    }
  })
  await t.rejects(vac.ask({ question: 'hi' }))
  t.strictSame([...new Set(asked)], ['inner.example'])
})

test('an entry with a mistake is refused at the start, with its name', t => {
  const wrong = (entry: object): void => { remoteAgents({ agents: [{ name: 'peer', url: 'http://a.example', ...entry }] }) }
  t.throws(() => wrong({ url: 'a.example' }), { code: 'REMOTE_AGENT_OPTIONS', message: /"peer": `url` is not an address/ })
  t.throws(() => wrong({ url: 'http://me:pw@a.example' }), /has a user name/)
  t.throws(() => wrong({ timeoutMs: 0 }), /`timeoutMs` is 0/)
  t.throws(() => wrong({ protocol: '2.0' }), /`protocol` is "2.0"/)
  t.throws(() => wrong({ auth: { x: { clientId: 'a', clientSecret: 'b', tokenUrl: 'nowhere' } } }), /auth.x.tokenUrl/)
  t.throws(() => remoteAgents({ agents: [{ name: 'peer', url: 'http://a.example' }, { name: 'peer', url: 'http://b.example' }] }), /another entry has this name/)
  t.end()
})

test('a card that is nested too deep is refused, signed or not, and no other agent with it', async t => {
  const deep = `${'['.repeat(5_000)}${']'.repeat(5_000)}`
  const made: Agent = await agent(t, ({ url, method, body }, response) => {
    if (method === 'POST') return json(response, 200, answers(body))
    if (url === '/good.json') return json(response, 200, card(`${made.origin}/rpc`))
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(card(`${made.origin}/rpc`, { more: 'deep', signatures: [{}] })).replace('"deep"', deep))
    return true
  })
  const remote = remoteAgents({
    agents: [
      { name: 'deep', url: `${made.origin}/deep.json` }, { name: 'signed', url: `${made.origin}/deep.json`, keys: [{ kty: 'OKP', kid: 'k' }] }, { name: 'good', url: `${made.origin}/good.json` }
    ]
  })
  t.teardown(async () => { await remote.close() })
  await remote.load(AbortSignal.timeout(60_000))
  const code = 'REMOTE_AGENT_CARD'
  t.match(remote.states(), [{ isReady: false, problem: { code, message: /nested deeper than 64 levels/ } }, { isReady: false, problem: { code } }, { isReady: true }])
})
