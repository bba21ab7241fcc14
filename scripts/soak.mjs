// `npm run soak -- --minutes N`: mixed traffic of all protocols with random aborts, at a bounded rate, against one
// host. Afterwards its heap after collection, its file descriptors and its log must be as small as before. Ends with
// `soak: N passed, 0 failed`. With `--postgres` it runs faults/soak.mjs.
import { createServer } from 'node:http'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { forms, PROBES } from '../test/probes/index.mjs'
import { closeConnections, jsonOf, mcpSession, open, post, rpc, send, task, jsonBytes, bytesOf } from './attack/client.mjs'
import { configuration, endAll, startHost, until, upstream } from './attack/host.mjs'

const MAX_HEAP_GROWTH = 25 * 1024 * 1024
const MAX_LOG_PER_MINUTE = 2 * 1024 * 1024
const MAX_FDS_LEFT = 4
/** Clients at once, and the least time from a request of one to its next. It measures leaks, not speed. */
const CLIENTS = 8
const INTERVAL_MS = 50
const WARM_UP_MS = 10_000
const REST_MS = 120_000

const query = 'flow 20 2'

/** Requests of forms of the probes, by what they are. */
const asked = (probes, more = {}) => Object.fromEntries(forms(probes).map(([what, ask]) => [[what, ...Object.keys(more)].join(' '), host => {
  const { path, body, headers } = ask(query, 'demo')
  return post(host, path, { ...body, ...more }, headers)
}]))

/** One request of each kind; `host` is its address, `push` that of a receiver. */
const KINDS = {
  ...asked(PROBES),
  ...asked({ responses: PROBES.responses }, { store: false }),
  documents: host => post(host, '/vac/docs', { user_input: 'Who counts the ships?' }),
  async cancel (host) {
    const taskId = jsonOf(await post(host, '/a2a/tasks/send', task('wait 5000', 'vac_stream_demo')))?.result?.taskId
    return await post(host, '/a2a/tasks/cancel', rpc('tasks/cancel', { taskId }))
  },
  async push (host, push) {
    const taskId = jsonOf(await post(host, '/a2a/tasks/send', task('wait 50', 'vac_stream_demo')))?.result?.taskId
    return await post(host, '/a2a/tasks/pushNotification/set', rpc('tasks/pushNotification/set', { taskId, pushNotificationConfig: { url: push } }))
  },
  async background (host) {
    const run = jsonOf(await post(host, '/vac/demo', { user_input: Math.random() < 0.5 ? query : 'wait 5000', background: true }))?.run_id
    if (Math.random() < 0.5) await post(host, `/vac/demo/runs/${run}/cancel`)
    const { status } = await send(host, { path: `/vac/demo/runs/${run}/stream` })
    if (Math.random() < 0.5) await send(host, { method: 'DELETE', path: `/vac/demo/runs/${run}` })
    return { status }
  },
  async response (host) {
    const ask = more => post(host, '/openai/v1/responses', { model: 'demo', input: query, ...more })
    const { id } = jsonOf(await ask({ input: Math.random() < 0.5 ? query : 'wait 5000', background: true })) ?? {}
    if (Math.random() < 0.5) await post(host, `/openai/v1/responses/${id}/cancel`)
    const { status, text } = await send(host, { path: `/openai/v1/responses/${id}?stream=true` })
    await ask({ previous_response_id: id })
    if (Math.random() < 0.5) await send(host, { method: 'DELETE', path: `/openai/v1/responses/${id}` })
    return { status, text }
  },
  async conversation (host) {
    const id = String(Math.random())
    await post(host, '/vac/demo', { user_input: query, conversation_id: id })
    await post(host, '/openai/v1/chat/completions', { model: 'demo', messages: [{ role: 'user', content: query }, { role: 'user', content: 'another' }], conversation_id: id })
    const exported = jsonOf(await send(host, { path: `/vac/demo/conversations/${id}/export` }))
    if (Math.random() < 0.5) await send(host, { method: 'DELETE', path: `/vac/demo/conversations/${id}` })
    return await post(host, '/vac/demo/conversations', exported)
  },
  async repeated (host) {
    const headers = { 'idempotency-key': String(Math.random()) }
    await Promise.all([1, 2].map(() => post(host, '/vac/streaming/demo/sse', { user_input: query }, headers)))
    return await post(host, '/vac/streaming/demo/sse', { user_input: query }, headers)
  },
  async mcpSession (host) {
    const { headers } = await mcpSession(host)
    await post(host, '/mcp', rpc('tools/list', {}), headers)
    await post(host, '/mcp', rpc('tools/call', { name: 'vac_stream_demo', arguments: { query }, _meta: { progressToken: 1 } }), headers)
    return await send(host, { method: 'DELETE', path: '/mcp', headers })
  },
  gateway: host => post(host, '/mcp/call', { server: 'upstream', tool: 'echo', arguments: { message: 'hello' } }),
  fromAgent: host => post(host, '/vac/demo', { user_input: 'call' }),
  lists: host => send(host, { path: '/mcp/tools' }),
  wrong: host => post(host, '/vac/demo', { user_input: 7 }),
  async abort (host) {
    const { port } = new URL(host)
    const bytes = [
      jsonBytes('/vac/streaming/demo/sse', { user_input: 'flow 200 5' }), jsonBytes('/openai/v1/responses', { model: 'demo', input: 'flow 200 5', stream: true, store: Math.random() < 0.5 }), jsonBytes('/vac/demo', { user_input: 'wait 2000' }),
      jsonBytes('/a2a/tasks/sendSubscribe', rpc('tasks/sendSubscribe', { skillName: 'vac_stream_demo', input: { query: 'flow 50 5' } })),
      jsonBytes('/mcp/call', { server: 'upstream', tool: 'big', arguments: { bytes: 500_000 } }), bytesOf('POST', '/vac/demo', { 'Content-Type': 'application/json' }, '{"user_input":"hello"}').slice(0, -7)
    ]
    const { socket, closed } = open(Number(port))
    socket.write(bytes[Math.floor(Math.random() * bytes.length)])
    await delay(Math.random() * 60)
    Math.random() < 0.5 ? socket.resetAndDestroy() : socket.destroy()
    await closed
    return { status: 200 }
  }
}

