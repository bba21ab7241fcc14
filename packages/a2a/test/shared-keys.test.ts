import type { SharedValues } from '@polyvac/tasks'
import { test } from 'tap'
import { SharedSigningKeys, SigningKeys, verifyNotification } from '../src/index.js'
import { until } from '../../../test/fixtures/until.js'

const body = '{"type":"task_update"}'
const claims = { aud: 'https://receiver.example', jti: 'x.y.1', taskId: 'x', iss: 'polyvac', body }

/** Shared values in memory, which can fail. */
function valuesOf () {
  const values = new Map<string, string>()
  const shared = {
    reads: 0,
    fails: false,
    values,
    async get (name: string) {
      shared.reads++
      if (shared.fails) throw Object.assign(new Error('the database is away'), { statusCode: 503 })
      return values.get(name)
    },
    async putIfAbsent (name: string, value: string) {
      if (!values.has(name)) values.set(name, value)
      return values.get(name)!
    },
    async replace (name: string, before: string, value: string) {
      if (values.get(name) !== before) return false
      values.set(name, value)
      return true
    }
  } satisfies SharedValues & Record<string, unknown>
  return shared
}

async function verify (jwt: string, jwks: Awaited<ReturnType<SharedSigningKeys['publicJwks']>>): Promise<unknown> {
  return await verifyNotification({ headers: { authorization: `Bearer ${jwt}`, 'webhook-id': claims.jti }, body, jwks, audience: claims.aud })
}

test('replicas sign with one key, publish the same set, and follow a rotation', async t => {
  const shared = valuesOf()
  const [one, other] = [new SharedSigningKeys(shared), new SharedSigningKeys(shared)]
  const sets = await Promise.all([one.publicJwks(), other.publicJwks(), one.publicJwks()])
  t.equal(new Set(sets.map(set => JSON.stringify(set))).size, 1)
  t.equal(sets[0]?.keys.length, 1)
  t.notOk('d' in sets[0]!.keys[0]!, 'no private half is published')
  await verify(await one.sign(claims), await other.publicJwks())

  await one.rotate()
  const { keys } = await until(async () => {
    const set = await other.publicJwks()
    return set.keys.length === 2 && set
  }, 'the other replica publishes the new key')
  t.equal(keys[1]?.kid, sets[0]?.keys[0]?.kid)
  await verify(await one.sign(claims), await other.publicJwks())
  await Promise.all([one.rotate(), other.rotate()])
  await one.rotate()
  t.equal((await one.publicJwks()).keys.length, 3, 'old keys leave')
})

test('keys that were read stay in use while the store cannot be read, and a broken set is named without its text', async t => {
  const shared = valuesOf()
  shared.fails = true
  const keys = new SharedSigningKeys(shared)
  await t.rejects(keys.publicJwks(), { message: 'the database is away' })
  shared.fails = false
  const jwt = await keys.sign(claims)
  shared.fails = true
  const before = shared.reads
  await until(async () => { await verify(jwt, await keys.publicJwks()); return shared.reads > before }, 'the keys are read again')
  const secret = JSON.stringify((await SigningKeys.generate()).privateJwks()).slice(0, -1)
  for (const text of [secret, '{"keys":[]}', 'null']) {
    const broken = valuesOf()
    broken.values.set('push-signing-keys', text)
    const error = await new SharedSigningKeys(broken).publicJwks().then(() => undefined, (err: Error & { code?: string }) => err)
    t.equal(error?.code, 'PUSH_SIGNING_KEYS')
    t.notMatch(error?.message, text.slice(0, 20))
  }
})
