import { verifyNotification } from '@polyvac/a2a'
import { createParser } from 'eventsource-parser'
import { writeFile } from 'node:fs/promises'
import { createServer, type IncomingHttpHeaders } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import t, { test, type Test } from 'tap'
import { testDatabase } from '../../../test/fixtures/postgres.js'
import { until } from '../../../test/fixtures/until.js'
import { start, words, workspace, type Frame, type TaskService } from './task-service.js'

/** Asks back where the question is `ask`; otherwise yields "n words", one after each pause. */
const INTERPRETER = `import { appendFileSync } from 'node:fs'
import { setTimeout } from 'node:timers/promises'

const note = line => appendFileSync(new URL('attempts.log', import.meta.url), line + '\\n')

export async function * stream_interpreter (question, vectorName, history, { signal }) {
  if (question === 'ask') return { input_required: 'How many words?' }
  const [words, pause] = question.match(/\\d+/g).map(Number)
  note(\`\${question}: begun\`)
  signal.addEventListener('abort', () => note(\`\${question}: stopped\`), { once: true })
  for (let word = 1; word <= words; word++) {
    await setTimeout(pause, undefined, { signal })
    yield \`word\${word} \`
  }
}
`

interface Replica extends TaskService { readonly attempts: () => Promise<string[]> }

/** Two hosts on one database, each with a folder and a log of its interpreter. */
async function twoReplicas (t: Test, more: string): Promise<[Replica, Replica]> {
  const url = await testDatabase(t)
  const begin = async (): Promise<Replica> => {
    const { folder, attempts } = await workspace(t, `  enable_mcp_server: true\n  tasks: { url: ${JSON.stringify(url)} }\n${more}`)
    await writeFile(join(folder, 'interpreter.mjs'), INTERPRETER)
    return { ...await start(t, folder), attempts }
  }
  return await Promise.all([begin(), begin()])
}

const ask = (query: string) => ({ skillName: 'vac_stream_slow', input: { query } })
const upTo = (last: number): number[] => Array.from({ length: last }, (_, index) => index + 1)

/** Waits until a replica executes a task: that one, and the other. */
async function executorOf (replicas: readonly [Replica, Replica], query: string): Promise<[Replica, Replica]> {
  const [one, other] = replicas
  return await until(async () => {
    if ((await one.attempts()).includes(`${query}: begun`)) return [one, other] as [Replica, Replica]
    return (await other.attempts()).includes(`${query}: begun`) && [other, one] as [Replica, Replica]
  }, 'a replica executes the task')
}

interface Event { readonly id: number, readonly result: any }

/** Events of a stream of A2A 1.0, at most `count` of them. */
async function events ({ url }: TaskService, method: string, params: object, after?: number, count = Infinity): Promise<Event[]> {
  const stop = new AbortController()
  const headers = { 'content-type': 'application/json', 'a2a-version': '1.0', ...(after !== undefined && { 'last-event-id': String(after) }) }
  const response = await fetch(`${url}/a2a`, { method: 'POST', headers, body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }), signal: stop.signal })
  const found: Event[] = []
  const parser = createParser({ onEvent: ({ id, data }) => { found.push({ id: Number(id), result: JSON.parse(data).result }) } })
  const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader()
  while (found.length < count) {
    const { done, value } = await reader.read()
    if (done) break
    parser.feed(value)
  }
  await reader.cancel()
  return found.slice(0, count)
}

