import Fastify, { type FastifyRequest } from 'fastify'
import tap, { test, type Test } from 'tap'
import { agentInterpreter } from '@polyvac/agent'
import { createVacs, defineTools, type Memory } from '@polyvac/core'
import { createRuns } from '@polyvac/runs'
import { sqliteTaskStore } from '@polyvac/tasks/sqlite'
import { vacPlugin } from '@polyvac/vac'
import type { Page } from 'playwright-core'
import { browserMissing, closeBrowser, openPage } from '../../../test/fixtures/browser.js'
import { until } from '../../../test/fixtures/until.js'
import { fakeModel, type ModelStep } from '../../agent/test/fixtures/model.js'
import { playgroundPlugin } from '../src/index.js'
import { takePicture, violationsOfThemes } from './fixtures/axe.js'

const options = { skip: browserMissing }
tap.teardown(closeBrowser)

const memory: Memory = { search: async () => ['tea.md', 'coffee.md'].map(source => ({ content: `Four minutes, says ${source}.`, score: 0.9, metadata: { source } })) }
const BREW = { server: 'kitchen', name: 'brew', description: 'Brew a drink', inputSchema: { type: 'object' } }
const WEATHER = { name: 'weather', description: 'The weather', inputSchema: { type: 'object', properties: { city: { type: 'string' } } } }

/** What the model does, by the number of results that it has. */
const SCRIPT: Readonly<Record<number, ModelStep>> = {
  0: { thinks: 'They ask for tea.', calls: [{ name: 'search_documents', args: { query: 'green tea' } }, { name: 'weather', args: { city: 'Oslo' } }] },
  2: { calls: [{ name: 'kitchen__brew', args: { drink: 'tea', of: { cups: 2 } } }], usage: { prompt_tokens: 1200, completion_tokens: 40, total_tokens: 1240 } },
  3: { says: 'Tea takes four minutes [1].' }
}

/** An agent with a fake model, two tools and documents. Tokens of callers are their names; `root` administers. */
async function start (t: Test) {
  const { vac } = await fakeModel(t, ({ messages }) => SCRIPT[messages.filter(({ role }) => role === 'tool').length]!)
  let release = (): void => {}
  const gate = { isClosed: false, open: () => { release() } }
  const tools = defineTools([{
    ...WEATHER,
    handler: async () => {
      if (gate.isClosed) await new Promise<void>(resolve => { release = resolve })
      return 'sunny'
    }
  }])
  const vacs = createVacs({
    vacs: { cook: { ...vac, tools: ['weather', 'kitchen'] } },
    streamInterpreter: agentInterpreter({ memory }),
    tools,
    listTools: async () => [BREW],
    callTool: async () => { throw Object.assign(new Error('the kettle is cold'), { code: 'COLD' }) }
  })
  const tasks = sqliteTaskStore({ path: ':memory:' })
  await tasks.open()
  const app = Fastify({ forceCloseConnections: true })
  t.teardown(async () => { await app.close(); await tasks.close() })
  const authenticate = ({ headers: { authorization = '' } }: FastifyRequest) => {
    const owner = authorization.replace('Bearer ', '')
    return owner === '' ? undefined : { owner, ...owner === 'root' && { scopes: ['admin'] } }
  }
  await app.register(vacPlugin, { vacs, authenticate, runs: createRuns({ vacs, tasks, authenticate }) })
  await app.register(playgroundPlugin)
  const url = await app.listen({ port: 0, host: '127.0.0.1' })
  const as = (owner: string) => ({ authorization: `Bearer ${owner}` })
  return {
    url: `${url}/playground/`,
    gate,
    open: async (owner: string, hash: string, more: object = {}) => await openPage(t, `${url}/playground/${hash}`, { extraHTTPHeaders: as(owner), viewport: { width: 1_000, height: 740 }, ...more }),
    async ask (owner: string): Promise<string> {
      const post = await app.inject({ method: 'POST', url: '/vac/cook', headers: as(owner), payload: { user_input: 'How long?', steps: true, background: true } })
      const id: string = post.json().run_id
      await until(async () => (await app.inject({ url: `/vac/cook/runs/${id}`, headers: as(owner) })).json().state === 'completed', 'a run is completed')
      return id
    }
  }
}

/** The bars as texts: depth, kind, name, state. Those below a call of the model begin at about the same time. */
async function bars (page: Page): Promise<string[]> {
  const all = await page.getByTestId('trace-bar').evaluateAll(rows => (rows as any[]).map(row => `${row.dataset.depth} ${row.dataset.kind} ${row.querySelector('bdi').textContent} ${row.dataset.state}`))
  const groups: string[][] = []
  for (const bar of all) if (bar.startsWith('2')) groups.at(-1)!.push(bar); else groups.push([bar])
  return groups.flatMap(([first, ...below]) => [first!, ...below.sort()])
}
const BARS = ['1 search documents completed', '1 model fake completed', '2 reasoning fake completed', '2 search search_documents completed', '2 tool weather completed', '1 model fake completed', '2 tool brew failed', '1 model fake completed']

