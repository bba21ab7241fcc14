import { parseConfig } from '@polyvac/core'
import { test } from 'tap'
import { createServer, request, type IncomingMessage, type RequestListener, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { findingsOf } from '../src/commands/doctor.js'
import { createHost } from '../src/create-host.js'
import type { Finding } from '../src/doctor/finding.js'
import { HttpClient, MAX_REPLY_BYTES } from '../src/http-client.js'

type Teardown = { teardown: (end: () => unknown) => void }
/** What a proxy does to a response before its body is sent. */
type Change = (response: IncomingMessage, reply: ServerResponse, path: string) => boolean

async function serve (t: Teardown, handler: RequestListener): Promise<string> {
  const server = createServer(handler)
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => { server.closeAllConnections(); server.close() })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

async function host (t: Teardown, publicUrl?: string): Promise<string> {
  const app = await createHost({
    config: parseConfig('kind: vacConfig\nvac: { own: { display_name: Own } }\n', 'vac_config.yaml'),
    stream_interpreter: async function * () { yield 'text' },
    enable_a2a_agent: true,
    enable_mcp_server: true,
    tasks: { store: 'memory' },
    ...publicUrl === undefined ? {} : { public_url: publicUrl },
    server: { logger: false, forceCloseConnections: true }
  })
  t.teardown(() => app.close())
  return await app.listen({ host: '127.0.0.1', port: 0 })
}

/** A reverse proxy that sends each response at its end, or unchanged where `change` returns false. */
function proxy (t: Teardown, target: string, change: Change): Promise<string> {
  return serve(t, (incoming, reply) => {
    const path = incoming.url!
    const upstream = request(`${target}${path}`, { method: incoming.method, headers: incoming.headers }, response => {
      const isBuffered = change(response, reply, path)
      const { 'transfer-encoding': _, ...headers } = response.headers
      if (!isBuffered) {
        reply.writeHead(response.statusCode!, headers)
        response.pipe(reply)
        return
      }
      const pieces: Buffer[] = []
      response.on('data', (piece: Buffer) => pieces.push(piece))
      response.on('end', () => reply.writeHead(response.statusCode!, headers).end(Buffer.concat(pieces)))
    })
    upstream.on('error', () => reply.destroy())
    reply.on('close', () => upstream.destroy())
    incoming.pipe(upstream)
  })
}

async function examine (url: string, { headers = [], maxMs }: { headers?: string[], maxMs?: number } = {}): Promise<Finding[]> {
  const findings: Finding[] = []
  for await (const finding of findingsOf(new HttpClient(url, headers, maxMs))) findings.push(finding)
  return findings
}

const bad = (findings: Finding[]): Finding[] => findings.filter(({ level }) => level === 'problem' || level === 'warning')

test('a host with all protocols has no warnings and no problems', async t => {
  const findings = await examine(await host(t))
  t.strictSame(bad(findings), [])
  t.strictSame([...new Set(findings.map(({ check }) => check))],
    ['reachable', 'health', 'ready', 'clock', 'card', 'card url', 'a2a tasks', 'mcp', 'mcp tools', 'streams', 'cors'])
})

test('a proxy that buffers streams, or compresses them, or drops headers, is found', async t => {
  const target = await host(t)
  const isStream = ({ headers }: IncomingMessage): boolean => headers['content-type']?.startsWith('text/event-stream') === true
  const buffering = await proxy(t, target, isStream)
  t.match(bad(await examine(buffering, { maxMs: 20_000 })), [{ check: 'streams', level: 'problem', remedy: /proxy_buffering off/ }])
  const packing = await proxy(t, target, response => {
    if (isStream(response)) response.headers['content-encoding'] = 'gzip'
    return false
  })
  t.match(bad(await examine(packing)).find(({ check }) => check === 'streams'), { level: 'warning', text: /compressed with gzip/ })
  const stripping = await proxy(t, target, response => {
    delete response.headers['mcp-session-id']
    return false
  })
  t.match(bad(await examine(stripping)), [{ check: 'mcp tools', level: 'problem', remedy: /Mcp-Session-Id/ }])
})

test('a card that names an address that does not answer is a problem', async t => {
  const dead = await serve(t, (_request, reply) => { reply.writeHead(404).end() })
  const found = bad(await examine(await host(t, dead)))
  t.ok(found.length > 0 && found.every(({ check, level }) => check === 'card url' && level === 'problem'))
  t.match(found[0], { remedy: /public_url/ })
})

test('a service that is dead, silent, or sends endless bodies ends the checks', async t => {
  const dead = createServer()
  await new Promise<void>(resolve => dead.listen(0, '127.0.0.1', resolve))
  const { port } = dead.address() as AddressInfo
  await new Promise(resolve => dead.close(resolve))
  t.match(await examine(`http://127.0.0.1:${port}`), [{ check: 'reachable', level: 'problem', text: /ECONNREFUSED/, remedy: /start the service/ }])
  t.match(await examine(await serve(t, () => {}), { maxMs: 200 }), [{ check: 'reachable', level: 'problem', text: /no reply in time/ }])
  const endless = await serve(t, (_request, reply) => {
    const more = (): void => { while (!reply.destroyed && reply.write('x'.repeat(64 * 1024))); }
    reply.on('drain', more)
    more()
  })
  const reply = await new HttpClient(endless).send('health')
  t.ok(reply.isCut && reply.text.length < MAX_REPLY_BYTES * 2)
})

test('the headers of --header reach the named origin alone, and redirects are reported', async t => {
  const seen: Array<string | undefined> = []
  const other = await serve(t, ({ headers }, reply) => { seen.push(headers.authorization); reply.writeHead(404).end() })
  const redirecting = await serve(t, (_request, reply) => { reply.writeHead(301, { location: `${other}/x` }).end() })
  const headers = ['authorization: Bearer secret']
  t.match(await examine(redirecting, { headers }), [{ level: 'problem', text: /301 redirects to .*POST as GET/ }])
  await new HttpClient(redirecting, headers).send(other)
  t.strictSame(seen, [undefined])
  t.throws(() => new HttpClient(other, ['authorization: a\nsecret']), { code: 'USAGE', message: /^--header takes 'name: value'(?!.*secret)/ })
})

test('401 without WWW-Authenticate and credentials for every origin are problems', async t => {
  const url = await serve(t, ({ method }, reply) => {
    reply.writeHead(method === 'POST' ? 401 : 404, { 'access-control-allow-origin': '*', 'access-control-allow-credentials': 'true' }).end()
  })
  t.match(bad(await examine(url)), [
    { check: 'authentication', level: 'problem' }, { check: 'cors', level: 'problem', text: /any origin may send credentials/ }
  ])
})
