import tap, { test } from 'tap'
import { setTimeout as delay } from 'node:timers/promises'
import type { Page } from 'playwright-core'
import { browserMissing, closeBrowser, openPage } from '../../../test/fixtures/browser.js'
import { until } from '../../../test/fixtures/until.js'
import { startApp } from './fixtures/app.js'

const options = { skip: browserMissing }
const TURNS = 5_000
const PAGE_TURNS = 200
/** Nodes that may come to the page while the conversation scrolls by. */
const MAX_ADDED = 200

tap.teardown(closeBrowser)

const nodesOf = async (page: Page): Promise<number> => await page.evaluate(() => (globalThis as any).document.querySelectorAll('*').length)

/** A conversation of 5,000 turns that the service sends page by page; every tenth turn is long. */
async function storeLong (page: Page): Promise<void> {
  const time = new Date(0).toISOString()
  const head = { id: 'long', title: 'A long conversation', created_at: time, updated_at: time, turn_count: TURNS }
  await page.route(/\/vac\/demo\/conversations/, async route => {
    const { pathname, searchParams } = new URL(route.request().url())
    if (pathname.endsWith('/conversations')) return await route.fulfill({ json: { conversations: [head] } })
    const end = Number(searchParams.get('before') ?? TURNS)
    const from = Math.max(0, end - PAGE_TURNS)
    const turns = Array.from({ length: end - from }, (_, i) => ({
      id: String(from + i), question: `Question ${from + i}`, answer: `Answer ${from + i}.${(from + i) % 10 === 0 ? '\n\nMore of it.'.repeat(20) : ''}`, state: 'completed', source_documents: [], steps: [], files: [], created_at: time, duration_ms: 12
    }))
    await route.fulfill({ json: { ...head, turns, has_earlier: from > 0 } })
  })
}

test('the chat shows its first picture; how soon is printed', options, async t => {
  const { page: url } = await startApp(t, async question => question)
  const page = await openPage(t, url)
  await page.getByTestId('chat-empty').waitFor()
  await page.reload()
  await page.getByTestId('chat-empty').waitFor()
  await until(async () => await page.evaluate(() => (globalThis as any).performance.getEntriesByName('first-contentful-paint').length) === 1, 'a first picture')
  const ms = await page.evaluate(() => (globalThis as any).performance.getEntriesByName('first-contentful-paint')[0].startTime)
  t.comment(`first contentful paint after ${Math.round(ms)} ms`)
})

test('nothing that is shown moves while an answer arrives', options, async t => {
  const text = Array.from({ length: 60 }, (_, i) => i % 6 === 5 ? '\n\n| a | b |\n| - | - |\n| 1 | 2 |\n\n```js\nlet x\n```\n\n' : `Sentence ${i} of an answer. `)
  const { page: url } = await startApp(t, async function * () {
    yield { reasoning: 'It needs a tool.' }
    yield { tool_call: { id: 'a', name: 'look_up' } }
    await delay(60)
    yield { tool_result: { id: 'a', output: 'found' } }
    for (const part of text) {
      yield part
      await delay(10)
    }
    return { answer: text.join(''), source_documents: [{ page_content: 'A passage.', metadata: { source: 'a.md' } }] }
  })
  const page = await openPage(t, url)
  await page.getByTestId('chat-empty').waitFor()
  await page.evaluate(() => {
    const page = globalThis as any
    page.shifts = []
    new page.PerformanceObserver((list: any) => {
      for (const { value, hadRecentInput, sources } of list.getEntries()) if (!hadRecentInput) page.shifts.push({ value, of: sources.map(({ node }: any) => `${node?.className ?? node?.nodeName} ${node?.textContent?.slice(0, 80)}`) })
    }).observe({ type: 'layout-shift', buffered: false })
  })
  await page.getByTestId('chat-question').fill('What is it?')
  await page.getByTestId('chat-question').press('Enter')
  await page.locator('[data-testid=chat-answer][data-state=done]').waitFor()
  // the reader scrolls up: what is above stays where it is while the next answer arrives
  await page.getByTestId('chat-question').fill('And then?')
  await page.getByTestId('chat-question').press('Enter')
  await page.locator('[data-testid=chat-answer][data-state=asking]').getByText('Sentence 3').waitFor()
  await page.getByTestId('chat-thread').hover()
  await page.mouse.wheel(0, -400)
  await page.getByTestId('chat-to-end').waitFor()
  await page.locator('[data-testid=chat-answer][data-state=done]').nth(1).waitFor()
  t.strictSame(await page.evaluate('shifts'), [])
})