/** Runs the traffic. Resolves to `{ requests, problems, text }`. */
export async function soak ({ minutes = 1, log = () => {} } = {}) {
  let delivered = 0
  const receiver = createServer((request, response) => { delivered++; request.resume(); response.end() }).listen(0, '127.0.0.1')
  await new Promise(resolve => receiver.once('listening', resolve))
  const { port } = receiver.address()
  const host = await startHost({ config: configuration({ mcp_servers: [upstream()], push: { allow: [`127.0.0.1:${port}`] }, tasks: { path: './tasks.db', max_tasks: 500 } }) })
  const problems = []
  let requests = 0
  const kinds = Object.entries(KINDS)
  const traffic = async ms => {
    const end = Date.now() + ms
    await Promise.all(Array.from({ length: CLIENTS }, async () => {
      while (Date.now() < end && host.alive) {
        const next = delay(INTERVAL_MS)
        const [name, run] = kinds[requests++ % kinds.length]
        const { status, text } = await run(host.url, `http://127.0.0.1:${port}/hook`).catch(err => ({ status: 0, text: err.message }))
        if ((status === 0 || status >= 500) && problems.length < 20) problems.push(`${name}: ${status} ${text?.slice(0, 200)}`)
        await next
      }
    }))
  }
  /** Memory and descriptors once all connections are closed. */
  const measure = async (isGood = () => true) => {
    let seen
    await until(async () => {
      closeConnections()
      await delay(500)
      if (!host.alive) throw new Error(`the host ended: ${host.out.text.slice(-500)}`)
      seen = { ...await host.measure(), fds: host.fds() }
      return isGood(seen)
    }, REST_MS)
    return seen
  }
  try {
    await traffic(Math.min(WARM_UP_MS, minutes * 30_000))
    await delay(1_000)
    const before = await measure()
    const logged = host.out.bytes
    const began = Date.now()
    await traffic(minutes * 60_000)
    const took = (Date.now() - began) / 60_000
    const after = await measure(({ heap, fds }) => heap - before.heap < MAX_HEAP_GROWTH && fds - before.fds <= MAX_FDS_LEFT)
    const grown = after.heap - before.heap
    const perMinute = (host.out.bytes - logged) / took
    if (grown >= MAX_HEAP_GROWTH) problems.push(`the heap grew by ${(grown / 2 ** 20).toFixed(1)} MB`)
    if (after.fds - before.fds > MAX_FDS_LEFT) problems.push(`${after.fds - before.fds} descriptors are left`)
    if (perMinute > MAX_LOG_PER_MINUTE) problems.push(`${(perMinute / 2 ** 20).toFixed(1)} MB of log in a minute`)
    if (delivered === 0) problems.push('no webhook was delivered')
    const text = `${requests} requests in ${took.toFixed(1)} min, ${delivered} webhooks; heap ${(before.heap / 2 ** 20).toFixed(1)} → ${(after.heap / 2 ** 20).toFixed(1)} MB, ` +
      `fds ${before.fds} → ${after.fds}, ${(perMinute / 2 ** 20).toFixed(2)} MB of log in a minute`
    log(text)
    return { requests, problems, text }
  } finally {
    receiver.closeAllConnections()
    receiver.close()
    host.kill()
    await host.ended
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const at = process.argv.indexOf('--minutes')
  const minutes = at < 0 ? 10 : Number(process.argv[at + 1])
  if (!(minutes > 0)) {
    process.stderr.write('soak: --minutes takes a number above 0\n')
    process.exit(2)
  }
  const run = process.argv.includes('--postgres') ? (await import('./faults/soak.mjs')).soakReplicas : soak
  const { requests, problems } = await run({ minutes, log: text => process.stdout.write(`${text}\n`) })
  for (const problem of problems) process.stdout.write(`FAILED ${problem}\n`)
  process.stdout.write(`soak: ${requests} passed, ${problems.length} failed\n`)
  endAll()
  process.exit(problems.length === 0 ? 0 : 1)
}
