// Two principals: what bob can do with what belongs to alice, and with requests whose parts disagree. The upstream
// server `notes` is its own authorization server, on loopback.
import { createServer } from 'node:http'
import { fileURLToPath } from 'node:url'
import { jsonOf, mcpSession, modern, rpc, task } from './client.mjs'
import { configuration, upstream } from './host.mjs'

const alice = { authorization: 'alice' }
const bob = { authorization: 'bob' }
const UNKNOWN = '00000000-0000-4000-8000-000000000000'

let notes
const revoked = new Set()
let issued = 0

/** Grants every request; a token that was revoked is refused, and cannot be refreshed. */
function answer (request, response) {
  const base = `http://127.0.0.1:${notes.address().port}`
  const json = (status, body, headers = {}) => { response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body)) }
  if (request.url.startsWith('/.well-known/oauth-protected-resource')) return json(200, { resource: `${base}/mcp`, authorization_servers: [base] })
  if (request.url.startsWith('/.well-known/')) {
    return json(200, {
      issuer: base, authorization_endpoint: `${base}/authorize`, token_endpoint: `${base}/token`, registration_endpoint: `${base}/register`,
      response_types_supported: ['code'], code_challenge_methods_supported: ['S256'], authorization_response_iss_parameter_supported: true
    })
  }
  let text = ''
  request.on('data', chunk => { text += chunk }).on('end', () => {
    if (request.url === '/register') return json(201, { ...JSON.parse(text), client_id: 'dynamic' })
    if (request.url === '/token') return json(200, { access_token: `token-${++issued}`, token_type: 'bearer' })
    const token = (request.headers.authorization ?? '').replace('Bearer ', '')
    if (!token.startsWith('token-') || revoked.has(token)) return json(401, {}, { 'www-authenticate': 'Bearer' })
    const { id, method, params } = JSON.parse(text)
    const result = method === 'tools/call'
      ? { resultType: 'complete', content: [{ type: 'text', text: `${params.name} by ${token}` }] }
      : method === 'tools/list'
        ? { resultType: 'complete', ttlMs: 0, cacheScope: 'private', tools: [{ name: 'read', inputSchema: { type: 'object' } }] }
        : { resultType: 'complete', supportedVersions: ['2026-07-28'], capabilities: { tools: {} }, ttlMs: 0, cacheScope: 'private' }
    json(200, { jsonrpc: '2.0', id, result })
  })
}

/** A call of 2026-07-28 by a client that opens addresses. */
function call (context, owner, name, more = {}) {
  const { body, headers } = modern('tools/call', { name, arguments: {}, ...more })
  body.params._meta['io.modelcontextprotocol/clientCapabilities'] = { elicitation: { url: {} } }
  return context.post('/mcp', body, { ...headers, ...owner })
}

const callNotes = (context, owner) => context.post('/mcp/call', { server: 'notes', tool: 'read', arguments: {} }, owner)

/** The callback of a sign-in that an owner began, and the cookie of the browser. */
async function begin (context, owner) {
  const { url } = jsonOf(await callNotes(context, owner)).details
  const { pathname, search } = new URL(url)
  const page = await context.send({ path: `${pathname}${search}` })
  const link = /<a href="([^"]+)"/.exec(page.text)[1].replace(/&#(\d+);/g, (_all, code) => String.fromCharCode(code))
  const { origin, searchParams } = new URL(link)
  const query = new URLSearchParams({ code: 'code', state: searchParams.get('state'), iss: origin })
  return { ticket: search, page, query, cookie: String(page.headers['set-cookie']).split(';')[0] }
}

const complete = (context, { query, cookie }, headers = {}) => context.send({ path: `/mcp/sign-in/callback?${query}`, headers: { cookie, ...headers } })

const all = problems => problems.filter(Boolean)
const unless = (isGood, problem) => isGood ? undefined : problem

