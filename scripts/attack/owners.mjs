// One owner against another: whatever bob does, alice is answered.
import { createServer } from 'node:http'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { bytesOf, jsonOf, mcpSession, modern, open, rpc, task } from './client.mjs'
import { configuration, until, upstream } from './host.mjs'

const alice = { authorization: 'alice' }
const bob = { authorization: 'bob' }
/** What alice may wait for an answer. What bob begins lasts longer, so that she does not wait for its end. */
const MAX_WAIT_MS = 120_000
const BOBS_MS = 180_000
/** Webhooks of bob that may come before the first of alice: half of those that wait. */
const MAX_BOBS = 45

let received = []
let receiver

/** Each thing that alice does, and how long it took. */
async function aliceDoes (context) {
  const problems = []
  const took = {}
  const timed = async (name, isGood, run) => {
    const began = Date.now()
    const seen = await run()
    took[name] = Date.now() - began
    if (!isGood(seen)) problems.push(`alice's ${name}: ${seen?.status ?? ''} ${seen?.text?.slice(0, 160) ?? 'nothing'}`)
  }
  const ok = ({ status, text }) => status === 200 && !text.includes('"error"')
  const aloneAs = { alone: true, ms: MAX_WAIT_MS, readMs: MAX_WAIT_MS }
  await Promise.all([
    timed('direct call', ok, () => context.post('/vac/demo', { user_input: 'hello' }, alice, aloneAs)),
    timed('task', ({ text }) => text.includes('"completed"'), () => context.post('/a2a/tasks/send', task('hello'), alice, aloneAs)),
    timed('stream of a task', ({ text }) => text.includes('"completed"'), () => context.post('/a2a/tasks/sendSubscribe', rpc('tasks/sendSubscribe', { skillName: 'vac_stream_demo', input: { query: 'hello' } }), alice, aloneAs)),
    timed('session of MCP', ({ status }) => status === 200, () => mcpSession(context.url, alice)),
    timed('tool call', ok, () => { const { body, headers } = modern('tools/call', { name: 'vac_query_demo', arguments: { query: 'hello' } }); return context.post('/mcp', body, { ...headers, ...alice }, aloneAs) }),
    timed('call of an upstream', ok, () => context.post('/mcp/call', { server: 'upstream', tool: 'echo', arguments: { message: 'hi' } }, alice, aloneAs))
  ])
  return { tried: 6, problems, slowest: Math.max(...Object.values(took)) }
}

/** Bob floods, alice works, bob's sockets are closed. */
const against = (name, flood, more = {}) => ({
  name,
  busy: true,
  async attack (context) {
    const wires = []
    await flood(context, wires)
    const seen = await aliceDoes(context)
    for (const { socket } of wires) socket.destroy()
    const extra = await more.after?.(context) ?? []
    return { ...seen, problems: [...seen.problems, ...extra], note: `alice next to ${name}: at most ${seen.slowest} ms` }
  },
  holds: ({ problems }) => problems
})

const write = (wires, context, bytes) => {
  const wire = open(context.port)
  wire.socket.write(bytes)
  wires.push(wire)
}
const postBytes = (path, body, headers = {}) => bytesOf('POST', path, { 'Content-Type': 'application/json', ...bob, ...headers }, JSON.stringify(body))

