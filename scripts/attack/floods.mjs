// Many large things at once, against a host with a heap of 96 MB. It may refuse with 503 and Retry-After; it lives.
import { setTimeout as delay } from 'node:timers/promises'
import { questionsByPath } from '../../test/probes/index.mjs'
import { bytesOf, mcpSession, modern, open, post, rpc } from './client.mjs'
import { configuration, until, upstream } from './host.mjs'

const MIB = 1024 * 1024
const COUNT = 300
const word = 'x'.repeat(MIB - 512)

/** A request with a body of almost 1 MiB for each path. */
const LARGE = [
  ...questionsByPath(word, 'demo').values(),
  { path: '/mcp/call', body: { server: 'upstream', tool: 'echo', arguments: { message: word } } }
]

/** Sends all at once, and gives the statuses. */
async function flood (context, count, request) {
  const seen = await Promise.all(Array.from({ length: count }, (_, i) => request(i)))
  const problems = []
  const wrong = seen.filter(({ status }) => status >= 500 && ![503, 504].includes(status))
  if (wrong.length > 0) problems.push(`${wrong.length} × ${wrong[0].status} ${wrong[0].text.slice(0, 200)}`)
  const silent = seen.filter(({ status, headers }) => status === 503 && headers['retry-after'] === undefined)
  if (silent.length > 0) problems.push(`${silent.length} × 503 without Retry-After: ${silent[0].text.slice(0, 200)}`)
  return { tried: count, problems }
}

const holds = ({ problems }) => problems

export const group = {
  host: () => ({ heapMb: 96, config: configuration({ mcp_servers: [upstream()], tasks: { store: 'memory' } }) }),
  entries: context => [
    ...LARGE.map(({ path, body, headers }) => ({
      name: `${COUNT} bodies of 1 MiB at once on ${path}`,
      busy: true,
      holds,
      attack: () => {
        const bytes = Buffer.from(JSON.stringify(body))
        return flood(context, COUNT, () => context.post(path, bytes, { ...headers, connection: 'close' }, { alone: true, readMs: 2_000 }))
      },
      repro: `300 × POST ${path} with 1 MiB at once, --max-old-space-size=96`
    })),
    {
      name: `${COUNT} bodies of 1 MiB that wait for their last byte`,
      busy: true,
      async attack () {
        const wires = Array.from({ length: COUNT }, () => open(context.port))
        const body = JSON.stringify({ user_input: word })
        for (const { socket } of wires) socket.write(bytesOf('POST', '/vac/demo', { 'Content-Type': 'application/json', Connection: 'close' }, body).slice(0, -1))
        await delay(3_000)
        for (const { socket } of wires) socket.end('}')
        await until(() => wires.every(({ isClosed }) => isClosed))
        for (const { socket } of wires) socket.destroy()
        return { tried: COUNT, problems: [] }
      },
      holds
    },
    {
      name: '200 sessions of MCP with capabilities of 4 MB',
      busy: true,
      holds,
      attack: () => {
        const hello = Buffer.from(JSON.stringify(rpc('initialize', { protocolVersion: '2025-11-25', clientInfo: { name: 'a', version: '1' }, capabilities: { experimental: { x: { y: 'z'.repeat(4 * MIB - 1024) } } } })))
        return flood(context, 200, async i => {
          await delay(i * 10)
          return await context.post('/mcp', hello, { accept: 'application/json, text/event-stream' }, { alone: true })
        })
      }
    },
    {
      name: '100 subscriptions with addresses of 3.9 MB',
      busy: true,
      holds,
      async attack () {
        const { headers } = await mcpSession(context.url)
        return await flood(context, 100, async i => {
          await delay(i * 20)
          return await context.post('/mcp', rpc('resources/subscribe', { uri: `up://${i}${'u'.repeat(3.9 * MIB)}` }, i), headers, { alone: true })
        })
      }
    },
    {
      name: '60 tool calls with arguments of 3.9 MB',
      busy: true,
      holds,
      attack: () => {
        const { body, headers } = modern('tools/call', { name: 'vac_query_demo', arguments: { query: 'q', context: { a: 'a'.repeat(3.9 * MIB) } } })
        return flood(context, 60, () => context.post('/mcp', body, headers, { alone: true }))
      }
    },
    {
      name: '300 tasks with inputs of 1 MiB that run for 5 s',
      busy: true,
      holds,
      attack: () => {
        const body = Buffer.from(JSON.stringify(rpc('tasks/send', { skillName: 'vac_stream_demo', input: { query: 'wait 5000', context: { a: word } } })))
        return flood(context, COUNT, async i => {
          await delay(i * 10)
          return await context.post('/a2a/tasks/send', body, {}, { alone: true })
        })
      }
    },
    {
      name: '300 questions of 1 MiB in the background that run for 5 s',
      busy: true,
      holds,
      attack: () => {
        const body = Buffer.from(JSON.stringify({ user_input: 'wait 5000', context: word, background: true }))
        return flood(context, COUNT, async i => {
          await delay(i * 10)
          return await context.post('/vac/demo', body, {}, { alone: true })
        })
      }
    },
    {
      name: '300 imports of conversations of 1 MiB',
      busy: true,
      holds,
      attack: () => {
        const body = Buffer.from(JSON.stringify({ turns: [{ question: 'hello', answer: word }] }))
        return flood(context, COUNT, async i => {
          await delay(i * 10)
          return await context.post('/vac/demo/conversations', body, {}, { alone: true })
        })
      }
    },
    {
      name: '600 event streams that stay open',
      busy: true,
      async attack () {
        const { headers } = await mcpSession(context.url)
        const listen = modern('subscriptions/listen', { notifications: { toolsListChanged: true } })
        const wires = Array.from({ length: 600 }, () => open(context.port))
        const subscribe = rpc('tasks/sendSubscribe', { skillName: 'vac_stream_demo', input: { query: 'wait 4000' } })
        for (const [i, { socket }] of wires.entries()) {
          if (i % 3 === 0) socket.write(bytesOf('GET', '/mcp', { ...headers, accept: 'text/event-stream' }))
          else if (i % 3 === 1) socket.write(bytesOf('POST', '/mcp', { ...listen.headers, 'content-type': 'application/json' }, JSON.stringify(listen.body)))
          else socket.write(bytesOf('POST', '/a2a/tasks/sendSubscribe', { 'content-type': 'application/json' }, JSON.stringify(subscribe)))
          if (i % 25 === 0) await delay(20)
        }
        await until(() => wires.every(({ text, isClosed }) => text !== '' || isClosed))
        const statuses = wires.map(({ text }) => Number(/^HTTP\/1\.1 (\d+)/.exec(text)?.[1] ?? 0))
        for (const { socket } of wires) socket.destroy()
        const wrong = statuses.filter(status => status >= 500 && status !== 503)
        return { tried: 600, problems: wrong.length > 0 ? [`${wrong.length} × ${wrong[0]}`] : [] }
      },
      holds
    },
    {
      name: '100 results of an upstream of 4 MB at once',
      busy: true,
      // 500 names a failed call
      async attack () {
        await Promise.all(Array.from({ length: 100 }, () => post(context.url, '/mcp/call', { server: 'upstream', tool: 'big', arguments: { bytes: 4_000_000 } }, {}, { alone: true })))
        return { tried: 100 }
      }
    }
  ]
}