export const group = {
  async host () {
    notes = createServer(answer).listen(0, '127.0.0.1')
    await new Promise(resolve => notes.once('listening', resolve))
    const entry = { name: 'notes', url: `http://127.0.0.1:${notes.address().port}/mcp`, per_owner: true, oauth: {} }
    return { script: fileURLToPath(new URL('./owners-host.mjs', import.meta.url)), honest: alice, config: configuration({ tasks: { store: 'memory' }, mcp_servers: [upstream(), entry] }) }
  },
  async end () { notes?.closeAllConnections(); notes?.close() },
  entries: context => [
    {
      name: 'header and body binding: headers that name another method, tool or revision',
      async attack () {
        const { body, headers } = modern('tools/call', { name: 'vac_query_agent', arguments: { query: 'hello' } })
        const seen = []
        for (const other of [{ 'mcp-method': 'tools/list' }, { 'mcp-name': 'notes__sign_in' }, { 'mcp-protocol-version': '2025-11-25' }, { 'mcp-name': '=?base64?bm90ZXM=?=' }, { 'mcp-method': undefined }]) {
          const sent = Object.fromEntries(Object.entries({ ...headers, ...other, ...alice }).filter(([, value]) => value !== undefined))
          seen.push(await context.post('/mcp', body, sent))
        }
        return { tried: seen.length, seen }
      },
      holds: ({ seen }) => seen.filter(({ status }) => status !== 400).map(({ status, text }) => `answered ${status}: ${text.slice(0, 120)}`)
    },
    {
      name: 'request-state integrity: a changed state, that of another owner, and other arguments',
      async attack () {
        const { requestState, inputRequests } = jsonOf(await call(context, alice, 'notes__sign_in')).result
        const [key] = Object.keys(inputRequests)
        const inputResponses = { [key]: { action: 'accept' } }
        const changed = Array.from({ length: 40 }, (_none, i) => {
          const at = Math.floor(i * requestState.length / 40)
          return `${requestState.slice(0, at)}${requestState[at] === 'A' ? 'B' : 'A'}${requestState.slice(at + 1)}`
        })
        const seen = []
        for (const state of [...changed, '', 'v1..', requestState + requestState]) seen.push(await call(context, alice, 'notes__sign_in', { requestState: state, inputResponses }))
        seen.push(await call(context, bob, 'notes__sign_in', { requestState, inputResponses }))
        seen.push(await call(context, alice, 'notes__sign_in', { requestState, inputResponses, arguments: { more: 1 } }))
        return { tried: seen.length, seen }
      },
      holds: ({ seen }) => seen.filter(response => jsonOf(response)?.error?.code !== -32602).map(({ status, text }) => `answered ${status}: ${text.slice(0, 160)}`)
    },
    {
      name: 'principal and issuer binding: pages of alice for bob, for another browser, from another issuer, changed',
      async attack () {
        const started = await begin(context, alice)
        const other = new URLSearchParams(started.query)
        const without = new URLSearchParams(started.query)
        other.set('state', `${other.get('state').slice(0, -3)}AAA`)
        without.delete('state')
        const seen = [
          await context.send({ path: `/mcp/sign-in${started.ticket}`, headers: bob }), await complete(context, started, bob),
          await complete(context, { ...started, cookie: 'polyvac_sign_in=AAAA' }), await complete(context, { ...started, cookie: '' }),
          await complete(context, { ...started, query: other }), await complete(context, { ...started, query: without })
        ]
        const mixed = new URLSearchParams(started.query)
        mixed.set('iss', 'https://attacker.example')
        seen.push(await complete(context, { ...started, query: mixed }))
        return { tried: seen.length, seen, alice: await callNotes(context, alice), bob: await callNotes(context, bob) }
      },
      holds: ({ seen, alice: hers, bob: his }) => all([
        ...seen.map(({ status, text }) => unless(status >= 400 && status !== 404, `a page answered ${status}: ${text.slice(-160)}`)),
        ...[hers, his].map(({ status }) => unless(status === 401, `the call after it answered ${status}`))
      ])
    },
    {
      name: 'replay and revocation: a callback twice, and a token that the server revokes',
      async attack () {
        const started = await begin(context, alice)
        const callbacks = await Promise.all([1, 2, 3].map(() => complete(context, started)))
        const signedIn = await callNotes(context, alice)
        const other = await callNotes(context, bob)
        revoked.add(`token-${issued}`)
        return { tried: 6, callbacks, signedIn, other, after: await callNotes(context, alice) }
      },
      holds: ({ callbacks, signedIn, other, after }) => all([
        unless(callbacks.filter(({ status }) => status === 200).length === 1, `callbacks answered ${callbacks.map(({ status }) => status).join()}`),
        unless(signedIn.status === 200, `alice is not signed in: ${signedIn.text.slice(0, 160)}`),
        unless(other.status === 401, `bob got ${other.status}`), unless(after.status === 401, `after the revocation alice got ${after.status}`)
      ])
    },
    {
      name: 'handle and task isolation: ids of alice answer bob as unknown ones do',
      async attack () {
        const { taskId } = jsonOf(await context.post('/a2a/tasks/send', task('hello'), alice)).result
        const { headers } = await mcpSession(context.url, alice)
        const session = headers['mcp-session-id']
        const pairs = []
        const both = async (name, run) => { pairs.push({ name, answers: [(await run(taskId, session)), (await run(UNKNOWN, UNKNOWN))] }) }
        for (const method of ['tasks/get', 'tasks/cancel', 'tasks/pushNotification/get']) await both(method, id => context.post(`/a2a/${method}`, rpc(method, { taskId: id }), bob))
        for (const method of ['GetTask', 'CancelTask', 'SubscribeToTask']) await both(method, id => context.post('/a2a', rpc(method, { id }), { ...bob, 'a2a-version': '1.0' }))
        await both('session of MCP', (_id, of) => context.post('/mcp', rpc('tools/list', {}), { ...headers, ...bob, 'mcp-session-id': of }))
        await both('end of a session', (_id, of) => context.send({ path: '/mcp', method: 'DELETE', headers: { ...headers, ...bob, 'mcp-session-id': of } }))
        return { tried: pairs.length * 2, pairs: pairs.map(({ name, answers }) => ({ name, answers: answers.map(({ status, text }, i) => `${status} ${text.replaceAll(i === 0 ? taskId : UNKNOWN, 'ID').replaceAll(i === 0 ? String(session) : UNKNOWN, 'ID')}`) })) }
      },
      holds: ({ pairs }) => pairs.filter(({ answers: [own, unknown] }) => own !== unknown || own.startsWith('200 {"jsonrpc":"2.0","id":1,"result"')).map(({ name, answers }) => `${name}: ${answers.join(' | ').slice(0, 300)}`)
    },
    {
      name: 'cache scope: no list that differs by caller may be shared',
      async attack () {
        const started = await begin(context, bob)
        await complete(context, started)
        await callNotes(context, bob)
        const { body, headers } = modern('tools/list')
        const [a, b] = [await context.post('/mcp', body, { ...headers, ...alice }), await context.post('/mcp', body, { ...headers, ...bob })]
        return { tried: 3, a: jsonOf(a).result, b: jsonOf(b).result, rest: await context.send({ path: '/mcp/tools', headers: alice }) }
      },
      holds: ({ a, b, rest }) => {
        const names = ({ tools }) => tools.map(({ name }) => name).filter(name => name.startsWith('notes')).join()
        return all([
          unless(names(a) === 'notes__sign_in' && names(b) === 'notes__read', `alice sees ${names(a)}, bob ${names(b)}`),
          unless(a.cacheScope === 'private' && b.cacheScope === 'private', `cacheScope is ${a.cacheScope}`),
          unless(!/public|max-age=[1-9]/.test(String(rest.headers['cache-control'])), `cache-control: ${rest.headers['cache-control']}`)
        ])
      }
    },
    {
      name: 'downgrade: no revision and no version of a protocol does without credentials',
      async attack () {
        const seen = []
        for (const [path, body, headers] of [
          ['/mcp', modern('tools/list').body, modern('tools/list').headers], ['/mcp', rpc('initialize', { protocolVersion: '2024-11-05', capabilities: {}, clientInfo: { name: 'a', version: '1' } }), {}],
          ['/a2a', rpc('ListTasks', {}), { 'a2a-version': '1.0' }], ['/a2a', rpc('tasks/get', { id: UNKNOWN }), { 'a2a-version': '0.3' }], ['/a2a/tasks/send', task('hello'), {}],
          ['/mcp/call', { server: 'notes', tool: 'read', arguments: {} }, {}], ['/vac/agent', { user_input: 'hello' }, {}], ['/openai/v1/chat/completions', { model: 'agent', messages: [{ role: 'user', content: 'a' }] }, {}]
        ]) seen.push({ path, ...await context.post(path, body, { accept: 'application/json, text/event-stream', ...headers }) })
        return { tried: seen.length, seen }
      },
      holds: ({ seen }) => seen.filter(({ status }) => status !== 401).map(({ path, status }) => `${path} answered ${status}`)
    },
    {
      name: 'traversal: names that lead out of their place',
      async attack () {
        const names = ['..%2f..%2fetc%2fpasswd', '%2e%2e/%2e%2e/etc/passwd', '..%5c..%5c', '%00', 'agent%2f..', '....//', '%c0%ae%c0%ae/']
        const seen = []
        for (const name of names) for (const path of [`/vac/${name}`, `/mcp/tools/${name}`, `/mcp/sign-in/${name}`, `/playground/${name}`]) seen.push({ path, ...await context.send({ path, headers: alice }) })
        for (const uri of ['file:///etc/passwd', 'mcp://notes/../../etc/passwd', 'mcp://upstream/file:///etc/passwd']) seen.push({ path: uri, isRead: true, ...await context.post('/mcp/resources/read', { server: 'upstream', uri }, alice) })
        return { tried: seen.length, seen }
      },
      // the upstream server answers each URI with one letter
      holds: ({ seen }) => seen.filter(({ status, text, isRead = false }) => /root:.*:0:0:/.test(text) || (status === 200 && !isRead && !text.startsWith('<!')) || (status >= 500 && !text.includes('"MCP_'))).map(({ path, status, text }) => `${path} answered ${status}: ${text.slice(0, 120)}`)
    },
    {
      name: 'reflection: markup of a request in a page',
      async attack () {
        const markup = '"><script>alert(1)</script>'
        const query = new URLSearchParams({ ticket: markup, state: markup, error: markup, iss: markup })
        const started = await begin(context, { authorization: `eve${markup}` })
        return { tried: 3, seen: [await context.send({ path: `/mcp/sign-in?${query}` }), await context.send({ path: `/mcp/sign-in/callback?${query}` }), started.page] }
      },
      holds: ({ seen }) => seen.flatMap(({ text, headers }) => all([
        unless(!text.includes('<script'), 'a page has the markup'), unless(/default-src 'none'/.test(headers['content-security-policy']), 'a page permits scripts'),
        unless(headers['x-content-type-options'] === 'nosniff' && headers['cache-control'] === 'no-store', 'a page may be cached or sniffed')
      ]))
    }
  ]
}