export const group = {
  async host () {
    receiver = createServer((request, response) => {
      // bob's receiver hangs
      received.push(request.url)
      if (request.url === '/alice') response.end()
    }).listen(0, '127.0.0.1')
    await new Promise(resolve => receiver.once('listening', resolve))
    return {
      script: fileURLToPath(new URL('./owners-host.mjs', import.meta.url)),
      honest: alice,
      config: configuration({ tasks: { store: 'memory', max_tasks: 400 }, push: { allow: [`127.0.0.1:${receiver.address().port}`] }, mcp_servers: [upstream()] })
    }
  },
  async end () { receiver?.closeAllConnections(); receiver?.close() },
  entries: context => [
    { name: 'without anyone else', attack: () => aliceDoes(context), holds: ({ problems }) => problems },
    against('1,500 sessions of MCP', async () => {
      for (let i = 0; i < 1_500; i += 50) await Promise.all(Array.from({ length: 50 }, () => mcpSession(context.url, bob)))
    }),
    against('1,200 event streams of MCP', async (_, wires) => {
      const listen = modern('subscriptions/listen', { notifications: { toolsListChanged: true } })
      for (let i = 0; i < 1_200; i++) {
        write(wires, context, postBytes('/mcp', listen.body, listen.headers))
        if (i % 50 === 0) await delay(30)
      }
      await until(() => wires.every(({ text, isClosed }) => text !== '' || isClosed))
    }),
    against('1,200 calls of an upstream that hang', async (_, wires) => {
      for (let i = 0; i < 1_200; i++) {
        write(wires, context, postBytes('/mcp/call', { server: 'upstream', tool: 'hang', arguments: {} }))
        if (i % 50 === 0) await delay(30)
      }
      await delay(500)
    }),
    against('1,200 tool calls of an agent that waits', async (_, wires) => {
      const wait = modern('tools/call', { name: 'vac_query_demo', arguments: { query: `wait ${BOBS_MS}` } })
      for (let i = 0; i < 1_200; i++) {
        write(wires, context, postBytes('/mcp', wait.body, wait.headers))
        if (i % 50 === 0) await delay(30)
      }
    }),
    against('bodies of 1 MiB, a quarter of the memory at once', async () => {
      const body = JSON.stringify({ user_input: 'x'.repeat(1_000_000) })
      await Promise.all(Array.from({ length: 200 }, () => context.post('/vac/demo', body, bob, { alone: true })))
    }),
    {
      name: 'what a shared server prints for bob is not shown to alice',
      async attack () {
        await context.post('/mcp/call', { server: 'upstream', tool: 'noise', arguments: {} }, bob)
        const failed = await context.post('/mcp/call', { server: 'upstream', tool: 'secret', arguments: { word: 'a' } }, alice)
        return { text: (await context.send({ path: '/mcp/servers', headers: alice })).text + failed.text }
      },
      holds: ({ text }) => /line \d+ yyy/.test(text) ? ['the lines of standard error are in /mcp/servers or in an error'] : []
    },
    {
      name: 'webhooks that hang: those of alice come meanwhile',
      async attack () {
        const base = `http://127.0.0.1:${receiver.address().port}`
        const set = (owner, taskId, path) => context.post('/a2a/tasks/pushNotification/set', rpc('tasks/pushNotification/set', { taskId, pushNotificationConfig: { url: base + path } }), owner)
        const create = async (owner, question) => jsonOf(await context.post('/a2a/tasks/send', task(question, 'vac_stream_demo'), owner)).result?.taskId
        for (let i = 0; i < 90; i++) {
          const id = await create(bob, 'wait 300')
          if (id !== undefined) await set(bob, id, '/bob')
        }
        await until(() => received.filter(path => path === '/bob').length > 5)
        received = []
        const id = await create(alice, 'wait 300')
        if (id !== undefined) await set(alice, id, '/alice')
        const came = await until(() => received.includes('/alice'))
        return { tried: 91, came, bobs: received.indexOf('/alice') }
      },
      holds: ({ came, bobs }) => came === undefined ? ['none of them came within 120 s'] : bobs > MAX_BOBS ? [`they came after ${bobs} more of bob`] : []
    },
    {
      name: 'the ended tasks of alice stay while bob creates more than max_tasks',
      async attack () {
        const { taskId } = jsonOf(await context.post('/a2a/tasks/send', task('hello'), alice)).result ?? {}
        for (let i = 0; i < 600; i += 20) await Promise.all(Array.from({ length: 20 }, () => context.post('/a2a/tasks/send', task('hello'), bob)))
        const seen = await context.post('/a2a/tasks/get', rpc('tasks/get', { taskId }), alice)
        return { tried: 600, seen, taskId }
      },
      holds: ({ seen, taskId }) => taskId === undefined ? ['alice cannot create a task'] : jsonOf(seen)?.result?.taskId === taskId ? [] : [`her task is gone: ${seen.text.slice(0, 160)}`]
    },
    against('1,500 tasks that run for three minutes', async () => {
      for (let i = 0; i < 1_500; i += 50) await Promise.all(Array.from({ length: 50 }, () => context.post('/a2a/tasks/send', task(`wait ${BOBS_MS}`, 'vac_stream_demo'), bob)))
    })
  ]
}
