import { generateAgentCardSignature } from '@a2a-js/sdk'
import Fastify from 'fastify'
import { calculateJwkThumbprint, exportJWK, FlattenedSign, generateKeyPair, type JWK } from 'jose'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test, type Test } from 'tap'
import { a2aPlugin, SigningKeys } from '@polyvac/a2a'
import { createVacs } from '@polyvac/core'
import { canonicalCard, canonicalJson } from '@polyvac/core/plugin'
import { sqliteTaskStore } from '@polyvac/tasks/sqlite'
import { MAX_KEYS, MAX_SIGNATURES } from '../src/card/signature.js'
import { remoteAgents, type Jwk } from '../src/index.js'
import { agent, card, json, type Agent, type Json } from './fixtures/agent.js'
import { published } from './fixtures/published.js'
import { open } from './fixtures/remote.js'

const answers = (call: Json): object => ({ jsonrpc: '2.0', id: call.id, result: { message: { messageId: '1', role: 'ROLE_AGENT', parts: [{ text: 'Yes.' }] } } })
const ask = { question: 'hi' }
const UNVERIFIED = { code: 'REMOTE_AGENT_SIGNATURE', statusCode: 502 }

interface Signer {
  /** Its public key. */
  readonly key: Jwk
  readonly sign: (card: Json, header?: Json) => Promise<Json>
}

async function signer (alg = 'ES256', kid?: string): Promise<Signer> {
  const { privateKey, publicKey } = await generateKeyPair(alg, { extractable: true })
  const jwk = await exportJWK(publicKey)
  const key = { ...jwk, kid: kid ?? await calculateJwkThumbprint(jwk) }
  return {
    key: key as Jwk,
    async sign (card, header = {}) {
      const jws = await new FlattenedSign(Buffer.from(canonicalJson(canonicalCard(card)))).setProtectedHeader({ alg, typ: 'JOSE', kid: key.kid, ...header }).sign(privateKey)
      return { protected: jws.protected, signature: jws.signature }
    }
  }
}

/** An agent whose card at its origin is `change` of the usual one. It answers messages. */
async function serving (t: Test, change: (card: Json) => Json | Promise<Json>): Promise<Agent> {
  const made: Agent = await agent(t, async ({ method, url, body }, response) => {
    if (method === 'POST') return json(response, 200, answers(body))
    return url === '/.well-known/agent-card.json' && json(response, 200, await change(card(`${made.origin}/rpc`, { version: '1', skills: [] })), { 'cache-control': 'no-cache', etag: '"1"' })
  })
  return made
}

const signed = async (t: Test, { sign }: Signer, header?: Json): Promise<Agent> => await serving(t, async card => ({ ...card, signatures: [await sign(card, header)] }))

test('the card of an agent of Polyvac is verified with its keys: from its address, a file, and the entry', async t => {
  const app = Fastify()
  const tasks = sqliteTaskStore({ path: ':memory:' })
  await tasks.open()
  const keys = await SigningKeys.generate()
  const vacs = createVacs({ vacs: ['docs'], streamInterpreter: async question => ({ answer: `About ${question}` }) })
  // callers with an identity: the card has requirements with empty lists
  const authenticate = ({ headers }: { headers: Json }): { owner: string } | undefined => headers.authorization === 'Bearer T' ? { owner: 'me' } : undefined
  await app.register(a2aPlugin, { vacs, tasks, push: { keys }, authenticate: authenticate as never })
  t.teardown(async () => {
    await app.close()
    await tasks.close()
  })
  const url = await app.listen({ port: 0, host: '127.0.0.1' })
  const file = join(t.testdir(), 'keys.json')
  await writeFile(file, JSON.stringify(keys.publicJwks()))
  const auth = { bearer: { token: 'T' } }
  for (const given of [`${url}/.well-known/jwks.json`, file, keys.publicJwks().keys as Jwk[]]) {
    for (const protocol of ['1.0', '0.3'] as const) {
      const { vac, remote } = open(t, url, { keys: given, auth, protocol })
      t.equal((await vac.ask({ question: 'cats' })).answer, 'About cats')
      t.match(remote.states(), [{ isReady: true, protocol: `${protocol} JSONRPC` }])
    }
  }
  const other = await signer()
  await t.rejects(open(t, url, { keys: [other.key], auth }).vac.ask(ask), { ...UNVERIFIED, message: /none of its signatures is valid for a key of the entry; compare the keys/ })
})

