import { test, type Test } from 'tap'
import { until } from './fixtures/until.js'
import { CLIENTS, openChat, type ChatMessage, type OpenChat, type Part } from './ai-sdk/chat.mjs'
import { makeService, SOURCES, untilRead } from './ai-sdk/service.js'

/** The parts of a message as JSON: some versions have keys without a value. */
const partsOf = ({ parts }: ChatMessage): Part[] => JSON.parse(JSON.stringify(parts)) as Part[]
const typesOf = (message: ChatMessage): string[] => message.parts.map(({ type }) => type)
const tool = ({ parts }: ChatMessage): Part => parts.find(({ toolName }) => toolName === 'ask_user')!

/** Asks, and waits for the first text of the answer, which waits. */
async function hold ({ chat, requests, text }: OpenChat, question: string): Promise<{ readonly answered: Promise<void> }> {
  const before = requests.length
  const answered = chat.sendMessage({ text: question }) as Promise<void>
  await until(() => requests.length > before && text() === 'You asked: ', 'there is text')
  return { answered }
}

async function leave ({ chat }: OpenChat): Promise<void> {
  await chat.stop()
  await until(() => chat.status === 'ready', 'the page is left')
}

function isReady (t: Test, { chat }: OpenChat, what: string): void {
  t.equal(chat.error, undefined, what)
  t.equal(chat.status, 'ready', what)
}

