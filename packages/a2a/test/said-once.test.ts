import { test } from 'tap'
import type { Interpreter } from '@polyvac/core'
import { until } from '../../../test/fixtures/until.js'
import { a2aGrpc } from '../src/grpc/index.js'
import { serve } from './fixtures/app.js'
import { Caller } from './fixtures/grpc-caller.js'
import { events, message, message03, result, rpc, type Json } from './fixtures/public.js'
import { receiver } from './push/receiver.js'

type End = Json
interface Form {
  readonly chunks?: readonly string[]
  readonly end: End
  /** Each stands once in what a reader gets. */
  readonly said: readonly string[]
  /** Those of a webhook, which gets no chunks. */
  readonly last?: readonly string[]
  /** Those of a task of the skill `query`, where they differ. */
  readonly query?: readonly string[]
}

const asked = { input_required: 'Which size?' }
const before = ['Let me see.', 'Which size?']
const forms: Record<string, Form> = {
  'a question': { end: asked, said: ['Which size?'] },
  'a question that was streamed': { chunks: ['Which ', 'size?'], end: asked, said: ['Which size?'] },
  'a question that was streamed with a line end': { chunks: ['Which size?\n'], end: asked, said: ['Which size?'] },
  'a question after text': { chunks: ['Let me see. '], end: asked, said: before, last: ['Which size?'], query: ['Which size?'] },
  'a question at the end of what was streamed': { chunks: ['Let me see. ', 'Which size?'], end: asked, said: before },
  'a question at the end of the answer': { end: { answer: 'Let me see. Which size?', ...asked }, said: before },
  'a question at the end of the answer, which was streamed': { chunks: ['Let me see. Which', ' size?'], end: { answer: 'Let me see. Which size?', ...asked }, said: before },
  'a question beside the answer': { end: { answer: 'Let me see.', ...asked }, said: ['Which size?'] },
  'a question beside the answer, which was streamed': { chunks: ['Let me see.'], end: { answer: 'Let me see.', ...asked }, said: before, last: ['Which size?'], query: ['Which size?'] },
  'a question that goes on after the chunks': { chunks: ['Which'], end: asked, said: ['Which size?'] },
  'a question without text': { end: { input_required: '' }, said: ['the VAC asks for input'] },
  'a question without text after one that was streamed': { chunks: ['Which size?'], end: { input_required: ' ' }, said: ['Which size?'] },
  'a question without text beside an answer': { end: { answer: 'Which size?', input_required: '' }, said: ['Which size?'] },
  'a refusal': { end: { answer: 'We do not.', rejected: true }, said: ['We do not.'] },
  'a refusal that was streamed': { chunks: ['We do', ' not.'], end: { answer: 'We do not.', rejected: true }, said: ['We do not.'] },
  'a refusal that goes on after the chunks': { chunks: ['We do'], end: { answer: 'We do not.', rejected: true }, said: ['We do not.'] },
  'a refusal after other text': { chunks: ['Let me see.'], end: { answer: 'We do not.', rejected: true }, said: ['Let me see.', 'We do not.'], last: ['We do not.'], query: ['We do not.'] },
  'a refusal without text': { end: { answer: ' ', rejected: true }, said: ['the VAC declined'] },
  'small talk': { end: { answer: 'Just so.', as_message: true }, said: ['Just so.'] },
  'small talk that was streamed': { chunks: ['Just', ' so.'], end: { answer: 'Just so.', as_message: true }, said: ['Just so.'] },
  'small talk that goes on after the chunks': { chunks: ['Just'], end: { answer: 'Just so.', as_message: true }, said: ['Just so.'] }
}

const textOf = (parts: Json[] = []): string => parts.map(({ text = '' }) => text).join('')

/** What the agent has said, in events of a stream or in tasks, of every version. */
function saidIn (results: Json[]): string {
  return results.flatMap(result => {
    const event: Json = result.artifactUpdate ?? result.statusUpdate ?? result.task ?? result.message ?? result
    const turns = [...event.history ?? [], ...event.messages ?? []].filter(({ role }: Json) => /agent/i.test(role))
    const artifacts: Json[] = event.artifact === undefined ? event.artifacts ?? [] : [event.artifact]
    const texts = artifacts.map(({ parts, content }) => parts === undefined ? String(content.answer ?? content.final_answer) : textOf(parts))
    return [...turns.map(({ parts }) => textOf(parts)), ...texts, textOf(event.status?.message?.parts), textOf(event.parts)]
  }).join('')
}