test('the timeline shows the work of an agent live, with tokens and contents, and no requests of the page', options, async t => {
  const { open, gate } = await start(t)
  const page = await open('root', '#/timeline')
  await page.locator('[data-testid=trace][data-state=empty]').waitFor()
  await page.getByTestId('nav-chat').click()
  gate.isClosed = true
  await page.getByTestId('chat-question').fill('How long is tea?')
  await page.getByTestId('chat-question').press('Enter')
  await page.goto(`${page.url().split('#')[0]!}#/timeline`)
  const weather = page.getByTestId('trace-bar').filter({ hasText: 'weather' })
  await page.locator('[data-testid=trace-bar][data-state=running]').filter({ hasText: 'weather' }).waitFor()
  t.match(await bars(page), ['0 answer How long is tea? running', '1 search documents completed', '1 model fake running'])
  gate.open()
  await page.locator('[data-testid=trace][data-state=completed]').waitFor()
  t.strictSame(await bars(page), ['0 answer How long is tea? completed', ...BARS])
  t.strictSame(await page.getByTestId('trace-tokens').allTextContents(), ['1,220 tokens in, 50 out', '10 tokens in, 5 out', '1,200 tokens in, 40 out', '10 tokens in, 5 out'])
  t.strictSame(await page.getByTestId('trace-passages').allTextContents(), ['2 passages', '2 passages'])
  t.equal(await page.locator('.bar-row svg rect').count(), BARS.length + 1, 'each has its place in time')

  // only the keyboard
  await weather.locator('summary').focus()
  await page.keyboard.press('Enter')
  t.match(await weather.getByTestId('trace-input').textContent(), /city.*Oslo/)
  t.match(await weather.getByTestId('trace-output').textContent(), /sunny/)
  const brew = page.getByTestId('trace-bar').filter({ hasText: 'kitchen' })
  await brew.locator('summary').click()
  t.match(await brew.getByTestId('trace-error').textContent(), /COLD: the kettle is cold/)
  t.strictSame(await violationsOfThemes(page), [])
  await takePicture(page, 'timeline')

  t.equal(await page.getByTestId('timeline-event').count(), 0)
  await page.getByTestId('own-requests').check()
  await page.getByTestId('timeline-event').filter({ hasText: 'ask cook' }).first().waitFor()
  t.strictSame(await violationsOfThemes(page), [])
})

test('a stored run opens by its id, for its owner and for administrators; to others it does not exist', options, async t => {
  const { open, ask } = await start(t)
  const id = await ask('alice')
  const own = await open('alice', '#/timeline', { permissions: ['clipboard-read', 'clipboard-write'] })
  await own.getByTestId('task-id').fill(id)
  await own.getByTestId('task-open').click()
  await own.locator('[data-testid=trace][data-state=completed]').waitFor()
  t.equal(await own.getByTestId('trace-run').textContent(), id)
  await own.getByTestId('trace-run-copy').click()
  await own.getByRole('button', { name: 'Copied' }).waitFor()
  await until(async () => (await bars(own)).length === BARS.length + 1, 'the steps are read')
  t.strictSame((await bars(own)).slice(1), BARS)
  await own.getByTestId('trace-bar').filter({ hasText: 'weather' }).locator('summary').click()
  t.equal(await own.getByTestId('trace-input').count(), 0, 'the caller may not see the input')
  t.strictSame(await violationsOfThemes(own), [])

  const admin = await open('root', `#/timeline/${id}`)
  await until(async () => (await bars(admin)).length === BARS.length + 1, 'an administrator reads the run of another owner')
  t.strictSame((await bars(admin)).slice(1), BARS)

  const unknown = '00000000-0000-4000-8000-000000000000'
  const other = await open('bob', `#/timeline/${id}`, { allow: [/404/] })
  await other.getByTestId('task-problem').waitFor()
  const foreign = (await other.getByTestId('timeline').textContent())!.replaceAll(id, 'ID')
  t.match(foreign, /There is no run with this id/)
  await other.goto(`${other.url().split('#')[0]!}#/timeline/${unknown}`)
  await other.getByTestId('task').filter({ hasText: unknown }).getByTestId('task-problem').waitFor()
  t.equal((await other.getByTestId('timeline').textContent())!.replaceAll(unknown, 'ID'), foreign, 'as an unknown one')
})
