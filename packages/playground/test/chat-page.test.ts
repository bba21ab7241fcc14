import { createVacs, defineTools, type Interpreter } from '@polyvac/core'
import { createRuns } from '@polyvac/runs'
import { sqliteTaskStore } from '@polyvac/tasks/sqlite'
import { vacPlugin } from '@polyvac/vac'
import Fastify from 'fastify'
import tap, { test } from 'tap'
import { setTimeout as delay } from 'node:timers/promises'
import type { Page } from 'playwright-core'
import { browserMissing, closeBrowser, openPage } from '../../../test/fixtures/browser.js'
import { until } from '../../../test/fixtures/until.js'
import { playgroundPlugin } from '../src/index.js'
import { startApp } from './fixtures/app.js'
import { takePicture, violationsOfThemes } from './fixtures/axe.js'
import { ask } from './fixtures/chat.js'

const options = { skip: browserMissing }
const PASSAGE = '# Oslo\n\nSunny on **Monday**.'

tap.teardown(closeBrowser)

/** An app whose VAC has documents that can be read, and takes pictures. */
async function startReader (t: { teardown (run: () => unknown): unknown }, interpreter: Interpreter): Promise<string> {
  const tasks = sqliteTaskStore({ path: ':memory:' })
  await tasks.open()
  const memory = { search: async () => [], read: async () => `${PASSAGE}\n`, list: async () => [{ uri: 'oslo.md', name: 'oslo.md', mimeType: 'text/markdown' }] }
  const streamInterpreter = Object.assign(interpreter, { takes: ['images'] })
  const vacs = createVacs({ vacs: { demo: { display_name: 'Weather desk', description: 'Knows the weather.', steps: 'all' } }, parts: { demo: { streamInterpreter, memory } } })
  const app = Fastify({ forceCloseConnections: true })
  await app.register(vacPlugin, { vacs, runs: createRuns({ vacs, tasks }) })
  await app.register(playgroundPlugin, { title: 'Nordlys', routes: { a2a: null, card: null, mcp: null, gateway: null, home: 'index.json' } })
  app.get('/playground/index.json', async () => ({ left_out: { demo: ['2 files left out: 2 .wpd'] }, questions: { demo: ['How is Oslo?', 'How is Bergen?', 'And Narvik?', 'And Bodø?'] } }))
  t.teardown(async () => { await app.close(); await tasks.close() })
  return `${await app.listen({ port: 0, host: '127.0.0.1' })}/playground/`
}

const answered = async (page: Page, text: string): Promise<void> => await page.locator('[data-testid=chat-answer][data-state=done]').last().getByText(text).waitFor()

test('an empty chat shows who answers and three questions, and the keyboard suffices', options, async t => {
  const url = await startReader(t, async question => `You asked: ${question}`)
  const page = await openPage(t, url)
  await page.getByTestId('chat-example').first().waitFor()
  t.match(await page.getByTestId('chat-empty').textContent(), /^Weather desk.*Knows the weather\./)
  t.strictSame(await page.getByTestId('chat-example').allTextContents(), ['How is Oslo?', 'How is Bergen?', 'And Narvik?'])
  t.match(await page.getByTestId('chat-left-out').textContent(), /2 \.wpd/)
  t.equal(await page.title(), 'Nordlys')
  t.strictSame(await violationsOfThemes(page), [])
  await page.getByTestId('chat-example').nth(1).press('Enter')
  await answered(page, 'You asked: How is Bergen?')
  await page.keyboard.press('/')
  await page.keyboard.type('typed')
  await page.keyboard.press('Shift+Enter')
  await page.keyboard.type('in two lines')
  await page.keyboard.press('Enter')
  await answered(page, 'in two lines')
  t.strictSame(await page.locator('.question').allTextContents(), ['How is Bergen?', 'typed\nin two lines'])
})

