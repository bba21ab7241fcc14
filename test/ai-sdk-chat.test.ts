import { test } from 'tap'
import { CLIENTS, openChat } from './ai-sdk/chat.mjs'
import { makeService } from './ai-sdk/service.js'

for (const { ai, version } of CLIENTS) {
  test(`ai ${version} gets every part of an answer`, async t => {
    const { url, work } = await makeService(t)
    const { chat, last, text, data, ends, requests } = openChat(ai, `${url}/ai/docs`, { id: `chat/${version}` })
    await chat.sendMessage({ text: 'one two' })
    t.equal(chat.error, undefined)
    t.equal(chat.status, 'ready')
    t.equal(text(), 'You asked: one two')
    const response = requests[0]!.response!
    t.equal(response.get('x-vercel-ai-ui-message-stream'), 'v1')
    t.match(response.get('content-type'), 'text/event-stream')
    t.equal(response.get('x-workflow-run-id'), last().id)
    t.equal(response.get('x-resumable-stream-id'), last().id)
    t.equal(response.get('x-conversation-id'), `chat/${version}`)
    t.strictSame(last().metadata, { taskId: last().id })

    await chat.sendMessage({ text: 'rich answer' })
    t.equal(chat.error, undefined)
    console.log(JSON.stringify(last(), null, 1).slice(0, 6000), data, requests.at(-1)!.text)
    await chat.sendMessage({ text: 'recall' })
    console.log(text(), ends.length, work.asked.length)
  })
}
