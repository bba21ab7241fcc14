// Cases about calls that take long, are cancelled, ask back, or need a separate process.
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { connect, createServer } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import { seenOf, textOf } from './case.mjs'
import { until } from './processes.mjs'

/** What proxies allow without a byte, shortened as the case names it. */
const IDLE_MS = 20_000
const MODERN = '2026-07-28'

export const calls = {
  '15-silent-long-call.server.mjs': async c => {
    const host = await c.gateway({ s: c.server() })
    const proxied = { url: await idleProxy(c, new URL(host.url).port) }
    await Promise.all((await c.clients(proxied)).map(async ([which, client]) => {
      c.is(`${which}: tools/call`, await seenOf(async () => textOf(await client.callTool({ name: 's__slow', arguments: { seconds: 30 } }))), 'done')
    }))
  },

  '22-cancel.server.mjs': async c => {
    const host = await c.gateway({ s: c.server(), answering: c.server({ ANSWER: '1' }) })
    for (const server of ['s', 'answering']) {
      const log = async () => JSON.parse(await host.text(server, 'log'))
      const stop = new AbortController()
      const client = await c.sdk(host)
      const cancelled = client.callTool({ name: `${server}__slow`, arguments: {} }, undefined, { signal: stop.signal })
      await inFlight(host, server, 1)
      stop.abort('not needed')
      await c.gives(`${server}: the client`, () => cancelled.then(() => 'a result', () => 'cancelled'), 'cancelled')
      await c.gives(`${server}: a notification`, async () => await until(async () => (await log())[0]?.known, 'it arrives'), true)
      const session = await legacySession(host)
      const response = session.send({ id: 7, method: 'tools/call', params: { name: `${server}__slow`, arguments: {} } })
      await inFlight(host, server, 1)
      await session.send({ method: 'notifications/cancelled', params: { requestId: 7, reason: 'no' } })
      await c.gives(`${server}: a second notification`, async () => await until(async () => (await log())[1]?.known, 'it arrives'), true)
      const rest = await Promise.race([response.then(({ text }) => text()).then(text => /"id":7/.test(text) ? text : 'none'), delay(2_000, 'none')])
      c.is(`${server}: the response after a cancellation`, rest, 'none')
      for (const [i, [which, request]] of [['REST', body => host.post('/mcp/call', body)], ['/mcp of 2026', modernCall]].entries()) {
        const leave = new AbortController()
        const left = which === 'REST'
          ? fetch(`${host.url}/mcp/call`, { method: 'POST', signal: leave.signal, headers: { 'content-type': 'application/json' }, body: JSON.stringify({ server, tool: 'slow', arguments: {} }) })
          : request(host, `${server}__slow`, leave.signal)
        left.catch(() => {})
        await inFlight(host, server, 1)
        leave.abort()
        await c.gives(`${server}: a closed connection of ${which}`, async () => await until(async () => (await log())[2 + i]?.known, 'it arrives'), true)
      }
    }
  },

  '34-state-per-session.server.mjs': async c => {
    const host = await c.gateway({ session: c.server({}, { process: 'session' }), owner: c.server({}, { process: 'owner' }) }, authenticated('alice', 'bob'), { token: 'alice-token' })
      .catch(err => { throw new Error(`with process: session and process: owner: ${err.message}`) })
    const [alice1, alice2, bob] = [await c.sdk(host, { token: 'alice-token' }), await c.sdk(host, { token: 'alice-token' }), await c.sdk(host, { token: 'bob-token' })]
    const call = async (client, name, args = {}) => textOf(await client.callTool({ name, arguments: args }))
    for (const [name, expected] of [['session', ['one', 'about:blank', 'about:blank']], ['owner', ['one', 'one', 'about:blank']]]) {
      await c.gives(`process: ${name}, navigate`, () => call(alice1, `${name}__navigate`, { url: 'one' }), 'one')
      for (const [i, [who, client]] of [['the session', alice1], ['another session of the owner', alice2], ['another owner', bob]].entries()) {
        await c.gives(`process: ${name}, ${who}`, () => call(client, `${name}__where`), expected[i])
      }
    }
  },

  '38-late-question.server.mjs': async c => {
    const host = await c.gateway({ s: c.server() }, authenticated('alice', 'bob'), { token: 'alice-token' })
    const asked = []
    const connectAs = async who => {
      const client = await c.sdk(host, { token: `${who}-token`, capabilities: { elicitation: {} } })
      const { ElicitRequestSchema } = await import('@modelcontextprotocol/sdk/types.js')
      client.setRequestHandler(ElicitRequestSchema, ({ params }) => { asked.push({ who, message: params.message }); return { action: 'accept', content: { ok: true } } })
      return client
    }
    const [alice, bob] = [await connectAs('alice'), await connectAs('bob')]
    const stop = new AbortController()
    const cancelled = bob.callTool({ name: 's__ask', arguments: { about: 'bob' } }, undefined, { signal: stop.signal }).catch(() => 'cancelled')
    await delay(300)
    stop.abort('not needed')
    await cancelled
    await c.gives('alice\'s call', async () => textOf(await alice.callTool({ name: 's__slow', arguments: {} })), 'slow done')
    c.is('questions that reached alice', asked.filter(({ who }) => who === 'alice'), [])
  }
}

async function inFlight (host, server, count) {
  await until(async () => (await host.server(server)).callsInFlight >= count, `${server} has ${count} calls in flight`)
}

/** The keys of `service` for these owners; the token of alice is `alice-token`. */
function authenticated (...owners) {
  return { auth: { tokens: owners.map(owner => ({ owner, sha256: createHash('sha256').update(`${owner}-token`).digest('hex'), scopes: ['vac:*', 'tool:s', 'tool:session', 'tool:owner', 'admin'] })) } }
}

/** A proxy that closes a connection on which no byte went either way for IDLE_MS; resolves to its URL. */
async function idleProxy (c, port) {
  const server = createServer(socket => {
    const other = connect(port, '127.0.0.1')
    const end = () => { socket.destroy(); other.destroy() }
    for (const [from, to] of [[socket, other], [other, socket]]) from.setTimeout(IDLE_MS, end).on('error', end).on('close', end).pipe(to)
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  c.onClose(() => server.close())
  return `http://127.0.0.1:${server.address().port}`
}

/** A session of 2025-11-25 without a client: `send(message)` resolves to the response. */
async function legacySession (host) {
  const headers = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' }
  const send = async message => {
    const response = await fetch(`${host.url}/mcp`, { method: 'POST', headers, body: JSON.stringify({ jsonrpc: '2.0', ...message }) })
    return { headers: response.headers, text: () => response.text() }
  }
  const opened = await send({ id: 1, method: 'initialize', params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'case', version: '1' } } })
  headers['mcp-session-id'] = opened.headers.get('mcp-session-id')
  headers['mcp-protocol-version'] = '2025-11-25'
  await send({ method: 'notifications/initialized' })
  return { send: message => send(message) }
}

async function modernCall (host, name, signal) {
  return await fetch(`${host.url}/mcp`, {
    method: 'POST',
    signal,
    headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream', 'mcp-protocol-version': MODERN, 'mcp-method': 'tools/call', 'mcp-name': name },
    body: JSON.stringify({
      jsonrpc: '2.0',
      id: 1,
      method: 'tools/call',
      params: { name, arguments: {}, _meta: { 'io.modelcontextprotocol/protocolVersion': MODERN, 'io.modelcontextprotocol/clientInfo': { name: 'case', version: '1' }, 'io.modelcontextprotocol/clientCapabilities': {} } }
    })
  })
}
