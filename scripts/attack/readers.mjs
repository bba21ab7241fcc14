// Clients that send a request and do not read the response, for every kind of response. The host disconnects each after
// `stall_timeout`, and holds a bounded part of what it produces for them.
import { jsonBytes, jsonOf, mcpSession, modern, open, post, rpc, send, task, bytesOf } from './client.mjs'
import { configuration, connections, openAt, startHost, until, upstream } from './host.mjs'

const EACH = 3
/** An answer object has at most 8 Mi characters; a larger one would be answered with an error. */
const LARGE = 8_000_000
const FLOW = 'flow 40000'
/** A run of 15 million characters. */
const LONG = 'flow 15000'
const STALLED_MS = 125_000
/** Of each kind of response: a new kind brings its share. Answers of 8 MB take 50 MB, streams next to nothing. */
const MAX_GROWTH_PER_KIND = 21 * 1024 * 1024
const MAX_GROWTH_SMALL = 250 * 1024 * 1024

const message = text => ({ kind: 'message', messageId: `m${Math.random()}`, role: 'user', parts: [{ kind: 'text', text }] })
const call = (name, args, progressToken) => ({ name, arguments: args, ...progressToken !== undefined && { _meta: { progressToken } } })

/** The bytes of a request for each kind of response. */
async function requests ({ url }) {
  const { headers: session } = await mcpSession(url)
  const { headers: watcher } = await mcpSession(url)
  const { text } = await post(url, '/a2a/tasks/send', task(`large ${LARGE / 3}`))
  const large = /"taskId":"([^"]+)"/.exec(text)?.[1]
  if (large === undefined) throw new Error(`no large task: ${text.slice(0, 300)}`)
  const run = await longRun(url)
  const now = modern('tools/call', call('vac_stream_demo', { query: FLOW }, 'p'))
  now.body.params._meta.progressToken = 'p'
  const stream = path => accept => jsonBytes(path, { user_input: FLOW }, { accept })
  return {
    'a JSON answer': jsonBytes('/vac/demo', { user_input: `large ${LARGE}` }),
    text: stream('/vac/streaming/demo')('text/plain'),
    'server-sent events': stream('/vac/streaming/demo/sse')('text/event-stream'),
    NDJSON: stream('/vac/streaming/demo')('application/x-ndjson'),
    'an OpenAI answer': jsonBytes('/openai/v1/chat/completions', { model: 'demo', messages: [{ role: 'user', content: `large ${LARGE}` }] }),
    'an OpenAI stream': jsonBytes('/openai/v1/chat/completions', { model: 'demo', stream: true, messages: [{ role: 'user', content: FLOW }] }),
    'a response': jsonBytes('/openai/v1/responses', { model: 'demo', input: `large ${LARGE}` }),
    'a stream of a response': jsonBytes('/openai/v1/responses', { model: 'demo', stream: true, input: FLOW }),
    'a message of the AI SDK': jsonBytes('/ai/demo', { id: 'reader', messages: [{ id: 'm', role: 'user', parts: [{ type: 'text', text: FLOW }] }] }),
    'a run of AG-UI': jsonBytes('/ag-ui/demo', { threadId: 'reader', runId: 'reader', messages: [{ id: 'm', role: 'user', content: FLOW }] }),
    'tasks/sendSubscribe': jsonBytes('/a2a/tasks/sendSubscribe', rpc('tasks/sendSubscribe', { skillName: 'vac_stream_demo', input: { query: FLOW } })),
    'message/stream of 0.3': jsonBytes('/a2a', rpc('message/stream', { message: message(FLOW), configuration: {} })),
    'SendStreamingMessage of 1.0': jsonBytes('/a2a', rpc('SendStreamingMessage', { message: { messageId: 'm', role: 'ROLE_USER', parts: [{ text: FLOW }] } }), { 'a2a-version': '1.0' }),
    'large tasks, pipelined': jsonBytes('/a2a/tasks/get', rpc('tasks/get', { taskId: large })).repeat(8),
    'an MCP result': jsonBytes('/mcp', rpc('tools/call', call('vac_query_demo', { query: `large ${LARGE}` })), session),
    'an MCP stream of a session': jsonBytes('/mcp', rpc('tools/call', call('vac_stream_demo', { query: FLOW }, 'p')), watcher),
    'an MCP stream of 2026-07-28': jsonBytes('/mcp', now.body, now.headers),
    'events of a run that has ended': followBytes(run, 'text/event-stream'),
    'lines of a run in progress': jsonBytes('/vac/streaming/demo', { user_input: LONG }, { accept: 'application/x-ndjson', 'idempotency-key': 'lines' }),
    'a result of an upstream': jsonBytes('/mcp/call', { server: 'upstream', tool: 'big', arguments: { bytes: LARGE } }),
    'events of an upstream': jsonBytes('/mcp/call', { server: 'upstream', tool: 'big', arguments: { bytes: LARGE } }, { accept: 'text/event-stream' }),
    '/openapi.json, pipelined': bytesOf('GET', '/openapi.json', {}).repeat(300),
    '/mcp/tools, pipelined': bytesOf('GET', '/mcp/tools', {}).repeat(1_000)
  }
}