const received: Array<{ headers: IncomingHttpHeaders, body: string }> = []
const receiver = createServer(async (request, response) => {
  let body = ''
  for await (const piece of request) body += String(piece)
  received.push({ headers: request.headers, body })
  response.end()
})
await new Promise<void>(resolve => { receiver.listen(0, '127.0.0.1', resolve) })
t.teardown(() => { receiver.closeAllConnections(); receiver.close() })
const origin = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}`
const replicas = await twoReplicas(t, `  push: { allow: [${JSON.stringify(new URL(origin).host)}] }\n`)
const [one, other] = replicas

test('any replica gets, lists and cancels a task, and the work at the other one stops', async t => {
  const query = '600 words, 50 ms'
  const { taskId } = await one.call('tasks/send', ask(query))
  for (const replica of replicas) {
    t.match(await replica.call('tasks/get', { taskId }), { taskId, metadata: { skillName: 'vac_stream_slow' } })
    t.match(await replica.call('tasks/list', {}), { tasks: [{ taskId }] })
  }
  const [executor, bystander] = await executorOf(replicas, query)
  const before = performance.now()
  t.match(await bystander.call('tasks/cancel', { taskId }), { taskId, state: 'canceled' })
  await until(async () => (await executor.attempts()).includes(`${query}: stopped`), 'the interpreter of the other replica stops')
  t.comment(`the interpreter stopped ${Math.round(performance.now() - before)} ms after the request to cancel`)
  t.match(await executor.call('tasks/get', { taskId }), { state: 'canceled' })
  t.match(await one.call('tasks/cancel', { taskId }), { error: { code: -32002 } })
  t.match(await other.call('tasks/get', { taskId: 'unknown' }), { error: { code: -32001 } })
})

test('a stream of one replica goes on at the other without a gap, in the dialect of the description and in A2A 1.0', async t => {
  const seen: Frame[] = []
  for await (const frame of one.follow('tasks/sendSubscribe', ask('40 words, 50 ms'))) {
    seen.push(frame)
    if (seen.filter(({ data }) => data.delta !== undefined).length === 3) break
  }
  const { taskId } = seen[0]!
  const rest: Frame[] = []
  for await (const frame of other.follow('tasks/resubscribe', { taskId }, { after: seen.at(-1)!.id })) rest.push(frame)
  const all = [...seen, ...rest]
  t.strictSame(all.map(({ id }) => id), upTo(all.length))
  t.equal(all.map(({ data }) => data.delta ?? '').join(''), words(40))
  t.match(rest.at(-1)?.data, { state: 'completed', artifacts: [{ content: { final_answer: words(40) } }] })
  for (const replica of [one, other]) {
    const replay: Frame[] = []
    for await (const frame of replica.follow('tasks/resubscribe', { taskId }, { after: 0 })) replay.push(frame)
    t.strictSame(replay.map(({ id, data: { messages } }) => [id, messages]), all.map(({ id, data: { messages } }) => [id, messages]))
  }

  const message = { messageId: 'm1', role: 'ROLE_USER', parts: [{ text: '40 words, 51 ms' }], metadata: { skillId: 'vac_stream_slow' } }
  const first = await events(one, 'SendStreamingMessage', { message }, undefined, 4)
  const { id } = first[0]!.result.task
  const later = await events(other, 'SubscribeToTask', { id }, first.at(-1)!.id)
  // what one event of the log becomes has its number once, at the end: the whole answer comes with the last one
  const both = [...first, ...later].filter(({ id }) => Number.isInteger(id))
  t.strictSame(both.map(({ id }) => id), upTo(both.length))
  t.match(later.at(-1)?.result, { statusUpdate: { status: { state: 'TASK_STATE_COMPLETED' } } })
  const deltas = both.flatMap(({ result }) => result.artifactUpdate?.artifact.parts ?? []).map(({ text = '' }) => text)
  t.equal(deltas.join(''), words(40))
})

test('input for a task that asks is taken by any replica', async t => {
  const { taskId } = await one.call('tasks/send', ask('ask'))
  await until(async () => (await other.call('tasks/get', { taskId })).state === 'input-required', 'the task asks')
  t.match(await other.call('tasks/send', { taskId, ...ask('3 words, 1 ms') }), { taskId })
  const record = await until(async () => {
    const record = await one.call('tasks/get', { taskId })
    return record.state === 'completed' && record
  }, 'the task is completed')
  t.match(record.artifacts, [{ content: { final_answer: words(3) } }])
})

test('a webhook gets each update once and in order, signed with the key that all replicas publish', async t => {
  const [keys, others] = await Promise.all(replicas.map(async ({ url }) => await (await fetch(`${url}/.well-known/jwks.json`)).text()))
  t.equal(keys, others)

  const count = 6
  const tasks = await Promise.all(upTo(count).map(async n => await replicas[n % 2]!.call('tasks/send', {
    ...ask(`3 words, ${n} ms`), pushNotificationConfig: { url: `${origin}/hook` }
  })))
  const updates = (): Array<{ taskId: string, data: { state: string } }> => received.map(({ body }) => JSON.parse(body))
  await until(() => updates().filter(({ data }) => data.state === 'completed').length === count, 'each end is delivered')
  for (const { taskId } of tasks) {
    t.strictSame(updates().filter(update => update.taskId === taskId).map(({ data }) => data.state), ['submitted', 'working', 'completed'])
  }
  for (const { headers, body } of received) await verifyNotification({ headers, body, jwks: JSON.parse(others!), audience: origin })
})