test('the card of an SDK is verified, also where it leaves out what is empty', async t => {
  const { privateKey, publicKey } = await generateKeyPair('ES256')
  const kid = 'sdk'
  const keys = [{ ...await exportJWK(publicKey), kid } as Jwk]
  const sign = generateAgentCardSignature(privateKey, { alg: 'ES256', kid, typ: 'JOSE' })
  const more = { description: '', securitySchemes: { b: { scheme: { $case: 'httpAuthSecurityScheme', value: { scheme: 'Bearer', description: '', bearerFormat: '' } } } }, securityRequirements: [{ schemes: { b: { list: [] } } }] }
  for (const card of [{}, more]) {
    const peer = await published(t, '1.0', { card, sign })
    const auth = { b: { token: 'T' } }
    t.equal((await open(t, peer.url, { keys, auth }).vac.ask({ question: 'hello' })).answer, 'You said: hello')
    await t.rejects(open(t, peer.url, { keys: [(await signer('ES256', kid)).key], auth }).vac.ask(ask), UNVERIFIED)
  }
})

test('which cards have to be signed: by default all where there are keys', async t => {
  const me = await signer()
  const keys = [me.key]
  const unsigned = await serving(t, card => card)
  const good = await signed(t, me)
  const changed = await serving(t, async card => ({ ...card, description: 'another', signatures: [await me.sign(card)] }))
  const cases = [
    [unsigned, { keys }, /it is not signed; have its operator sign it/], [unsigned, { keys, verify: 'if-present' }], [unsigned, { keys, verify: 'off' }], [unsigned, {}],
    [good, { keys }], [good, { keys, verify: 'if-present' }],
    [changed, { keys }, /none of its signatures/], [changed, { keys, verify: 'if-present' }, /none of its signatures/], [changed, {}]
  ] as const
  for (const [{ origin }, entry, message] of cases) {
    const { vac, remote } = open(t, origin, entry)
    if (message === undefined) {
      t.equal((await vac.ask(ask)).answer, 'Yes.')
    } else {
      await t.rejects(vac.ask(ask), { ...UNVERIFIED, message })
      t.match(remote.states(), [{ isReady: false, problem: { code: 'REMOTE_AGENT_SIGNATURE' } }])
    }
  }
  t.equal(unsigned.calls().length, 3, 'an agent that is not verified gets no message')
})

test('a signature counts only by a public key of the entry that its `kid` names; `jku` is not requested', async t => {
  const me = await signer()
  const thief = await signer()
  const site = await agent(t, (_came, response) => json(response, 200, { keys: [{ ...thief.key }] }))
  const refused = async (what: string, raw: Agent, cause?: RegExp): Promise<void> => {
    const err = await open(t, raw.origin, { keys: [me.key] }).vac.ask(ask).then(() => undefined, (err: unknown) => err) as Json | undefined
    t.match(err, { ...UNVERIFIED, ...cause !== undefined && { cause: { message: cause } } }, what)
    t.strictSame(raw.calls(), [], what)
  }
  await refused('a jku', await signed(t, thief, { jku: `${site.origin}/jwks.json` }), /127\.0\.0\.1/)
  await refused('the kid of another key', await signed(t, thief, { kid: me.key.kid, jku: `${site.origin}/jwks.json` }))
  await refused('no kid', await signed(t, me, { kid: undefined }))
  await refused('an unknown kid', await signed(t, me, { kid: 'mine' }))
  t.strictSame(site.came, [])
  const encode = (value: unknown): string => Buffer.from(typeof value === 'string' ? value : JSON.stringify(value)).toString('base64url')
  await refused('alg none', await serving(t, card => ({ ...card, signatures: [{ protected: encode({ alg: 'none', kid: me.key.kid }), signature: '' }] })), /"alg":"none"/)
  await refused('the public key as the secret of HS256', await serving(t, async card => {
    const jws = await new FlattenedSign(Buffer.from(canonicalJson(canonicalCard(card)))).setProtectedHeader({ alg: 'HS256', kid: me.key.kid as string }).sign(Buffer.from(JSON.stringify(me.key)))
    return { ...card, signatures: [jws] }
  }))
  await refused('what is not a signature', await serving(t, card => ({ ...card, signatures: [null, 7, {}, { protected: 'x' }] })), /cannot be read/)
  await refused('a list that is not one', await serving(t, card => ({ ...card, signatures: 'signed' })))
})

test('members that no signature covers do not count', async t => {
  const me = await signer()
  const thief = await serving(t, card => card)
  const raw = await serving(t, async card => ({ ...card, signatures: [await me.sign(card)], protocolVersion: '0.3.0', url: `${thief.origin}/rpc`, security: [{ key: [] }] }))
  t.equal((await open(t, raw.origin, { keys: [me.key] }).vac.ask(ask)).answer, 'Yes.')
  await t.rejects(open(t, raw.origin, { keys: [me.key], protocol: '0.3' }).vac.ask(ask), { code: 'REMOTE_AGENT_CARD', message: /no interface of A2A 0.3/ })
  t.strictSame(thief.came, [])
})