test('the answer has steps as cards, citations that open the rendered source, time and tokens', options, async t => {
  let release = (): void => {}
  const url = await startReader(t, async function * () {
    yield { reasoning: 'The forecast ' }
    yield { reasoning: 'answers this.' }
    yield { tool_call: { id: 'a', name: 'forecast', server: 'weather', input: { city: 'Oslo' } } }
    await new Promise<void>(resolve => { release = resolve })
    yield { tool_result: { id: 'a', output: { content: [{ type: 'text', text: 'sunny' }] }, duration_ms: 412 } }
    yield { tool_call: { id: 'b', name: 'warnings' } }
    yield { tool_result: { id: 'b', error: { code: 'DOWN', message: 'no warnings' } } }
    yield 'Sunny [1], they write [2], not [3].'
    const source = { page_content: PASSAGE, metadata: { source: 'oslo.md', lines: '1-3', heading: 'Oslo' } }
    return { answer: 'Sunny [1], they write [2], not [3].', metadata: { usage: { prompt_tokens: 1_000, completion_tokens: 234 } }, source_documents: [source, { page_content: 'They write.', metadata: { author: 'them' } }] }
  })
  const page = await openPage(t, url)
  await page.getByTestId('chat-question').fill('How is Oslo?')
  await page.getByTestId('chat-send').click()
  await page.locator('[data-testid=chat-steps][data-state=running] > summary').getByText('forecast').waitFor()
  t.strictSame(await violationsOfThemes(page), [])
  release()
  await answered(page, 'they write')
  t.equal(await page.getByTestId('chat-steps').locator('> summary').textContent(), ' 2 tool calls, 1 failed')
  await page.getByTestId('chat-steps').locator('> summary').click()
  await takePicture(page, 'chat')
  t.match(await page.getByTestId('chat-step').allTextContents(), [/^forecastweather 412 ms/, /^warningsfailed/])
  await page.getByTestId('chat-step').first().locator('summary').click()
  t.match(await page.getByTestId('chat-step-input').first().textContent(), /"city": "Oslo"/)
  t.equal(await page.getByTestId('chat-step-output').textContent(), 'sunny')
  await page.getByTestId('chat-reasoning').locator('summary').click()
  t.match(await page.getByTestId('chat-reasoning').textContent(), /The forecast answers this\.$/)
  t.match(await page.getByTestId('chat-figures').textContent(), /^[\d.]+ m?s · 1,234 tokens$/)
  t.strictSame(await page.getByTestId('chat-cite').allTextContents(), ['1', '2'])
  t.match(await page.getByTestId('chat-answer').textContent(), /not \[3\]\.$/)
  await page.getByTestId('chat-cite').nth(1).press('Enter')
  await page.locator('.passage').getByText('They write.').waitFor()
  const links = async (): Promise<string | null> => await page.getByTestId('chat-cite').first().getAttribute('href')
  const [shown] = await Promise.all([page.waitForEvent('popup'), page.getByTestId('chat-cite').first().click()])
  await shown.locator('#cited').waitFor()
  t.match(await shown.locator('#cited').textContent(), /Oslo/)
  await shown.close()
  const address = await links()
  await page.reload()
  t.equal(await links(), address, 'after a reload')
  await page.getByTestId('chat-clear').click()
  await ask(page, 'direct', 'How is Oslo?')
  await page.locator('[data-testid=chat-steps][data-state=running] > summary').getByText('forecast').waitFor()
  await page.getByTestId('inspector-close').click()
  await page.reload()
  await page.locator('[data-testid=chat-steps][data-state=running] > summary').getByText('forecast').waitFor()
  release()
  await answered(page, 'they write')
  await page.locator('a[data-testid=chat-cite]').first().waitFor()
  t.match(await page.getByTestId('chat-figures').textContent(), /1,234 tokens$/, 'after a reload in its middle')
  t.equal(await page.getByTestId('chat-steps').locator('> summary').textContent(), ' 2 tool calls, 1 failed')
  await page.getByTestId('chat-clear').click()
  await page.getByTestId('stored-open').last().click()
  await page.getByTestId('chat-cite').first().waitFor()
  t.equal(await links(), address, 'in a stored conversation')
  t.equal(await page.getByTestId('chat-steps').count(), 1, 'with its steps')
})