test('a question, a refusal and small talk are sent once, by every version and binding', async t => {
  const interpreter: Interpreter = async function * (question) {
    const { chunks = [], end } = forms[question] as Form
    yield * chunks
    return end as never
  }
  const hook = await receiver(t)
  const served = await serve(t, interpreter, { plugin: { push: { allow: ['127.0.0.1'] } } })
  const grpc = await a2aGrpc(served.app, {})
  await served.app.ready()
  const caller = new Caller(grpc.port)
  t.teardown(() => { caller.client.close() })
  for (const [name, { said, last = said, query = said }] of Object.entries(forms)) {
    const check = (what: string, results: Json[], expected = said): void => {
      const text = saidIn(results)
      t.strictSame(expected.map(sentence => text.split(sentence).length - 1), expected.map(() => 1), `${name}, ${what}: ${text}`)
      if (expected.length === 1) t.equal(text.trim(), expected[0], `${name}, ${what}: nothing more`)
    }
    const parts = [{ text: name }]
    const read = async (method: string, params: Json, version: string, headers = {}): Promise<Json[]> =>
      events((await rpc(served, method, params, { version, headers })).payload).map(({ data }) => data.result)
    const sent = message('', { parts })
    const streamed = await read('SendStreamingMessage', { message: sent, configuration: { taskPushNotificationConfig: { url: hook.url } } }, '1.0')
    check('1.0', streamed)
    check('0.3', await read('message/stream', { message: message03('', { parts: [{ kind: 'text', text: name }] }) }, ''))
    const rest = async (path: string, payload: Json): Promise<string> =>
      (await served.app.inject({ method: 'POST', url: `/a2a/v1/${path}`, headers: { 'a2a-version': '1.0' }, payload })).payload
    check('1.0 over HTTP', events(await rest('message:stream', { message: message('', { parts }) })).map(({ data }) => data))
    const called: Json[] = []
    for await (const event of caller.stream('SendStreamingMessage', { message: message('', { parts }) })) called.push(event as Json)
    check('gRPC', called)
    check('1.0, sent', [await result(served, 'SendMessage', { message: message('', { parts }) })])
    check('1.0 over HTTP, sent', [JSON.parse(await rest('message:send', { message: message('', { parts }) })) as Json])
    check('gRPC, sent', [await caller.call('SendMessage', { message: message('', { parts }) })])
    check('0.3, sent', [await result(served, 'message/send', { message: message03('', { parts: [{ kind: 'text', text: name }] }), configuration: { blocking: true } }, { version: '' })])
    const { task: begun } = await result(served, 'SendMessage', { message: message('', { parts }), configuration: { returnImmediately: true } }) as Json
    if (begun !== undefined) {
      const ended = await until(async () => {
        const task = await result(served, 'GetTask', { id: begun.id }) as Json
        return !/SUBMITTED|WORKING/.test(task.status.state as string) && task
      }, 'the task has ended or asks')
      check('1.0, not awaited and read', [ended as Json])
      check('1.0, replayed', await read('SubscribeToTask', { id: begun.id }, '1.0', { 'last-event-id': '1' }))
    }
    const described = async (skill: string): Promise<Json> => {
      const { taskId } = await served.task('tasks/send', { skillName: `vac_${skill}_docs`, input: { query: name } })
      const task: Json = await served.reached(taskId, ['input-required', 'completed', 'failed'])
      // the reason of a refusal is the error of the record
      return task.error === null ? task : { messages: task.messages.filter(({ parts }: Json) => textOf(parts) !== task.error.message), parts: [{ text: task.error.message }] }
    }
    check('the description', [await described('stream')])
    check('the description, not streamed', [await described('query')], query)
    if (streamed[0]?.task !== undefined) {
      const { id } = streamed[0].task
      const about = (): Json[] => hook.received.map(({ body }) => JSON.parse(body) as Json).filter(({ task, statusUpdate }) => (task?.id ?? statusUpdate?.taskId) === id)
      const told = await until(() => about().find(event => !/SUBMITTED|WORKING/.test((event.statusUpdate ?? event.task).status.state as string)), 'the webhook has come')
      check('a webhook', [told as Json], last)
    }
  }
})
