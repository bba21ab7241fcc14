import { randomUUID } from 'node:crypto'
import { until } from '../fixtures/until.js'
import { ASKING_TOOL, FAR, FAR_TOOL, SERVER, TOOL, VAC, type Caller, type Thing } from './callers.js'
import { OpenStream } from './open-stream.js'
import { rpc, type Row, type Sender, type State } from './row.js'
import { HOOK } from './rows/a2a.js'
import { ABLE, modern } from './rows/mcp.js'
import type { Sent, Wire } from './send.js'

/** What a row is sent about, and the same that does not exist. */
export interface Target {
  readonly id: string
  readonly unknown: string
  readonly more: Readonly<Record<string, string>>
  /** What its owner sees of it: equal as long as it is unchanged. */
  readonly look?: () => unknown
  /** Brings it to its end: what is wrong where a stranger ended it before. */
  readonly proof?: () => Promise<string | undefined>
}

type Json = Record<string, any>

const NAMES: Partial<Record<Thing, readonly [string, string]>> = {
  nothing: ['', ''], administration: ['', ''], wholeServer: ['', ''], farTool: ['', ''], vac: [VAC, 'nobody'], anyVac: [VAC, 'nobody'], sseVac: [VAC, 'nobody'], tool: [TOOL, 'exho'], server: [SERVER, 'filex']
}
const QUESTIONS: Readonly<Record<State, string>> = { working: 'wait', 'input-required': 'ask', completed: 'hello' }
/** A call that waits does so as long as the test runs: the time is in seconds. */
const inputOf = (query: string): Json => ({ query, stream_settings: { timeout: 3_600 } })
const BOTH = { accept: 'application/json, text/event-stream' }
const V1 = { 'a2a-version': '1.0' }

/** An id of the same form that was never issued. */
export function unknownLike (id: string): string {
  if (/^[0-9a-f]{8}-[0-9a-f-]{27}$/.test(id)) return randomUUID()
  const middle = id.length >> 1
  const at = /\w/.test(id[middle]!) ? middle : middle + 1
  return id.slice(0, at) + (id[at] === '0' ? '1' : '0') + id.slice(at + 1)
}

/** What alice owns at a service, made lazily: one of each for callers who may not, more for those who change it. */
export class World {
  readonly #wire: Wire
  readonly #postUrl: string
  readonly #authorizationOf: (caller: Pick<Caller, 'name'>) => string | undefined
  readonly #alice: string
  readonly #targets = new Map<string, Promise<Target>>()
  readonly #sessions = new Map<string, Promise<string>>()
  readonly #streams: OpenStream[] = []

  /** @param postUrl where messages of HTTP+SSE are posted */
  constructor (wire: Wire, authorizationOf: (caller: Pick<Caller, 'name'>) => string | undefined, postUrl = wire.url) {
    this.#wire = wire
    this.#postUrl = postUrl
    this.#authorizationOf = authorizationOf
    this.#alice = authorizationOf({ name: 'alice' })!
  }

