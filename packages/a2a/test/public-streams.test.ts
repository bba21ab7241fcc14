import { test } from 'tap'
import type { Interpreter } from '@polyvac/core'
import { serve } from './fixtures/app.js'
import { until } from '../../../test/fixtures/until.js'
import { events, message, message03, result, rpc, type Json } from './fixtures/public.js'

interface Update { readonly text: string, readonly data: unknown, readonly append: boolean, readonly lastChunk: boolean, readonly metadata: unknown }

const textOf = (parts: Json[]): string => parts.map(({ text = '' }) => text).join('')

/** The artifact updates of a stream, whatever its version. */
function updatesOf (results: Json[]): Update[] {
  return results.flatMap(result => {
    const update: Json | undefined = result.artifactUpdate ?? (result.kind === 'artifact-update' ? result : undefined)
    if (update === undefined) return []
    const { artifact: { parts, metadata }, append = false, lastChunk = false } = update
    return [{ text: textOf(parts), data: parts.find(({ data }: Json) => data !== undefined)?.data, append, lastChunk, metadata }]
  })
}

const sources = [{ page_content: 'Bananas are yellow.', metadata: { source: 'fruit.md' } }]
const giant = 'a😀'.repeat(800_000)

const forms: Record<string, { interpreter: Interpreter, answer: string, hasSources?: boolean }> = {
  'chunks and an answer with sources': {
    async * interpreter () { yield 'one '; yield 'two'; return { answer: 'one two', source_documents: sources } }, answer: 'one two', hasSources: true
  },
  'chunks alone': { async * interpreter () { yield 'one '; yield 'two' }, answer: 'one two' },
  'an answer alone': { interpreter: () => ({ answer: 'at once', source_documents: sources }), answer: 'at once', hasSources: true },
  'an answer that goes on after the chunks': {
    async * interpreter () { yield 'one '; return { answer: 'one two', source_documents: sources } }, answer: 'one two', hasSources: true
  },
  'a chunk longer than a record keeps': { async * interpreter () { yield giant; yield '.' }, answer: `${giant}.` }
}

for (const [form, { interpreter, answer, hasSources = false }] of Object.entries(forms)) {
  test(`a stream has its text once, and the rest in the last update: ${form}`, async t => {
    const served = await serve(t, interpreter)
    const read = async (method: string, params: Json, version: string, headers = {}): Promise<Json[]> =>
      events((await rpc(served, method, params, { version, headers })).payload).map(({ data }) => data.result)
    const rest = await served.app.inject({ method: 'POST', url: '/a2a/v1/message:stream', headers: { 'a2a-version': '1.0' }, payload: { message: message('x') } })
    const newer = await read('SendStreamingMessage', { message: message('x') }, '1.0')
    const replayed = await read('SubscribeToTask', { id: newer[0]?.task.id }, '1.0', { 'last-event-id': '1' })
    for (const [what, results] of [
      ['1.0', newer], ['1.0, replayed', replayed],
      ['1.0 over HTTP', events(rest.payload).map(({ data }) => data)],
      ['0.3', await read('message/stream', { message: message03('x') }, '')]
    ] as const) {
      const updates = updatesOf(results)
      t.ok(updates.map(({ text }) => text).join('') === answer, `${what}: the updates joined are the answer`)
      t.equal(updates[0]?.append, false, `${what}: the first update begins the artifact`)
      t.ok(updates.slice(1).every(({ append }) => append), `${what}: the others extend it`)
      t.strictSame(updates.filter(({ lastChunk }) => lastChunk), updates.slice(-1), `${what}: the last one is marked as such`)
      t.strictSame(updates.map(({ data }) => (data as Json | undefined)?.source_documents), updates.map((_, i) => hasSources && i === updates.length - 1 ? sources : undefined), `${what}: the sources come once, at the end`)
    }
  })
}

/** Every text of an agent in the events of a stream, or in a task, outside of its history. */
function textsIn (results: Json[]): string {
  return results.flatMap(result => {
    const event: Json = result.artifactUpdate ?? result.statusUpdate ?? result.task ?? result.message ?? result
    const statusParts = event.status?.message?.parts ?? []
    return [...(event.artifact === undefined ? event.artifacts ?? [] : [event.artifact]).map(({ parts }: Json) => parts), statusParts, event.parts ?? []]
  }).map(textOf).join('')
}

test('a question, a refusal and small talk are sent once in every version, streamed before or not', async t => {
  const results: Record<string, Json> = {
    'Which size?': { input_required: 'Which size?' },
    'Sign in.': { auth_required: 'Sign in.' },
    'No.': { answer: 'No.', rejected: true },
    'Just so.': { answer: 'Just so.', as_message: true }
  }
  let cut: ((text: string) => string[]) | undefined
  const served = await serve(t, async function * (question) {
    yield * cut?.(question) ?? []
    return results[question] as never
  })
  /** Ends the tasks that wait for an authorization: their streams go on. */
  const cancelWaiting = async (): Promise<void> => {
    const { tasks } = await until(async () => {
      const page = await result(served, 'ListTasks', { status: 'TASK_STATE_AUTH_REQUIRED' }) as Json
      return page.tasks.length > 0 && page
    }, 'a task waits for an authorization') as Json
    for (const { id } of tasks) await result(served, 'CancelTask', { id })
  }
  for (const text of Object.keys(results)) {
    for (cut of [undefined, (text: string) => [...text]]) {
      const what = `${text} ${cut === undefined ? 'returned' : 'streamed'}`
      const waits = text === 'Sign in.'
      const read = async (method: string, params: Json, version: string): Promise<Json[]> => {
        const [{ payload }] = await Promise.all([rpc(served, method, params, { version }), waits && cancelWaiting()])
        return events(payload).map(({ data }) => data.result).slice(0, waits ? -1 : undefined)
      }
      const newer = await read('SendStreamingMessage', { message: message('', { parts: [{ text }] }) }, '1.0')
      const older = await read('message/stream', { message: message03('', { parts: [{ kind: 'text', text }] }) }, '')
      t.equal(textsIn(newer), text, `${what}: 1.0`)
      t.equal(textsIn(older), text, `${what}: 0.3`)
      if (text === 'Just so.' && cut === undefined) {
        t.match([newer, older], [[{ message: { role: 'ROLE_AGENT', parts: [{ text }] } }], [{ kind: 'message', role: 'agent', parts: [{ text }] }]], `${what}: one message`)
        t.strictSame([newer.length, older.length], [1, 1])
      }
      t.equal(textsIn([await result(served, 'SendMessage', { message: message('', { parts: [{ text }] }) })]), text, `${what}: the task, or the message`)
      if (waits) await cancelWaiting()
    }
  }
})
