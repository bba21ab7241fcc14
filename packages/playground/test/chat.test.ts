import type { Interpreter } from '@polyvac/core'
import type { FastifyInstance } from 'fastify'
import { readFile } from 'node:fs/promises'
import tap, { test } from 'tap'
import { setTimeout as delay } from 'node:timers/promises'
import type { Page } from 'playwright-core'
import { browserMissing, closeBrowser, openPage } from '../../../test/fixtures/browser.js'
import { until } from '../../../test/fixtures/until.js'
import { startApp } from './fixtures/app.js'
import { ask } from './fixtures/chat.js'
import { violationsOfThemes } from './fixtures/axe.js'

const PROTOCOLS = ['direct', 'openai', 'responses', 'ai_sdk', 'ag_ui', 'a2a', 'a2a-description', 'mcp', 'mcp-session']

tap.teardown(closeBrowser)

/** In the page: counts the turns of its event loop from a click to the abort of the request that is in progress. */
function countTurns (): void {
  const page = globalThis as any
  const { port1, port2 } = new page.MessageChannel()
  let turns = 0
  port1.onmessage = () => { if (++turns < 10_000) port2.postMessage(null) }
  page.addEventListener('click', () => {
    turns = 0
    page.turnsToAbort = undefined
    port2.postMessage(null)
  }, true)
  const { fetch } = page
  page.fetch = (address: string, init: RequestInit = {}) => {
    init.signal?.addEventListener('abort', () => { page.turnsToAbort = turns })
    return fetch(address, init)
  }
}

/** An interpreter that answers until it is aborted, and counts both. */
function untilAborted (counts: { begun: number, aborted: number }): Interpreter {
  return async function * (_question, _vac, _history, { signal }) {
    counts.begun++
    yield 'begun'
    try {
      await delay(60_000, undefined, { signal })
    } finally {
      counts.aborted++
    }
  }
}

const answerIn = (page: Page, state: string): ReturnType<Page['locator']> =>
  page.locator(`[data-testid=chat-answer][data-state=${state}]`).last()

test('each protocol shows text before the answer ends, then its sources, and sends the history', { skip: browserMissing }, async t => {
  let release = (): void => {}
  let turns = 0
  const { page: url } = await startApp(t, async function * (question, _vac, history) {
    const gate = new Promise<void>(resolve => { release = resolve })
    turns = history.length
    yield `**first** of ${question}`
    await gate
    yield ' and second'
    return { answer: `**first** of ${question} and second`, source_documents: [{ page_content: 'The passage.', metadata: { source: 'notes.md', lines: '1-2' } }] }
  })
  const page = await openPage(t, url)
  let deleted = 0
  page.on('requestfinished', request => { if (request.method() === 'DELETE') deleted++ })
  for (const [index, protocol] of PROTOCOLS.entries()) {
    await ask(page, protocol, protocol)
    await answerIn(page, 'asking').getByText(`first of ${protocol}`).waitFor()
    t.notMatch(await answerIn(page, 'asking').textContent(), /second/, `${protocol}: text comes before the end`)
    t.equal(turns, index * 2, `${protocol}: the history came along`)
    release()
    await answerIn(page, 'done').getByText(`first of ${protocol} and second`).waitFor()
    await until(async () => await page.getByTestId('chat-source').count() === index + 1, `${protocol} shows the source`)
    t.match(await page.getByTestId('chat-source').last().textContent(), /notes\.md:1-2.*The passage\./)
  }
  await until(() => deleted === 1, 'the session of MCP is ended')
})

test('stop aborts the interpreter, over each protocol', { skip: browserMissing }, async t => {
  const counts = { begun: 0, aborted: 0 }
  const { page: url } = await startApp(t, untilAborted(counts))
  const page = await openPage(t, url)
  await page.addInitScript(countTurns)
  await page.reload()
  for (const [index, protocol] of PROTOCOLS.entries()) {
    await ask(page, protocol, 'wait')
    await answerIn(page, 'asking').getByText('begun').waitFor()
    await page.getByTestId('chat-stop').click()
    t.equal(await page.evaluate('turnsToAbort'), 0, `${protocol}: the request is aborted in the same turn as the click`)
    await answerIn(page, 'stopped').waitFor()
    await until(() => counts.aborted === index + 1, `${protocol}: the signal of the interpreter is aborted`)
  }
})

