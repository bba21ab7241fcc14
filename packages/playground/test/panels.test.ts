import Fastify from 'fastify'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import tap, { test } from 'tap'
import { a2aPlugin } from '@polyvac/a2a'
import { createVacs, type Interpreter } from '@polyvac/core'
import { createGateway, mcpGatewayPlugin } from '@polyvac/mcp-gateway'
import { mcpServerPlugin, vacTools } from '@polyvac/mcp-server'
import { sqliteTaskStore } from '@polyvac/tasks/sqlite'
import { vacPlugin } from '@polyvac/vac'
import { browserMissing, closeBrowser, openPage } from '../../../test/fixtures/browser.js'
import { until } from '../../../test/fixtures/until.js'
import { playgroundPlugin } from '../src/index.js'
import { startApp } from './fixtures/app.js'
import { openInspector } from './fixtures/chat.js'
import { takePicture, violations, violationsOfThemes } from './fixtures/axe.js'

const BAD_SERVER = fileURLToPath(new URL('../../mcp-gateway/test/fixtures/bad-server.mjs', import.meta.url))
/** Authorization servers sign what a client asks of them: the address of a sign-in is longer than other addresses. */
const SIGN_IN = `https://login.example/x?y=1&request=${'a'.repeat(8_000)}`
const options = { skip: browserMissing }

tap.teardown(closeBrowser)

interface Started { readonly page: string, readonly readerPage: string, readonly gateway: ReturnType<typeof createGateway>, ask (text: string, parts?: readonly object[]): Promise<string> }

/** An app with every protocol, one MCP server of odd tools, and two pages, the second one read only. */
async function start (t: { teardown (run: () => unknown): unknown }): Promise<Started> {
  const streamInterpreter: Interpreter = async function * (question) {
    if (question === 'sign in') return { auth_required: `Sign in at ${SIGN_IN}. Not at javascript:alert(1)` }
    if (question === 'deploy') return { input_required: 'Deploy to production?' }
    return `done: ${question}`
  }
  const vacs = createVacs({ vacs: ['demo'], streamInterpreter })
  const tasks = sqliteTaskStore({ path: ':memory:' })
  await tasks.open()
  const gateway = createGateway({ servers: { odd: { command: process.execPath, args: [BAD_SERVER] }, silent: { command: process.execPath, args: ['-e', 'process.exit(1)'] } } })
  const app = Fastify({ forceCloseConnections: true })
  t.teardown(() => app.close())
  app.addHook('preClose', async () => { await gateway.close() })
  app.addHook('onClose', () => tasks.close())
  await app.register(vacPlugin, { vacs, protocols: ['direct', 'openai', 'responses'] })
  await app.register(a2aPlugin, { vacs, tasks })
  await app.register(mcpServerPlugin, { sources: [vacTools(vacs), gateway.toolSource()] })
  await app.register(mcpGatewayPlugin, { gateway })
  await app.register(playgroundPlugin)
  const routes = Object.fromEntries(['vac', 'openai', 'responses', 'a2a', 'mcp'].map(name => [name, ['openai', 'responses'].includes(name) ? '../../openai/v1' : `../../${name}`]))
  await app.register(playgroundPlugin, { prefix: '/reader', readOnly: true, routes: { ...routes, gateway: '../../mcp', card: null, ready: null, openapi: null } })
  gateway.start()
  const url = await app.listen({ port: 0, host: '127.0.0.1' })
  await until(() => gateway.get('odd').status().state === 'ready', 'the MCP server is ready')
  return {
    page: `${url}/playground/`,
    readerPage: `${url}/reader/playground/`,
    gateway,
    async ask (text, parts = [{ text }]) {
      const message = { messageId: text, role: 'ROLE_USER', parts }
      const { body } = await app.inject({ method: 'POST', url: '/a2a/v1/message:send', headers: { 'a2a-version': '1.0' }, payload: { message, configuration: { returnImmediately: true } } })
      return JSON.parse(body).task.id
    }
  }
}

/** One app and one MCP server for all tests of the file. */
const shared = browserMissing === false ? start(tap) : undefined

