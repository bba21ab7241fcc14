import { test } from 'tap'
import { until } from './fixtures/until.js'
import { openAssistant } from './ai-sdk/assistant.mjs'
import { browserFetch } from './ai-sdk/chat.mjs'
import { closePage } from './ai-sdk/page.mjs'
import { makeService } from './ai-sdk/service.js'

test('the page is closed at the end', t => {
  t.teardown(closePage)
  t.end()
})

test('assistant-ui asks, is reloaded in the middle of an answer, reads it on, and stops the next one', async t => {
  const { url, work } = await makeService(t)
  const api = `${url}/ai/docs`
  const before = openAssistant({ api, fetch })
  await until(() => before.thread() !== undefined, 'the page is there')
  before.thread().append('hold on')
  await until(() => before.said()[1] === 'You asked: ', 'there is text')
  before.leave()
  const browser = browserFetch()
  const after = openAssistant({ api, fetch: browser.fetch, messages: [{ id: '1', role: 'user', parts: [{ type: 'text', text: 'hold on' }] }] })
  await until(() => browser.requests.length > 0, 'the page comes back')
  await until(() => { work.release(); return after.said()[1] === 'You asked: hold on' }, 'the answer is complete')
  await until(() => after.streamId() === null, 'nothing is left to read')
  t.strictSame(after.said(), ['hold on', 'You asked: hold on'])
  t.equal(work.asked.length, 1, 'it was asked once')

  after.thread().append('recall')
  await until(() => after.said().at(-1) === 'user: hold on | assistant: You asked: hold on' && after.streamId() === null, 'the next question knows the first')
  after.thread().append('hold it')
  await until(() => after.said().at(-1) === 'You asked: ', 'there is text again')
  t.equal((await fetch(`${api}/${after.streamId()}/stop`, { method: 'POST' })).status, 200)
  await until(() => after.streamId() === null && after.thread().getState().isRunning === false, 'the answer ends')
  t.equal(work.aborted, 1, 'the agent is stopped')
  after.thread().append('fail')
  await until(() => after.thread().getState().messages.at(-1).status.type === 'incomplete', 'a failure is shown')
  t.match(after.thread().getState().messages.at(-1).status, { reason: 'error', error: { message: 'the source is away' } })
  after.leave()
})

test('the tools and the system text of assistant-ui reach the interpreter', async t => {
  const { url, work } = await makeService(t)
  const page = openAssistant({ api: `${url}/ai/docs`, fetch })
  await until(() => page.thread() !== undefined, 'the page is there')
  const pick = { type: 'frontend', description: 'Picks a color', parameters: { type: 'object', properties: {} }, execute: () => 'red' }
  page.current().registerModelContextProvider({ getModelContext: () => ({ system: 'Be short', tools: { pick } }) })
  page.thread().append('one')
  await until(() => page.said()[1] === 'You asked: one', 'it is answered')
  t.match(work.asked, [{ extra: { system: 'Be short', request: { tools: { pick: { description: 'Picks a color', parameters: { type: 'object' } } } } } }])
  page.leave()
})