test('an approval shows the call, and its buttons answer it; choices are buttons too', options, async t => {
  const url = await startReader(t, async (question, _vac, _history, extra) => {
    if (question === 'colour') return { answer: 'Which colour?', input_required: 'Which colour?', choices: ['Green', { label: 'Blue' }] }
    if (question === 'delete') {
      const text = 'May the tool "delete_file" be called with this input?\n\n```json\n{ "path": "a.txt" }\n```\n\nReply yes or no. (approval abc-1)'
      return { answer: `Found.\n\n${text}`, input_required: text, approval: { id: 'abc-1', tool: 'delete_file', server: 'files', input: { path: 'a.txt' }, expires_at: new Date(Date.now() + 60_000).toISOString() } }
    }
    return `${question} ${JSON.stringify(extra.approval ?? {})}`
  })
  const page = await openPage(t, url)
  await page.getByTestId('chat-question').fill('delete')
  await page.getByTestId('chat-send').click()
  await page.locator('[data-testid=chat-approval][data-state=waiting]').waitFor()
  t.match(await page.getByTestId('chat-approval').textContent(), /delete_file of files.*"path": "a.txt".*until/s)
  t.notMatch(await page.getByTestId('chat-answer').textContent(), /Reply yes or no/)
  t.strictSame(await violationsOfThemes(page), [])
  await page.getByTestId('chat-approve').click()
  await answered(page, 'yes {"id":"abc-1","approved":true}')
  t.equal(await page.getByTestId('chat-approval').getAttribute('data-state'), 'answered')
  await page.getByTestId('chat-question').fill('delete')
  await page.getByTestId('chat-send').click()
  await page.getByTestId('chat-decline').click()
  await answered(page, 'no {"id":"abc-1","approved":false}')
  await page.getByTestId('chat-question').fill('colour')
  await page.getByTestId('chat-send').click()
  t.strictSame(await page.getByTestId('chat-choice').first().waitFor().then(async () => await page.getByTestId('chat-choice').allTextContents()), ['Green', 'Blue'])
  await page.getByTestId('chat-choice').nth(1).click()
  await answered(page, 'Blue')
})

test('a call that needs an approval runs once it is allowed, over each protocol that can ask', options, async t => {
  let deleted = 0
  const tools = defineTools([{
    name: 'delete_file',
    inputSchema: { type: 'object', properties: { path: { type: 'string' } } },
    handler: ({ path }) => `${String(path)} is deleted, ${++deleted}`
  }])
  const { page: url } = await startApp(t, async (question, _vac, _history, { tools }) => {
    const { content: [result] } = await tools[0]!.call({ path: question })
    return String((result as { readonly text?: string } | undefined)?.text)
  }, { tools })
  const page = await openPage(t, url)
  for (const [index, protocol] of ['direct', 'responses', 'ai_sdk', 'ag_ui', 'a2a', 'mcp-session'].entries()) {
    await ask(page, protocol, `${protocol}.txt`)
    await page.locator('[data-testid=chat-approval][data-state=waiting]').waitFor()
    t.match(await page.getByTestId('chat-approval-input').last().textContent(), `${protocol}.txt`, protocol)
    t.equal(deleted, index, `${protocol}: it waits`)
    await page.getByTestId('chat-approve').click()
    await page.locator('[data-testid=chat-answer][data-state=done] > p').getByText(`${protocol}.txt is deleted, ${index + 1}`).waitFor()
    await page.getByTestId('chat-clear').click()
  }
  // another question in place of the answer: the agent asks again, and only its last card has buttons
  await ask(page, 'direct', 'one.txt')
  await page.getByTestId('chat-approve').waitFor()
  await ask(page, 'direct', 'two.txt')
  await page.locator('[data-testid=chat-approval]').nth(1).waitFor()
  await page.locator('[data-testid=chat-approval][data-state=waiting]').waitFor()
  t.strictSame(await page.getByTestId('chat-approval').evaluateAll((cards: any[]) => cards.map(card => card.querySelectorAll('button').length)), [0, 2])
})

test('the inbox shows the tool and the input of calls that wait, of tasks and of runs, and answers them', options, async t => {
  const called: string[] = []
  const tools = defineTools([{
    name: 'delete_file',
    inputSchema: { type: 'object', properties: { path: { type: 'string' } } },
    handler: ({ path }) => { called.push(String(path)); return `${String(path)} is deleted` }
  }])
  const { page: url } = await startApp(t, async (question, _vac, _history, { tools }) => {
    const { content: [result] } = await tools[0]!.call({ path: question })
    return String((result as { readonly text?: string } | undefined)?.text)
  }, { tools })
  const page = await openPage(t, url)
  for (const [protocol, card] of [['direct', 'waiting-run'], ['a2a', 'waiting-task']] as const) {
    await ask(page, protocol, `${protocol}-1.txt`)
    await page.getByTestId('chat-approve').waitFor()
    await page.getByTestId('chat-clear').click()
    await ask(page, protocol, `${protocol}-2.txt`)
    await page.getByTestId('chat-approve').waitFor()
    await page.goto(`${url}#/inbox`)
    await page.getByText('2 waiting for a person.').waitFor()
    for (const name of [`${protocol}-1.txt`, `${protocol}-2.txt`]) {
      t.match(await page.getByTestId(card).filter({ hasText: name }).getByTestId('chat-approval').textContent(), /wants to call delete_file with:/)
    }
    t.equal(await page.getByText('May the tool').count(), 0)
    t.equal(await page.getByTestId('task-approve').count(), 0, 'the card has the only buttons')
    t.strictSame(await violationsOfThemes(page), [])
    await page.getByTestId(card).filter({ hasText: `${protocol}-1.txt` }).getByTestId('chat-approve').click()
    await page.getByTestId('inbox-outcome').getByText('Approved').waitFor()
    await page.getByText('1 waiting for a person.').waitFor()
    await until(() => called.includes(`${protocol}-1.txt`), `${protocol}: the tool is called`)
    await page.getByTestId(card).getByTestId('chat-decline').click()
    await page.locator('[data-testid=inbox][data-state=empty]').waitFor()
    // also for a look that reads all again
    await page.reload()
    await page.locator('[data-testid=inbox][data-state=empty]').waitFor()
    t.notOk(called.includes(`${protocol}-2.txt`))
    await page.getByTestId('nav-chat').click()
    await page.getByTestId('chat-clear').click()
  }
})