test('keys of all kinds, and one signature of several is enough', async t => {
  const [old, ...others] = await Promise.all(['ES256', 'RS256', 'PS384', 'EdDSA'].map(async alg => await signer(alg)))
  for (const { key, sign } of [old!, ...others]) {
    const raw = await serving(t, async card => ({ ...card, signatures: [await (await signer()).sign(card), await sign(card)] }))
    t.equal((await open(t, raw.origin, { keys: [old!.key, key].filter((one, i, all) => all.indexOf(one) === i) }).vac.ask(ask)).answer, 'Yes.')
  }
  const many = await serving(t, async card => ({ ...card, signatures: [...Array.from({ length: MAX_SIGNATURES }, () => ({ protected: 'x', signature: 'y' })), await old!.sign(card)] }))
  await t.rejects(open(t, many.origin, { keys: [old!.key] }).vac.ask(ask), UNVERIFIED, 'no more signatures than the bound are looked at')
})

test('a key that leaves the file counts no more at the next card, and an agent that was ready is not asked', async t => {
  const me = await signer()
  const raw = await signed(t, me)
  const file = join(t.testdir(), 'keys.json')
  const write = async (...keys: Jwk[]): Promise<void> => { await writeFile(file, JSON.stringify({ keys })) }
  await write(me.key)
  const { vac, remote } = open(t, raw.origin, { keys: file })
  t.equal((await vac.ask(ask)).answer, 'Yes.')
  await write((await signer()).key)
  const { now } = Date
  t.teardown(() => { Date.now = now })
  const pass = (ms: number): void => {
    const before = Date.now
    Date.now = () => before() + ms
  }
  pass(5_000)
  await t.rejects(vac.ask(ask), UNVERIFIED)
  t.match(remote.states(), [{ isReady: false, problem: { code: 'REMOTE_AGENT_SIGNATURE' } }])
  await write(me.key)
  pass(5_000)
  t.equal((await vac.ask(ask)).answer, 'Yes.')
  t.match(remote.states(), [{ isReady: true, problem: undefined }])
})

test('keys that cannot be read, by file and by address', async t => {
  const me = await signer()
  const raw = await signed(t, me)
  const folder = t.testdir({ 'text.json': 'no', 'none.json': '{}', 'private.json': JSON.stringify({ keys: [{ ...me.key, d: 'x' }] }) })
  for (const [name, message] of [['missing.json', /the file of its `keys` cannot be read; correct the path/], ['text.json', /cannot be read/], ['none.json', /`keys` cannot be used: there are none/], ['private.json', /has its private half/]] as const) {
    await t.rejects(open(t, raw.origin, { keys: join(folder, name) }).vac.ask(ask), { ...UNVERIFIED, message }, name)
  }
  let isDown = false
  const site = await agent(t, (_came, response) => isDown ? json(response, 404, {}) : json(response, 200, { keys: [me.key] }))
  const { vac, remote } = open(t, raw.origin, { keys: `${site.origin}/keys` })
  t.equal((await vac.ask(ask)).answer, 'Yes.')
  isDown = true
  const { now } = Date
  t.teardown(() => { Date.now = now })
  Date.now = () => now() + 5_000
  t.equal((await vac.ask(ask)).answer, 'Yes.', 'the card that was verified serves')
  t.match(remote.states(), [{ isReady: true, problem: { code: 'REMOTE_AGENT_UNAVAILABLE', message: /the keys for its card cannot be requested/ } }])
  await t.rejects(open(t, raw.origin, { keys: `${site.origin}/keys` }).vac.ask(ask), { code: 'REMOTE_AGENT_UNAVAILABLE', statusCode: 503 })
})

test('an entry with a mistake about keys is refused at the start', async t => {
  const { key } = await signer()
  const wrong = (entry: object, message: RegExp): void => {
    t.throws(() => remoteAgents({ agents: [{ name: 'peer', url: 'http://a.example', ...entry }] }), { code: 'REMOTE_AGENT_OPTIONS', message })
  }
  wrong({ verify: 'always', keys: [key] }, /`verify` is "always"; give off, if-present, require/)
  wrong({ verify: 'require' }, /`verify` is require, and there are no keys/)
  wrong({ keys: '' }, /`keys`: there are none/)
  wrong({ keys: 'https://' }, /`keys`: there are none/)
  wrong({ keys: [] }, /`keys`: there are none/)
  wrong({ keys: [{}] }, /number 1 is not a JWK/)
  wrong({ keys: [key, { ...key, kid: undefined }] }, /number 2 has no `kid`/)
  wrong({ keys: [{ kty: 'oct', kid: 'a', k: 'c2VjcmV0' }] }, /number 1 is a shared secret/)
  wrong({ keys: [{ ...key, d: 'x' } as JWK] }, /private half/)
  wrong({ keys: Array.from({ length: MAX_KEYS + 1 }, () => key) }, /more than 100/)
})
