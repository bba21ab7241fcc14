// Starts hosts as people do, in empty folders, and ends all of them with this process, however it ends.
import { spawn } from 'node:child_process'
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { SECRET } from './secret.mjs'

export const root = fileURLToPath(new URL('../..', import.meta.url))
export const cli = join(root, 'apps/polyvac/dist/cli.js')
export const probe = new URL('./probe.mjs', import.meta.url).href
const watchdog = new URL('../../test/fixtures/loop-watchdog.mjs', import.meta.url).href
const MAX_START_MS = 120_000
const MAX_OUTPUT_CHARS = 64 * 1024
const UPSTREAM = fileURLToPath(new URL('./upstream-server.mjs', import.meta.url))

const children = new Set()
const folders = new Set()

/** Ends every child, and removes every folder. */
export function endAll () {
  for (const child of children) child.kill('SIGKILL')
  for (const folder of folders) rmSync(folder, { recursive: true, force: true, maxRetries: 3 })
}
process.on('exit', endAll)
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => process.exit(1))

/** The interpreter of the hosts. The question names what it does. */
const AGENT = readFileSync(new URL('./agent.mjs', import.meta.url), 'utf8')

/** An entry of `mcp_servers` for upstream-server.mjs with these options. */
export const upstream = (options = {}, name = 'upstream') => ({
  name, command: process.execPath, args: [UPSTREAM, ...Object.entries(options).map(([key, value]) => `--${key}=${value}`)], inherit_env: []
})

/** A configuration of all protocols. JSON is YAML. */
export const configuration = (service = {}, vac = {}) => ({
  kind: 'vacConfig',
  service: { stream_interpreter: './agent.mjs', enable_a2a_agent: true, enable_mcp_server: true, tasks: { path: './tasks.db' }, ...service },
  vac: { demo: { display_name: 'Demo' }, docs: { interpreter: 'documents', memory: [{ docs: { vectorstore: 'folder', path: './docs' } }] }, ...vac }
})

/** An empty folder with these files; values that are not text are written as JSON. */
export function folderOf (files = {}) {
  const folder = mkdtempSync(join(tmpdir(), 'polyvac-attack-'))
  folders.add(folder)
  const all = { 'agent.mjs': AGENT, 'docs/a.md': '# Lighthouse\\n\\nThe lighthouse keeper counts the ships at night.\\n', ...files }
  for (const [name, content] of Object.entries(all)) {
    mkdirSync(dirname(join(folder, name)), { recursive: true })
    writeFileSync(join(folder, name), typeof content === 'string' || Buffer.isBuffer(content) ? content : JSON.stringify(content))
  }
  return folder
}

/** The limits of sockets that the attacks wait for, in seconds. */
export const connections = {
  max: 300, max_per_address: 300, first_byte_timeout: 2, headers_timeout: 3, body_timeout: 3, idle_timeout: 4, stall_timeout: 3
}

/** Sockets of these local ports that the host at `port` still holds, as the system lists them. */
export function openAt (port, ports) {
  const wanted = new Set(ports)
  const open = readFileSync('/proc/net/tcp', 'utf8').split('\n').slice(1).map(line => line.trim().split(/\s+/))
    .filter(([, local, remote, state]) => Number.parseInt(local?.split(':')[1], 16) === port && ['01', '08'].includes(state) && wanted.has(Number.parseInt(remote.split(':')[1], 16)))
  return open.length
}

/** A child of this process: `{ pid, out, alive, ended, kill, send }`. `out` keeps the last 64 Ki characters. */
export function start (args, { cwd, env = {}, command = process.execPath }) {
  const { NODE_OPTIONS, PORT, HOST, PUBLIC_URL, LOG_LEVEL, ...rest } = process.env
  const child = spawn(command, args, { cwd, env: { ...rest, ...env }, stdio: ['ignore', 'pipe', 'pipe', 'ipc'] })
  children.add(child)
  const out = { text: '', bytes: 0, isLeaking: false }
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', text => {
      out.bytes += Buffer.byteLength(text)
      out.isLeaking ||= text.includes(SECRET)
      out.text = (out.text + text).slice(-MAX_OUTPUT_CHARS)
    })
  }
  const state = { alive: true }
  child.on('error', () => {})
  const ended = new Promise(resolve => child.on('close', (code, signal) => {
    state.alive = false
    children.delete(child)
    resolve({ code, signal, text: out.text })
  }))
  return { child, out, ended, get pid () { return child.pid }, get alive () { return state.alive }, kill: (signal = 'SIGKILL') => child.kill(signal) }
}

/** Waits for a truthy value of `condition`; undefined when `ms` have passed. */
export async function until (condition, ms = 120_000) {
  const end = Date.now() + ms
  for (;;) {
    const value = await condition()
    if (value) return value
    if (Date.now() > end) return undefined
    await delay(20)
  }
}

/**
 * A host that answers, with `measure()` for its memory after collection and `fds()` for its descriptors.
 * @param options `{ files, config, heapMb, env, cwd, script }`; `script` is a program that prints its address
 */
export async function startHost ({ files = {}, config = configuration(), heapMb, env, cwd, script, args = [], limit, prepare } = {}) {
  const folder = cwd ?? folderOf({ 'vac_config.yaml': config, ...files })
  prepare?.(folder)
  const words = [...heapMb === undefined ? [] : [`--max-old-space-size=${heapMb}`], '--expose-gc', `--import=${watchdog}`, `--import=${probe}`,
    ...script === undefined ? [cli, 'start', '--port', '0', '--json', '--log-level', 'info'] : [script], ...args]
  // a shell that sets a limit of the system, and then becomes the host
  const command = limit === undefined ? [process.execPath, words] : ['/bin/sh', ['-c', `${limit}; exec "$0" "$@"`, process.execPath, ...words]]
  const blocks = join(folderOf(), 'blocks')
  writeFileSync(blocks, '')
  const host = start(command[1], { cwd: folder, env: { POLYVAC_BLOCKS: blocks, POLYVAC_TEST_FILE: 'attack', ...env }, command: command[0] })
  let url
  await until(() => {
    url = /http:\/\/127\.0\.0\.1:\d+/.exec(host.out.text)?.[0]
    return url !== undefined || !host.alive
  }, MAX_START_MS)
  if (url === undefined) {
    host.kill()
    throw new Error(`the host did not start: ${host.out.text.slice(-1_000)}`)
  }
  const measure = () => new Promise((resolve, reject) => {
    const timer = setTimeout(() => { done(); reject(new Error('the host reports no memory for 120 s: its event loop is blocked')) }, 120_000)
    const on = message => { done(); resolve(message) }
    const done = () => { clearTimeout(timer); host.child.off('message', on) }
    host.child.on('message', on)
    try {
      host.child.send('measure', err => { if (err) { done(); reject(err) } })
    } catch (err) {
      done()
      reject(err)
    }
  })
  return Object.assign(host, {
    folder,
    url,
    port: Number(new URL(url).port),
    measure,
    /** A line for each block of its event loop since the last call. */
    takeBlocks () {
      const lines = readFileSync(blocks, 'utf8').split('\n').slice(0, -1)
      writeFileSync(blocks, '')
      return lines
    },
    fds: () => readdirSync(`/proc/${host.pid}/fd`).length,
    rss: () => Number(/^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${host.pid}/status`, 'utf8'))?.[1] ?? 0) * 1024,
    /** SIGTERM, and SIGKILL 15 s later. */
    async stop () {
      host.kill('SIGTERM')
      const timer = setTimeout(() => host.kill(), 15_000)
      const end = await host.ended
      clearTimeout(timer)
      return end
    }
  })
}
