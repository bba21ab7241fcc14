// Two principals: what bob can do with what belongs to alice, and with requests whose parts disagree.
import { questions } from '../../test/probes/index.mjs'
import { fileURLToPath } from 'node:url'
import { jsonOf, modern, rpc } from './client.mjs'
import { configuration, upstream } from './host.mjs'
import { checkMatrix } from './matrix.mjs'
import { NotesServer } from './notes-server.mjs'
import { changeText } from '../../test/fixtures/change-text.mjs'

const alice = { authorization: 'alice' }
const bob = { authorization: 'bob' }
const UNKNOWN = '00000000-0000-4000-8000-000000000000'
let notes

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
  const { pathname, search, origin: own } = new URL(url)
  const page = await context.send({ path: `${pathname}${search}` })
  const begun = await context.send({ method: 'POST', path: `${pathname}${search}`, headers: { origin: own } })
  const link = /<a href="([^"]+)"/.exec(begun.text)[1].replace(/&#(\d+);/g, (_all, code) => String.fromCharCode(code))
  const { origin, searchParams } = new URL(link)
  const query = new URLSearchParams({ code: 'code', state: searchParams.get('state'), iss: origin })
  return { ticket: search, own, page, query, cookie: String(begun.headers['set-cookie']).split(';')[0] }
}

const complete = (context, { query, cookie }, headers = {}) => context.send({ path: `/mcp/sign-in/callback/notes?${query}`, headers: { cookie, ...headers } })

/** The tools of `notes` that an owner sees. */
async function listNotes (context, owner) {
  const { body, headers } = modern('tools/list')
  const { tools } = jsonOf(await context.post('/mcp', body, { ...headers, ...owner })).result
  return tools.map(({ name }) => name).filter(name => name.startsWith('notes')).join()
}

const sendMessage = (message = {}) => rpc('SendMessage', { message: { messageId: 'm', role: 'ROLE_USER', parts: [{ text: 'hello' }], metadata: { skillId: 'vac_query_demo' }, ...message } })
const V1 = { 'a2a-version': '1.0' }

const all = problems => problems.filter(Boolean)
const unless = (isGood, problem) => isGood ? undefined : problem

