import { test } from 'tap'
import { startHost, type Service } from './fixtures/service.js'

const MEGABYTE = 'x'.repeat(1024 * 1024)
/** Of each kind: what a session kept of them would exceed the heap. */
const MESSAGES = 60
const REVISION = '2025-11-25'

/** Sends a message; a refused connection or one that is closed counts as an answer. */
async function send (host: Service, message: object, headers: Record<string, string> = {}): Promise<{ status: number, text: string, session: string }> {
  try {
    const response = await fetch(`${host.url}/mcp`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream', ...headers },
      body: JSON.stringify({ jsonrpc: '2.0', ...message })
    })
    return { status: response.status, text: await response.text(), session: response.headers.get('mcp-session-id') ?? '' }
  } catch (err) {
    return { status: 0, text: String(err), session: '' }
  }
}

const initialize = (extra: object): object =>
  ({ id: 1, method: 'initialize', params: { protocolVersion: REVISION, capabilities: { elicitation: {}, ...extra }, clientInfo: { name: 'flood', version: '1' } } })

test('floods of MCP messages of a megabyte leave a host with a heap of 96 MB alive', async t => {
  const config = { kind: 'vacConfig', apiVersion: 'v1', service: { stream_interpreter: 'echo', enable_mcp_server: true }, vac: { demo: {} } }
  const host = await startHost(t.testdir({ 'vac_config.yaml': JSON.stringify(config) }), [], ['--max-old-space-size=96'])
  t.teardown(() => host.close())
  const first = await send(host, initialize({}))
  t.equal(first.status, 200, first.text)
  const headers = { 'mcp-session-id': first.session, 'mcp-protocol-version': REVISION }

  const floods: Record<string, (i: number) => object> = {
    'capabilities of new sessions': i => initialize({ [`a${i}`]: { text: MEGABYTE }, extensions: { [`e${i}`]: { text: MEGABYTE } } }),
    subscriptions: i => ({ id: i, method: 'resources/subscribe', params: { uri: `vac://${i}/${MEGABYTE}` } }),
    'log levels': i => ({ id: i, method: 'logging/setLevel', params: { level: MEGABYTE } }),
    cancellations: i => ({ method: 'notifications/cancelled', params: { requestId: i, reason: MEGABYTE } }),
    'answers to elicitations': i => ({ id: `ask-${i}`, result: { action: 'accept', content: { text: MEGABYTE } } }),
    cursors: i => ({ id: i, method: 'tools/list', params: { cursor: MEGABYTE } })
  }
  for (const [what, message] of Object.entries(floods)) {
    for (let i = 0; i < MESSAGES; i += 4) {
      const replies = await Promise.all([0, 1, 2, 3].map(n => send(host, message(i + n), what === 'capabilities of new sessions' ? {} : headers)))
      if (replies.some(({ status }) => status === 500)) t.fail(`${what}: ${replies.map(({ text }) => text.slice(0, 200)).join('; ')}`)
    }
    t.match(await send(host, { id: 2, method: 'ping' }, headers), { status: 200 }, `after ${what} the session is served`)
  }
  t.equal((await fetch(`${host.url}/health`)).status, 200)
})
