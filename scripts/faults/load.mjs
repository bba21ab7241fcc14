// Clients of a service: a steady rate of tasks over A2A, each followed to its end. They repeat what was refused or cut,
// with its idempotency key, and resume streams where they were. What they see becomes the history.
import { createHash } from 'node:crypto'
import { createServer, request as httpRequest } from 'node:http'
import { setTimeout as delay } from 'node:timers/promises'
import { createParser } from 'eventsource-parser'
import { jsonOf, post, rpc } from '../attack/client.mjs'
import { CALLS, MESSAGES } from './protocols.mjs'

/** A task that has not ended by then is given up; the checker finds it. */
const MAX_TASK_MS = 150_000
const MAX_WEBHOOKS_MS = 45_000
/** A stream has a comment line every 7 s. */
const MAX_SILENCE_MS = 10_000
const MAX_CALL_MS = 15_000
const RETRY_MS = 100
const READERS_AT_END = 16
/** Problems that are kept: the first ones name the cause. */
const MAX_PROBLEMS = 20
const TERMINAL = ['completed', 'failed', 'canceled']
/** What a client repeats: no connection, an overloaded or absent service. */
const PASSING = [0, 429, 502, 503, 504]

/** What the interpreter is asked, by the kind of task. */
const QUESTIONS = { cancel: 'words 200 50', burst: 'words 300 0', poison: 'poison' }
const WORDS = 'words 8 50'
/** What the clients do, in turn. */
const MIX = ['stream', 'two readers', 'push', 'stream', 'cancel', 'two readers', 'ask', 'A2A 1.0', 'push', 'twice']
export const ALL_PROTOCOLS = [...MIX, 'A2A 0.3', ...Object.keys(CALLS)]

const digest = text => createHash('sha1').update(text).digest('base64')

export class Load {
  history = []
  /** `{ kind, began, ended }` of each task, by performance.now(). */
  times = []
  problems = []
  #url
  #receiver
  #tasks = new Map()
  #running = new Set()
  #timer
  #count = 0
  #name = Math.random().toString(36).slice(2)
  #mix

