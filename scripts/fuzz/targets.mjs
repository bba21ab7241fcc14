// What the fuzzer feeds. `run` throws where the sentence `holds` does not.
import { parseConfig } from '@polyvac/host'
import { createHost } from '../../apps/host/dist/index.js'
import { pathsOf } from '../../test/probes/index.mjs'
import { Exchange } from '../../packages/mcp-gateway/dist/connections/http/exchange.js'

const json = value => JSON.stringify(value)
const META = { 'io.modelcontextprotocol/protocolVersion': '2026-07-28', 'io.modelcontextprotocol/clientCapabilities': {} }

let host
async function service () {
  host ??= await createHost({
    vacs: ['demo'],
    stream_interpreter: async question => `you asked ${String(question).length} characters`,
    enable_a2a_agent: true,
    enable_mcp_server: true,
    mcp_servers: [],
    tasks: { store: 'memory' },
    server: { logger: false }
  })
  return host
}

export async function closeTargets () {
  await host?.close()
  host = undefined
}

/** Sends a body; a caller's mistake is never a 500, and the answer is of its type. */
async function send (url, payload, headers) {
  const app = await service()
  const response = await app.inject({ method: 'POST', url, payload, headers })
  const { statusCode, body } = response
  if (statusCode >= 500 && statusCode !== 503) throw new Error(`${url} answered ${statusCode}: ${body.slice(0, 500)}`)
  if (/^application\/json/.test(response.headers['content-type'] ?? '') && body !== '') JSON.parse(body)
}

const JSON_HEADERS = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' }

