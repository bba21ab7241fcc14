import { test } from 'tap'
import { until } from './fixtures/until.js'
import { browserFetch, type ChatMessage } from './ai-sdk/chat.mjs'
import { closePage, HOOKS, mount } from './ai-sdk/page.mjs'
import { makeService, untilRead } from './ai-sdk/service.js'

const said = (messages: readonly ChatMessage[]): string[] => messages.map(({ parts }) => parts.filter(({ type }) => type === 'text').map(({ text }) => text).join(''))

test('the page is closed at the end', t => {
  t.teardown(closePage)
  t.end()
})

for (const { version, ai, useChat, useCompletion } of HOOKS) {
  test(`useChat of @ai-sdk/react ${version} asks, is reloaded in the middle of an answer, and reads it on`, async t => {
    const { url, work } = await makeService(t)
    const open = (messages: readonly ChatMessage[], resume: boolean): ReturnType<typeof mount> & { readonly requests: ReturnType<typeof browserFetch>['requests'] } => {
      const { fetch, requests } = browserFetch()
      const transport = new ai.DefaultChatTransport({ api: `${url}/ai/docs`, fetch })
      return { ...mount(() => useChat({ id: 'c', messages, resume, transport })), requests }
    }
    const before = open([], false)
    await until(() => before.current() !== undefined, 'the page is there')
    void before.current().sendMessage({ text: 'hold on' })
    await until(() => said(before.current().messages)[1] === 'You asked: ', 'there is text')
    const left = structuredClone(before.current().messages) as ChatMessage[]
    before.leave()
    const after = open(left, true)
    await until(() => after.requests.length > 0, 'the page comes back')
    await until(() => { work.release(); return after.current().status === 'ready' && said(after.current().messages)[1] === 'You asked: hold on' }, 'the answer is complete')
    t.strictSame(said(after.current().messages), ['hold on', 'You asked: hold on'])
    t.equal(after.current().error, undefined)
    t.equal(work.asked.length, 1)
    after.leave()
    await untilRead(url, 'c')
    const again = open(after.current().messages, true)
    await until(() => again.requests.at(-1)?.status === 204 && again.current().status === 'ready', 'there is nothing to read')
    t.strictSame(said(again.current().messages), ['hold on', 'You asked: hold on'])
    await again.current().sendMessage({ text: 'recall' })
    await until(() => said(again.current().messages).at(-1) === 'user: hold on | assistant: You asked: hold on', 'the next question knows the first')
    again.leave()
  })

  test(`useCompletion of @ai-sdk/react ${version} completes, as events and as text`, async t => {
    const { url } = await makeService(t)
    for (const streamProtocol of ['data', 'text']) {
      const errors: Error[] = []
      const page = mount(() => useCompletion({ id: streamProtocol, api: `${url}/ai/docs${streamProtocol === 'text' ? '?protocol=text' : ''}`, streamProtocol, onError: (err: Error) => { errors.push(err) } }))
      await until(() => page.current() !== undefined, 'the page is there')
      t.equal(await page.current().complete('one two'), 'You asked: one two', streamProtocol)
      await page.current().complete('fail')
      t.match(errors.map(({ message }) => message), streamProtocol === 'data' ? ['the source is away'] : [/./], 'a failure is shown')
      page.leave()
    }
  })
}
