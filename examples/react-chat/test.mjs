// Asks as the page does, without a browser: logs in, leaves in the middle of an answer, comes back, stops, replies.
import assert from 'node:assert/strict'
import { build } from 'vite'
import { buildApp } from './app.js'

await build({ root: import.meta.dirname, logLevel: 'error' })

const app = await buildApp({ secret: 'a secret of the test', path: ':memory:', page: new URL('dist', import.meta.url).pathname })
const url = await app.listen({ port: 0, host: '127.0.0.1' })
const json = { 'content-type': 'application/json' }
const send = async (method, path, body, headers = {}) => await fetch(url + path, { method, headers: { ...body !== undefined && json, ...headers }, body: body && JSON.stringify(body) })

/** The frames of a response until `isLast` holds for one. */
async function framesOf (response, isLast = () => false) {
  assert.equal(response.status, 200)
  const frames = []
  let rest = ''
  for await (const text of response.body.pipeThrough(new TextDecoderStream())) {
    const events = (rest + text).split('\n\n')
    rest = events.pop()
    for (const event of events) {
      const id = /^id: (.*)$/m.exec(event)?.[1]
      const data = /^data: (\{.*\})$/m.exec(event)?.[1]
      if (data !== undefined) frames.push({ ...JSON.parse(data), cursor: id })
      if (isLast(frames.at(-1))) return frames
    }
  }
  return frames
}
const textOf = frames => frames.map(({ type, delta }) => type === 'text-delta' ? delta : '').join('')

try {
  assert.match(await (await fetch(url)).text(), /<title>Helpdesk<\/title>/)

  const ask = { id: 'c', trigger: 'submit-message', messages: [{ id: 'm', role: 'user', parts: [{ type: 'text', text: 'Where is order 7?' }] }] }
  assert.equal((await send('POST', '/ai/helpdesk', ask)).status, 401)
  const login = async name => ({ authorization: `Bearer ${(await (await send('POST', '/login', { name })).json()).token}` })
  const ada = await login('ada')

  // the page is reloaded in the middle of the answer, which goes on
  const first = await framesOf(await send('POST', '/ai/helpdesk', ask, ada), frame => frame?.type === 'text-delta')
  assert.equal(first[0].type, 'start')
  const whole = await framesOf(await send('GET', '/ai/helpdesk/c/stream', undefined, ada))
  assert.equal(whole[0].messageId, first[0].messageId)
  assert.match(textOf(whole), /^That is two lamps, on their way since Monday\. .*you like\. $/)
  assert.equal(whole.at(-1).type, 'finish')

  // a line that was lost goes on after the last frame
  const second = await framesOf(await send('POST', '/ai/helpdesk', { ...ask, id: 'd' }, ada), frame => frame?.type === 'text-delta')
  const rest = await framesOf(await send('GET', '/ai/helpdesk/d/stream', undefined, { ...ada, 'last-event-id': second.at(-1).cursor }))
  assert.equal(textOf(second) + textOf(rest), textOf(whole))

  // somebody else sees nothing of it
  assert.equal((await send('GET', '/ai/helpdesk/c/stream', undefined, await login('grace'))).status, 204)

  // stop stops
  const stopped = send('POST', '/ai/helpdesk', { ...ask, id: 'e' }, ada)
  assert.deepEqual(await (await stopped.then(() => send('POST', '/ai/helpdesk/e/stop', {}, ada))).json(), { success: true })
  assert.deepEqual((await framesOf(await stopped)).slice(-2).map(({ type }) => type), ['abort', 'finish'])

  // a question with two answers is an approval
  const cancel = { id: 'm', role: 'user', parts: [{ type: 'text', text: 'Cancel order 7' }] }
  const asked = await framesOf(await send('POST', '/ai/helpdesk', { ...ask, id: 'f', messages: [cancel] }, ada))
  const { approvalId, toolCallId } = asked.find(({ type }) => type === 'tool-approval-request')
  const { messageId } = asked[0]
  const call = { type: 'dynamic-tool', toolName: 'ask_user', toolCallId, input: {}, state: 'approval-responded', approval: { id: approvalId, approved: true } }
  const answered = await framesOf(await send('POST', '/ai/helpdesk', {
    ...ask, id: 'f', messageId, messages: [cancel, { id: messageId, role: 'assistant', parts: [call] }]
  }, ada))
  assert.equal(answered[0].messageId, messageId)
  assert.equal(textOf(answered), 'Order 7 is cancelled.')
  process.stdout.write('react-chat: all as expected\n')
} finally {
  await app.close()
}