test('a question is edited or asked again, in a stored conversation and in one of the tab', options, async t => {
  for (const keeps of [true, false]) {
    let count = 0
    const { page: url } = await startApp(t, async (question, _vac, history) => `${question}, ${history.length / 2} before, ${++count}.`, { keeps })
    const page = await openPage(t, url, { allow: keeps ? [] : [/501/] })
    for (const [index, question] of ['one', 'two', 'three'].entries()) {
      await ask(page, 'direct', question)
      await answered(page, `${question}, ${index} before, ${index + 1}.`)
    }
    await page.getByTestId('chat-again').click()
    await answered(page, 'three, 2 before, 4.')
    await page.getByTestId('chat-edit').nth(1).click()
    await page.getByTestId('chat-edited').fill('zwei')
    await page.getByTestId('chat-edited-send').click()
    await answered(page, 'zwei, 1 before, 5.')
    t.strictSame(await page.locator('.question').allTextContents(), ['one', 'zwei'], `keeps: ${keeps}`)
    await page.getByTestId('chat-edit').first().click()
    await page.getByTestId('chat-edited-cancel').click()
    // Enter sends, Shift and Enter add a line
    await page.getByTestId('chat-edit').nth(1).click()
    await page.getByTestId('chat-edited').press('Control+End')
    await page.keyboard.press('Shift+Enter')
    await page.keyboard.type('in two lines')
    await page.keyboard.press('Enter')
    await answered(page, ', 1 before, 6.')
    t.equal(await page.locator('.question').last().textContent(), 'zwei\nin two lines')
    if (!keeps) continue
    await until(async () => (await page.getByTestId('stored-open').allTextContents()).join() === 'one', 'one conversation is left')
    await page.getByTestId('chat-clear').click()
    await page.getByTestId('stored-open').click()
    await answered(page, ', 1 before, 6.')
    t.strictSame(await page.locator('.question').allTextContents(), ['one', 'zwei\nin two lines'])
  }
})

test('a question that is asked again has one conversation, also where it was stopped or the page was loaded again', options, async t => {
  let way = ''
  let count = 0
  let release = (): void => {}
  const { page: url } = await startApp(t, async function * (question, _vac, _history, { signal }) {
    yield `${question} ${++count}`
    if (way === 'fails') throw new Error('no')
    if (way === 'stop') await delay(60_000, undefined, { signal })
    if (way === 'reload') await new Promise<void>(resolve => { release = resolve })
    yield '.'
  })
  const page = await openPage(t, url)
  const kept = async (conversations: string): Promise<unknown> =>
    await until(async () => (await page.getByTestId('stored-open').allTextContents()).join() === conversations, `the list has ${conversations}`)
  await ask(page, 'direct', 'one')
  await answered(page, 'one 1.')
  way = 'stop'
  await page.getByTestId('chat-again').click()
  await page.getByTestId('chat-answer').getByText('one 2').waitFor()
  await page.getByTestId('chat-stop').click()
  await page.locator('[data-testid=chat-answer][data-state=stopped]').waitFor()
  await kept('one')
  // what was read of it is there when it is opened again, without an error
  await page.getByTestId('chat-clear').click()
  await page.getByTestId('stored-open').click()
  await page.locator('[data-testid=chat-answer][data-state=stopped]').getByText('one 2').waitFor()
  t.match(await page.getByTestId('chat-figures').textContent(), /^stopped/)
  t.equal(await page.getByTestId('chat-problem').count(), 0)
  way = 'reload'
  await page.getByTestId('chat-again').click()
  await page.getByTestId('chat-answer').getByText('one 3').waitFor()
  await page.reload()
  await page.getByTestId('chat-answer').getByText('one 3').waitFor()
  t.ok(await page.getByTestId('chat-clear').isDisabled(), 'the former answer is known only here')
  release()
  await answered(page, 'one 3.')
  await kept('one')
  way = 'fails'
  await page.getByTestId('chat-again').click()
  await page.locator('[data-testid=chat-answer][data-state=failed]').waitFor()
  await kept('one,one')
  way = ''
  await page.getByTestId('chat-again').click()
  await answered(page, 'one 5.')
  await kept('one')
  await page.getByTestId('chat-clear').click()
  await page.getByTestId('stored-open').click()
  await answered(page, 'one 5.')
})