  close (): void {
    for (const stream of this.#streams) stream.leave()
  }

  /** @param isOwn one that no other row uses */
  async target ({ thing, names, protocol }: Row, state: State, isOwn = false): Promise<Target> {
    const given = names ?? NAMES[thing]
    if (given !== undefined) return { id: given[0], unknown: given[1], more: {} }
    if (isOwn) return await this.#make(thing, protocol, state)
    const key = `${thing} ${state} ${['session', 'call'].includes(thing) ? protocol : ''} ${thing === 'parked' ? protocol : ''}`
    const known = this.#targets.get(key) ?? this.#make(thing, protocol, state)
    this.#targets.set(key, known)
    return await known
  }

  /** The part of a caller who is known: without a credential, alice's session. */
  sender (caller: Caller, more: Sender['more']): Sender {
    const authorization = this.#authorizationOf(caller)
    const [name, owner] = caller.owner === undefined ? ['alice', this.#alice] : [caller.name, authorization]
    return {
      url: this.#wire.url,
      postUrl: this.#postUrl,
      authorization,
      alice: this.#alice,
      more,
      session: async revision => {
        const key = `${name} ${revision}`
        const session = this.#sessions.get(key) ?? this.#openSession(revision, owner)
        this.#sessions.set(key, session)
        return { 'mcp-session-id': await session }
      }
    }
  }

  async #make (thing: Thing, protocol: string, state: State): Promise<Target> {
    const revision = protocol.slice('MCP '.length)
    switch (thing) {
      case 'task': return await this.#task(state)
      case 'toolTask': return await this.#toolTask(state)
      case 'farTask': return await this.#farTask(state)
      case 'run': return await this.#run(state)
      case 'response': {
        const { id, more, look } = await this.#run(state)
        return target(`${id.replaceAll('-', '')}00`, more, look)
      }
      case 'conversation': return target((await this.#ask({ user_input: 'wait', background: true })).conversation_id)
      case 'storedConversation': return await this.#conversation(undefined)
      case 'begunConversation': {
        const items = [{ role: 'user', content: 'hello' }]
        const { id } = await this.#json({ path: '/openai/v1/conversations', body: { items } })
        const read = async (): Promise<Json> => await this.#json({ method: 'GET', path: `/openai/v1/conversations/${id}/items` })
        return target(id, { item: (await read()).first_id }, read)
      }
      case 'namedConversation': return await this.#conversation(randomUUID())
      case 'runKey': {
        const key = randomUUID()
        await this.#ask({ user_input: 'hello', background: true }, { 'idempotency-key': key })
        return target(key)
      }
      case 'namedRun': {
        const { runId, text } = await this.#askAgUi(QUESTIONS.completed)
        return target(runId, {}, async () => text)
      }
      case 'interrupt': {
        const { threadId, text } = await this.#askAgUi(QUESTIONS['input-required'])
        const [, id] = /"interrupts":\[\{"id":"([^"]+)"/.exec(text) ?? []
        return target(id, { thread: threadId }, async () => (await this.#json({ method: 'GET', path: `/vac/${VAC}/runs/${id}` })))
      }
      case 'session': {
        const id = await this.#openSession(revision, this.#alice)
        const headers = { ...BOTH, 'mcp-session-id': id, 'mcp-protocol-version': revision }
        return target(id, {}, async () => (await this.#send({ path: '/mcp', headers, body: rpc('ping') })).text)
      }
      case 'sseSession': {
        const stream = this.#open({ method: 'GET', path: '/mcp', headers: { accept: 'text/event-stream' } })
        await stream.until('sse_session=')
        return target(/sse_session=([^\s&]+)/.exec(stream.text)![1]!)
      }
      case 'call': return await this.#call(revision)
      case 'parked': {
        const body = { server: SERVER, tool: ASKING_TOOL, arguments: {} }
        return target((await this.#json({ path: '/mcp/call', body })).requestState)
      }
      case 'parkedVac': {
        const params = { name: `vac_query_${VAC}`, arguments: { query: 'ask' } }
        return target((await this.#json(modern('tools/call', params, { elicitation: {} }))).result.requestState)
      }
      default: throw new TypeError(`${thing} has no target`)
    }
  }

  async #task (state: State): Promise<Target> {
    const params = { skillName: `vac_stream_${VAC}`, input: inputOf(QUESTIONS[state]) }
    const { result: { taskId } } = await this.#json({ path: '/a2a/tasks/send', body: rpc('tasks/send', params) })
    const read = async (): Promise<Json> => (await this.#json({ path: '/a2a/tasks/get', body: rpc('tasks/get', { taskId }) })).result
    await until(async () => (await read()).state === state, `a task is ${state}`)
    await this.setHook(taskId)
    return target(taskId, {}, async () => {
      const hooks = await this.#json({ path: '/a2a', headers: V1, body: rpc('ListTaskPushNotificationConfigs', { taskId }) })
      return [await read(), hooks]
    })
  }

  /** Sets the webhook of a task, which a row may have deleted. */
  async setHook (taskId: string): Promise<void> {
    await this.#json({ path: '/a2a', headers: V1, body: rpc('CreateTaskPushNotificationConfig', { taskId, id: 'hook', url: HOOK }) })
  }

  async #run (state: State): Promise<Target> {
    const { run_id: id, conversation_id: conversation } = await this.#ask({ user_input: state === 'working' ? 'pause' : QUESTIONS[state], background: true })
    const read = async (): Promise<Json> => await this.#json({ method: 'GET', path: `/vac/${VAC}/runs/${id}` })
    const name = { working: 'running', 'input-required': 'input_required', completed: 'completed' }[state]
    await until(async () => (await read()).state === name, `a run is ${name}`)
    // it is changed once more
    if (state === 'working') await this.#send({ method: 'GET', path: `/vac/${VAC}/runs/${id}/stream`, until: 'data:' })
    return target(id, { conversation }, read)
  }

  /** A conversation with an answer. */
  async #conversation (named: string | undefined): Promise<Target> {
    const { conversation_id: id, run_id: run } = await this.#ask({ user_input: 'hello', background: true, conversation_id: named })
    const read = async (path: string): Promise<Json> => await this.#json({ method: 'GET', path: `/vac/${VAC}/${path}` })
    await until(async () => (await read(`runs/${run}`)).state === 'completed', 'a run is completed')
    return target(id, { item: `msg_${run.replaceAll('-', '')}00iffff` }, async () => await read(`conversations/${id}`))
  }

  async #askAgUi (content: string): Promise<{ readonly threadId: string, readonly runId: string, readonly text: string }> {
    const [threadId, runId] = [randomUUID(), randomUUID()]
    const { text } = await this.#send({ path: `/ag-ui/${VAC}`, body: { threadId, runId, messages: [{ id: randomUUID(), role: 'user', content }] } })
    return { threadId, runId, text }
  }

  async #ask (question: Json, headers: Sent['headers'] = {}): Promise<Json> {
    // without a separate bound, a run that waits ends before the test
    return await this.#json({ path: `/vac/streaming/${VAC}/sse`, headers, body: { stream_timeout: 3_600, ...question } })
  }

  async #toolTask (state: State): Promise<Target> {
    const created = await this.#json(modern('tools/call', { name: `vac_stream_${VAC}`, arguments: inputOf(QUESTIONS[state]) }))
    return await this.#untilTask(created.result.taskId, state)
  }

  async #farTask (state: State): Promise<Target> {
    const created = await this.#json(modern('tools/call', { name: `${FAR}__${FAR_TOOL}`, arguments: inputOf(QUESTIONS[state]) }))
    return await this.#untilTask(created.result.taskId, state)
  }

  async #untilTask (taskId: string, state: State): Promise<Target> {
    const read = async (): Promise<Json> => (await this.#json(modern('tasks/get', { taskId }))).result
    await until(async () => (await read()).status === state.replace('-', '_'), `a task of MCP is ${state}`)
    return target(taskId, {}, read)
  }

  /** A call that asks, or waits, in a separate session: its id is that of its last event. */
  async #call (revision: string): Promise<Target> {
    const session = await this.#openSession(revision, this.#alice)
    const headers = { ...BOTH, 'mcp-session-id': session, 'mcp-protocol-version': revision }
    const asks = revision >= '2025-06-18'
    const params = { name: `vac_stream_${VAC}`, arguments: inputOf(asks ? 'ask' : 'pause'), _meta: { progressToken: 'p' } }
    const stream = this.#open({ path: '/mcp', headers, body: { ...rpc('tools/call', params), id: 'asked' } })
    await stream.until(asks ? 'elicitation/create' : 'notifications/progress')
    const event = stream.text.match(/^id: (.+)$/gm)!.at(-1)!.slice('id: '.length)
    const post = async (message: object): Promise<unknown> => await this.#send({ path: '/mcp', headers, body: { jsonrpc: '2.0', ...message } })
    if (!asks) {
      const proof = async (): Promise<string | undefined> => {
        await post({ id: 1, method: 'ping' })
        return stream.isOver ? `the stream ended: ${stream.text}` : undefined
      }
      return { ...target(event, { session, question: 'none' }), proof }
    }
    const { id: question } = JSON.parse(/^data: (.*elicitation\/create.*)$/m.exec(stream.text)![1]!) as { id: string }
    const proof = async (): Promise<string | undefined> => {
      await post({ id: question, result: { action: 'accept', content: { reply: 'the answer of alice' } } })
      await until(() => stream.isOver, 'the call ends')
      return stream.text.includes('heard the answer of alice') ? undefined : `the call ended: ${stream.text}`
    }
    return { ...target(event, { session, question }), proof }
  }

  async #openSession (protocolVersion: string, authorization: string | undefined): Promise<string> {
    const body = rpc('initialize', { protocolVersion, capabilities: ABLE, clientInfo: { name: 'test', version: '1' } })
    const { headers, text } = await this.#wire.send({ path: '/mcp', headers: BOTH, body }, authorization)
    const { 'mcp-session-id': id } = headers
    if (typeof id !== 'string') throw new Error(`no session: ${text}`)
    return id
  }

  #open (sent: Sent): OpenStream {
    const stream = new OpenStream(this.#wire.url, sent, this.#alice)
    this.#streams.push(stream)
    return stream
  }

  async #send (sent: Sent): ReturnType<Wire['send']> {
    return await this.#wire.send(sent, this.#alice)
  }

  /** The JSON of an answer to alice, or that of the last event. */
  async #json (sent: Sent): Promise<Json> {
    const { text } = await this.#send(sent)
    try {
      return JSON.parse(text.match(/^data: (.+)$/gm)?.at(-1)?.slice('data: '.length) ?? text)
    } catch {
      throw new Error(`no JSON in the answer to alice: ${text.slice(0, 500)}`)
    }
  }
}

function target (id: unknown, more: Target['more'] = {}, look?: Target['look']): Target {
  if (typeof id !== 'string') throw new Error('alice has no id of what she made')
  return { id, unknown: unknownLike(id), more, ...look !== undefined && { look } }
}