test('a question of the agent is answered in place, where the protocol can', { skip: browserMissing }, async t => {
  const { page: url } = await startApp(t, async function * (question, _vac, history) {
    if (history.length === 0) return { answer: '', input_required: 'Which size?' }
    return { answer: `One coat, ${question}.` }
  })
  const page = await openPage(t, url)
  for (const protocol of PROTOCOLS.filter(protocol => protocol !== 'openai')) {
    await ask(page, protocol, 'A coat')
    await page.getByTestId('chat-reply').fill('large')
    const questions = async (): Promise<number> => (await page.getByTestId('chat-answers').textContent())!.split('Which size?').length - 1
    t.equal(await questions(), 1, `${protocol}: the question is there once`)
    await page.getByTestId('chat-reply').press('Enter')
    await answerIn(page, 'done').getByText('One coat, large.').waitFor()
    t.equal(await questions(), 1, `${protocol}: the question stays`)
    t.equal(await page.getByTestId('chat-reply').count(), 0, `${protocol}: the question is answered`)
    await page.getByTestId('chat-clear').click()
  }
})

test('where nothing is kept, responses are stopped with one click, and a reply takes the turns along', { skip: browserMissing }, async t => {
  let aborted = 0
  const { page: url } = await startApp(t, async function * (question, _vac, history, { signal }) {
    if (question === 'wait') {
      await delay(60_000, undefined, { signal }).finally(() => { aborted++ })
    }
    if (history.length === 0) return { answer: '', input_required: 'Which size?' }
    return { answer: `One coat, ${question}, after ${history.length}.` }
  }, { keeps: false })
  const page = await openPage(t, url, { allow: [/501/] })
  const head = page.waitForResponse('**/responses')
  await ask(page, 'responses', 'wait')
  await head
  await page.getByTestId('inspected-figures').getByText(/frame/).waitFor()
  await until(async () => !/ 0 frames/.test(await page.getByTestId('inspected-figures').textContent() ?? ''), 'the answer has begun')
  await page.getByTestId('chat-stop').click()
  await until(() => aborted === 1, 'the interpreter is aborted')
  await page.locator('[data-testid=chat-answer][data-state=stopped]').waitFor({ state: 'attached' })
  await page.getByTestId('chat-clear').click()
  await ask(page, 'responses', 'A coat')
  await page.getByTestId('chat-reply').fill('large')
  await page.getByTestId('chat-reply').press('Enter')
  await answerIn(page, 'done').getByText('One coat, large, after 2.').waitFor()
})

test('a question of the agent waits for its reply until another answer has ended', { skip: browserMissing }, async t => {
  let release = (): void => {}
  const { page: url } = await startApp(t, async function * (question) {
    if (question === 'A coat') return { answer: '', input_required: 'Which size?' }
    yield question
    if (question === 'wait') await new Promise<void>(resolve => { release = resolve })
    yield ', and the end'
  })
  const page = await openPage(t, url)
  for (const protocol of ['direct', 'a2a', 'mcp']) {
    await ask(page, protocol, 'A coat')
    await page.getByTestId('chat-reply').fill('large')
    await ask(page, protocol, 'wait')
    await answerIn(page, 'asking').getByText('wait').waitFor()
    await page.getByTestId('chat-reply').press('Enter')
    t.ok(await page.getByTestId('chat-reply-send').isDisabled(), protocol)
    release()
    await answerIn(page, 'done').getByText('wait, and the end').waitFor()
    await page.getByTestId('chat-reply').press('Enter')
    await answerIn(page, 'done').getByText('large, and the end').waitFor()
    t.strictSame(await page.locator('.question').allTextContents(), ['A coat', 'wait', 'large'], protocol)
    await page.getByTestId('chat-clear').click()
  }
})

test('a reply that is refused, or finds no network, can be sent again', { skip: browserMissing }, async t => {
  const { page: url } = await startApp(t, async function * (question) {
    return question === 'A coat' ? { answer: '', input_required: 'Which size?' } : { answer: `One coat, ${question}.` }
  })
  const page = await openPage(t, url, { allow: [/503/, /ERR_FAILED/] })
  for (const protocol of PROTOCOLS.filter(protocol => protocol !== 'openai')) {
    await ask(page, protocol, 'A coat')
    await page.getByTestId('chat-reply').waitFor()
    for (const [index, refuse] of ['status', 'network'].entries()) {
      await page.route('**/{vac,openai,ai,ag-ui,a2a,mcp}{,/**}', async route => { await (refuse === 'status' ? route.fulfill({ status: 503, json: {} }) : route.abort()) })
      await page.getByTestId('chat-reply').fill('large')
      await page.getByTestId('chat-reply').press('Enter')
      // the answer of the refusal before stays
      await until(async () => await page.locator('[data-state=failed] [data-testid=chat-problem]').count() === index + 1, `${protocol}: ${refuse} has failed`)
      await page.unrouteAll()
      t.equal(await page.getByTestId('chat-reply').count(), 1, `${protocol}: ${refuse}`)
    }
    await page.getByTestId('chat-reply').fill('large')
    await page.getByTestId('chat-reply').press('Enter')
    await answerIn(page, 'done').getByText('One coat, large.').waitFor()
    t.equal(await page.getByTestId('chat-reply').count(), 0, `${protocol}: the question is answered`)
    await page.getByTestId('chat-clear').click()
  }
})