/** The path of the stream of a long run that has ended. */
async function longRun (url) {
  const { run_id: id } = jsonOf(await post(url, '/vac/demo', { user_input: LONG, background: true })) ?? {}
  const path = `/vac/demo/runs/${id}`
  const state = await until(async () => {
    const { state } = jsonOf(await send(url, { path })) ?? {}
    return state === 'running' || state === 'queued' ? undefined : state
  })
  if (state !== 'completed') throw new Error(`the run ${id} of a large text is ${state}`)
  return `${path}/stream`
}

const followBytes = (path, accept) => bytesOf('GET', path, { accept })

/** `count` readers that do not read, of a host with a small heap. @param prepare the bytes that they send in turn */
function smallHeap (what, count, prepare) {
  return {
    name: `${count} readers of ${what}, with a heap of 96 MB`,
    async attack () {
      const host = await startHost({ heapMb: 96, config: configuration({ connections }) })
      const requests = await prepare(host)
      const before = host.rss()
      const wires = Array.from({ length: count }, () => open(host.port, { read: false }))
      await until(() => wires.every(({ socket }) => !socket.connecting))
      for (const [i, { socket }] of wires.entries()) socket.write(requests[i % requests.length])
      let most = 0
      const ports = wires.map(({ socket }) => socket.localPort)
      const left = await until(() => {
        if (host.alive) most = Math.max(most, host.rss() - before)
        return !host.alive || openAt(host.port, ports) === 0
      })
      for (const { socket } of wires) socket.destroy()
      const { alive } = host
      host.kill()
      return { alive, most, left, note: `${count} readers of ${what}: +${Math.round(most / 2 ** 20)} MB resident` }
    },
    holds: ({ alive, most, left }) => [
      ...alive ? [] : ['the host ended'], ...most < MAX_GROWTH_SMALL ? [] : [`resident memory grows by ${Math.round(most / 2 ** 20)} MB`],
      ...left === undefined ? ['some are connected after 120 s'] : []
    ],
    repro: `node --max-old-space-size=96 polyvac start; ${count} sockets ask for ${what} and do not read`
  }
}

export const group = {
  host: () => ({ config: configuration({ connections, mcp_servers: [upstream()] }) }),
  async entries (context) {
    const started = new Map()
    const all = await requests(context)
    return [
      {
        name: 'memory while all of them wait',
        busy: true,
        ms: STALLED_MS,
        async attack () {
          const before = context.host.rss()
          for (const [name, bytes] of Object.entries(all)) {
            const wires = Array.from({ length: EACH }, () => open(context.port, { read: false }))
            await until(() => wires.every(({ socket }) => !socket.connecting))
            for (const { socket } of wires) socket.write(bytes)
            started.set(name, { wires, ports: wires.map(({ socket }) => socket.localPort) })
          }
          let most = 0
          await until(() => {
            most = Math.max(most, context.host.rss() - before)
            return openAt(context.port, [...started.values()].flatMap(({ ports }) => ports)) === 0
          }, STALLED_MS - 5_000)
          return { most, note: `${started.size} kinds × ${EACH}, +${Math.round(most / 2 ** 20)} MB resident` }
        },
        holds: ({ most }) => most < MAX_GROWTH_PER_KIND * started.size ? [] : [`resident memory grows by ${Math.round(most / 2 ** 20)} MB`]
      },
      ...Object.keys(all).map(name => ({
        name,
        busy: true,
        async attack () {
          const { wires, ports } = started.get(name) ?? { wires: [], ports: [] }
          const left = openAt(context.port, ports)
          for (const { socket } of wires) socket.destroy()
          return { tried: EACH, left, asked: ports.length }
        },
        holds: ({ left, asked }) => asked === 0 ? ['not tried'] : left === 0 ? [] : [`${left} of ${EACH} readers that take nothing are connected after ${STALLED_MS / 1000} s`]
      })),
      smallHeap('a JSON answer of 4 MB', 80, async () => [jsonBytes('/vac/demo', { user_input: 'large 4000000' })]),
      smallHeap('a run of 15 MB', 80, async ({ url }) => {
        const run = await longRun(url)
        return [followBytes(run, 'text/event-stream'), followBytes(run, 'application/x-ndjson')]
      })
    ]
  }
}