  /** @param receiver that of `startReceiver`; it adds the webhooks of this load to its history */
  constructor (url, receiver, mix = MIX) {
    this.#url = url
    this.#receiver = receiver
    this.#mix = mix
    receiver.loads.set(this.#name, this)
  }

  /** Whether it created the task. */
  has (task) { return this.#tasks.has(task) }

  /** Begins `rate` tasks in a second, whether earlier ones have ended or not. */
  begin (rate) {
    const from = performance.now()
    let begun = 0
    this.#timer = setInterval(() => {
      for (; begun < (performance.now() - from) * rate / 1000; begun++) this.run(this.#mix[this.#count % this.#mix.length])
    }, 10)
  }

  /** One task. Resolves to the state of its end. */
  run (kind) {
    const n = this.#count++
    const began = performance.now()
    const running = this.#run(kind, `${this.#name}-${n}`, n).catch(err => this.#note(`${kind}: ${err.message}`))
      .finally(() => { this.#running.delete(running); this.times.push({ kind, began, ended: performance.now() }) })
    this.#running.add(running)
    return running
  }

  /** Begins no more tasks. */
  end () { clearInterval(this.#timer) }

  /** Begins no more, waits for the end of all tasks and webhooks, and reads every record once more. */
  async finish () {
    this.end()
    while (this.#running.size > 0) await Promise.all(this.#running)
    const hooked = this.history.filter(({ kind }) => kind === 'hooked')
    for (const end = Date.now() + MAX_WEBHOOKS_MS; Date.now() < end && hooked.some(({ config }) => !this.#receiver.ended.has(config));) await delay(50)
    const tasks = [...this.#tasks.keys()]
    await Promise.all(Array.from({ length: READERS_AT_END }, async () => { for (let task; (task = tasks.pop()) !== undefined;) await this.#read(task).catch(err => this.#note(err.message)) }))
    this.#receiver.loads.delete(this.#name)
    return this.history
  }

  #note (text) { if (this.problems.length < MAX_PROBLEMS) this.problems.push(text) }

  async #run (kind, key, n) {
    const deadline = Date.now() + MAX_TASK_MS
    if (kind in CALLS) return await this.#answer(CALLS[kind], deadline)
    if (kind in MESSAGES) return await this.#message(MESSAGES[kind], key, deadline)
    if (kind === 'ask') return await this.#ask(key, deadline)
    const config = kind === 'push' ? `/${key}` : undefined
    const create = onTask => this.#follow({ key, query: QUESTIONS[kind] ?? WORDS, config, deadline, onTask, subscriber: `${n} a` })
    if (kind === 'twice') return await Promise.all([create(), this.#follow({ key, query: WORDS, deadline, subscriber: `${n} b` })])
    let beside
    const state = await create(task => {
      if (kind === 'two readers') beside = this.#follow({ task, deadline, subscriber: `${n} b` })
      if (kind === 'cancel') beside = delay(150).then(() => this.#cancel(task, deadline))
      // it is awaited below
      beside?.catch(() => {})
    })
    await beside
    return state
  }

  /** A task that asks back, and is answered. Its log is read afterwards. */
  async #ask (key, deadline) {
    const params = { skillName: 'vac_query_demo', input: { query: 'ask' } }
    const { result } = await this.#call('tasks/send', params, deadline, { 'idempotency-key': key })
    const task = result.taskId
    this.#created(task, key, false)
    // a replica that stops answers with the present state
    for (let { state } = result; state !== 'input-required'; await delay(RETRY_MS)) {
      if (TERMINAL.includes(state) || Date.now() > deadline) throw new Error(`it is ${state} instead of input-required`)
      state = (await this.#call('tasks/get', { taskId: task }, deadline)).result.state
    }
    // an answer that was cut may have arrived: the task does not wait any more
    await this.#call('tasks/send', { taskId: task, input: { query: 'the red one' } }, deadline, {}, 'A2A_TASK_NOT_WAITING')
    await this.#follow({ task, deadline, subscriber: `${key} a` })
  }

  /** A message of public A2A. Its id is the key: one that is sent again is the same task. */
  async #message (send, key, deadline) {
    const { task, isEnded } = await this.#answer(url => send(url, key), deadline)
    this.#created(task, key, false)
    if (isEnded) await this.#read(task)
    else await this.#follow({ task, deadline, subscriber: `${key} a` })
  }

  /** What `call` resolves to, once it is not undefined: it repeats a request that was cut or refused for a time. */
  async #answer (call, deadline) {
    for (;;) {
      const { response, value } = await call(this.#url)
      if (value !== undefined) return value
      if (!isPassing(response) || Date.now() > deadline) throw new Error(`${response.status} ${response.text.slice(0, 300)}`)
      await delay(RETRY_MS)
    }
  }

  #created (task, key, isStream) {
    this.history.push({ kind: 'created', task, key })
    this.#tasks.set(task, isStream)
  }

  async #cancel (task, deadline) {
    const { result } = await this.#call('tasks/cancel', { taskId: task }, deadline, {}, 'A2A_TASK_NOT_CANCELABLE')
    if (result?.state === 'canceled') this.history.push({ kind: 'canceled', task })
  }

  async #read (task) {
    const { result } = await this.#call('tasks/get', { taskId: task }, Date.now() + MAX_TASK_MS, {}, 'TASK_NOT_FOUND')
    if (result === undefined) return this.history.push({ kind: 'read', task })
    const said = result.messages.findLast(({ role }) => role === 'agent')?.parts.map(({ text }) => text).join('') ?? ''
    const text = this.#tasks.get(task) ? said : undefined
    this.history.push({ kind: 'read', task, state: result.state, text, body: digest(JSON.stringify(result)) })
  }

  /** A request until it is answered. An error with the code `expected` is an answer. */
  async #call (method, params, deadline, headers = {}, expected = undefined) {
    for (;;) {
      const response = await post(this.#url, `/a2a/${method}`, rpc(method, params), headers, { alone: true, ms: MAX_CALL_MS })
      const body = jsonOf(response)
      if (response.status === 200 && (body?.result !== undefined || (expected !== undefined && body?.error?.data?.code === expected))) return body
      if (!isPassing(response)) throw new Error(`${method}: ${response.status} ${response.text.slice(0, 300)}`)
      if (Date.now() > deadline) throw new Error(`${method}: not answered in time, last ${response.status} ${response.text.slice(0, 200)}`)
      await delay(RETRY_MS)
    }
  }

  /** Reads a log from its beginning to its end: of `task`, or of the one that it creates with `key`. */
  async #follow ({ key, query, config, task, deadline, subscriber, onTask }) {
    let last = 0
    let state
    const onEvent = ({ id, data }) => {
      const { taskId, data: record } = JSON.parse(data)
      if (task === undefined) {
        task = taskId
        this.#created(task, key, true)
        this.history.push({ kind: 'subscribed', task, subscriber, after: 0 })
        if (config !== undefined) this.history.push({ kind: 'hooked', task, config })
        onTask?.(task)
        // a create that was repeated joins its task in the middle: read that from its beginning
        if (id !== '1') return true
      }
      last = Number(id)
      state = record.state
      const { delta, retry } = record
      const writers = delta === undefined ? undefined : [...new Set([...delta.matchAll(/a(\d+) word/g)].map(([, attempt]) => Number(attempt)))]
      this.history.push({ kind: 'event', task, subscriber, seq: last, state, delta, retry, writers, body: digest(data) })
    }
    if (task !== undefined) this.history.push({ kind: 'subscribed', task, subscriber, after: 0 })
    while (!TERMINAL.includes(state)) {
      if (Date.now() > deadline) throw new Error(`task ${task}: no end after ${MAX_TASK_MS / 1000} s, ${state} at event ${last}`)
      const push = config === undefined ? {} : { pushNotificationConfig: { url: this.#receiver.url + config } }
      const [method, params, headers] = task === undefined
        ? ['tasks/sendSubscribe', { skillName: 'vac_stream_demo', input: { query }, ...push }, { 'idempotency-key': key }]
        : ['tasks/resubscribe', { taskId: task }, { 'last-event-id': String(last) }]
      const response = await readStream(this.#url, `/a2a/${method}`, rpc(method, params), headers, onEvent)
      if (response !== undefined && !isPassing(response)) throw new Error(`${method}: ${response.status} ${response.text.slice(0, 300)}`)
      if (!TERMINAL.includes(state)) await delay(RETRY_MS)
    }
    await this.#read(task)
    return state
  }
}

/** A refusal that may be repeated: an overloaded or absent service, also as an error of JSON-RPC. */
export function isPassing (response) {
  return PASSING.includes(response.status) || /"code":"(?:TASK_STORE_UNAVAILABLE|SHUTTING_DOWN)"/.test(response.text)
}

/**
 * Reads a stream until it ends, is cut, or `onEvent` returns true. Resolves to a response that is not a stream.
 * @param body undefined for a GET
 */
export function readStream (url, path, body, headers, onEvent) {
  return new Promise((resolve, reject) => {
    const { port } = new URL(url)
    const asked = httpRequest({ host: '127.0.0.1', port, path, method: body === undefined ? 'GET' : 'POST', agent: false, timeout: MAX_SILENCE_MS, headers: { 'content-type': 'application/json', ...headers } })
    asked.on('timeout', () => asked.destroy()).on('error', () => resolve()).end(body && JSON.stringify(body))
    asked.on('response', response => {
      const isStream = response.headers['content-type']?.startsWith('text/event-stream')
      let isDone = false
      const parser = createParser({ onEvent (event) { isDone ||= onEvent(event) === true } })
      let text = ''
      response.setEncoding('utf8').on('data', chunk => {
        try {
          if (isStream && !isDone) parser.feed(chunk)
          else if (!isStream) text += chunk
          if (isDone) asked.destroy()
        } catch (err) {
          asked.destroy()
          reject(err)
        }
      }).on('error', () => {}).on('close', () => resolve(isStream ? undefined : { status: response.statusCode, text }))
    })
  })
}

/** The receiver of webhooks. `ended` has the configs, the paths of their URLs, that got an end. */
export async function startReceiver () {
  const receiver = { ended: new Set(), loads: new Map() }
  const server = createServer((request, response) => {
    let body = ''
    request.setEncoding('utf8').on('data', chunk => { body += chunk }).on('end', () => {
      const { taskId, data } = JSON.parse(body)
      receiver.loads.get(/^\/(\w+)-/.exec(request.url)?.[1])?.history.push({ kind: 'webhook', task: taskId, config: request.url, id: request.headers['webhook-id'], body: digest(body) })
      if (TERMINAL.includes(data.state)) receiver.ended.add(request.url)
      response.writeHead(204).end()
    })
  }).listen(0, '127.0.0.1')
  await new Promise(resolve => server.once('listening', resolve))
  receiver.url = `http://127.0.0.1:${server.address().port}`
  receiver.close = () => { server.closeAllConnections(); server.close() }
  return receiver
}
