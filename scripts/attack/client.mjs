// What an attacker and an honest client send: requests over node:http, and bytes over sockets.
import { once } from 'node:events'
import { Agent, request as httpRequest } from 'node:http'
import { connect } from 'node:net'
import { Worker } from 'node:worker_threads'
import { jsonOf as parseJson } from '../../test/probes/events.mjs'

const agent = new Agent({ keepAlive: true, maxSockets: 24, maxFreeSockets: 24 })
const MAX_READ = 1024 * 1024
const LATE_MS = 300

/**
 * Sends one request. Resolves to `{ status, headers, text }`, with status 0 and the code of the error where no response
 * came. At most 1 MiB of the body are read, for at most `readMs` where the response is a stream. `alone` is set: over
 * its own connection, however many there are.
 */
export function send (url, { method = 'GET', path = '/', headers = {}, body, readMs = 150, ms = 120_000, alone = false } = {}) {
  return new Promise(resolve => {
    const { hostname, port } = new URL(url)
    const request = httpRequest({ agent: alone ? false : agent, hostname, port, method, path, headers: { ...headers, ...body !== undefined && !('transfer-encoding' in headers) && { 'content-length': Buffer.byteLength(body) } } })
    const timer = setTimeout(() => { request.destroy(new Error(`no end after ${ms} ms`)) }, ms)
    const finish = result => { clearTimeout(timer); resolve(result) }
    request.on('error', err => finish({ status: 0, headers: {}, text: `${err.code ?? ''} ${err.message}` }))
    // CONNECT, or an upgrade
    request.on('connect', (response, socket) => { socket.destroy(); finish({ status: response.statusCode, headers: response.headers, text: '' }) })
    request.on('response', response => {
      let text = ''
      const end = () => { clearTimeout(pause); finish({ status: response.statusCode, headers: response.headers, text }) }
      const isStream = /event-stream|ndjson|text\/plain/.test(response.headers['content-type'] ?? '')
      const pause = isStream ? setTimeout(() => response.destroy(), readMs) : undefined
      response.setEncoding('utf8').on('data', chunk => { if (text.length < MAX_READ) text += chunk }).on('end', end).on('close', end).on('error', end)
    })
    request.end(body)
  })
}

/** Closes the connections that wait for their next request. */
export function closeConnections () { agent.destroy() }

export const post = (url, path, body, headers = {}, more = {}) => send(url, {
  ...more, path, method: 'POST', headers: { 'content-type': 'application/json', ...headers }, body: typeof body === 'string' || Buffer.isBuffer(body) ? body : JSON.stringify(body)
})

/** The JSON of a response; undefined where it is not JSON. */
export const jsonOf = ({ text }) => parseJson(text)

export const rpc = (method, params, id = 1) => ({ jsonrpc: '2.0', id, method, params })
const MCP_HEADERS = { accept: 'application/json, text/event-stream' }

/** A task of the description's dialect. */
export const task = (question, skill = 'vac_query_demo') => rpc('tasks/send', { skillName: skill, input: { query: question } })

/** A session of MCP: its headers. */
export async function mcpSession (url, headers = {}, capabilities = {}) {
  const hello = rpc('initialize', { protocolVersion: '2025-11-25', capabilities, clientInfo: { name: 'attack', version: '1' } })
  const response = await post(url, '/mcp', hello, { ...MCP_HEADERS, ...headers })
  const id = response.headers['mcp-session-id']
  if (id !== undefined) await post(url, '/mcp', { jsonrpc: '2.0', method: 'notifications/initialized' }, { ...MCP_HEADERS, ...headers, 'mcp-session-id': id })
  return { status: response.status, headers: { ...MCP_HEADERS, ...headers, ...id !== undefined && { 'mcp-session-id': id } } }
}

/** A request of MCP 2026-07-28: path, body and headers. */
export const modern = (method, params = {}) => ({
  body: rpc(method, { ...params, _meta: { 'io.modelcontextprotocol/protocolVersion': '2026-07-28', 'io.modelcontextprotocol/clientCapabilities': {} } }),
  headers: { ...MCP_HEADERS, 'mcp-protocol-version': '2026-07-28', 'mcp-method': method, ...params.name !== undefined && { 'mcp-name': params.name } }
})

/** A socket whose errors are expected. `closed` resolves when it is closed; `text` is what came. */
export function open (port, { read = true } = {}) {
  const socket = connect(port, '127.0.0.1')
  const wire = { socket, text: '', closed: once(socket, 'close').catch(() => {}), isClosed: false }
  socket.on('error', () => {}).on('close', () => { wire.isClosed = true })
  if (read) socket.on('data', chunk => { wire.text = (wire.text + chunk.toString('latin1')).slice(-MAX_READ) })
  else socket.pause()
  return wire
}

/**
 * Sends bytes. Resolves when the host closes; or `LATE_MS` after `count` answers, for those that are too many; or after
 * `ms` without a byte: `{ text, statuses, isClosed }`.
 */
export async function sendBytes (port, bytes, { count = Infinity, ms = 3_000 } = {}) {
  const wire = open(port)
  const statusesOf = text => [...text.matchAll(/HTTP\/1\.1 (\d{3}) /g)].map(([, status]) => Number(status))
  wire.socket.write(Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes, 'latin1'))
  let timer
  await new Promise(resolve => {
    const wait = () => {
      clearTimeout(timer)
      timer = setTimeout(resolve, statusesOf(wire.text).length >= count ? LATE_MS : ms)
    }
    wire.socket.on('data', wait)
    wire.closed.then(resolve)
    wait()
  })
  clearTimeout(timer)
  const { text, isClosed } = wire
  wire.socket.destroy()
  return { text, isClosed, statuses: statusesOf(text) }
}

/** The bytes of a request over a socket. */
export const bytesOf = (method, path, headers, body = '') =>
  `${method} ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\n${Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`).join('')}${body === '' && method === 'GET' ? '' : `Content-Length: ${Buffer.byteLength(body)}\r\n`}\r\n${body}`

export const jsonBytes = (path, body, headers = {}) => bytesOf('POST', path, { 'Content-Type': 'application/json', ...headers }, JSON.stringify(body))

/** An honest client in a thread: a request every 25 ms. `report()` gives what it saw since the last report. */
export class HonestClient {
  #worker

  constructor (url, headers = {}) {
    this.#worker = new Worker(new URL('./honest.mjs', import.meta.url), { workerData: { url, headers } })
  }

  /** `{ answers, busy, failures, medianMs, maxMs, last }`: `busy` counts 503 with `Retry-After`. */
  report () {
    return new Promise((resolve, reject) => {
      this.#worker.removeAllListeners().once('message', resolve).once('error', reject)
      this.#worker.postMessage('report')
    })
  }

  async close () { await this.#worker.terminate() }
}