test('stop before the first event cancels the task', { skip: browserMissing }, async t => {
  const counts = { begun: 0, aborted: 0 }
  const { page: url } = await startApp(t, untilAborted(counts))
  const page = await openPage(t, url)
  await page.evaluate(() => {
    const page = globalThis as any
    const { fetch } = page
    page.fetch = async (...request: unknown[]) => {
      const response = await fetch(...request)
      // the head and the first event are on their way
      if (response.headers.get('content-type').startsWith('text/event-stream')) await new Promise(resolve => { page.arrive = resolve })
      return response
    }
  })
  for (const protocol of ['direct', 'responses', 'ai_sdk', 'ag_ui', 'a2a', 'a2a-description']) {
    const before = counts.begun
    await ask(page, protocol, 'wait')
    await until(() => counts.begun > before, `${protocol}: the interpreter runs`)
    await page.waitForFunction(() => (globalThis as any).arrive !== undefined)
    await page.getByTestId('chat-stop').click()
    await page.evaluate(() => { (globalThis as any).arrive() })
    await answerIn(page, 'stopped').waitFor({ state: 'attached' })
    await until(() => counts.aborted === counts.begun, `${protocol}: the interpreter is aborted`)
    await page.evaluate(() => { delete (globalThis as any).arrive })
    await page.getByTestId('chat-clear').click()
  }
})

test('a direct answer, a task, a response, and an answer in a session of MCP continue after a reload', { skip: browserMissing }, async t => {
  const protocols = ['direct', 'responses', 'ai_sdk', 'ag_ui', 'a2a', 'a2a-description', 'mcp-session']
  let ended = 0
  let release = (): void => {}
  const { page: url } = await startApp(t, async function * () {
    const gate = new Promise<void>(resolve => { release = resolve })
    yield 'before'
    await gate
    yield ' and after'
    ended++
  })
  const page = await openPage(t, url)
  for (const protocol of protocols) {
    await ask(page, protocol, 'x')
    await answerIn(page, 'asking').getByText('before').waitFor()
    await page.reload()
    await answerIn(page, 'asking').getByText('before').waitFor()
    release()
    await answerIn(page, 'done').getByText('before and after').waitFor()
    t.pass(protocol)
    await page.getByTestId('chat-clear').click()

    await ask(page, protocol, 'x')
    await answerIn(page, 'asking').getByText('before').waitFor()
    await page.goto('about:blank')
    release()
    await until(() => ended === 2 * (protocols.indexOf(protocol) + 1), 'the answer has ended')
    await page.goto(url)
    await answerIn(page, 'done').getByText('before and after').waitFor()
    t.pass(`${protocol}: it ended while the page was away`)
    await page.getByTestId('chat-clear').click()
  }
})

test('another page opens a conversation whose answer is in progress, follows and stops it', { skip: browserMissing }, async t => {
  const counts = { begun: 0, aborted: 0 }
  const { page: url } = await startApp(t, untilAborted(counts))
  for (const [index, protocol] of ['direct', 'ai_sdk'].entries()) {
    const first = await openPage(t, url)
    await ask(first, protocol, 'wait')
    await answerIn(first, 'asking').getByText('begun').waitFor()
    const other = await openPage(t, url)
    await other.getByTestId('stored-open').first().click()
    await answerIn(other, 'asking').getByText('begun').waitFor()
    t.equal(counts.aborted, index)
    await other.getByTestId('chat-stop').click()
    await answerIn(other, 'stopped').waitFor()
    await until(() => counts.aborted === index + 1, `${protocol}: the interpreter is aborted`)
    await first.close()
  }
  const page = await openPage(t, url)
  await ask(page, 'a2a', 'wait')
  await answerIn(page, 'asking').getByText('begun').waitFor()
  const other = await openPage(t, url)
  await other.getByTestId('stored-open').first().click()
  await answerIn(other, 'stopped').getByText('open the conversation again').waitFor()
})

