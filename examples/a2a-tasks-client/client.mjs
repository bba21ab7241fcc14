// A client of the A2A agent, with only fetch and a parser of server-sent events:
//   node client.mjs http://127.0.0.1:8080
import { verifyNotification } from '@polyvac/a2a'
import { createParser } from 'eventsource-parser'
import { createServer } from 'node:http'

const agent = process.argv[2] ?? 'http://127.0.0.1:8080'
const story = 'Write a story about Ada'
let requests = 0

await discover()
await ask()
await followAndResume()
await cancel()
await answerBack()
await beNotified()

/** The card lists the skills of the agent. */
async function discover () {
  const { name, skills } = await (await fetch(`${agent}/.well-known/agent.json`)).json()
  show('card', `${name}: ${skills.map(skill => skill.name).join(', ')}`)
}

/** A query waits for the whole answer. */
async function ask () {
  const { state, artifacts } = await call('tasks/send', { skillName: 'vac_query_stories', input: { query: story } })
  show('query', state, artifacts[0].content.answer)
}

/** A stream sends the text while it is produced. After a broken connection the client resumes it. */
async function followAndResume () {
  let taskId
  let last
  let text = ''
  for await (const { id, update } of follow('tasks/sendSubscribe', { skillName: 'vac_stream_stories', input: { query: story } })) {
    ({ taskId } = update)
    last = id
    text += update.data.delta ?? ''
    if (text.includes('went')) break // like a network failure: the task goes on
  }
  show('cut', text)
  for await (const { update: { data } } of follow('tasks/resubscribe', { taskId }, last)) {
    text += data.delta ?? ''
    if (data.state === 'completed') show('resumed', text, String(text === data.artifacts[0].content.final_answer))
  }
}

/** A canceled task stops its work; its followers get the event. */
async function cancel () {
  const { taskId } = await call('tasks/send', { skillName: 'vac_stream_stories', input: { query: story } })
  show('cancel', (await call('tasks/cancel', { taskId })).state)
  await call('tasks/cancel', { taskId }).catch(({ code, message }) => { show('cancel again', code, message) })
}

/** An agent may ask back. The answer continues the same task. */
async function answerBack () {
  const { taskId, state, messages } = await call('tasks/send', { skillName: 'vac_query_stories', input: { query: 'Write a story' } })
  show('asked back', state, messages.at(-1).parts[0].text)
  const { artifacts } = await call('tasks/send', { taskId, input: { query: 'Grace' } })
  show('answered', artifacts[0].content.answer)
}

/** A webhook receives each state, signed. */
async function beNotified () {
  const seen = new Set()
  let end
  const ended = new Promise(resolve => { end = resolve })
  const receiver = createServer(async (request, response) => {
    const chunks = []
    for await (const chunk of request) chunks.push(chunk)
    const body = Buffer.concat(chunks)
    try {
      const { id } = await verifyNotification({ headers: request.headers, body, jwksUrl: `${agent}/.well-known/jwks.json`, audience: origin })
      response.writeHead(204).end()
      // the same update may arrive twice
      if (seen.has(id)) return
      seen.add(id)
      const { data } = JSON.parse(body)
      show('webhook', data.state)
      if (data.state === 'completed') end()
    } catch ({ statusCode = 500, message }) {
      response.writeHead(statusCode).end()
      show('refused', message)
    }
  })
  await new Promise(resolve => { receiver.listen(0, '127.0.0.1', resolve) })
  const origin = `http://127.0.0.1:${receiver.address().port}`
  await fetch(origin, { method: 'POST', body: '{}' }) // a forged one
  await call('tasks/send', { skillName: 'vac_stream_stories', input: { query: story }, pushNotificationConfig: { url: `${origin}/hook` } })
  await ended
  receiver.close()
  receiver.closeIdleConnections()
}

/** One JSON-RPC call; its error is thrown with the agent's own code. */
async function call (method, params) {
  const { result, error } = await (await post(method, params)).json()
  if (error !== undefined) throw Object.assign(new Error(error.message), { code: error.data.code })
  return result
}

/** The updates of a task, until it ends or the caller leaves the loop. `after` is the id of the last known one. */
async function * follow (method, params, after) {
  const leave = new AbortController()
  const response = await post(method, params, { signal: leave.signal, headers: after === undefined ? {} : { 'last-event-id': after } })
  const updates = []
  const parser = createParser({ onEvent: ({ id, data }) => { updates.push({ id, update: JSON.parse(data) }) } })
  try {
    for await (const text of response.body.pipeThrough(new TextDecoderStream())) {
      parser.feed(text)
      yield * updates.splice(0)
    }
  } finally {
    leave.abort()
  }
}

async function post (method, params, { headers, signal } = {}) {
  return await fetch(`${agent}/a2a/${method}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify({ jsonrpc: '2.0', id: String(++requests), method, params }),
    signal
  })
}

function show (what, ...parts) {
  process.stdout.write(`${what}: ${parts.join(' | ')}\n`)
}
