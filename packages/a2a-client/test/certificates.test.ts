import { writeFile } from 'node:fs/promises'
import { createServer, type AddressInfo } from 'node:net'
import { join } from 'node:path'
import type { TLSSocket } from 'node:tls'
import { test, type Test } from 'tap'
import { remoteAgents } from '../src/index.js'
import { agent, card, json, type Agent, type Json } from './fixtures/agent.js'
import { authority, type Authority } from './fixtures/certificates.js'
import { open } from './fixtures/remote.js'

const ask = { question: 'hi' }

interface Guarded extends Agent {
  /** The names of the certificates with which messages came. */
  readonly seen: string[]
}

/** An agent that takes only connections with a certificate that `clients` has issued. */
async function guarded (t: Test, servers: Authority, clients: Authority, schemes: Json = { m: { mtlsSecurityScheme: {} } }): Promise<Guarded> {
  const seen: string[] = []
  const made: Agent = await agent(t, ({ method, url, body }, response, request) => {
    if (method === 'GET') return url === '/.well-known/agent-card.json' && json(response, 200, card(`${made.origin}/rpc`, { securitySchemes: schemes, securityRequirements: [{ schemes: { m: { list: [] } } }] }))
    seen.push(String((request.socket as TLSSocket).getPeerCertificate().subject.CN))
    return json(response, 200, { jsonrpc: '2.0', id: body.id, result: { message: { messageId: '1', role: 'ROLE_AGENT', parts: [{ text: 'Yes.' }] } } })
  }, { ...servers.issue('agent'), ca: clients.cert, requestCert: true, rejectUnauthorized: true })
  return { ...made, seen }
}

test('mutual TLS: the certificate of the entry, as PEM and as files that are read for each connection', async t => {
  const servers = authority('servers')
  const clients = authority('clients')
  for (const schemes of [{ m: { mtlsSecurityScheme: {} } }, { m: { type: 'mutualTLS' } }]) {
    const raw = await guarded(t, servers, clients, schemes)
    const { vac } = open(t, raw.origin, { auth: { m: { ...clients.issue('polyvac'), ca: servers.cert } } })
    t.equal((await vac.ask(ask)).answer, 'Yes.')
    t.strictSame(raw.seen, ['polyvac'])
  }
  const raw = await guarded(t, servers, clients)
  const folder = t.testdir({ 'ca.pem': servers.cert })
  const [cert, key, ca] = ['cert.pem', 'key.pem', 'ca.pem'].map(name => join(folder, name)) as [string, string, string]
  const issue = async (name: string): Promise<void> => {
    const issued = clients.issue(name)
    await writeFile(cert, issued.cert)
    await writeFile(key, issued.key)
  }
  await issue('first')
  const auth = { m: { cert, key, ca } }
  await open(t, raw.origin, { auth }).vac.ask(ask)
  await issue('second')
  await open(t, raw.origin, { auth }).vac.ask(ask)
  t.strictSame(raw.seen, ['first', 'second'])
})

test('a certificate that the agent refuses, or that cannot be used, is a problem of the credentials and is not tried again', async t => {
  const servers = authority('servers')
  const clients = authority('clients')
  const raw = await guarded(t, servers, clients)
  const good = { ...clients.issue('polyvac'), ca: servers.cert }
  const other = authority('others').issue('polyvac')
  const folder = t.testdir({ 'text.pem': 'no' })
  // the alert unknown_ca, as servers other than that of Node.js send it
  const alerting = createServer(socket => { socket.on('error', () => {}).once('data', () => socket.end(Buffer.from('15030300020230', 'hex'))) })
  await new Promise<void>(resolve => alerting.listen(0, '127.0.0.1', resolve))
  t.teardown(() => { alerting.close() })
  const { port } = alerting.address() as AddressInfo
  await t.rejects(open(t, `https://127.0.0.1:${port}`, { auth: { m: good } }).vac.ask(ask), { code: 'REMOTE_AGENT_UNAUTHORIZED', message: /refuses the credentials: the certificate of the connection/ })
  await t.rejects(open(t, raw.origin, { auth: { m: { ...good, ...other } } }).vac.ask(ask), { code: 'REMOTE_AGENT_UNAVAILABLE' }, 'a server that only closes the connection')
  const cases = [
    [{ m: { ...good, cert: join(folder, 'missing.pem') } }, /the file of `cert` cannot be read/],
    [{ m: { ...good, key: join(folder, 'text.pem') } }, /`cert` and `key` are not a certificate and its private key/],
    [{ m: { ...good, key: other.key } }, /`cert` and `key` are not a certificate and its private key/]
  ] as const
  for (const [auth, message] of cases) await t.rejects(open(t, raw.origin, { auth }).vac.ask(ask), { code: 'REMOTE_AGENT_UNAUTHORIZED', statusCode: 502, message }, String(message))
  await t.rejects(open(t, raw.origin, { auth: { m: { cert: good.cert, key: good.key } } }).vac.ask(ask), { code: 'REMOTE_AGENT_UNAVAILABLE' }, 'an agent that is not trusted')
  t.strictSame(raw.seen, [])
})

test('a certificate is for a scheme of mutual TLS, and an entry has at most one', async t => {
  const servers = authority('servers')
  const clients = authority('clients')
  const given = { ...clients.issue('polyvac'), ca: servers.cert }
  const bearer = await guarded(t, servers, clients, { m: { httpAuthSecurityScheme: { scheme: 'Bearer' } } })
  await t.rejects(open(t, bearer.origin, { auth: { m: given } }).vac.ask(ask), { code: 'REMOTE_AGENT_UNAUTHORIZED', message: /the scheme m needs `token`/ })
  const mutual: Agent = await agent(t, (_came, response) => json(response, 200, card(`${mutual.origin}/rpc`, { securitySchemes: { m: { mtlsSecurityScheme: {} } }, securityRequirements: [{ schemes: { m: { list: [] } } }] })))
  await t.rejects(open(t, mutual.origin, { auth: { m: { token: 'T' } } }).vac.ask(ask), { code: 'REMOTE_AGENT_UNAUTHORIZED', message: /the scheme m needs `cert` and `key`/ })
  t.strictSame(mutual.calls(), [])
  t.throws(() => remoteAgents({ agents: [{ name: 'peer', url: 'https://a.example', auth: { a: given, b: given } }] }), { code: 'REMOTE_AGENT_OPTIONS', message: /`auth` has two certificates/ })
})
