// Cases about servers that start late, end, forget their sessions, or write oddly.
import { readdirSync, readFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { once } from 'node:events'
import { setTimeout as delay } from 'node:timers/promises'
import { cli } from './case.mjs'
import { start, until } from './processes.mjs'

const FORGETTING = [
  '404-null', '404-id', '404-text', '400-null', '400-id', '200-id', '404-id-sse', '404-idonly', '503-null', '404-32601', '410-null', '401-null', '500-null'
]
const STDOUTS = ['plain', 'crlf', 'bom', 'glued', 'noeol', 'two', 'bytes', 'jsonlog', 'spaces', 'ansi', 'ls', 'idstring', 'nojsonrpc', 'banner', 'utf16']
const TEXT = '日本語 — 🎉'

export const lives = {
  '09-cold-npx-start.sh': async c => {
    const host = await c.host({ mcp_servers: { s: { command: 'sh', args: [c.file], env: { WAIT: '75' }, start_timeout: 240 } } }, { wait: false })
    await host.ready('s', 170_000)
    c.is('attempts', (await host.server('s')).attempt, 1)
    await c.gives('a call', () => host.text('s', 'ok_tool'), 'called ok_tool')
  },

  '10-route-away-100ms.server.mjs': async c => {
    for (const status of ['404', '502', '503']) {
      const url = await c.program({ STATUS: status })
      const host = await c.host({ mcp_servers: { s: { url: `${url}/mcp` } } })
      await host.ready('s')
      await c.gives(`${status}: before`, () => host.text('s', 'echo'), 'ok')
      for (const ms of [100, 1_500]) {
        const away = await fetch(`${url}/away`, { method: 'POST', body: JSON.stringify({ ms }) })
        const end = Date.now() + ms
        await away.body.cancel()
        // calls while it is away may fail
        await host.call('s', 'echo')
        await delay(Math.max(0, end - Date.now()) + 50)
        await c.gives(`${status}: the first call after ${ms} ms away`, () => host.text('s', 'echo'), 'ok')
      }
    }
  },

  '11-forgotten-session.server.mjs': async c => {
    const urls = Object.fromEntries(await Promise.all(FORGETTING.map(async mode => [mode, await c.program({ MODE: mode })])))
    const host = await c.gateway(Object.fromEntries(FORGETTING.map(mode => [mode, { url: `${urls[mode]}/mcp` }])))
    for (const mode of FORGETTING) {
      await c.gives(`${mode}: before`, () => host.text(mode, 'echo'), 'ok')
      await (await fetch(`${urls[mode]}/forget`, { method: 'POST', body: '{}' })).text()
      await c.gives(`${mode}: the first call after /forget`, () => host.text(mode, 'echo'), 'ok')
      await c.gives(`${mode}: sessions that were begun`, async () => (await (await fetch(`${urls[mode]}/stats`)).json()).inits, 2)
    }
  },

  '12-refuses-while-warming-up.server.mjs': async c => {
    const host = await c.host({ mcp_servers: { s: c.server({ UP_AT: String(Date.now() + 20_000) }) } }, { wait: false })
    await c.gives('it becomes ready', async () => await host.ready('s', 150_000), true)
    await c.gives('a call', () => host.text('s', 'echo'), 'ok')
  },

  '18-odd-stdout.server.mjs': async c => {
    const host = await c.host({ enable_mcp_server: true, mcp_servers: Object.fromEntries([...STDOUTS, 'lsp', 'pretty'].map(kind => [kind, c.server({ KIND: kind })])) }, { wait: false })
    await Promise.all(STDOUTS.map(async kind => {
      await c.gives(`${kind}: ready`, () => host.ready(kind, 60_000), true)
      await c.gives(`${kind}: echo`, async () => (await host.text(kind, 'echo')).replace?.(/[\u2028\u2029]/g, ''), TEXT)
    }))
    for (const [kind, cause] of [['lsp', /content-length|header/i], ['pretty', /one line|line end|line break|several lines|pretty/i]]) {
      const reason = await until(async () => (await host.server(kind)).error, `${kind} has a reason`).catch(err => err.message)
      c.holds(`${kind}: reason`, cause.test(reason), reason, `a reason that fits ${cause}`)
    }
  },

  '26-crash-on-start.server.mjs': async c => {
    const host = await c.host({ mcp_servers: { s: c.server() } }, { wait: false })
    const answer = await Promise.race([host.call('s', 'any'), delay(30_000, { error: 'no answer in 30 s' }, { ref: false })])
    c.holds('a call', answer.status >= 500 && /exit|ended|ERR_MODULE_NOT_FOUND/i.test(JSON.stringify(answer)), JSON.stringify(answer), 'a refusal that names the end of the server')
    await c.gives('the state for administrators', async () => /ERR_MODULE_NOT_FOUND|no-such-file/.test(JSON.stringify(await host.server('s'))), true)
  },

  '28-fork-limit.sh': async c => {
    const port = await freePort()
    const child = start('sh', [c.file], { cwd: c.folder(), env: { NODE: process.execPath, POLYVAC: cli, PORT: String(port) } })
    c.onClose(async () => {
      // `su` starts the host in a session apart, which ends the servers
      for (const pid of hostsAt(port)) process.kill(pid, 'SIGTERM')
      await until(() => hostsAt(port).length === 0, 'the host has ended', 20_000)
      await child.end()
    })
    const url = `http://127.0.0.1:${port}`
    await until(async () => (await fetch(`${url}/health`)).ok, '/health answers')
      .catch(err => { throw new Error(`${err.message}: ${child.out.text.slice(-1_000)}`) })
    const states = async () => (await (await fetch(`${url}/mcp/servers`)).json()).servers.map(({ state, attempt }) => ({ state, attempt }))
    const retried = await until(async () => { const all = await states(); return all.some(({ state, attempt }) => state !== 'ready' && attempt > 1) && all }, 'a server that cannot start is tried again').catch(err => err.message)
    c.holds('servers that cannot be started', Array.isArray(retried), retried, 'shown and tried again')
    c.holds('the others', Array.isArray(retried) && retried.some(({ state }) => state === 'ready'), retried, 'one is ready')
    await c.gives('/health at the end', async () => (await fetch(`${url}/health`)).status, 200)
  },

  '31-token-expires.server.mjs': async c => {
    const url = await c.program({ TTL: '1500' })
    const host = await c.gateway({ s: { url: `${url}/mcp`, oauth: { client_id: 'id', client_secret: 'secret', issuer: url } } })
    const client = await c.sdk(host)
    const tokens = async () => (await (await fetch(`${url}/stats`)).json()).tokens
    const call = async () => /^tok\d+$/.test(await host.text('s', 'echo'))
    await c.gives('a call', call, true)
    const before = await tokens()
    await delay(2_000)
    await c.gives('a call after the expiry', call, true)
    c.holds('tokens', await tokens() > before, await tokens(), `more than ${before}`)
    await fetch(`${url}/as-down`, { method: 'POST' })
    const { status } = await host.post('/mcp/call', { server: 's', tool: 'echo' })
    c.holds('a call over REST while the token endpoint is down', status >= 500, status, '500 or more, and no 401')
    const overMcp = await client.callTool({ name: 's__echo', arguments: {} }).then(result => result.isError === true ? 'isError' : 'a result', err => err.code)
    c.holds('a call over /mcp meanwhile', overMcp !== 401 && overMcp !== 'a result', overMcp, 'an error, and no 401')
    await fetch(`${url}/as-down`, { method: 'POST' })
    await c.gives('it recovers', async () => await until(call, 'a call succeeds', 90_000), true)
  }
}

/** The process ids of hosts whose command line names this port, except those of `su` and the shell around them. */
function hostsAt (port) {
  return readdirSync('/proc').filter(name => /^\d+$/.test(name)).filter(pid => {
    try {
      const words = readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0')
      return words.includes(cli) && words[words.indexOf('--port') + 1] === String(port)
    } catch {
      return false // it has ended
    }
  }).map(Number)
}

async function freePort () {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address()
  server.close()
  await once(server, 'close')
  return port
}