test('10,000 stored messages scroll by with at most 200 more nodes, and what is seen stays where it is', options, async t => {
  const { page: url } = await startApp(t, async question => question)
  const page = await openPage(t, url)
  await storeLong(page)
  await page.reload()
  await page.getByTestId('stored-open').click()
  await page.getByText(`Answer ${TURNS - 1}.`).waitFor()
  const before = await nodesOf(page)
  const thread = page.getByTestId('chat-thread')
  let most = before
  for (let steps = 0; await page.getByText('Question 0', { exact: true }).count() === 0; steps++) {
    await thread.evaluate(box => { (box as any).scrollTop -= 4_000 })
    await page.evaluate(() => new Promise(resolve => { (globalThis as any).requestAnimationFrame(() => (globalThis as any).requestAnimationFrame(resolve)) }))
    most = Math.max(most, await nodesOf(page))
    if (steps > 3_000) throw new Error('the beginning does not come')
  }
  t.comment(`${before} nodes at first, at most ${most}`)
  t.ok(most - before <= MAX_ADDED, `${most - before} more nodes`)
  await page.getByTestId('inspect').click()
  await page.getByTestId('inspected-answer').first().waitFor()
  t.equal(await page.getByTestId('inspected-answer').count(), 50)
  await page.getByTestId('inspector-close').click()

  await thread.evaluate(box => { (box as any).scrollTop = (box as any).scrollHeight / 2 })
  await until(async () => await page.locator('[data-key]').count() > 0, 'turns in the middle')
  const placeOf = async (text: string): Promise<number> => (await page.getByText(text, { exact: true }).boundingBox())!.y
  const text = (await page.locator('.question').nth(5).textContent())!
  const y = await placeOf(text)
  await thread.evaluate(box => { (box as any).scrollTop -= 150 })
  await until(async () => Math.abs(await placeOf(text) - y - 150) <= 2, 'it has moved by what the reader scrolled')
  await page.getByTestId('chat-to-end').click()
  await page.getByText(`Answer ${TURNS - 1}.`).waitFor()
  await until(async () => await thread.evaluate(box => { const { scrollHeight, scrollTop, clientHeight } = box as any; return scrollHeight - scrollTop - clientHeight < 2 }), 'the end')
})

test('the keyboard asks, opens a source, stops, renames and deletes', options, async t => {
  let isAborted = false
  const { page: url } = await startApp(t, async function * (question, _vac, _history, { signal }) {
    if (question === 'wait') {
      yield 'begun'
      await delay(60_000, undefined, { signal }).finally(() => { isAborted = true })
    }
    return { answer: 'It is so [1].', source_documents: [{ page_content: 'The passage of the source.', metadata: { source: 'a.md', lines: '3-4' } }] }
  })
  const page = await openPage(t, url)
  await page.getByTestId('chat-empty').waitFor()
  /** Presses Tab until a control has the focus. */
  const tabTo = async (testId: string, key = 'Tab'): Promise<void> => {
    for (let count = 0; count < 60; count++) {
      if (await page.evaluate(() => (globalThis as any).document.activeElement?.dataset?.testid) === testId) return
      await page.keyboard.press(key)
    }
    throw new Error(`the keyboard does not reach ${testId}`)
  }
  await page.keyboard.press('/')
  await page.keyboard.type('Is it so?')
  await page.keyboard.press('Enter')
  await page.locator('[data-testid=chat-answer][data-state=done]').waitFor()
  await tabTo('chat-cite', 'Shift+Tab')
  await page.keyboard.press('Enter')
  await page.getByText('The passage of the source.').waitFor()
  await page.keyboard.press('/')
  await page.keyboard.type('/')
  t.equal(await page.getByTestId('chat-question').inputValue(), '/')
  await page.keyboard.press('Backspace')
  await page.keyboard.type('wait')
  await page.keyboard.press('Enter')
  await page.locator('[data-testid=chat-answer][data-state=asking]').getByText('begun').waitFor()
  await page.keyboard.press('Escape')
  await until(() => isAborted, 'it is stopped')
  await page.locator('[data-testid=chat-answer][data-state=stopped]').waitFor()
  await tabTo('stored-rename', 'Shift+Tab')
  await page.keyboard.press('Enter')
  await page.keyboard.press('Control+A')
  await page.keyboard.type('Another name')
  await page.keyboard.press('Enter')
  await page.getByTestId('stored-open').getByText('Another name').waitFor()
  await page.keyboard.press('/')
  await tabTo('stored-delete', 'Shift+Tab')
  await page.keyboard.press('Enter')
  t.equal(await page.evaluate(() => (globalThis as any).document.activeElement.dataset.testid), 'stored-delete-yes')
  await page.keyboard.press('Enter')
  await page.getByTestId('chat-empty').waitFor()
  t.equal(await page.getByTestId('stored-open').count(), 0)
})

test('a reader chooses light or dark colours, which this browser keeps', options, async t => {
  const { page: url } = await startApp(t, async question => question)
  const page = await openPage(t, url, { colorScheme: 'light' })
  const isDark = async (): Promise<boolean> => await page.evaluate(() => { const { document, getComputedStyle } = globalThis as any; return getComputedStyle(document.body).backgroundColor !== 'rgb(255, 255, 255)' })
  t.equal(await isDark(), false)
  await page.getByTestId('scheme-system').press('ArrowLeft')
  t.equal(await page.getByTestId('scheme-dark').isChecked(), true)
  t.equal(await isDark(), true)
  await page.reload()
  await page.getByTestId('chat-empty').waitFor()
  t.equal(await isDark(), true)
  await page.getByTestId('scheme-light').press('Space')
  await page.emulateMedia({ colorScheme: 'dark' })
  t.equal(await isDark(), false)
  await page.getByTestId('scheme-system').press('Space')
  t.equal(await isDark(), true)
})

test('without rights the page goes to the sign-in once, and then shows it next to the field for a token', options, async t => {
  const { page: url } = await startApp(t, async question => question, {
    plugin: { signIn: '../login' },
    before (app) {
      app.get('/login', async (_request, reply) => await reply.type('text/html').send('<!doctype html><title>Sign in</title><link rel="icon" href="data:,">'))
      app.addHook('onRequest', async (request, reply) => {
        if (request.url.startsWith('/vac')) return await reply.code(401).send({ error: { code: 'UNAUTHENTICATED', message: 'sign in' } })
      })
    }
  })
  const page = await openPage(t, url, { allow: [/401/] })
  await page.waitForURL('**/login')
  await page.goto(url)
  await page.getByTestId('sign-in-link').waitFor()
  t.equal(await page.getByTestId('sign-in-link').getAttribute('href'), new URL('/login', url).href)
  await page.getByTestId('token').waitFor()
})