export const TARGETS = [
  {
    name: 'json-rpc',
    holds: 'no JSON-RPC message to MCP or A2A answers 500, or with JSON that cannot be parsed',
    seeds: [
      json({ jsonrpc: '2.0', id: 1, method: 'initialize', params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'a', version: '1' } } }),
      json({ jsonrpc: '2.0', id: 1, method: 'server/discover', params: { _meta: META } }),
      json({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'vac_query_demo', arguments: { query: 'a' }, _meta: META } }),
      json({ jsonrpc: '2.0', id: 'a', method: 'SendMessage', params: { message: { messageId: 'm', role: 'ROLE_USER', parts: [{ text: 'a' }] } } }),
      json({ jsonrpc: '2.0', id: 'a', method: 'message/send', params: { message: { kind: 'message', messageId: 'm', role: 'user', parts: [{ kind: 'text', text: 'a' }] } } }),
      json([{ jsonrpc: '2.0', id: 1, method: 'ping' }]), json({ jsonrpc: '2.0', id: 1, method: 'ListTasks', params: { pageSize: 1 } })
    ],
    async run (bytes) {
      const method = /"method":"([\w/]{1,40})"/.exec(bytes.toString('latin1'))?.[1] ?? 'ping'
      await send('/mcp', bytes, JSON_HEADERS)
      await send('/mcp', bytes, { ...JSON_HEADERS, 'mcp-protocol-version': '2026-07-28', 'mcp-method': method, 'mcp-name': 'vac_query_demo' })
      for (const version of ['1.0', '0.3']) await send('/a2a', bytes, { ...JSON_HEADERS, 'a2a-version': version })
    }
  },
  {
    name: 'sse',
    holds: 'a response of an upstream MCP server ends once, and throws nothing, however its bytes are cut',
    seeds: [
      'data: {"jsonrpc":"2.0","id":1,"result":{}}\n\n', 'id: 1\nretry: 10\nevent: message\ndata: {"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1,"progress":1}}\n\n',
      ':\n\ndata: [1,\ndata: 2]\n\n', json({ jsonrpc: '2.0', id: 1, result: { content: [] } }), json([{ jsonrpc: '2.0', id: 1, error: { code: 1, message: 'a' } }])
    ],
    async run (bytes) {
      for (const [type, status] of [['text/event-stream', 200], ['application/json', 200], ['application/json', 400]]) {
        let ends = 0
        const owner = { maxMessageBytes: 2_048, started () {}, message () {}, trouble () {}, ended () { ends++ } }
        const exchange = new Exchange({ method: 'POST', id: 1 }, owner)
        const controller = { abort () {}, pause () {}, resume () {} }
        exchange.onRequestStart(controller)
        exchange.onResponseStart(controller, status, { 'content-type': type })
        const at = bytes.length === 0 ? 0 : bytes[0] % bytes.length
        for (const chunk of [bytes.subarray(0, at), bytes.subarray(at)]) exchange.onResponseData(controller, chunk)
        exchange.onResponseEnd()
        if (ends !== 1) throw new Error(`a response of ${type} ended ${ends} times`)
      }
    }
  },
  {
    name: 'configuration',
    holds: 'a configuration is read or refused as CONFIG_INVALID',
    seeds: [
      'kind: vacConfig\nvac:\n  demo: {}\n', 'kind: vacConfig\nservice: { port: 8080, mcp_servers: { a: { command: x, args: [b] } } }\nvac: { demo: { memory: [{ a: { vectorstore: folder, path: . } }] } }\n',
      json({ mcpServers: { a: { command: 'x' }, b: { url: 'https://a.example', oauth: {}, per_owner: true } } }), 'a: &a [1]\nb: *a\n'
    ],
    async run (bytes) {
      try {
        parseConfig(bytes.toString(), '/x/vac_config.yaml')
      } catch (err) {
        if (err.code !== 'CONFIG_INVALID') throw err
      }
    }
  },
  {
    name: 'http-bodies',
    holds: 'no body or query of a caller answers 500',
    seeds: [
      json({ user_input: 'a', chat_history: [{ name: 'Human', content: 'b' }] }), json({ model: 'demo', messages: [{ role: 'user', content: 'a' }], stream: true }),
      json({ server: 'a', tool: 'b', arguments: {} }), 'ticket=v1.AAAA', 'state=v1.AAAA&code=a&iss=b', 'a=1&b[]=2'
    ],
    async run (bytes) {
      for (const url of [...pathsOf('demo'), '/mcp/call', '/mcp/resources/read']) await send(url, bytes, JSON_HEADERS)
      await send('/vac/demo', bytes, { 'content-type': 'application/x-www-form-urlencoded' })
      const query = encodeURI(bytes.toString('latin1')).replaceAll('#', '%23').slice(0, 4_096)
      for (const path of ['/mcp/sign-in', '/mcp/sign-in/callback/mail', '/mcp/tools', '/.well-known/agent-card.json']) {
        const { statusCode, body } = await (await service()).inject({ method: 'GET', url: `${path}?${query}` })
        if (statusCode >= 500 && statusCode !== 503) throw new Error(`${path} answered ${statusCode}: ${body.slice(0, 500)}`)
      }
    }
  },
  {
    name: 'runs',
    holds: 'no name of a conversation, key, run, cursor or state answers 500',
    seeds: [
      json({ user_input: 'a', background: true, conversation_id: 'c' }), json({ user_input: 'a', conversation_id: '\u65e5 %\n' }), 'MTc5NTgzMTQ1MzYxOS4xMg',
      '00000000-0000-4000-8000-000000000000', '12', 'respond-async, wait=10', 'completed'
    ],
    async run (bytes) {
      const text = bytes.toString('latin1')
      const part = encodeURIComponent(text).slice(0, 2_048).replace(/%[^%]?$/, '')
      // what a header may carry
      const header = text.replaceAll(/[^\t -~\u0080-\u00ff]/g, '').trim().slice(0, 4_096)
      for (const path of ['/vac/demo', '/vac/streaming/demo/sse']) {
        await send(path, bytes, JSON_HEADERS)
        await send(path, json({ user_input: 'a', conversation_id: text.slice(0, 256) }), { ...JSON_HEADERS, 'idempotency-key': header, prefer: header })
      }
      const app = await service()
      for (const [method, path, headers] of [
        ['GET', `?cursor=${part}`], ['GET', `?state=${part}`], ['GET', `?conversation_id=${part}`], ['GET', `/${part}`], ['GET', `/${part}/stream`], ['POST', `/${part}/cancel`], ['DELETE', `/${part}`],
        ['GET', `/x/stream?after=${part}`], ['GET', '/x/stream', { 'last-event-id': header }]
      ]) {
        const { statusCode, body } = await app.inject({ method, url: `/vac/demo/runs${path}`, headers })
        if (statusCode >= 500 && statusCode !== 503) throw new Error(`${method} ${path} answered ${statusCode}: ${body.slice(0, 500)}`)
      }
    }
  },
  {
    name: 'conversations',
    holds: 'no export, id, title, cursor or turn of a conversation answers 500, and what is imported is exported again',
    seeds: [
      json({ id: 'a', title: 'b', turns: [{ question: 'a', answer: 'b', created_at: '2026-11-28T06:16:54.702Z', duration_ms: 1, state: 'completed', steps: [{ reasoning: 'a' }], files: [{ name: 'a', media_type: 'b' }] }] }),
      json({ turns: [{ id: 'a', question: '\u65e5\u0000', source_documents: [{ page_content: 'a', metadata: {} }], metadata: { a: 1 }, error: { code: 'A', message: 'b' } }] }),
      json({ title: 'a' }), 'MTc5NTgzMTQ1MzYxOS4xMg', 'conv_AAAAAAAAAAAAAAAAAAAAAA', '2016-12-31T23:59:60Z'
    ],
    async run (bytes) {
      const text = bytes.toString('latin1')
      const part = encodeURIComponent(text).slice(0, 2_048).replace(/%[^%]?$/, '')
      const all = '/vac/demo/conversations'
      const app = await service()
      const request = async (method, path, payload) => {
        const { statusCode, body } = await app.inject({ method, url: all + path, ...payload !== undefined && { payload, headers: JSON_HEADERS } })
        if (statusCode >= 500 && statusCode !== 503) throw new Error(`${method} ${path} answered ${statusCode}: ${body.slice(0, 500)}`)
        return { statusCode, body }
      }
      await request('POST', '', json({ id: text.slice(0, 256), title: text, turns: [{ question: text, answer: text, created_at: text.slice(0, 40) }] }))
      const { statusCode, body } = await request('POST', '', bytes)
      if (statusCode === 201) {
        const path = `/${encodeURIComponent(JSON.parse(body).id)}`
        const exported = await request('GET', `${path}/export`)
        const again = await request('POST', '', exported.body)
        if (exported.statusCode === 200 && again.statusCode !== 201) throw new Error(`an export is answered ${again.statusCode}: ${again.body.slice(0, 500)}`)
        await request('DELETE', path)
      }
      for (const [method, path, payload] of [
        ['GET', `?cursor=${part}`], ['GET', `?limit=${part}`], ['GET', `/${part}`], ['GET', `/a?before=${part}`], ['GET', `/${part}/export`], ['PATCH', '/a', bytes], ['PATCH', `/${part}`, json({ title: text.slice(0, 256) })],
        ['DELETE', `/${part}`]
      ]) await request(method, path, payload)
    }
  }
]