test('a new conversation begins during an answer, which goes on and is opened from the list', options, async t => {
  let release = (): void => {}
  const { page: url } = await startApp(t, async function * (question) {
    yield `first of ${question}`
    if (question === 'long') await new Promise<void>(resolve => { release = resolve })
    yield ', and the end'
  })
  const page = await openPage(t, url)
  await ask(page, 'direct', 'long')
  await page.getByTestId('chat-answer').getByText('first of long').waitFor()
  await page.getByTestId('chat-clear').click()
  await page.getByTestId('chat-empty').waitFor()
  await ask(page, 'direct', 'short')
  await answered(page, 'first of short, and the end')
  await page.getByTestId('stored-open').filter({ hasText: 'long' }).click()
  await page.locator('[data-testid=chat-answer][data-state=asking]').getByText('first of long').waitFor()
  release()
  await answered(page, 'first of long, and the end')
  // nothing of an answer that has no run is lost
  await page.getByTestId('chat-clear').click()
  await ask(page, 'openai', 'long')
  await page.getByTestId('chat-answer').getByText('first of long').waitFor()
  t.ok(await page.getByTestId('chat-clear').isDisabled())
  release()
  await answered(page, 'first of long, and the end')
})

test('a question that is sent before the page knows the agents is asked once it does', options, async t => {
  const { page: url } = await startApp(t, async question => `You asked: ${question}`)
  const page = await openPage(t, 'about:blank', { allow: [/another origin/] })
  let release = (): void => {}
  const gate = new Promise<void>(resolve => { release = resolve })
  await page.route('**/settings.json', async route => {
    await gate
    await route.continue()
  })
  await page.goto(url)
  await page.getByTestId('chat-question').fill('early')
  await page.getByTestId('chat-question').press('Enter')
  release()
  await answered(page, 'You asked: early')
})

test('a citation after a block of code is in its head, and a long source keeps the name of its file', options, async t => {
  const source = `handbook/${'operations/'.repeat(8)}restart.md`
  const url = await startReader(t, async () => ({
    answer: 'Do this:\n\n```sh\nsystemctl restart oslo\n```\n\n[1] [2]\n\nThen wait [2].',
    source_documents: [source, 'b.md'].map(source => ({ page_content: 'A passage.', metadata: { source, lines: '1-20', heading: 'Restart' } }))
  }))
  const page = await openPage(t, url, { viewport: { width: 360, height: 740 } })
  await page.getByTestId('chat-question').fill('How?')
  await page.getByTestId('chat-send').click()
  await answered(page, 'Then wait')
  t.strictSame(await page.getByTestId('chat-cite').allTextContents(), ['1', '2', '2'])
  const [code, cite, file, card] = await Promise.all([
    page.locator('.code'), page.getByTestId('chat-cite').nth(1), page.getByTestId('chat-source').first().getByText('restart.md:1-20'), page.getByTestId('chat-source').first()
  ].map(async part => (await part.boundingBox())!))
  t.ok(cite!.y > code!.y && cite!.y + cite!.height < code!.y + 40, 'in the head of the code')
  t.ok(file!.width > 80 && file!.x + file!.width <= card!.x + card!.width, 'the name is seen')
  t.match(await page.getByTestId('chat-source').first().locator('[title]').getAttribute('title'), source)
  t.strictSame(await violationsOfThemes(page), [])
})