export const group = {
  async host () {
    notes = await new NotesServer().start()
    const entry = { name: 'notes', url: `${notes.base}/mcp`, per_owner: true, oauth: {} }
    return { script: fileURLToPath(new URL('./owners-host.mjs', import.meta.url)), honest: alice, config: configuration({ tasks: { store: 'memory' }, mcp_servers: [upstream(), entry] }) }
  },
  async end () { notes?.close() },
  entries: context => [
    {
      name: 'access: each route and method, for each caller and state',
      ms: 540_000,
      attack: checkMatrix,
      holds: ({ problems }) => problems
    },
    {
      name: 'header and body binding: headers that name another method, tool or revision',
      async attack () {
        const { body, headers } = modern('tools/call', { name: 'vac_query_demo', arguments: { query: 'hello' } })
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
        other.set('state', changeText(other.get('state')))
        without.delete('state')
        const seen = [
          await context.send({ path: `/mcp/sign-in${started.ticket}`, headers: bob }), await complete(context, started, bob),
          await complete(context, { ...started, cookie: started.cookie.replace(/=.*/, '=AAAA') }), await complete(context, { ...started, cookie: '' }),
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
        notes.revokeLast()
        return { tried: 6, callbacks, signedIn, other, after: await callNotes(context, alice) }
      },
      holds: ({ callbacks, signedIn, other, after }) => all([
        unless(callbacks.filter(({ status }) => status === 200).length === 1, `callbacks answered ${callbacks.map(({ status }) => status).join()}`),
        unless(signedIn.status === 200, `alice is not signed in: ${signedIn.text.slice(0, 160)}`),
        unless(other.status === 401, `bob got ${other.status}`), unless(after.status === 401, `after the revocation alice got ${after.status}`)
      ])
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
      name: 'revocation: no list that was kept outlives the token',
      async attack () {
        await complete(context, await begin(context, alice))
        await callNotes(context, alice)
        const before = await listNotes(context, alice)
        notes.revokeLast()
        const call = await callNotes(context, alice)
        return { tried: 3, before, call, after: await listNotes(context, alice), other: await listNotes(context, bob) }
      },
      holds: ({ before, call, after, other }) => all([
        unless(before === 'notes__read', `before it alice sees ${before}`), unless(call.status === 401, `the call answered ${call.status}`),
        unless(after === 'notes__sign_in', `after it alice sees ${after}`), unless(other === 'notes__read', `bob sees ${other}`)
      ])
    },
    {
      name: 'parked calls: the state of alice for bob, for another tool and arguments, changed, and used again',
      async attack () {
        const body = { server: 'upstream', tool: 'ask', arguments: {} }
        const inputResponses = { 'input-1': { action: 'accept', content: { name: 'alice' } } }
        const { requestState } = jsonOf(await context.post('/mcp/call', body, alice))
        const resume = (owner, more) => context.post('/mcp/call', { ...body, requestState, inputResponses, ...more }, owner)
        const foreign = await resume(bob)
        const changed = Array.from({ length: 20 }, (_none, i) => {
          const at = Math.floor(i * requestState.length / 20)
          return `${requestState.slice(0, at)}${requestState[at] === 'A' ? 'B' : 'A'}${requestState.slice(at + 1)}`
        })
        const forged = []
        for (const state of [...changed, '', 'v1..', 'x'.repeat(5_000)]) forged.push(await resume(bob, { requestState: state }))
        const others = [await resume(alice, { arguments: { more: 1 } }), await resume(alice, { tool: 'echo' }), await resume(alice, { server: 'notes' })]
        const answered = await Promise.all([1, 2, 3].map(() => resume(alice)))
        return { tried: 5 + forged.length + others.length, foreign, forged, others, answered }
      },
      holds: ({ foreign, forged, others, answered }) => all([
        ...[foreign, ...others].map(({ status, text }) => unless(status === 400 && text.includes('MCP_INVALID_STATE'), `answered ${status}: ${text.slice(0, 160)}`)),
        ...forged.map(({ status, text }) => unless(status === foreign.status && text === foreign.text, `a forged state differs from that of alice: ${text.slice(0, 160)}`)),
        unless(answered.filter(({ status, text }) => status === 200 && text.includes('named alice')).length === 1, `alice got ${answered.map(({ status }) => status).join()}`)
      ])
    },
    {
      name: 'replay: the idempotency key and the ids of a message of alice, sent again by both',
      async attack () {
        const send = (owner, text) => context.post('/a2a', sendMessage({ messageId: 'same', parts: [{ text }] }), { ...owner, ...V1, 'idempotency-key': 'same' })
        const [first, again, other] = [await send(alice, 'hello of alice'), await send(alice, 'hello of alice'), await send(bob, 'hello of bob')]
        return { tried: 4, first, again, other, changed: await send(alice, 'another text') }
      },
      holds ({ first, again, other, changed }) {
        const idOf = response => jsonOf(response)?.result?.task?.id
        return all([
          unless(idOf(first) !== undefined && idOf(first) === idOf(again), `the key made two tasks: ${first.text.slice(0, 160)}`),
          unless(idOf(other) !== undefined && idOf(other) !== idOf(first) && !other.text.includes('alice'), `bob got ${other.text.slice(0, 160)}`),
          unless(jsonOf(changed)?.error !== undefined, `another text got ${changed.text.slice(0, 160)}`)
        ])
      }
    },
    {
      name: 'trace binding: fields of a trace and of a proxy name no caller, and baggage goes to no server',
      async attack () {
        const parent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01'
        const plain = await callNotes(context, bob)
        const seen = []
        for (const fields of [
          { traceparent: parent, tracestate: 'owner=alice', baggage: 'owner=alice,key=for-no-server' }, { traceparent: '00-00000000000000000000000000000000-0000000000000000-01' },
          { traceparent: `ff${parent.slice(2)}`, tracestate: '=,=' }, { traceparent: 'x'.repeat(4_000) }, { traceparent: parent, tracestate: 'a=b,'.repeat(1_000) },
          { 'x-forwarded-user': 'alice', 'x-forwarded-for': '127.0.0.1', forwarded: 'for=alice;by=alice', 'x-goog-authenticated-user-email': 'alice', 'x-owner': 'alice' }
        ]) {
          seen.push(await callNotes(context, { ...bob, ...fields }))
          const { body, headers } = modern('tools/call', { name: 'notes__read', arguments: {} })
          // what a caller puts into `_meta` is for the server; it names no caller either
          const { traceparent, tracestate } = fields
          Object.assign(body.params._meta, { traceparent, tracestate, owner: 'alice', 'x-owner': 'alice' })
          seen.push(await context.post('/mcp', body, { ...headers, ...bob, ...fields }))
          seen.push({ isOpen: true, ...await callNotes(context, fields) })
        }
        return { tried: seen.length + 1, plain, seen, received: notes.received.join() }
      },
      holds: ({ plain, seen, received }) => all([
        unless(plain.status === 200, `bob is not signed in: ${plain.text.slice(0, 160)}`),
        ...seen.map(({ status, text, isOpen = false }) => isOpen
          ? unless(status === 401, `without credentials: ${status}`)
          : unless(status === 200 && text.includes(/read by holder \d+/.exec(plain.text)?.[0]), `answered ${status}: ${text.slice(0, 160)}`)),
        unless(!received.includes('for-no-server'), 'the server got the baggage of the caller'), unless(!received.includes('x-forwarded-user'), 'the server got fields of a proxy')
      ])
    },
    {
      name: 'downgrade: no revision and no version of a protocol does without credentials',
      async attack () {
        const seen = []
        for (const [path, body, headers] of [
          ['/mcp', modern('tools/list').body, modern('tools/list').headers], ['/mcp', rpc('initialize', { protocolVersion: '2024-11-05', capabilities: {}, clientInfo: { name: 'a', version: '1' } }), {}],
          ['/a2a', rpc('ListTasks', {}), { 'a2a-version': '1.0' }], ['/a2a', rpc('tasks/get', { id: UNKNOWN }), { 'a2a-version': '0.3' }],
          ['/mcp/call', { server: 'notes', tool: 'read', arguments: {} }, {}], ...questions('hello', 'demo').map(([, { path, body, headers }]) => [path, body, headers])
        ]) seen.push({ path, ...await context.post(path, body, { accept: 'application/json, text/event-stream', ...headers }) })
        return { tried: seen.length, seen }
      },
      holds: ({ seen }) => seen.filter(({ status }) => status !== 401).map(({ path, status }) => `${path} answered ${status}`)
    },
    {
      name: 'traversal: names that lead out of their place',
      async attack () {
        const names = ['..%2f..%2fetc%2fpasswd', '%2e%2e/%2e%2e/etc/passwd', '..%5c..%5c', '%00', 'demo%2f..', '....//', '%c0%ae%c0%ae/']
        const seen = []
        for (const name of names) for (const path of [`/vac/${name}`, `/mcp/tools/${name}`, `/mcp/sign-in/${name}`, `/playground/${name}`]) seen.push({ path, ...await context.send({ path, headers: alice }) })
        for (const uri of ['file:///etc/passwd', 'mcp://notes/../../etc/passwd', 'mcp://upstream/file:///etc/passwd']) seen.push({ path: uri, isRead: true, ...await context.post('/mcp/resources/read', { server: 'upstream', uri }, alice) })
        return { tried: seen.length, seen }
      },
      // the upstream server answers each URI with one letter
      holds: ({ seen }) => seen.filter(({ status, text, isRead = false }) => /root:.*:0:0:/.test(text) || (status === 200 && !isRead && !text.startsWith('<!')) || (status >= 500 && !text.includes('"MCP_'))).map(({ path, status, text }) => `${path} answered ${status}: ${text.slice(0, 120)}`)
    },
    {
      name: 'reflection: markup of a request in a page, and in an error',
      async attack () {
        const markup = '"><script>alert(1)</script>'
        const query = new URLSearchParams({ ticket: markup, state: markup, error: markup, iss: markup })
        const started = await begin(context, { authorization: `eve${markup}` })
        const errors = []
        for (const path of ['/vac/', '/vac/streaming/', '/mcp/tools/', '/mcp/resources?server=', '/a2a/vacs/']) errors.push(await context.send({ path: path + encodeURIComponent(markup), headers: { ...alice, accept: 'text/html' } }))
        return { tried: 3 + errors.length, errors, seen: [await context.send({ path: `/mcp/sign-in?${query}` }), await context.send({ path: `/mcp/sign-in/callback/notes?${query}` }), started.page] }
      },
      holds: ({ seen, errors }) => errors.map(({ status, headers, text }) => unless(!/html|svg|xml/.test(headers['content-type']) || !text.includes('<script>alert'), `an error ${status} shows the markup as ${headers['content-type']}`)).filter(Boolean).concat(seen.flatMap(({ text, headers }) => all([
        unless(!text.includes('<script'), 'a page has the markup'), unless(/default-src 'none'/.test(headers['content-security-policy']), 'a page permits scripts'),
        unless(headers['x-content-type-options'] === 'nosniff' && headers['cache-control'] === 'no-store', 'a page may be cached or sniffed')
      ])))
    }
  ]
}
