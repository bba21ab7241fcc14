// The peers of the gateway, the MCP server and the task store. They are installed at first use, in a separate folder:
// together they are as large as all packages of the checkout.
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'

const PEERS = ['mcp-hub', 'supergateway', 'mcp-proxy']
export const PEERS_FOLDER = fileURLToPath(new URL('../peers', import.meta.url))
const HUB_CONFIG = `${PEERS_FOLDER}/node_modules/hub.json`
const LONGEST_START_MS = 30_000

/** The server behind all of them. */
export const EVERYTHING = fileURLToPath(new URL('../../node_modules/@modelcontextprotocol/server-everything/dist/index.js', import.meta.url))

const ECHO = { tool: 'echo', arguments: { message: 'hello' } }
const JSON_TYPE = { 'content-type': 'application/json' }

const REVISIONS = { legacy: '2025-06-18', modern: '2026-07-28' }
const META = 'io.modelcontextprotocol/'

/** By kind: the request that calls the echo tool. Over MCP a session may have to be created before, and ids differ. */
const CALLS = {
  bare: async () => ({ path: '/mcp/call', headers: JSON_TYPE, body: { server: 'everything', ...ECHO } }),
  'mcp-hub': async () => ({ path: '/api/servers/tools', headers: JSON_TYPE, body: { server_name: 'everything', ...ECHO } }),
  /** Up to 2025-11-25: with a session where the server has sessions. */
  async session (port, tool) {
    const headers = { ...JSON_TYPE, accept: 'application/json, text/event-stream', 'mcp-protocol-version': REVISIONS.legacy }
    const post = message => fetch(`http://127.0.0.1:${port}/mcp`, { method: 'POST', headers, body: JSON.stringify({ jsonrpc: '2.0', ...message }) })
    const begun = await post({ id: 0, method: 'initialize', params: { protocolVersion: REVISIONS.legacy, capabilities: {}, clientInfo: { name: 'bench', version: '1' } } })
    const session = begun.headers.get('mcp-session-id')
    if (session !== null) headers['mcp-session-id'] = session
    await begun.text()
    await (await post({ method: 'notifications/initialized' })).text()
    return { path: '/mcp', headers, body: rpc(tool) }
  },
  async modern (_port, tool) {
    const headers = { ...JSON_TYPE, accept: 'application/json, text/event-stream', 'mcp-protocol-version': REVISIONS.modern, 'mcp-method': 'tools/call', 'mcp-name': tool }
    return { path: '/mcp', headers, body: rpc(tool, { _meta: { [`${META}protocolVersion`]: REVISIONS.modern, [`${META}clientCapabilities`]: {} } }) }
  },
  rpc: async (_port, tool) => ({ path: '/mcp', headers: JSON_TYPE, body: rpc(tool) })
}

function rpc (name, more = {}) {
  return { jsonrpc: '2.0', id: '[<id>]', method: 'tools/call', params: { name, arguments: ECHO.arguments, ...more } }
}

/** The autocannon request that calls the echo tool of a server, tried once. `way` selects it where `kind` does not. */
export async function echoCall ({ kind, port, way, tool = ECHO.tool }) {
  const { path, headers, body } = await (CALLS[way ?? kind] ?? (PEERS.includes(kind) ? CALLS.session : CALLS.bare))(port, tool)
  const text = JSON.stringify(body)
  // requests in flight have different ids: one for each connection
  let connections = 0
  const setupClient = client => { client.setBody(text.replace('[<id>]', `c${++connections}`)) }
  const call = { url: `http://127.0.0.1:${port}${path}`, method: 'POST', headers, body: text, setupClient }
  const answer = await (await fetch(call.url, { method: 'POST', headers, body: text })).text()
  if (!answer.includes('Echo: hello')) throw new Error(`${kind} answered ${answer.slice(0, 500)}`)
  return call
}

const COMMANDS = {
  'mcp-hub': port => ['--port', port, '--config', HUB_CONFIG],
  supergateway: port => ['--stdio', `"${process.execPath}" "${EVERYTHING}"`, '--outputTransport', 'streamableHttp', '--stateful', '--port', port, '--logLevel', 'none'],
  'mcp-proxy': port => ['--port', port, '--host', '127.0.0.1', '--server', 'stream', process.execPath, EVERYTHING]
}

/** Runs `work` with the peers, each in a separate process group, which ends with it. */
export async function withPeers (work, kinds = PEERS) {
  installPeers()
  const peers = []
  const end = () => { for (const { pid } of peers) kill(pid) }
  process.once('exit', end)
  try {
    for (const kind of kinds) peers.push(await start(kind))
    return await work(peers)
  } finally {
    process.off('exit', end)
    end()
  }
}

export function installPeers () {
  execFileSync(process.execPath, [fileURLToPath(new URL('../../scripts/ready.mjs', import.meta.url)), 'all', 'bench/peers'], { stdio: ['ignore', 2, 2] })
  writeFileSync(HUB_CONFIG, JSON.stringify({ mcpServers: { everything: { command: process.execPath, args: [EVERYTHING] } } }))
}

async function start (kind) {
  const port = await freePort()
  const child = spawn(`${PEERS_FOLDER}/node_modules/.bin/${kind}`, COMMANDS[kind](String(port)), { cwd: PEERS_FOLDER, detached: true, stdio: 'ignore' })
  const failed = once(child, 'exit').then(() => { throw new Error(`${kind} did not start`) })
  failed.catch(() => {})
  // neither memory nor CPU time of a peer is measured: some run the stdio server in separate processes
  const peer = { kind, port, pid: child.pid, ask: async question => question === 'cpuMs' ? NaN : 0 }
  for (const until = Date.now() + LONGEST_START_MS; ;) {
    try {
      await Promise.race([echoCall(peer), failed])
      return peer
    } catch (err) {
      if (Date.now() > until || child.exitCode !== null) {
        kill(child.pid)
        throw err
      }
      await delay(300)
    }
  }
}

function kill (pid) {
  try {
    process.kill(-pid, 'SIGKILL')
  } catch {
    // it has ended already
  }
}

async function freePort () {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address()
  server.close()
  return port
}
