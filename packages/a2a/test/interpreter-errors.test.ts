import { test } from 'tap'
import type { Interpreter } from '@polyvac/core'
import { serve, type Served } from './fixtures/app.js'
import { events, message, message03, result, rpc, type Json } from './fixtures/public.js'

const fail = (more: object, text = 'only 3 files a day'): Error => Object.assign(new Error(text), more)
const throws = (err: unknown): Interpreter => async function * () { yield 'text '; throw err }

const SHOWN: Record<string, { err: Error, code: string }> = {
  'an error with expose': { err: fail({ expose: true }), code: 'A2A_SKILL_FAILED' },
  'an error with expose and a code': { err: fail({ expose: true, code: 'QUOTA', statusCode: 507 }), code: 'QUOTA' },
  'an error with a status below 500 and a code': { err: fail({ statusCode: 429, code: 'QUOTA' }), code: 'QUOTA' }
}

const HIDDEN: Record<string, unknown> = {
  'an error': fail({}, 'SECRET'),
  'an error with expose: false': fail({ expose: false, statusCode: 429, code: 'QUOTA' }, 'SECRET'),
  'an error with a status of 500 and a code': fail({ statusCode: 500, code: 'QUOTA' }, 'SECRET'),
  'an error with a status and without a code': fail({ statusCode: 429 }, 'SECRET'),
  'an error with a code alone': fail({ code: 'ECONNREFUSED' }, 'SECRET'),
  'a text': 'SECRET'
}

/** What each dialect gives the callers of a task that fails: the code, the text and everything that was sent. */
async function failuresOf (served: Served): Promise<Array<[string, unknown, unknown, string]>> {
  const params = { skillName: 'vac_query_docs', input: { query: 'x' } }
  const described = await served.task('tasks/send', params)
  const frame = (await served.frames('tasks/sendSubscribe', { ...params, skillName: 'vac_stream_docs' })).at(-1)?.data
  const newer = (await result(served, 'SendMessage', { message: message('x') })).task
  const older = await result(served, 'message/send', { message: message03('x') }, { version: '' })
  const http = (await served.app.inject({ method: 'POST', url: '/a2a/v1/message:send', headers: { 'a2a-version': '1.0' }, payload: { message: message('x') } })).json().task
  const streamed = events((await rpc(served, 'SendStreamingMessage', { message: message('x') })).payload).at(-1)?.data.result.statusUpdate
  return [
    ['the description', described.error?.code, described.error?.message, JSON.stringify(described)],
    ['a stream of the description', frame?.error?.code, frame?.error?.message, JSON.stringify(frame)],
    ...Object.entries<Json>({ '1.0': newer, 0.3: older, 'HTTP+JSON': http, 'a stream of 1.0': streamed }).map(([name, { status }]) =>
      [name, status.message.metadata.code, status.message.parts[0].text, JSON.stringify(status)] as [string, unknown, unknown, string])
  ]
}

for (const [what, { err, code }] of Object.entries(SHOWN)) {
  test(`${what} of an interpreter reaches the callers of every dialect with its text`, async t => {
    for (const [dialect, ...found] of await failuresOf(await serve(t, throws(err)))) {
      t.strictSame(found.slice(0, 2), [code, 'only 3 files a day'], dialect)
    }
  })
}

for (const [what, err] of Object.entries(HIDDEN)) {
  test(`${what} of an interpreter stays in the log, and callers of every dialect get a reference to it`, async t => {
    const served = await serve(t, throws(err))
    for (const [dialect, code, text, all] of await failuresOf(served)) {
      t.match([code, text], ['VAC_INTERPRETER_FAILED', /the VAC "docs" failed; the log has the cause under the task id /], dialect)
      t.notMatch(all, /SECRET/, dialect)
    }
    t.match(served.logged(), /SECRET/)
  })
}
