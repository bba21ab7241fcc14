import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { test, type Test } from 'tap'
import type { Answer, InterpreterExtra } from '@polyvac/core'
import { authorizationServer, Browser } from '../../../packages/mcp-gateway/test/fixtures/authorization-server.mjs'
import { emptyFolder } from '../../../test/fixtures/command.js'
import { until } from '../../../test/fixtures/until.js'
import type { HostOptions } from '../src/index.js'
import { post, started } from './sign-in-service.js'

interface Agent {
  readonly url: string
  /** The header `authorization` of each call, with the question. */
  readonly seen: Array<{ readonly question: string, readonly authorization: string | undefined }>
  /** Tokens that it refuses. */
  readonly refused: Set<string>
}

/** An agent that answers with the account of the token. @param scheme of its card, by the address of the agent */
async function protectedAgent (t: Test, { base: issuer, provider }: Awaited<ReturnType<typeof authorizationServer>>, scheme?: object): Promise<Agent> {
  const login = scheme ?? { oauth2SecurityScheme: { flows: { authorizationCode: { authorizationUrl: `${issuer}/auth`, tokenUrl: `${issuer}/token`, scopes: { mcp: 'all' } } } } }
  const agent: Agent = { url: '', seen: [], refused: new Set() }
  const server = createServer((request, response) => {
    let text = ''
    const send = (status: number, body: object): void => { response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body)) }
    request.setEncoding('utf8').on('data', (piece: string) => { text += piece }).on('end', () => {
      if (request.url === '/.well-known/agent-card.json') {
        return send(200, {
          name: 'Mail',
          description: 'reads mails',
          supportedInterfaces: [{ url: `${agent.url}/rpc`, protocolBinding: 'JSONRPC', protocolVersion: '1.0' }],
          securitySchemes: { login },
          securityRequirements: [{ schemes: { login: { list: ['mcp'] } } }]
        })
      }
      if (request.url !== '/rpc') return send(404, {})
      const { authorization } = request.headers
      const { id, params } = JSON.parse(text)
      agent.seen.push({ question: params.message.parts[0].text, authorization })
      const token = authorization?.replace('Bearer ', '') ?? ''
      void (async () => {
        const found = agent.refused.has(token) ? undefined : await provider.AccessToken.find(token)
        if (found === undefined) return send(401, {})
        send(200, { jsonrpc: '2.0', id, result: { message: { messageId: '1', role: 'ROLE_AGENT', parts: [{ text: `you are ${(found as unknown as { accountId: string }).accountId}` }] } } })
      })()
    })
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  return Object.assign(agent, { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` })
}

/** A service with the agent `mail` and no MCP server. */
async function serviceOf (t: Test, path: string, { url }: Agent, auth: object, more: HostOptions = {}): ReturnType<typeof started> {
  return await started(t, path, '', '', { mcp_servers: undefined, a2a_agents: [{ name: 'mail', url, auth: { login: { per_owner: true, ...auth } } }], ...more })
}

const newPath = async (t: Test): Promise<string> => join(await emptyFolder(t), 'tasks.db')
const ask = async (base: string, owner: string, question = 'Who am I?', vac = 'mail'): Promise<any> => await post(base, `/vac/${vac}`, owner, { user_input: question })
const addressIn = ({ auth_required: text }: { auth_required: string }): string => /http\S+/.exec(text)![0]
const rpc = async (base: string, owner: string, method: string, params: object): Promise<any> =>
  (await post(base, '/a2a/vacs/mail', owner, { jsonrpc: '2.0', id: 1, method, params }, { 'a2a-version': '1.0' })).result

test('each owner signs in to a remote agent: nothing is sent before, and the token of another owner never', async t => {
  const as = await authorizationServer(t)
  const agent = await protectedAgent(t, as)
  const path = await newPath(t)
  const guide = async (question: string, _vac: string, _history: unknown[], { callAgent }: InterpreterExtra): Promise<Answer> => await callAgent('mail', question)
  const { app, base } = await serviceOf(t, path, agent, { issuer: as.base }, { vac_interpreter: undefined, stream_interpreter: guide })

  // A2A: the task waits for the authorization, and continues without another message
  const { task } = await rpc(base, 'alice', 'SendMessage', { message: { messageId: 'm1', role: 'ROLE_USER', parts: [{ text: 'of alice' }] } })
  t.equal(task.status.state, 'TASK_STATE_AUTH_REQUIRED')
  const { parts } = task.status.message
  t.match(parts, [{ text: /^the remote agent "mail" needs a sign-in/ }, { data: { signIn: { server: 'mail' } } }])
  t.strictSame(agent.seen, [], 'no request without a token')
  t.match(await new Browser().signIn(parts[1].data.signIn.url, 'alice@mail'), { status: 200, text: /Signed in to mail/ })
  const ended = await until(async () => {
    const now = await rpc(base, 'alice', 'GetTask', { id: task.id })
    return now.status.state === 'TASK_STATE_COMPLETED' ? now : undefined
  }, 'the task ends')
  t.match(JSON.stringify(ended), /you are alice@mail/)
  t.equal(agent.seen.length, 1)

  // the others have to sign in, over each way to ask
  for (const vac of ['mail', 'demo']) t.match(await ask(base, 'bob', 'of bob', vac), { auth_required: /needs a sign-in/ }, vac)
  const chat = await post(base, '/openai/v1/chat/completions', 'bob', { model: 'mail', messages: [{ role: 'user', content: 'of bob' }] })
  t.match(chat.choices[0].message.content, /needs a sign-in.*\/mcp\/sign-in\?ticket=/)
  t.equal(agent.seen.length, 1)
  const mine = await ask(base, 'bob')
  const foreign = await fetch(addressIn(mine), { headers: { 'x-owner': 'alice' } })
  t.match({ status: foreign.status, text: await foreign.text() }, { status: 400, text: /belongs to another caller/ })
  t.match(await new Browser().signIn(addressIn(mine), 'bob@mail'), { status: 200 })
  const answers = await Promise.all(['alice', 'bob', 'alice', 'bob'].flatMap(owner => ['mail', 'demo'].map(async vac => ({ owner, ...await ask(base, owner, `of ${owner}`, vac) }))))
  for (const { owner, answer } of answers) t.equal(answer, `you are ${owner}@mail`)
  const tokens = (owner: string): Set<unknown> => new Set(agent.seen.filter(({ question }) => question === `of ${owner}`).map(({ authorization }) => authorization))
  t.match([tokens('alice').size, tokens('bob').size], [1, 1])
  t.notMatch([...tokens('alice')], [...tokens('bob')])

  await app.close()
  const again = await serviceOf(t, path, agent, { issuer: as.base })
  for (const owner of ['alice', 'bob']) t.match(await ask(again.base, owner), { answer: `you are ${owner}@mail` }, 'a restart keeps the sign-ins')
  t.match(await ask(again.base, 'carol'), { auth_required: /needs a sign-in/ })
})

test('a token that the agent refuses is refreshed once, and the request sent once more', async t => {
  const as = await authorizationServer(t)
  const agent = await protectedAgent(t, as, { openIdConnectSecurityScheme: { openIdConnectUrl: `${as.base}/.well-known/openid-configuration` } })
  const { base } = await serviceOf(t, await newPath(t), agent, { issuer: as.base })
  for (const owner of ['alice', 'bob']) await new Browser().signIn(addressIn(await ask(base, owner)), owner)
  const tokenOf = async (owner: string): Promise<string> => {
    t.match(await ask(base, owner), { answer: `you are ${owner}` })
    return agent.seen.at(-1)!.authorization!.replace('Bearer ', '')
  }
  const [first, ofBob] = [await tokenOf('alice'), await tokenOf('bob')]
  agent.refused.add(first)
  agent.seen.length = 0
  const second = await tokenOf('alice')
  t.strictSame(agent.seen.map(({ authorization }) => authorization), [`Bearer ${first}`, `Bearer ${second}`])
  t.not(second, first)
  t.equal(await tokenOf('bob'), ofBob, 'that of the other owner stays')

  // a new token that is refused, too
  agent.refused.add(second)
  agent.refused.has = token => token !== ofBob
  agent.seen.length = 0
  t.match(await ask(base, 'alice'), { error: { code: 'REMOTE_AGENT_UNAUTHORIZED' } })
  t.equal(agent.seen.length, 2)
  t.notOk(agent.seen.some(({ authorization }) => authorization === `Bearer ${ofBob}`))

  // a refresh that the authorization server refuses
  for (const grant of ['RefreshToken', 'Grant']) {
    const { adapter } = (as.provider as any)[grant]
    adapter.find = async () => undefined
  }
  agent.seen.length = 0
  t.match(await ask(base, 'alice'), { auth_required: /needs a sign-in/ })
  t.equal(agent.seen.length, 1)
})

test('a card names no authorization server of another origin, unless the entry does', async t => {
  const as = await authorizationServer(t)
  for (const scheme of [undefined, { openIdConnectSecurityScheme: { openIdConnectUrl: `${as.base}/.well-known/openid-configuration` } }]) {
    const agent = await protectedAgent(t, as, scheme)
    const { base } = await serviceOf(t, await newPath(t), agent, {})
    t.match(await ask(base, 'alice'), { error: { code: 'REMOTE_AGENT_UNAUTHORIZED', message: /the sign-in of an owner fails, and the log has the reason/ } })
    t.strictSame(as.seen, [])
    t.strictSame(agent.seen, [])
  }
  const key = await protectedAgent(t, as, { apiKeySecurityScheme: { location: 'header', name: 'x-key' } })
  const { base } = await serviceOf(t, await newPath(t), key, {})
  t.match(await ask(base, 'alice'), { error: { code: 'REMOTE_AGENT_UNAUTHORIZED', message: /the scheme login needs `apiKey`/ } })
})

test('without a document of the authorization server, the endpoints of the card serve a registered client', async t => {
  const as = await authorizationServer(t, { ways: [], clients: [{ client_id: 'us', client_secret: 's3cret', redirect_uris: ['https://agents.example/mcp/sign-in/callback/mail'] }] })
  const flow = { authorizationUrl: `${as.base}/auth`, tokenUrl: `${as.base}/token`, scopes: { mcp: '' } }
  const agent = await protectedAgent(t, as, { oauth2SecurityScheme: { flows: { authorizationCode: flow } } })
  // an issuer without documents, at the origin of the endpoints
  const { base } = await serviceOf(t, await newPath(t), agent, { issuer: `${as.base}/none`, client_id: 'us', client_secret: 's3cret', scope: 'openid' }, { public_url: 'https://agents.example' })
  const asked = new URL(addressIn(await ask(base, 'alice')))
  const page = await fetch(`${base}${asked.pathname}${asked.search}`)
  t.match({ status: page.status, text: await page.text() }, { status: 200, text: new RegExp(`access to <strong>mail</strong>.*${new URL(as.base).host}`) })
  const thief = await protectedAgent(t, as, { oauth2SecurityScheme: { flows: { authorizationCode: { ...flow, tokenUrl: 'https://thief.example/token' } } } })
  const { base: other } = await serviceOf(t, await newPath(t), thief, { issuer: `${as.base}/none`, client_id: 'us', client_secret: 's3cret' })
  t.match(await ask(other, 'alice'), { error: { code: 'REMOTE_AGENT_UNAUTHORIZED' } })
})

test('`per_owner` stands for itself, once for an agent, and from the start', async t => {
  const entry = { name: 'mail', url: 'http://127.0.0.1:9' }
  const opened = async (auth: object): Promise<unknown> => await started(t, await newPath(t), '', '', { mcp_servers: undefined, a2a_agents: [{ ...entry, auth: auth as never }] })
  await t.rejects(opened({ a: { per_owner: true }, b: { per_owner: true } }), { code: 'A2A_AGENTS', message: /an owner signs in once/ })
  await t.rejects(opened({ a: { per_owner: true, token: 'x' } }), { code: 'A2A_AGENTS', message: /expected one credential/ })
  await t.rejects(opened({ a: { per_owner: true, issuer: 'here' } }), { code: 'A2A_AGENTS', message: /issuer: expected an http/ })
})