for (const { ai, version, major } of CLIENTS) {
  // the later releases of each version replace a message that is read again
  const isLate = ['5.0.277', '6.0.326', '7.0.173'].includes(version)

  test(`ai ${version} gets every kind of frame`, async t => {
    const { url, work } = await makeService(t)
    const open = openChat(ai, `${url}/ai/docs`, { id: `chat/${version}?` })
    const { chat, last, text, data, ends, requests } = open
    await chat.sendMessage({ text: 'one two' }, { body: { mood: 'good' } })
    isReady(t, open, 'a text')
    t.equal(text(), 'You asked: one two')
    t.match(work.asked[0]!.extra, { mood: 'good', protocol: 'ai_sdk', request: { trigger: 'submit-message' } })
    const { response, text: sent } = requests[0]!
    for (const [name, value] of [['x-vercel-ai-ui-message-stream', 'v1'], ['x-workflow-run-id', last().id], ['x-resumable-stream-id', last().id], ['x-conversation-id', `chat/${version}?`], ['cache-control', /no-cache/], ['content-type', /^text\/event-stream/], ['x-accel-buffering', 'no']] as const) t.match(response!.get(name), value, name)
    t.match(sent, /\ndata: \[DONE\]\n\n$/)
    t.strictSame(last().metadata, { taskId: last().id })

    await chat.sendMessage({ text: 'rich answer' })
    isReady(t, open, 'all kinds')
    t.equal(text(), 'First [1] and second [2].')
    t.strictSame(data.map(({ type, data }) => [type, data]).slice(0, 1), [['data-progress', { progress: 0.5, message: 'Looks up' }]])
    t.match(partsOf(last()), [
      { type: 'reasoning', text: 'A thought', state: 'done' },
      { type: 'dynamic-tool', toolName: 'files__search', toolCallId: 'call-1', state: 'output-available', input: { q: 'x' }, output: { hits: 2 } },
      { type: 'text', text: 'First [1]', state: 'done' },
      { type: 'dynamic-tool', toolName: 'read', toolCallId: 'call-2', state: 'output-error', errorText: 'no such file' },
      { type: 'dynamic-tool', toolName: 'forgotten', toolCallId: 'call-3', state: 'output-error' },
      { type: 'data-chart', data: { bars: [1, 2] } },
      { type: 'data-none', data: null },
      { type: 'file', mediaType: 'text/plain', url: 'data:text/plain;base64,QQ==' },
      { type: 'data-artifact', data: { name: 'a.txt' } },
      { type: 'text', text: ' and second [2].', state: 'done' },
      { type: 'source-url', sourceId: '1', url: 'https://example.org/a.md', title: 'A', providerMetadata: { polyvac: { index: 1, page_content: 'A passage.' } } },
      { type: 'source-document', sourceId: '2', mediaType: 'application/pdf', title: 'B', filename: 'notes/b.pdf', providerMetadata: { polyvac: { index: 2, page: 2, author: null } } },
      { type: 'file', mediaType: 'application/pdf', url: 'https://example.org/r.pdf' },
      { type: 'data-artifact', data: { name: 'report', filename: 'r.pdf' } },
      { type: 'data-artifact', data: { name: 'report', data: { rows: 1 } } },
      { type: 'data-artifact', data: { name: 'report', text: 'note' } },
      { type: 'data-follow_up', data: ['more?'] }
    ])
    t.ok(partsOf(last())[11]!.providerMetadata.polyvac.page_content.length < SOURCES[1]!.page_content.length, 'a passage is cut: it comes back with each question')
    t.strictSame(last().metadata, { taskId: last().id, usage: { inputTokens: 3, outputTokens: 4, totalTokens: 7 }, metadata: { model: 'm', nothing: null } })

    await chat.sendMessage({ text: 'recall' })
    t.equal(text(), 'user: one two | assistant: You asked: one two | user: rich answer | assistant: First [1] and second [2].')
    await chat.sendMessage({ text: 'reject this' })
    t.match(last(), { metadata: { rejected: true }, parts: [{ text: 'I do not do that.' }] })
    await chat.sendMessage({ text: 'sign in' })
    t.match(last().parts, [{ text: /^Sign in/ }, { type: 'data-auth-required', data: { question: /^Sign in/ } }])
    t.equal(new Set(chat.messages.map(({ id }: ChatMessage) => id)).size, 10, 'each message has an id')
    t.equal(ends.length, 5)
    t.notMatch(requests[0]!.text, /finishReason/, 'the first releases of version 5 fail on it')
  })

  test(`ai ${version} shows why a question is refused, and why an answer failed`, async t => {
    const { url, work } = await makeService(t)
    for (const [path, question, message] of [
      ['docs', 'fail', /^the source is away$/], ['docs', 'late', /^the interpreter of the VAC "docs" failed.* request id \S+/], ['dosc', 'x', /^no VAC is named "dosc"; did you mean "docs"\?$/], ['docs', ' ', /must not be blank$/]
    ] as const) {
      const { chat, data, requests } = openChat(ai, `${url}/ai/${path}`)
      await chat.sendMessage({ text: question })
      t.equal(chat.status, 'error')
      t.match(chat.error.message, message)
      t.notMatch(requests[0]!.text ?? '', /SECRET|"type":"finish"/)
      if (path === 'docs' && question !== ' ') t.match(data, [{ type: 'data-error', data: { code: String, message: String, requestId: String } }])
      else t.match([requests[0]!.status, requests[0]!.response!.get('content-type')], [path === 'docs' ? 400 : 404, /^text\/plain/])
    }
    t.equal(work.asked.length, 2)
  })

  test(`ai ${version} reads an answer again after a reload: in its middle, after its end, and not twice`, async t => {
    const { url, work } = await makeService(t)
    const id = `reload ${version}`
    const before = openChat(ai, `${url}/ai/docs`, { id })
    await hold(before, 'hold on')
    const left = structuredClone(before.chat.messages) as ChatMessage[]
    await leave(before)

    const restored = isLate ? left : left.slice(0, 1)
    const tabs = [restored, restored.slice(0, 1)].map(messages => openChat(ai, `${url}/ai/docs`, { id, messages }))
    const resumed = tabs.map(async ({ chat }) => await chat.resumeStream())
    for (const tab of tabs) await until(() => tab.text() === 'You asked: ', 'a tab has the text')
    work.release()
    await Promise.all(resumed)
    for (const tab of tabs) {
      isReady(t, tab, 'a tab')
      t.strictSame(tab.chat.messages.map(({ role }: ChatMessage) => role), ['user', 'assistant'])
      t.equal(tab.text(), 'You asked: hold on')
      t.equal(tab.last().id, left[1]!.id)
    }
    t.equal(work.aborted, 0)
    t.equal(work.asked.length, 1)
    await untilRead(url, id)
    const late = openChat(ai, `${url}/ai/docs`, { id, messages: restored })
    await late.chat.resumeStream()
    t.equal(late.requests[0]!.status, 204, 'somebody has read it to its end')
    isReady(t, late, 'nothing to read')

    const sleeping = openChat(ai, `${url}/ai/docs`, { id: `${id} asleep` })
    await hold(sleeping, 'hold it')
    await leave(sleeping)
    work.release()
    await until(async () => {
      const { runs } = await (await fetch(`${url}/vac/docs/runs?state=running`)).json() as { runs: unknown[] }
      return runs.length === 0
    }, 'the answer is complete')
    const awake = openChat(ai, `${url}/ai/docs`, { id: `${id} asleep`, messages: sleeping.chat.messages.slice(0, 1) })
    await awake.chat.resumeStream()
    t.equal(awake.text(), 'You asked: hold it', 'the whole text, which no reader has had')
    await untilRead(url, `${id} asleep`)
    const again = openChat(ai, `${url}/ai/docs`, { id: `${id} asleep`, messages: awake.chat.messages })
    await again.chat.resumeStream()
    t.equal(again.requests[0]!.status, 204)
  })

  test(`ai ${version} stops an answer by its route, whether it reads it or not, and another question ends it`, async t => {
    const { url, work } = await makeService(t)
    const api = `${url}/ai/docs`
    const stop = async (id: string, body?: object, method = 'POST'): Promise<unknown> =>
      await (await fetch(`${api}/${encodeURIComponent(id)}/${method === 'POST' ? 'stop' : 'stream'}`, { method, ...body !== undefined && { body: JSON.stringify(body), headers: { 'content-type': 'application/json' } } })).json()
    const open = openChat(ai, api, { id: 'a' })
    t.strictSame(await stop('a'), { success: true }, 'nothing is in progress')
    const { answered } = await hold(open, 'hold')
    t.strictSame(await stop('a', { activeStreamId: 'another run' }), { success: true })
    t.equal(work.aborted, 0, 'another run is not this one')
    t.strictSame(await stop('a', { activeStreamId: open.last().id, assistantMessage: open.last() }), { success: true })
    await answered
    isReady(t, open, 'stopped')
    t.match(open.requests[0]!.text, /"type":"text-end"[^]*"type":"abort"[^]*"type":"finish"[^]*data: \[DONE\]\n\n$/)
    await until(() => work.aborted === 1, 'the agent is aborted')

    await hold(open, 'hold again')
    await leave(open)
    await stop('a', undefined, 'DELETE')
    await until(() => work.aborted === 2, 'the agent is aborted')

    const first = openChat(ai, api, { id: 'b' })
    const { answered: superseded } = await hold(first, 'hold a')
    const second = openChat(ai, api, { id: 'b', messages: first.chat.messages.slice(0, 1) })
    await second.chat.sendMessage({ text: 'now this' })
    t.equal(second.text(), 'You asked: now this')
    await superseded
    isReady(t, first, 'the first question')
    t.equal(first.text(), 'You asked: ')
    t.equal(work.aborted, 3)
  })

  test(`ai ${version} asks again and edits: the stored turns from there on are replaced`, async t => {
    const { url, work } = await makeService(t)
    const titles = async (): Promise<string[]> => {
      const { turns } = await (await fetch(`${url}/vac/docs/conversations/c`)).json() as { turns: Array<{ question: string }> }
      return turns.map(({ question }) => question)
    }
    const { chat, text } = openChat(ai, `${url}/ai/docs`, { id: 'c' })
    for (const question of ['one', 'two', 'three']) await chat.sendMessage({ text: question })
    t.strictSame(await titles(), ['one', 'two', 'three'])
    await chat.regenerate()
    t.equal(text(), 'You asked: three')
    t.strictSame([await titles(), work.asked.length], [['one', 'two', 'three'], 4])
    await chat.regenerate({ messageId: chat.messages[3].id })
    t.strictSame([await titles(), chat.messages.length], [['one', 'two'], 4])
    await chat.sendMessage({ text: 'another', messageId: chat.messages[2].id })
    t.strictSame([await titles(), chat.messages.length, text()], [['one', 'another'], 4, 'You asked: another'])
    await chat.sendMessage({ text: 'another' })
    t.strictSame(await titles(), ['one', 'another', 'another'], 'the same words again are another question')
    await chat.sendMessage({ text: 'recall' })
    t.equal(text(), ['one', 'another', 'another'].map(word => `user: ${word} | assistant: You asked: ${word}`).join(' | '))
  })

  test(`ai ${version} answers questions by typing`, async t => {
    const { url, work } = await makeService(t)
    for (const form of ['', ' plain', ' choice', ' form', ' agree']) {
      const open = openChat(ai, `${url}/ai/docs`, { id: `typed${form}` })
      await open.chat.sendMessage({ text: `ask${form}` })
      isReady(t, open, form)
      t.equal(open.text(), 'Which one?')
      const hasCard = ![' plain', ''].includes(form)
      t.strictSame(typesOf(open.last()), ['text', 'data-input-required', ...hasCard ? ['dynamic-tool'] : []])
      t.match(open.last().parts[1], { data: { question: 'Which one?', taskId: open.last().id, ...form === ' choice' && { choices: ['red', 'blue'] }, ...form === ' form' && { schema: { type: 'object' } } } })
      const { id } = open.last()
      await open.chat.sendMessage({ text: 'that one' })
      t.equal(open.text(), 'You asked: that one')
      t.equal(open.last().id, `${id}-1`)
      t.strictSame(work.asked.at(-1)!.history.map(({ content }) => content), [`ask${form}`, 'Which one?'])
      await open.chat.sendMessage({ text: 'recall' })
      t.match(open.text(), /assistant: Which one\? \| user: that one/)
    }
    const { chat, last } = openChat(ai, `${url}/ai/docs`, { id: 'stopped' })
    await chat.sendMessage({ text: 'ask' })
    await fetch(`${url}/ai/docs/${last().id}/stop`, { method: 'POST' })
    await chat.sendMessage({ text: 'recall' })
    t.match(last().parts[0], { text: 'user: ask | assistant: Which one?' }, 'a question that was cancelled gets no reply')
  })

  test(`ai ${version} answers questions by a card, in the same message`, async t => {
    const { url, work } = await makeService(t)
    const { lastAssistantMessageIsCompleteWithToolCalls: sendAutomaticallyWhen } = ai
    const open = openChat(ai, `${url}/ai/docs`, { id: 'card', sendAutomaticallyWhen })
    const { chat, last, requests } = open
    await chat.sendMessage({ text: 'ask form' })
    t.match(tool(last()), { state: 'input-available', input: { question: 'Which one?', schema: { type: 'object' } } })
    const { id } = last()
    const output = { color: 'red' }
    const asked = structuredClone(chat.messages) as ChatMessage[]
    await (chat.addToolOutput ?? chat.addToolResult)({ tool: 'ask_user', toolCallId: tool(last()).toolCallId, output })
    await until(() => chat.status === 'ready' && requests.length === 2, 'the card is answered')
    isReady(t, open, 'a card')
    t.strictSame(chat.messages.map((message: ChatMessage) => message.id).slice(1), [id])
    t.equal(open.text(), `Which one?You asked: ${JSON.stringify(output)}`)
    t.match(tool(last()), { state: 'output-available', output })
    t.equal(work.asked.at(-1)!.question, JSON.stringify(output))
    await chat.sendMessage({ text: 'recall' })
    t.equal(requests.length, 3, 'the answered card is not sent again')
    t.match(open.text(), /assistant: Which one\? \| user: \{"color":"red"\}/)

    const stale = openChat(ai, `${url}/ai/docs`, { id: 'card', messages: asked })
    await (stale.chat.addToolOutput ?? stale.chat.addToolResult)({ tool: 'ask_user', toolCallId: tool(asked[1]!).toolCallId, output })
    await stale.chat.sendMessage()
    t.match([stale.chat.status, stale.chat.error.message], ['error', /a question that is not open/])
  })

  test(`ai ${version} reads the whole message again that went on after a card`, async t => {
    const { url, work } = await makeService(t)
    const { chat, last, text } = openChat(ai, `${url}/ai/docs`, { id: 'card' })
    await chat.sendMessage({ text: 'ask choice' })
    const { toolCallId } = tool(last())
    const parts = [{ ...tool(last()), state: 'output-available', output: 'hold blue' }]
    const answered = await fetch(`${url}/ai/docs`, { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify({ id: 'card', messages: [chat.messages[0], { ...last(), parts }] }) })
    await answered.body!.cancel()
    await until(async () => {
      work.release()
      return (await (await fetch(`${url}/vac/docs/runs`)).json() as { runs: Array<{ state: string }> }).runs[0]!.state === 'completed'
    }, 'the answer is complete')
    const again = openChat(ai, `${url}/ai/docs`, { id: 'card', messages: chat.messages.slice(0, 1) })
    await again.chat.resumeStream()
    isReady(t, again, 'read again')
    t.equal(again.last().id, last().id)
    t.strictSame(typesOf(again.last()), ['text', 'data-input-required', 'dynamic-tool', 'step-start', 'text'])
    t.match(tool(again.last()), { toolCallId, state: 'output-available', output: 'hold blue' })
    t.equal(again.text(), 'Which one?You asked: hold blue')
    t.equal(text(), 'Which one?')
  })

  if (major >= 6) {
    test(`ai ${version} gets the reason for which an answer ends`, async t => {
      const { url } = await makeService(t, { version: major })
      const open = openChat(ai, `${url}/ai/docs`, { id: 'ends' })
      for (const question of ['one', 'ask', 'one', 'ask choice', 'one', 'ask agree', 'sign in']) await open.chat.sendMessage({ text: question })
      const { answered } = await hold(open, 'hold')
      await fetch(`${url}/ai/docs/ends/stop`, { method: 'POST' })
      await answered
      isReady(t, open, 'stopped')
      t.strictSame(open.ends.map(({ finishReason }) => finishReason), ['stop', 'stop', 'stop', 'tool-calls', 'stop', 'tool-calls', 'stop', 'other'])
    })

    test(`ai ${version} answers yes or no by an approval`, async t => {
      const { url, work } = await makeService(t, { version: 6 })
      for (const approved of [true, false]) {
        const id = String(approved)
        const open = openChat(ai, `${url}/ai/docs`, { id, sendAutomaticallyWhen: ai.lastAssistantMessageIsCompleteWithApprovalResponses })
        const { chat, last, requests } = open
        await chat.sendMessage({ text: 'ask agree' })
        isReady(t, open, 'asked')
        t.match(tool(last()), { state: 'approval-requested', approval: { id: last().id } })
        const message = last().id
        await chat.addToolApprovalResponse({ id: tool(last()).approval.id, approved, reason: 'because' })
        if (requests.length === 1) await until(() => requests.length === 2, 'the approval is sent')
        await until(() => chat.status === 'ready', 'the approval is answered')
        isReady(t, open, 'approved')
        t.equal(last().id, message)
        t.match(tool(last()), { state: approved ? 'output-available' : 'output-denied' })
        t.equal(open.text(), `Which one?You asked: ${approved ? 'yes' : 'no'}`)
        t.equal(work.asked.at(-1)!.question, approved ? 'yes' : 'no')
        await chat.sendMessage({ text: 'recall' })
        t.match(open.text(), `user: ${approved ? 'yes' : 'no'}`)
        t.equal(requests.length, 3)
      }
    })
  }
}