test('a form of a tool checks, asks before it calls, and shows the result; a link fills it in and never runs it', options, async t => {
  const { page: url, gateway } = await shared!
  const args = JSON.stringify({ message: 'from a link', times: 2 })
  const page = await openPage(t, `${url}#/tools/odd/echo?args=${encodeURIComponent(args)}`, { allow: [/status of 500/], permissions: ['clipboard-read', 'clipboard-write'] })
  await page.getByTestId('field-args.message').waitFor()
  t.equal(await page.getByTestId('field-args.message').inputValue(), 'from a link')
  t.equal(await page.getByTestId('tool-form').getAttribute('data-state'), 'idle')
  t.equal(gateway.get('odd').status().callsInFlight, 0)

  await page.getByTestId('field-args.times').fill('0')
  await page.getByTestId('tool-run').click()
  t.match(await page.getByTestId('tool-problem').textContent(), /^times: needs at least 1$/)
  await page.getByTestId('field-args.times').fill('')
  await page.getByTestId('field-args.message').fill("it's me")
  t.strictSame(JSON.parse(await page.getByTestId('tool-args').inputValue()), { message: "it's me" }, 'an empty optional is left out')
  t.match(decodeURIComponent(page.url().replaceAll('+', ' ')), /args=\{\s+"message": "it's me"/, 'the address keeps the call')
  await page.getByTestId('tool-run').click()
  await page.getByTestId('tool-confirm').waitFor()
  await page.getByTestId('tool-confirm-no').click()
  t.equal(await page.getByTestId('tool-result').count(), 0)
  // only the keyboard
  await page.getByTestId('tool-run').focus()
  await page.keyboard.press('Enter')
  await page.getByTestId('tool-confirm').waitFor()
  // a key that is held down sends keydown again and again
  for (let i = 0; i < 5; i++) await page.keyboard.down('Enter')
  await page.keyboard.up('Enter')
  t.equal(await page.getByTestId('tool-confirm-no').evaluate('document.activeElement.dataset.testid'), 'tool-confirm-no', 'the safe answer has the focus')
  await page.keyboard.press('Escape')
  await page.getByTestId('tool-confirm').waitFor({ state: 'detached' })
  t.equal(await page.evaluate('document.activeElement.dataset.testid'), 'tool-run', 'the focus goes back')
  t.equal(await page.getByTestId('tool-form').getAttribute('data-state'), 'idle')
  await page.keyboard.press('Enter')
  await page.getByTestId('tool-confirm').waitFor()
  await page.keyboard.press('Tab')
  await page.keyboard.press('Enter')
  await page.locator('[data-testid=tool-result][data-state=done]').waitFor()
  t.equal(await page.getByTestId('content-text').textContent(), "it's me")

  await page.getByTestId('copy-curl').click()
  const copied = await until(async () => await page.evaluate('navigator.clipboard.readText()') as string, 'the button has copied')
  t.match(copied, /^curl -sN -X POST '.*\/mcp\/call' .*it'\\''s me/)
  t.strictSame(await violationsOfThemes(page), [])
  await takePicture(page, 'tools')

  await page.getByTestId('tools-filter').fill('fail')
  await page.getByTestId('tool').filter({ hasText: /^fail$/ }).click()
  await page.getByTestId('tool-run').click()
  await page.getByTestId('tool-confirm-yes').click()
  await page.locator('[data-testid=tool-result][data-state=error]').waitFor()
  t.match(await page.getByTestId('tool-result').textContent(), /reported an error.*the disk is full/)

  await page.getByTestId('tools-filter').fill('')
  const own = page.getByTestId('tool').filter({ hasText: /demo/i }).first()
  await own.click()
  await page.locator('[data-testid^="field-args."]').first().fill('Hello')
  await page.getByTestId('tool-run').click()
  await page.getByTestId('tool-confirm-yes').click()
  await page.locator('[data-testid=tool-result][data-state=done]').waitFor()
  t.match(await page.getByTestId('tool-result').textContent(), /done: Hello/)
})

test('with hundreds of tools, a chosen tool shows its form at once, and resources and prompts are one step away', options, async t => {
  const { page: url } = await shared!
  const page = await openPage(t, `${url}#/chat`, { viewport: { width: 1_280, height: 740 }, allow: [/501/] })
  const named = (count: number, more: object): object[] => Array.from({ length: count }, (_, i) => ({ name: `many ${i + 1}`, description: '', server: 'many', ...more }))
  await page.route('**/mcp/tools', async route => { await route.fulfill({ json: { tools: named(314, { inputSchema: { type: 'object', properties: { text: { type: 'string' } } } }).reverse() } }) })
  await page.route('**/mcp/prompts', async route => { await route.fulfill({ json: { prompts: named(3, {}) } }) })
  const heading = page.getByTestId('tool-form').locator('h2')
  const place = async (): Promise<unknown> => {
    const [top, focus] = await page.evaluate('[document.activeElement.getBoundingClientRect().top, document.activeElement.textContent]') as [number, string]
    return { isShown: top >= 0 && top < 640, focus }
  }
  await page.goto(`${url}#/tools`)
  await page.getByTestId('tool').filter({ hasText: /^many 150$/ }).click()
  await heading.filter({ hasText: 'many 150' }).waitFor()
  t.strictSame(await place(), { isShown: true, focus: 'many 150' })
  const names = (await page.getByTestId('tool').allTextContents()).filter(name => name.startsWith('many'))
  t.strictSame(names.slice(8, 10), ['many 9', 'many 10'])
  await page.getByTestId('to-prompts').click()
  t.strictSame(await place(), { isShown: true, focus: 'Prompts' })

  await page.setViewportSize({ width: 360, height: 740 })
  await page.getByTestId('tool').filter({ hasText: /^many 120$/ }).click()
  await heading.filter({ hasText: 'many 120' }).waitFor()
  t.strictSame(await place(), { isShown: true, focus: 'many 120' })
  await page.reload()
  await heading.waitFor()
  t.ok((await heading.boundingBox())!.y < (await page.getByTestId('tool').first().boundingBox())!.y, 'the form of a saved call comes first')
  t.strictSame(await violations(page), [])
})

test('a form has a select with titles, checks the chosen variant, and keeps a password out of the address', options, async t => {
  const { page: url } = await shared!
  const page = await openPage(t, `${url}#/chat`, { allow: [/501/] })
  const part = (name: string): object => ({ type: 'object', properties: { [name]: { type: 'string' } }, required: [name] })
  const inputSchema = { type: 'object', properties: { colour: { oneOf: [{ const: 'r', title: 'Red' }, { const: 'g', title: 'Green' }] }, who: { oneOf: [part('name'), part('id')] }, key: { type: 'string', format: 'password' } }, required: ['colour', 'who'] }
  await page.route('**/mcp/tools', async route => { await route.fulfill({ json: { tools: [{ name: 'paint', description: '', server: 'many', inputSchema }] } }) })
  await page.goto(`${url}#/tools/many/paint`)
  await page.getByTestId('field-args.colour').selectOption({ label: 'Green' })
  await page.getByTestId('field-args.who').selectOption({ label: 'object with id' })
  await page.getByTestId('field-args.key').fill('canary-key')
  t.equal(await page.getByTestId('field-args.key').getAttribute('type'), 'password')
  t.match(decodeURIComponent(page.url()), /"g"/)
  t.notMatch(page.url(), /canary/)
  await page.getByTestId('tool-run').click()
  t.equal(await page.getByTestId('tool-problem').textContent(), 'who/id: needs a value')
  t.strictSame(await violations(page), [])
})

test('what is typed into a form arrives, character by character', options, async t => {
  const { page: url } = await shared!
  const page = await openPage(t, `${url}#/chat`, { allow: [/501/] })
  const inputSchema = { type: 'object', properties: { text: { type: 'string' }, number: { type: 'number' }, list: { type: 'array', items: { type: 'number' } } } }
  await page.route('**/mcp/tools', async route => { await route.fulfill({ json: { tools: [{ name: 'type', description: '', server: 'many', inputSchema }] } }) })
  await page.goto(`${url}#/tools/many/type`)
  const text = 'a text of more than sixty characters, which an input does not show whole'
  await page.getByTestId('field-args.text').focus()
  await page.keyboard.type(text)
  await page.getByTestId('field-args.number').pressSequentially('-0.5')
  await page.getByTestId('field-args.list-add').click()
  for (const [i, number] of ['-1.5', '2'].entries()) {
    await page.getByTestId('field-args.list-item').click()
    await page.getByTestId(`field-args.list.${i}`).pressSequentially(number)
  }
  t.strictSame(JSON.parse(await page.getByTestId('tool-args').inputValue()), { text, number: -0.5, list: [-1.5, 2] })
  await page.getByTestId('field-args.list.0').press('ControlOrMeta+A')
  await page.keyboard.press('Backspace')
  await page.keyboard.type('3')
  t.strictSame(JSON.parse(await page.getByTestId('tool-args').inputValue()).list, [3, 2], 'an emptied item stays an item')
})

test('the state of a server has stderr and a restart, and a resource shows text and the size of bytes', options, async t => {
  const { page: url, readerPage, gateway, ask } = await shared!
  await gateway.get('odd').call('flood', { lines: 3 })
  const page = await openPage(t, `${url}#/tools`, { viewport: { width: 360, height: 740 }, colorScheme: 'dark', allow: [/\/vac\/demo\/runs\?/] })
  await page.locator('[data-testid=server-odd][data-state=ready]').waitFor()
  await page.getByTestId('server-odd').locator('summary').click()
  t.match(await page.getByTestId('stderr-odd').textContent(), /line 0 y+\nline 1 y+\nline 2 y+/)
  const { pid } = gateway.get('odd').status()
  await page.getByTestId('restart-odd').click()
  await until(() => gateway.get('odd').status().state === 'ready' && gateway.get('odd').status().pid !== pid, 'the server runs again')
  await page.getByTestId('server-odd').getByText('1 restart,').waitFor()
  const { restarts } = gateway.get('silent').status()
  await page.getByTestId('restart-silent').click()
  await until(() => gateway.get('silent').status().restarts > restarts, 'a server that has ended without a word starts again')
  await page.getByTestId('tools-filter').fill('bad://a')
  await page.getByTestId('resource').locator('summary').click()
  await page.getByTestId('resource-read').click()
  await page.getByTestId('content-image').waitFor()
  t.equal(await page.getByTestId('content-text').textContent(), 'A')
  t.match(await page.getByTestId('resource').textContent(), /image\/png, \d B/)
  t.strictSame(await violations(page), [])

  const visitor = await openPage(t, `${url}#/tools`, { extraHTTPHeaders: { 'x-forwarded-for': '203.0.113.9' } })
  await visitor.locator('[data-testid=server-odd][data-state=ready]').waitFor()
  t.equal(await visitor.locator('[data-testid^=restart-]').count(), 0, 'a caller behind a proxy has no right to restart')

  const reader = await openPage(t, `${readerPage}#/tools/odd/echo`, { allow: [/501/] })
  await reader.getByTestId('tool-read-only').waitFor()
  t.equal(await reader.getByTestId('tool-run').count() + await reader.getByTestId('restart-odd').count(), 0)
  const id = await ask('deploy')
  await reader.getByTestId('nav-inbox').click()
  await reader.getByTestId('waiting-task').waitFor()
  t.match(await reader.getByTestId('task-question').textContent(), /Deploy to production\?/)
  t.strictSame(await reader.getByTestId('inbox').getByRole('button').allTextContents(), ['Look again'], 'it answers and cancels nothing')
  await reader.goto(`${readerPage}#/timeline/${id}`)
  await reader.locator('[data-testid=task][data-state=input-required]').waitFor()
  t.equal(await reader.getByTestId('task').getByRole('button').count(), 0)
  await reader.getByTestId('nav-chat').click()
  await reader.getByTestId('chat-question').fill('Hello')
  await reader.getByTestId('chat-send').click()
  await reader.locator('[data-testid=chat-answer][data-state=done]').getByText('done: Hello').waitFor()
  // the other views ask VACs and read, and so does their every request
  const sent: string[] = []
  reader.on('request', request => { sent.push(`${request.method()} ${new URL(request.url()).pathname} ${request.postDataJSON()?.method ?? ''}`.trim()) })
  await reader.goto(`${readerPage}#/compare/demo?question=Hello`)
  await reader.getByTestId('compare-send').click()
  await reader.locator('[data-testid=compare][data-state=done]').waitFor()
  await reader.getByTestId('compare-raw-direct').click()
  await reader.locator('[data-testid=exchange][data-state=ended]').waitFor()
  t.strictSame(await reader.getByTestId('raw').locator('button:not([data-testid=raw-frame])').allTextContents(),
    ['Export as .jsonl', 'Copy as curl', 'Copy as fetch'], 'the raw view sends nothing')
  await reader.getByTestId('nav-cards').click()
  await reader.locator('[data-testid=cards][data-state=done] [data-testid=document-mcp]').waitFor()
  t.strictSame([...new Set(sent)].filter(text => !text.startsWith('GET ')).sort(), [
    'DELETE /mcp', 'POST /a2a SendStreamingMessage', 'POST /a2a/tasks/sendSubscribe tasks/sendSubscribe', 'POST /mcp initialize',
    'POST /mcp notifications/initialized', 'POST /mcp server/discover', 'POST /mcp tools/call', 'POST /openai/v1/chat/completions', 'POST /openai/v1/responses', 'POST /vac/streaming/demo/sse'
  ])
  await page.goto(`${url}#/inbox`)
  await page.getByTestId('task-cancel').click()
  await page.getByTestId('inbox-outcome').getByText('Cancelled').waitFor()
})

test('the inbox shows tasks and questions that wait, and sends answers', options, async t => {
  const { page: url, ask } = await shared!
  const page = await openPage(t, `${url}#/inbox`, { viewport: { width: 360, height: 740 }, allow: [/\/vac\/demo\/runs[/?]/] })
  await page.clock.install()
  await page.reload()
  await page.locator('[data-testid=inbox][data-state=empty]').waitFor()
  const [first, second] = [await ask('deploy'), await ask('deploy').catch(() => '')]
  t.ok(first && second)
  // no click: the page looks by itself
  await page.clock.fastForward(5_000)
  await page.getByTestId('waiting-task').first().waitFor()
  await page.getByTestId('inbox-refresh').click()
  await page.getByText('2 waiting for a person.').waitFor()
  t.match(await page.getByTestId('task-question').first().textContent(), /Deploy to production\?/)
  t.strictSame(await violationsOfThemes(page), [])
  await page.getByTestId('waiting-task').filter({ hasText: first }).getByTestId('task-answer').fill('to staging')
  await page.getByTestId('waiting-task').filter({ hasText: first }).getByTestId('task-send').click()
  await page.getByText('1 waiting for a person.').waitFor()
  await page.getByTestId('task-decline').click()
  await page.locator('[data-testid=inbox][data-state=empty]').waitFor()
  await page.goto(`${url}#/timeline/${first}`)
  await page.locator('[data-testid=task][data-state=completed]').waitFor()
  t.match(await page.getByTestId('task-text').textContent(), /done: to staging/)

  await ask('sign in', [{ data: { skillName: 'vac_stream_demo', input: { query: 'sign in' } } }])
  await page.goto(`${url}#/inbox`)
  await page.locator('[data-testid=waiting-task][data-state=auth-required]').waitFor()
  t.equal(await page.getByTestId('task-asked').textContent(), 'demo was asked: sign in')
  t.equal(await page.getByTestId('task-sign-in').getAttribute('href'), SIGN_IN)
  t.strictSame(await page.getByTestId('waiting-task').getByRole('button').allTextContents(), ['Cancel the task'])
  t.equal(await page.getByTestId('task-answer').count(), 0)
  await page.getByTestId('task-cancel').click()
  await page.locator('[data-testid=inbox][data-state=empty]').waitFor()

  await page.goto(`${url}#/tools/odd/ask`)
  await page.getByTestId('tool-run').click()
  await page.getByTestId('tool-confirm-yes').click()
  await page.getByTestId('question').waitFor()
  await page.goto(`${url}#/inbox`)
  await page.reload()
  await page.locator('[data-testid=question] input').fill('Oslo')
  t.strictSame(await violations(page), [])
  await page.getByTestId('approve').click()
  await page.getByText('ask has ended.').waitFor()
  await page.locator('[data-testid=inbox][data-state=empty]').waitFor()
})

test('a task of another tab, and of another replica, is followed to its end', options, async t => {
  let release = (): void => {}
  let end = (): void => {}
  const gate = new Promise<void>(resolve => { release = resolve })
  const atEnd = new Promise<void>(resolve => { end = resolve })
  const interpreter: Interpreter = async function * () { yield 'first'; await gate; yield ' and second'; await atEnd }
  const tasksPath = join(t.testdir(), 'tasks.sqlite')
  const { page: one } = await startApp(t, interpreter, { tasksPath })
  const { page: two } = await startApp(t, interpreter, { tasksPath })
  // a subscription may come after the end of its task: the page reads the task then, and Chromium logs the refusal
  const allow = [/\/tasks\/[\w-]+:subscribe/, /\/vac\/demo\/runs\//]
  const chat = await openPage(t, `${one}#/chat/demo?protocol=a2a&question=wait`, { allow })
  await chat.getByTestId('chat-send').click()
  await openInspector(chat)
  await chat.getByTestId('chat-task').click()
  const id = new URL(chat.url()).hash.replace('#/timeline/', '')
  const tab = await openPage(t, `${one}#/timeline/${id}`, { allow })
  const page = await openPage(t, `${two}#/timeline`, { allow })
  await page.getByTestId('task-id').fill(id)
  await page.keyboard.press('Enter')
  const pages = [chat, tab, page]
  for (const page of pages) await page.locator('[data-testid=task][data-state=working]').waitFor()
  release()
  for (const page of pages) await page.locator('[data-testid=task][data-state=working]').getByText('first and second').waitFor()
  await tab.getByTestId('own-requests').check()
  t.match(await tab.getByTestId('time-axis').textContent(), /\d+:\d\d:\d\d/)
  end()
  for (const page of pages) {
    await page.locator('[data-testid=task][data-state=completed]').waitFor()
    await page.getByTestId('task-text').getByText('first and second').waitFor()
  }
  await page.getByTestId('own-requests').check()
  await page.getByTestId('lane-tasks').uncheck()
  t.equal(await page.getByTestId('timeline-event').filter({ hasText: 'tasks' }).count(), 0)
  await page.getByTestId('lane-tasks').check()
  await page.getByTestId('timeline-filter').fill('follow task')
  t.match(await page.getByTestId('timeline-count').textContent(), /^1 of \d+ events$/)
  const length = await page.getByTestId('zoom-length').textContent()
  await page.getByTestId('zoom-in').click()
  t.not(await page.getByTestId('zoom-length').textContent(), length)
  t.strictSame(await violationsOfThemes(page), [])
})

test('10,000 events scroll with the nodes of only the rows in sight', options, async t => {
  const { page: url } = await shared!
  const page = await openPage(t, `${url}#/timeline`, { viewport: { width: 360, height: 740 }, allow: [/501/] })
  const state = (i: number): string => `data: {"statusUpdate":{"status":{"state":"${i === 9_999 ? 'TASK_STATE_COMPLETED' : 'TASK_STATE_WORKING'}"},"n":${i}}}\n\n`
  let looks = 0
  await page.route('**/a2a/v1/tasks/many', async route => {
    await route.fulfill({ json: { id: 'many', status: { state: looks++ === 0 ? 'TASK_STATE_WORKING' : 'TASK_STATE_COMPLETED' } } })
  })
  await page.route('**/tasks/many/pushNotificationConfigs', async route => { await route.fulfill({ json: { configs: [{ url: 'http://127.0.0.1:9/hook' }] } }) })
  await page.route('**/tasks/many:subscribe', async route => { await route.fulfill({ contentType: 'text/event-stream', body: Array.from({ length: 10_000 }, (_, i) => state(i)).join('') }) })
  await page.getByTestId('task-id').fill('many')
  await page.getByTestId('task-open').click()
  await page.locator('[data-testid=task][data-state=completed]').waitFor()
  t.match(await page.getByTestId('task-webhooks').textContent(), /127\.0\.0\.1:9/)
  await page.getByTestId('own-requests').check()
  await page.getByText(/^100\d\d of 100\d\d events$/).waitFor()
  const { nodes, perFrame, longTasks } = await page.evaluate(async () => {
    const { document, MutationObserver, PerformanceObserver, requestAnimationFrame } = globalThis as any
    const list = document.querySelector('[data-testid=timeline-events]')
    let [changed, perFrame, nodes, longTasks] = [0, 0, 0, 0]
    const long = new PerformanceObserver((entries: any) => { longTasks += entries.getEntries().length })
    long.observe({ entryTypes: ['longtask'] })
    const changes = new MutationObserver((records: any[]) => { for (const { addedNodes, removedNodes } of records) changed += addedNodes.length + removedNodes.length as number })
    changes.observe(list, { childList: true, subtree: true })
    for (let i = 0; i <= 20; i++) {
      changed = 0
      list.scrollTop = list.scrollHeight * i / 20
      await new Promise(resolve => requestAnimationFrame(() => requestAnimationFrame(resolve)))
      perFrame = Math.max(perFrame, changed)
      nodes = Math.max(nodes, document.querySelectorAll('*').length)
    }
    return { nodes, perFrame, longTasks }
  })
  t.comment(`${nodes} nodes, ${perFrame} changed in a frame, ${longTasks} long tasks`)
  t.ok(nodes < 1_500, `${nodes} nodes`)
  t.ok(perFrame < 200, `${perFrame} nodes changed in one frame`)
  t.ok(await page.getByTestId('timeline-event').count() < 40)
  t.strictSame(await violations(page), [])
})

test('without an A2A agent the timeline states that there are no tasks', options, async t => {
  const app = Fastify()
  t.teardown(() => app.close())
  await app.register(playgroundPlugin, { routes: { a2a: null } })
  const page = await openPage(t, `${await app.listen({ port: 0, host: '127.0.0.1' })}/playground/#/timeline/abc`, { allow: [/404/] })
  await page.getByTestId('task-problem').getByText('This service has no tasks').waitFor()
})