test('on a narrow screen Escape closes the list from anywhere, and only then stops the answer', options, async t => {
  const url = await startReader(t, async function * (_question, _vac, _history, { signal }) {
    yield 'begun'
    await delay(60_000, undefined, { signal })
  })
  const page = await openPage(t, url, { viewport: { width: 360, height: 740 } })
  await page.getByTestId('chat-question').fill('wait')
  await page.getByTestId('chat-send').click()
  await page.getByTestId('chat-answer').getByText('begun').waitFor()
  await page.getByTestId('menu').click()
  await page.getByTestId('menu-close').waitFor()
  await page.getByTestId('chat-thread').focus()
  await page.keyboard.press('Escape')
  await page.getByTestId('menu-close').waitFor({ state: 'hidden' })
  t.equal(await page.locator('[data-testid=chat-answer][data-state=asking]').count(), 1)
  await page.keyboard.press('Escape')
  await page.locator('[data-testid=chat-answer][data-state=stopped]').waitFor()
})

test('the page follows an answer unless the reader has scrolled up', options, async t => {
  const url = await startReader(t, async function * (_question, _vac, _history, { signal }) {
    for (let i = 0; i < 400; i++) {
      yield `line ${i}\n\n`
      await delay(10, undefined, { signal })
    }
  })
  const page = await openPage(t, url)
  await page.getByTestId('chat-question').fill('long')
  await page.getByTestId('chat-send').click()
  const left = async (): Promise<number> => await page.getByTestId('chat-thread').evaluate((box: any) => box.scrollHeight - box.scrollTop - box.clientHeight)
  await page.getByText('line 80', { exact: true }).waitFor()
  await until(async () => await left() < 20, 'it follows')
  await page.getByTestId('chat-thread').evaluate((box: any) => { box.scrollTop = 0 })
  await page.getByTestId('chat-to-end').waitFor()
  await page.getByText('line 160', { exact: true }).waitFor()
  t.equal(await page.getByTestId('chat-thread').evaluate((box: any) => box.scrollTop), 0, 'the reader stays')
  await page.getByTestId('chat-to-end').click()
  await page.getByTestId('chat-to-end').waitFor({ state: 'detached' })
  await page.keyboard.press('Escape')
  await page.locator('[data-testid=chat-answer][data-state=stopped]').waitFor()
})

test('a picture goes with the question, and is shown; the other kinds of files are refused', options, async t => {
  const url = await startReader(t, async (_question, _vac, _history, { files }) => ({
    answer: `It has ${JSON.stringify((files as object[]).map(file => ({ ...file, bytes: undefined })))}.`,
    artifacts: [{ name: 'same', parts: files as object[] }]
  }))
  const page = await openPage(t, url)
  const buffer = Buffer.from('iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==', 'base64')
  await page.getByTestId('chat-attach-file').setInputFiles([{ name: 'dot.png', mimeType: 'image/png', buffer }, { name: 'notes.txt', mimeType: 'text/plain', buffer: Buffer.from('x') }])
  await page.getByTestId('chat-attach-problem').getByText('notes.txt is not sent: this agent takes images.').waitFor()
  t.equal(await page.getByTestId('chat-attached').count(), 1)
  await page.getByTestId('chat-question').fill('What is it?')
  await page.getByTestId('chat-send').click()
  await answered(page, 'It has [{"filename":"dot.png","media_type":"image/png"}].')
  t.equal(await page.getByTestId('chat-picture').count(), 2, 'in the question and in the answer')
  t.strictSame(await page.getByTestId('chat-picture').evaluateAll((pictures: any[]) => pictures.map(picture => picture.naturalWidth)), [1, 1])
  t.equal(await page.getByTestId('chat-attached').count(), 0)
  t.strictSame(await violationsOfThemes(page), [])
  await page.getByTestId('chat-clear').click()
  await page.getByTestId('stored-open').click()
  await answered(page, 'It has')
  t.strictSame(await page.getByTestId('chat-picture').evaluateAll((pictures: any[]) => pictures.map(picture => picture.naturalWidth)), [1], 'the one of the question, in a stored conversation')
})

test('in a language that is written from right to left nothing overflows', options, async t => {
  const url = await startReader(t, async question => `${question} [1]`)
  const page = await openPage(t, url)
  await page.evaluate(() => { (globalThis as any).document.documentElement.dir = 'rtl' })
  await page.getByTestId('chat-question').fill('مرحبا بالعالم')
  await page.getByTestId('chat-send').click()
  await answered(page, 'مرحبا')
  t.strictSame(await violationsOfThemes(page), [])
  const side = await page.locator('.side').boundingBox()
  t.ok(side !== null && side.x > 400, 'the list is on the right')
})