test('without a store, a reload ends a direct answer, and stop before its first event does', { skip: browserMissing }, async t => {
  const counts = { begun: 0, aborted: 0 }
  const { page: url } = await startApp(t, async function * (question, _vac, _history, { signal }) {
    counts.begun++
    if (question === 'text') yield 'begun'
    await delay(60_000, undefined, { signal }).finally(() => { counts.aborted++ })
  }, { keeps: false })
  const page = await openPage(t, url, { allow: [/501/] })
  await ask(page, 'direct', 'silence')
  await until(() => counts.begun === 1, 'the interpreter runs')
  await page.getByTestId('chat-stop').click()
  await answerIn(page, 'stopped').waitFor({ state: 'attached' })
  await until(() => counts.aborted === 1, 'it is aborted')
  await ask(page, 'direct', 'text')
  await answerIn(page, 'asking').getByText('begun').waitFor()
  await page.reload()
  await answerIn(page, 'stopped').getByText('cannot continue').waitFor()
  await until(() => counts.aborted === 2, 'it is aborted, too')
})

test('an answer of many chunks is shown and stored a few times, and a reload shows all of it', { skip: browserMissing }, async t => {
  const chunks = 3_000
  const { page: url } = await startApp(t, async function * () { for (let i = 0; i < chunks; i++) yield `c${i} ` })
  const page = await openPage(t, url)
  await page.addInitScript(() => {
    const page = globalThis as any
    const { setItem } = page.Storage.prototype
    page.stores = page.pictures = 0
    page.Storage.prototype.setItem = function (...args: unknown[]) { page.stores++; return setItem.apply(this, args) }
    page.addEventListener('DOMContentLoaded', () => {
      new page.MutationObserver(() => { page.pictures++ }).observe(page.document.body, { subtree: true, childList: true, characterData: true })
    })
  })
  await page.reload()
  for (const state of ['first', 'second']) {
    await ask(page, 'direct', state)
    await until(async () => await page.getByTestId('chat-answer').filter({ hasText: `c${chunks - 1}` }).count() === (state === 'first' ? 1 : 2), `the ${state} answer is complete`)
  }
  for (const count of ['stores', 'pictures']) t.ok(Number(await page.evaluate(count)) < chunks / 10, `${count}: ${String(await page.evaluate(count))}`)
  await page.goto(`${url}#/compare/demo?question=third`)
  await page.getByTestId('compare-send').click()
  await page.locator('[data-testid=compare][data-state=done]').waitFor()
  t.match(await page.getByTestId('compared-direct').textContent(), new RegExp(`c${chunks - 1}`))
  t.ok(Number(await page.evaluate('pictures')) < chunks / 5, 'the comparison shows them a few times, too')
  await page.goto(url)
  await page.reload()
  t.match(await answerIn(page, 'done').textContent(), new RegExp(`c${chunks - 1}`), 'what was not stored yet is stored when the page is left')
})

