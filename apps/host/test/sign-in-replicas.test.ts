import { createToken } from '@polyvac/auth'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test, type Test } from 'tap'
import { authorizationServer, Browser, protectedServer } from '../../../packages/mcp-gateway/test/fixtures/authorization-server.mjs'
import { testDatabase } from '../../../test/fixtures/postgres.js'
import { emptyFolder } from '../../../test/fixtures/command.js'
import { start } from './task-service.js'

const owners = Array.from({ length: 5 }, (_none, i) => ({ owner: `owner-${i}`, ...createToken(`owner-${i}`) }))

/** The address of a host in a process, whose sign-ins are in this database. */
async function startHost (t: Test, database: string, mail: object): Promise<string> {
  const folder = await emptyFolder(t)
  await writeFile(join(folder, 'vac_config.yaml'), JSON.stringify({
    kind: 'vacConfig',
    service: {
      stream_interpreter: 'echo',
      tasks: { store: 'postgres', url: database },
      state_key: 'a key of all replicas, 32 bytes long',
      auth: { tokens: owners.map(({ entry }) => entry) },
      mcp_servers: { mail }
    },
    vac: { demo: { display_name: 'Demo' } }
  }))
  return (await start(t, folder)).url
}

test('two processes with one store refresh a token once, where a used refresh token is refused', async t => {
  const as = await authorizationServer(t)
  const upstream = await protectedServer(t, as)
  const database = await testDatabase(t)
  const mail = { url: upstream.url, per_owner: true, oauth: { issuer: as.base } }
  const hosts = await Promise.all([1, 2].map(() => startHost(t, database, mail)))
  const call = async (url: string, { token }: { token: string }): Promise<{ result?: unknown, details?: { url: string } }> => {
    const response = await fetch(`${url}/mcp/call`, {
      method: 'POST', headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' }, body: JSON.stringify({ server: 'mail', tool: 'whoami', arguments: {} })
    })
    return await response.json() as never
  }
  const expected = (owner: string) => ({ result: { content: [{ text: owner }] } })
  for (const caller of owners) {
    const { details } = await call(hosts[0]!, caller)
    t.match(await new Browser().signIn(details!.url, caller.owner), { status: 200 })
    for (const host of hosts) t.match(await call(host, caller), expected(caller.owner), 'the sign-in at one process holds at the other')
  }
  const grants = (): number => as.seen.filter(({ method, url }) => method === 'POST' && url === '/token').length
  t.equal(grants(), owners.length)

  for (const authorization of upstream.seen) upstream.refused.add(authorization.replace('Bearer ', ''))
  const answers = await Promise.all(owners.flatMap(caller => [...hosts, ...hosts, ...hosts].map(async host => ({ owner: caller.owner, answer: await call(host, caller) }))))
  for (const { owner, answer } of answers) t.match(answer, expected(owner))
  t.equal(grants(), 2 * owners.length, 'one refresh for each owner')
})
