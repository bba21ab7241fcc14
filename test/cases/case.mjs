// What a driver gets: the path of its case, a host, the published clients, and the checks that it notes.
import { mkdtempSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { fileURLToPath } from 'node:url'
import { Client as ModernClient, StreamableHTTPClientTransport as ModernTransport } from '@modelcontextprotocol/client'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { start, until } from './processes.mjs'

export const root = fileURLToPath(new URL('../..', import.meta.url))
export const cli = join(root, 'apps/polyvac/dist/cli.js')

export class Case {
  checks = []
  #closers = []

  /** @param extras `(…packages) => folder`, installs packages that the repository does not have */
  constructor (file, scratch, extras) {
    this.file = file
    this.scratch = scratch
    this.extras = extras
  }

  /** Notes whether what was seen equals what the case expects. */
  is (name, seen, expected) {
    this.checks.push({ name, seen, expected, ok: isDeepStrictEqual(seen, expected) })
  }

  /** Notes whether what was seen has a property; `expected` is a sentence. */
  holds (name, isSo, seen, expected) {
    this.checks.push({ name, seen, expected, ok: isSo === true })
  }

  /** Notes what `get` resolves to; a rejection is what was seen. */
  async gives (name, get, expected) {
    this.is(name, await seenOf(get), expected)
  }

  /** An entry of `mcp_servers` that starts the case with these variables. */
  server (env = {}, more = {}) {
    return { command: process.execPath, args: [this.file], env, ...more }
  }

  /** An empty folder. */
  folder () {
    return mkdtempSync(join(this.scratch, 'run-'))
  }

  /** `polyvac start` with this service or this text of a configuration; `wait`: until no server is `starting`. */
  async host (service, { vac = { bot: { interpreter: 'echo' } }, wait = true, token, text } = {}) {
    const folder = this.folder()
    const config = { kind: 'vacConfig', service: { tasks: { store: 'memory' }, ...service }, vac }
    writeFileSync(join(folder, 'vac_config.yaml'), text ?? JSON.stringify(config))
    const child = start(process.execPath, [cli, 'start', '--port', '0', '--json', '--log-level', 'info'], { cwd: folder })
    this.#closers.push(child.end)
    let exit
    child.ended.then(code => { exit = code })
    const url = await until(() => {
      if (exit !== undefined) return 'ended'
      return /http:\/\/127\.0\.0\.1:\d+/.exec(child.out.text)?.[0]
    }, 'the host prints its address')
    if (url === 'ended') throw new Error(`the host ended with ${exit}: ${child.out.text.slice(-1_500)}`)
    const host = new Host(url, child.out, token)
    if (wait && service.mcp_servers !== undefined) {
      await until(async () => (await host.get('/mcp/servers')).servers.every(({ state }) => state !== 'starting'), 'the servers have left the state starting')
    }
    return host
  }

  /** A host with these servers behind `/mcp`, all of them ready. */
  async gateway (servers, service = {}, options = {}) {
    const host = await this.host({ enable_mcp_server: true, mcp_servers: servers, ...service }, options)
    for (const name of Object.keys(servers)) await host.ready(name)
    return host
  }

  /** A case that is an HTTP server and prints its port: its URL. */
  async program (env = {}) {
    const child = start(process.execPath, [this.file], { env: { PORT: '0', ...env } })
    this.#closers.push(child.end)
    return `http://127.0.0.1:${await until(() => /^\d+$/m.exec(child.out.text)?.[0], 'the server prints its port')}`
  }

  /** The client of `@modelcontextprotocol/sdk`, connected. */
  async sdk (host, options) {
    const transport = new StreamableHTTPClientTransport(new URL(`${host.url}/mcp`), init(options?.token))
    return await this.#connect(new Client({ name: 'case', version: '1' }, { capabilities: options?.capabilities ?? {} }), transport)
  }

  /** The client of `@modelcontextprotocol/client` in the revision of 2026, connected. */
  async modern (host, options) {
    const transport = new ModernTransport(new URL(`${host.url}/mcp`), init(options?.token))
    const client = new ModernClient({ name: 'case', version: '1' }, { capabilities: options?.capabilities ?? {}, versionNegotiation: { mode: 'auto' } })
    return await this.#connect(client, transport)
  }

  /** Both clients by their names. */
  async clients (host) {
    return [['sdk', await this.sdk(host)], ['client', await this.modern(host)]]
  }

  onClose (close) {
    this.#closers.push(close)
  }

  async close () {
    for (const close of this.#closers.splice(0).reverse()) await Promise.resolve(close()).catch(() => {})
  }

  async #connect (client, transport) {
    await client.connect(transport)
    this.#closers.push(() => client.close())
    return client
  }
}

class Host {
  constructor (url, out, token) {
    Object.assign(this, { url, out, headers: token === undefined ? {} : { authorization: `Bearer ${token}` } })
  }

  async get (path) {
    return await (await fetch(this.url + path, { headers: this.headers })).json()
  }

  async post (path, body) {
    const headers = { ...this.headers, 'content-type': 'application/json' }
    const response = await fetch(this.url + path, { method: 'POST', headers, body: JSON.stringify(body) })
    return { status: response.status, body: await response.json() }
  }

  /** What `POST /mcp/call` resolves to: the result, or the error body with its status. */
  async call (server, tool, args = {}) {
    const { status, body } = await this.post('/mcp/call', { server, tool, arguments: args })
    return body.result ?? { status, ...body }
  }

  /** The text of the result, or what was answered instead. */
  async text (server, tool, args) {
    return textOf(await this.call(server, tool, args))
  }

  async server (name) {
    return (await this.get('/mcp/servers')).servers.find(server => server.name === name)
  }

  /** Resolves once the server is ready; rejects where it has failed for good. */
  async ready (name, ms) {
    const { state, error } = await until(async () => {
      const server = await this.server(name)
      return ['ready', 'failed'].includes(server.state) && server
    }, `${name} is ready`, ms)
    if (state === 'failed') throw new Error(`${name} has failed: ${error}`)
    return true
  }
}

/** The text of the first block, or everything where there is none. */
export const textOf = result => result?.content?.[0]?.text ?? result

/** All tools of a client, over all pages. */
export async function listAll (client) {
  const tools = []
  let cursor
  do {
    const page = await client.listTools(cursor === undefined ? {} : { cursor })
    tools.push(...page.tools)
    cursor = page.nextCursor
  } while (cursor !== undefined)
  return tools
}

/** The names of the tools of a server as a client sees them, without the name of the server. */
export const namesAt = (tools, server) => tools.map(({ name }) => name).filter(name => name.startsWith(`${server}__`)).map(name => name.slice(server.length + 2))

/** What `get` resolves to, or the message of its error. */
export async function seenOf (get) {
  try {
    return await get()
  } catch (err) {
    return `${err.name}: ${err.message.replace(/\s+/g, ' ')}`.slice(0, 400)
  }
}

function init (token) {
  return token === undefined ? {} : { requestInit: { headers: { authorization: `Bearer ${token}` } } }
}