test('lists keep their numbers and inner lists, follow a line of text, and go on in the next line; tables have rows', { skip: browserMissing }, async t => {
  const { page: url } = await startApp(t, async () => 'Here are:\n- a\n- b\n  goes on\n\n1. first\n\n2. second\n\n# Title\nIt was\n1984. `- code`\n\n```\n- [1] code\n```\n\nTimes:\n| Tea | Minutes |\n|:--|--:|\n| **Green** | 2 |\n| Black | \n\n1. one\n   - in one\n     goes on\n2. two\n\n  - x\n  - y\n\n' +
    Array.from({ length: 50 }, (_, depth) => `${' '.repeat(depth)}- deep`).join('\n'))
  const page = await openPage(t, url)
  await ask(page, 'direct', 'lists')
  const text = await answerIn(page, 'done').evaluate((answer: any) => answer.innerHTML.replace(/ (?:dir|tabindex|role|aria-label|data-\w+)="[^"]*"/g, ''))
  t.equal(text, '<p>Here are:</p><ul><li>a</li><li>b goes on</li></ul><ol start="1"><li>first</li></ol><ol start="2"><li>second</li></ol>' +
    '<p class="heading"><b>Title</b></p><p>It was\n1984. <code>- code</code></p><div class="code"><div class="code-head"><span></span><button type="button">Copy</button></div><pre><code>- [1] code</code></pre></div>' +
    '<p>Times:</p><div class="table"><div class="code-head"><span>2 rows</span><button type="button">Copy</button></div><div class="scroll"><table><thead><tr><th>Tea</th><th>Minutes</th></tr></thead><tbody><tr><td><b>Green</b></td><td>2</td></tr><tr><td>Black</td></tr></tbody></table></div></div>' +
    '<ol start="1"><li>one<ul><li>in one goes on</li></ul></li><li>two</li></ol><ul><li>x</li><li>y</li></ul>' +
    '<ul><li>deep'.repeat(5) + '</li><li>deep'.repeat(45) + '</li></ul>'.repeat(5))
  t.strictSame(await violationsOfThemes(page), [])
})

test('a long answer is whole over each protocol, is not sent with the next question, and is stored as far as the tab takes it', { skip: browserMissing }, async t => {
  const line = `${'word '.repeat(200)}\n\n`
  const chars = line.length * 1_000
  let release = (): void => {}
  let turns = 0
  const { page: url } = await startApp(t, async function * (question, _vac, history) {
    turns = history.length
    for (let i = 0; i < 10; i++) yield line.repeat(100)
    if (question === 'hold') await new Promise<void>(resolve => { release = resolve })
    yield 'end'
  }, { keeps: false })
  const page = await openPage(t, url, { allow: [/501/] })
  const lengthOf = async (): Promise<number> => await page.getByTestId('chat-answer').last().evaluate((answer: any) => answer.textContent.replace(/\s/g, '').length)
  for (const [index, protocol] of PROTOCOLS.entries()) {
    await ask(page, protocol, 'long')
    await until(async () => await page.getByTestId('chat-answer').filter({ hasText: /end/ }).count() === index + 1, `${protocol}: the answer is complete`)
    t.equal(turns, 0, `${protocol}: longer turns than a request may have are not sent`)
    t.equal(await page.getByTestId('chat-unsent').count(), index, 'the page says so')
    t.ok(await lengthOf() >= chars * 0.79, `${protocol}: the page has the text that was streamed`)
  }
  t.equal(await page.getByTestId('chat-cut').count(), 0)
  await page.reload()
  await until(async () => [3, 4].includes(await page.getByTestId('chat-answer').count()), 'the newest turns of 4 Mi characters are there')
  await page.getByTestId('chat-clear').click()
  for (const protocol of ['a2a', 'a2a-description']) {
    await ask(page, protocol, 'hold')
    await answerIn(page, 'asking').getByText('word').first().waitFor()
    await until(async () => await lengthOf() >= chars * 0.79, 'the text is there')
    await page.reload()
    await answerIn(page, 'asking').getByText('word').first().waitFor()
    release()
    await answerIn(page, 'done').waitFor()
    t.equal(await page.getByTestId('chat-cut').count(), protocol === 'a2a' ? 0 : 1, `${protocol}: where the rest is missing the page says so`)
    if (protocol === 'a2a') t.match(await page.getByTestId('chat-answer').last().textContent(), /end$/, 'it goes on after the last event')
    await page.getByTestId('chat-clear').click()
  }
})

test('an answer has its text and its files, over the protocols that have them', { skip: browserMissing }, async t => {
  const parts = [{ bytes: 'aGVsbG8=', filename: 'report.html', media_type: 'text/html' }, { url: 'https://example.com/a', filename: 'linked' }, { url: 'javascript:alert(1)', filename: 'not linked' }]
  const { page: url } = await startApp(t, async function * (question) {
    if (question === 'streamed') yield 'Here '
    if (question === 'large') return { answer: 'It is large.', artifacts: [{ name: 'large', parts: [{ bytes: 'A'.repeat(4 * 1024 * 1024), filename: 'large.bin' }, ...parts.slice(0, 1)] }] }
    return { answer: 'Here it is.', artifacts: [{ name: 'table', parts: [{ data: { rows: 3 } }] }, { name: 'report', parts }] }
  })
  const page = await openPage(t, url)
  for (const protocol of ['direct', 'a2a', 'a2a-description', 'mcp', 'mcp-session']) {
    for (const question of ['streamed', 'at once']) {
      await ask(page, protocol, question)
      await answerIn(page, 'done').getByText('Here it is.', { exact: true }).waitFor()
      t.strictSame(await page.getByTestId('chat-file').evaluateAll((cards: any[]) => cards.map(card => card.firstChild.textContent)), ['table', 'report.html', 'linked', 'not linked'], `${protocol}: ${question}`)
      await page.getByTestId('chat-clear').click()
    }
  }
  await ask(page, 'a2a', 'streamed')
  await page.getByTestId('chat-file').first().getByText('Content').click()
  t.match(await page.getByTestId('chat-file').first().textContent(), /application\/json, 15 B.*\{\s+"rows": 3\s+\}/)
  t.match(await page.getByTestId('chat-file').nth(1).textContent(), /text\/html, 5 B/)
  t.equal(await page.getByTestId('chat-file').getByRole('link').count(), 1)
  const [download] = await Promise.all([page.waitForEvent('download'), page.getByTestId('chat-file-save').last().click()])
  t.equal(download.suggestedFilename(), 'report.html')
  t.equal(await readFile(await download.path(), 'utf8'), 'hello')
  await ask(page, 'direct', 'large')
  await answerIn(page, 'done').getByText('It is large.', { exact: true }).waitFor()
  t.equal(await page.getByTestId('chat-file-save').count(), 4)
  await page.reload()
  await page.getByText('It is large.', { exact: true }).waitFor()
  t.equal(await page.getByTestId('chat-file').count(), 6)
  t.equal(await page.getByTestId('chat-file-save').count(), 3, 'a reload keeps all but the content of a long file')
  t.strictSame(await violationsOfThemes(page), [])
})

test('an agent of A2A that declines or waits for a sign-in is shown as that', { skip: browserMissing }, async t => {
  const signIn = `https://example.com/login?state=${'a'.repeat(8_000)}`
  const { page: url } = await startApp(t, async (question, _vac, history) => {
    if (question === 'decline') return { answer: 'Not my job.', rejected: true }
    if (history.length === 0) return { answer: '', auth_required: `Sign in at ${signIn}, please.` }
    return 'Signed in.'
  })
  const page = await openPage(t, url)
  for (const protocol of ['a2a', 'a2a-description']) {
    await ask(page, protocol, 'decline')
    await answerIn(page, 'failed').getByText('Not my job.').waitFor()
    t.match(await page.getByTestId('chat-problem').textContent(), /^the agent declined the task: Not my job\.$/i)
    await page.getByTestId('chat-clear').click()
  }
  await ask(page, 'a2a', 'sign in')
  await page.getByTestId('chat-sign-in').waitFor()
  t.equal(await page.getByTestId('chat-sign-in').getByRole('link').getAttribute('href'), signIn)
  const task = (await page.getByTestId('chat-task').getAttribute('href'))!.split('/').at(-1)!
  const message = { messageId: 'm', role: 'ROLE_USER', taskId: task, parts: [{ text: 'signed in' }] }
  await page.request.post(`${url}../a2a/v1/message:send`, { headers: { 'a2a-version': '1.0' }, data: { message } })
  await answerIn(page, 'done').getByText('Signed in.').waitFor()
  t.equal(await page.getByTestId('chat-sign-in').count(), 0)
})

test('sources have the numbers of citations and links, and each text has its own direction', { skip: browserMissing }, async t => {
  const text = 'مرحبا بالعالم'
  const { page: url } = await startApp(t, async () => ({
    answer: `${text} [1] https://example.com/in-text.\n\n- ${text}`,
    source_documents: [
      { page_content: text, metadata: { source: 'guide.md', url: 'javascript:alert(1)' } },
      { page_content: 'Two', metadata: { source: 'https://example.com/doc' } }
    ]
  }))
  const page = await openPage(t, url)
  t.match(await page.getByTestId('chat-empty').textContent(), /^demo$/)
  await ask(page, 'openai', text)
  await until(async () => await page.getByTestId('chat-source').count() === 2, 'the sources are there')
  t.equal(await page.getByTestId('chat-empty').count(), 0)
  t.match(await page.getByTestId('chat-source').first().textContent(), /^\[1\] guide\.md/)
  t.strictSame(await page.getByTestId('chat-cite').evaluateAll((cites: any[]) => cites.map(cite => cite.localName)), ['button'], 'a source without an address is a card')
  const links = await page.getByTestId('chat-answers').locator('a[target=_blank]').evaluateAll((links: any[]) => links.map(({ href, rel }) => `${href} ${rel}`))
  t.strictSame(links, ['https://example.com/in-text noreferrer', 'https://example.com/doc noreferrer'])
  const directions = await page.evaluate(() => [...(globalThis as any).document.querySelectorAll('.question, .answer p, .answer ul, .passage p')]
    .map(element => (globalThis as any).getComputedStyle(element).direction))
  t.strictSame(directions, ['rtl', 'rtl', 'rtl', 'rtl', 'ltr'])
  t.strictSame(await violationsOfThemes(page), [])
  await page.getByTestId('chat-question').fill(text)
  t.equal(await page.getByTestId('chat-question').evaluate((field: any) => (globalThis as any).getComputedStyle(field).direction), 'rtl')
  await page.route('**/sse', async route => { await route.fulfill({ contentType: 'text/event-stream', body: 'data: {"answer":"short","source_documents":[]}\n\n' }) })
  await ask(page, 'direct', 'one frame')
  await answerIn(page, 'done').getByText('short').waitFor()
  t.match(await page.getByTestId('inspected-figures').last().textContent(), /, 1 frame$/)
})

test('a failure names the id under which the log has its cause', { skip: browserMissing }, async t => {
  const { page: url } = await startApp(t, async function * (question) {
    if (question === 'begin') yield 'begun'
    throw new Error('secret')
  })
  const page = await openPage(t, url, { allow: [/500/] })
  const pattern = /the log has the cause under the (?:request|task|call) id [\w-]+$/
  for (const protocol of PROTOCOLS) {
    for (const question of ['begin', 'at once']) {
      await ask(page, protocol, question)
      await answerIn(page, 'failed').waitFor()
      // a sentence, and the id below it
      t.match(await page.getByTestId('chat-problem').textContent(), /^[A-Z][^;]*\.The log has the cause under the (?:request|task|call) id [\w-]+$/, `${protocol}: ${question}`)
      await page.getByTestId('chat-clear').click()
    }
  }
  await page.goto(`${url}#/compare/demo?question=begin`)
  await page.getByTestId('compare-send').click()
  await page.locator('[data-testid=compare][data-state=done]').waitFor()
  for (const protocol of ['direct', 'openai', 'responses']) t.match(await page.getByTestId(`compare-problem-${protocol}`).textContent(), pattern)
})

test('a history that the service refuses is named as the cause', { skip: browserMissing }, async t => {
  // 6 bytes of JSON for each character
  const before = (scope: FastifyInstance): void => { scope.addHook('onRoute', route => { route.bodyLimit = 1024 * 1024 }) }
  const { page: url } = await startApp(t, async () => '\u0001'.repeat(200 * 1024), { before, keeps: false })
  const page = await openPage(t, url, { allow: [/413/, /501/] })
  await ask(page, 'openai', 'first')
  await answerIn(page, 'done').waitFor()
  await ask(page, 'openai', 'second')
  await answerIn(page, 'failed').waitFor()
  t.match(await page.getByTestId('chat-problem').textContent(), /body is larger.*The earlier turns are sent with each question: start a new conversation\.$/)
})

test('the chat lists the stored conversations: one is opened, goes on over each protocol, stays with a reload, and is deleted', { skip: browserMissing }, async t => {
  const { url: service, page: url } = await startApp(t, async (question, _vac, history) => ({ answer: `${history.length / 2} before ${question}` }))
  const page = await openPage(t, url, { allow: [/404/] })
  const titles = async (): Promise<string[]> => await page.getByTestId('stored-open').allTextContents()
  await page.getByTestId('stored').getByText('No conversation yet.').waitFor()
  await ask(page, 'direct', 'tea')
  await answerIn(page, 'done').getByText('0 before tea').waitFor()
  await until(async () => (await titles()).join() === 'tea', 'the conversation is listed')
  await page.getByTestId('chat-clear').click()
  await ask(page, 'a2a', 'coffee')
  await answerIn(page, 'done').getByText('0 before coffee').waitFor()
  await until(async () => (await titles()).join() === 'coffee,tea', 'the newest is the first')
  t.equal(await page.locator('[data-testid=stored-open][aria-current=true]').textContent(), 'coffee')

  await page.getByTestId('stored-open').getByText('tea').press('Enter')
  await answerIn(page, 'done').getByText('0 before tea').waitFor()
  t.strictSame(await page.locator('.question').allTextContents(), ['tea'])
  t.match(await page.getByTestId('chat-figures').textContent(), /^\S+ m?s$/)
  for (const [index, protocol] of PROTOCOLS.entries()) {
    await ask(page, protocol, protocol)
    await answerIn(page, 'done').getByText(`${index + 1} before ${protocol}`, { exact: true }).waitFor()
  }
  await page.reload()
  await ask(page, 'direct', 'again')
  await answerIn(page, 'done').getByText(`${PROTOCOLS.length + 1} before again`).waitFor()
  await until(async () => (await titles()).join() === 'tea,coffee', 'the one that goes on is the first')
  t.strictSame(await violationsOfThemes(page), [])
  await page.setViewportSize({ width: 360, height: 640 })
  await page.reload()
  await page.getByTestId('menu').press('Enter')
  await page.getByTestId('stored-delete').waitFor()
  t.ok(await page.evaluate(() => { const { document } = globalThis as any; return document.documentElement.scrollWidth <= 360 }), '360 px suffice')

  await page.getByTestId('stored-rename').click()
  await page.getByTestId('stored-title').fill('Green tea')
  await page.getByTestId('stored-title').press('Enter')
  await until(async () => (await titles()).includes('Green tea'), 'it has another title')
  await page.getByTestId('stored-search').fill('TEA green')
  await until(async () => (await titles()).join() === 'Green tea', 'the list is searched')
  await page.getByTestId('stored-search').fill('')
  await page.getByTestId('stored-delete').click()
  await page.getByTestId('stored-delete-no').click()
  t.equal((await titles()).length, 2, 'a person can change her mind')
  await page.getByTestId('stored-delete').click()
  await page.getByTestId('stored-delete-yes').click()
  await until(async () => (await titles()).join() === 'coffee', 'it is deleted')
  await page.getByTestId('chat-empty').waitFor()
  await page.setViewportSize({ width: 1_000, height: 740 })
  const { conversations } = await (await fetch(`${service}/vac/demo/conversations`)).json() as { conversations: Array<{ id: string }> }
  t.equal(conversations.length, 1)

  // it is deleted elsewhere
  const { id } = conversations[0]!
  await fetch(`${service}/vac/demo/conversations/${id}`, { method: 'DELETE' })
  await page.getByTestId('stored-open').click()
  await page.getByTestId('stored-problem').waitFor()
  t.equal((await titles()).length, 0)
})

test('a long list and a long conversation have further pages', { skip: browserMissing }, async t => {
  const { url: service, page: url } = await startApp(t, async question => question)
  const keep = async (title: string, count: number): Promise<void> => {
    const turns = Array.from({ length: count }, (_, i) => ({ question: `question ${i}`, answer: `answer ${i}` }))
    await fetch(`${service}/vac/demo/conversations`, { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify({ title, turns }) })
  }
  for (let i = 0; i < 51; i++) await keep(`short ${i}`, 1)
  await keep('long', 203)
  const page = await openPage(t, url)
  await until(async () => await page.getByTestId('stored-open').count() === 50, 'the first page is listed')
  await page.getByTestId('stored-more').click()
  await until(async () => await page.getByTestId('stored-open').count() === 52, 'the second page follows')
  t.equal(await page.getByTestId('stored-more').count(), 0)
  await page.getByTestId('stored-open').getByText('long').click()
  const last = page.getByTestId('chat-answers').getByRole('listitem').last()
  await until(async () => await last.getAttribute('aria-posinset') === '200', 'the latest turns are shown')
  t.match(await last.textContent(), /question 202/)
  t.equal(await page.getByTestId('chat-earlier').count(), 1)
  await page.getByTestId('chat-thread').evaluate(box => { (box as any).scrollTop = 0 })
  await until(async () => await page.getByTestId('chat-earlier').count() === 0, 'the earlier ones come before them')
  await page.getByTestId('chat-thread').evaluate(box => { (box as any).scrollTop = 0 })
  await page.getByText('question 0', { exact: true }).waitFor()
})

test('where the service lists no conversations the page states why, and sends the earlier turns', { skip: browserMissing }, async t => {
  const count: Interpreter = async (question, _vac, history) => `${history.length / 2} before ${question}`
  const { page: url } = await startApp(t, count, { keeps: false })
  const page = await openPage(t, url, { allow: [/501/] })
  t.match(await page.getByTestId('stored-absent').textContent(), /^Conversations are not listed: .*createRuns\(\)/)
  t.equal(await page.getByTestId('stored').count(), 0)
  for (const [index, protocol] of PROTOCOLS.entries()) {
    await ask(page, protocol, protocol)
    await answerIn(page, 'done').getByText(`${index} before ${protocol}`, { exact: true }).waitFor()
  }
  const refused = await startApp(t, count, {
    before: scope => {
      scope.addHook('onRequest', async ({ url }, reply) => { if (url.includes('/conversations')) return await reply.code(401).send({ error: 'no token' }) })
    }
  })
  const other = await openPage(t, refused.page, { allow: [/401/] })
  await other.getByTestId('stored-absent').getByText('Conversations are not listed: no token: sign in again, or enter a token under Access').waitFor()
})
