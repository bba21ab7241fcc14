// The gateways beside which ours is measured. They are installed by need, beside the checkout's own packages: together
// they are as large as all of those.
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'

const PEERS = { 'mcp-hub': '4.2.1', supergateway: '4.0.0', 'mcp-proxy': '6.7.19' }
const FOLDER = fileURLToPath(new URL('../../node_modules/.cache/polyvac-bench-peers', import.meta.url))
const LONGEST_START_MS = 30_000

/** The server behind all of them. */
export const EVERYTHING = fileURLToPath(new URL('../../node_modules/@modelcontextprotocol/server-everything/dist/index.js', import.meta.url))

const ECHO = { tool: 'echo', arguments: { message: 'hello' } }
const JSON_TYPE = { 'content-type': 'application/json' }

/** By kind: the request that calls the echo tool. Peers that speak MCP alone have a session to begin before, and want ids that differ. */
const CALLS = {
  bare: async () => ({ path: '/mcp/call', headers: JSON_TYPE, body: { server: 'everything', ...ECHO } }),
  'mcp-hub': async () => ({ path: '/api/servers/tools', headers: JSON_TYPE, body: { server_name: 'everything', ...ECHO } }),
  async session (port) {
    const headers = { ...JSON_TYPE, accept: 'application/json, text/event-stream', 'mcp-protocol-version': '2025-06-18' }
    const post = message => fetch(`http://127.0.0.1:${port}/mcp`, { method: 'POST', headers, body: JSON.stringify({ jsonrpc: '2.0', ...message }) })
    const begun = await post({ id: 0, method: 'initialize', params: { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'bench', version: '1' } } })
    headers['mcp-session-id'] = begun.headers.get('mcp-session-id')
    await begun.text()
    await (await post({ method: 'notifications/initialized' })).text()
    return { path: '/mcp', headers, body: { jsonrpc: '2.0', id: '[<id>]', method: 'tools/call', params: { name: ECHO.tool, arguments: ECHO.arguments } } }
  }
}

/** The request that calls the echo tool at a server of this kind, as autocannon takes it; it has been tried. */
export async function echoCall ({ kind, port }) {
  const { path, headers, body } = await (CALLS[kind] ?? (kind in PEERS ? CALLS.session : CALLS.bare))(port)
  const call = { url: `http://127.0.0.1:${port}${path}`, method: 'POST', headers, body: JSON.stringify(body), idReplacement: true }
  const text = await (await fetch(call.url, call)).text()
  if (!text.includes('Echo: hello')) throw new Error(`${kind} answered ${text.slice(0, 500)}`)
  return call
}

const COMMANDS = {
  'mcp-hub': port => ['--port', port, '--config', `${FOLDER}/hub.json`],
  supergateway: port => ['--stdio', `"${process.execPath}" "${EVERYTHING}"`, '--outputTransport', 'streamableHttp', '--stateful', '--port', port, '--logLevel', 'none'],
  'mcp-proxy': port => ['--port', port, '--host', '127.0.0.1', '--server', 'stream', process.execPath, EVERYTHING]
}

/** Runs `work` with the peers, each in a process group of its own, which ends with it. */
export async function withPeers (work) {
  install()
  const peers = []
  const end = () => { for (const { pid } of peers) kill(pid) }
  process.once('exit', end)
  try {
    for (const kind of Object.keys(PEERS)) peers.push(await start(kind))
    return await work(peers)
  } finally {
    process.off('exit', end)
    end()
  }
}

function install () {
  mkdirSync(FOLDER, { recursive: true })
  writeFileSync(`${FOLDER}/hub.json`, JSON.stringify({ mcpServers: { everything: { command: process.execPath, args: [EVERYTHING] } } }))
  if (Object.keys(PEERS).every(name => existsSync(`${FOLDER}/node_modules/.bin/${name}`))) return
  process.stderr.write('bench: installing the peers of the gateway …\n')
  writeFileSync(`${FOLDER}/package.json`, JSON.stringify({ private: true, dependencies: PEERS }))
  execFileSync('npm', ['install', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error'], { cwd: FOLDER, stdio: ['ignore', 2, 2] })
}

async function start (kind) {
  const port = await freePort()
  const child = spawn(`${FOLDER}/node_modules/.bin/${kind}`, COMMANDS[kind](String(port)), { cwd: FOLDER, detached: true, stdio: 'ignore' })
  const failed = once(child, 'exit').then(() => { throw new Error(`${kind} did not start`) })
  failed.catch(() => {})
  const peer = { kind, port, pid: child.pid, ask: async () => 0 }
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
    // it has ended by itself
  }
}

async function freePort () {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address()
  server.close()
  return port
}
