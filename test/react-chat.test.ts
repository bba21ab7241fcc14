import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { FastifyInstance } from 'fastify'
import type { Page } from 'playwright-core'
import tap, { test, type Test } from 'tap'
import { build } from 'vite'
import { browserMissing, closeBrowser, openPage } from './fixtures/browser.js'
import { root } from './fixtures/pages.js'
import './fixtures/timeout.mjs'

// The example of a chat in React, in Chromium, with the published useChat.

const { buildApp } = await import(new URL('../examples/react-chat/app.js', import.meta.url).href) as { buildApp (options: object): Promise<FastifyInstance> }
const outDir = mkdtempSync(join(tmpdir(), 'polyvac-react-chat-'))
tap.teardown(async () => {
  await closeBrowser()
  rmSync(outDir, { recursive: true, force: true })
})
let built: Promise<unknown> | undefined

/** The page of the example, logged in. */
async function openChat (t: Test, path = ':memory:'): Promise<{ readonly page: Page, readonly url: string }> {
  // the example has no node_modules here: the names of its packages are those of the root
  built ??= build({
    root: join(root, 'examples/react-chat'),
    logLevel: 'error',
    build: { outDir, emptyOutDir: true },
    resolve: { alias: { '@ai-sdk/react': join(root, 'node_modules/ai-sdk-react-4'), ai: join(root, 'node_modules/ai-7') } }
  })
  await built
  const app = await buildApp({ secret: 'a secret of the test', path, page: outDir, forceCloseConnections: true })
  t.teardown(async () => { await app.close() })
  const url = await app.listen({ port: 0, host: '127.0.0.1' })
  const page = await openPage(t, url, { allow: [/404 \(Not Found\)/] })
  await page.goto(url)
  await page.getByLabel('Name').fill('ada')
  await page.getByRole('button', { name: 'Log in' }).click()
  return { page, url }
}

async function ask (page: Page, question: string): Promise<void> {
  await page.getByLabel('Question').fill(question)
  await page.getByRole('button', { name: 'Ask' }).click()
}

const answers = (page: Page): ReturnType<Page['locator']> => page.locator('li[data-role=assistant]')
const WHOLE = /^find_order: output-availableThat is two lamps, on their way since Monday\. (?:Ask me about another one whenever you like\. ){8}$/

/** The only answer, once it is whole. */
async function wholeAnswer (page: Page): Promise<string> {
  await page.locator('output', { hasText: 'ready' }).waitFor()
  return (await answers(page).allTextContents()).join('|')
}

const skip = browserMissing

test('an answer is whole after a reload in its middle, in a second tab, and after both', { skip }, async t => {
  const { page } = await openChat(t)
  await ask(page, 'Where is order 7?')
  await answers(page).getByText('That is two').waitFor()
  await page.reload()
  await answers(page).getByText('That is two').waitFor()
  const second = await page.context().newPage()
  await second.goto(page.url())
  await answers(second).getByText('That is two').waitFor()
  t.match(await wholeAnswer(page), WHOLE)
  t.match(await wholeAnswer(second), WHOLE)
  await page.reload()
  t.match(await wholeAnswer(page), /^That is two lamps.*like\. $/, 'the stored answer')
  t.equal(await answers(page).count(), 1)
})

test('Stop stops the agent, and the next question is answered', { skip }, async t => {
  const { page } = await openChat(t)
  await ask(page, 'Where is order 7?')
  await answers(page).getByText('That is two').waitFor()
  await page.getByRole('button', { name: 'Stop' }).click()
  t.notMatch(await wholeAnswer(page), WHOLE)
  const before = await answers(page).first().textContent()
  await ask(page, 'Where is order 8?')
  await answers(page).getByText('a chair, delivered').waitFor()
  await page.locator('output', { hasText: 'ready' }).waitFor()
  t.equal(await answers(page).first().textContent(), before, 'nothing comes after Stop')
  await page.reload()
  await page.locator('output', { hasText: 'ready' }).waitFor()
  t.match(await answers(page).allTextContents(), [/^That is two lamps/, /^That is a chair, delivered\. Ask me about another one whenever you like\. $/], 'the text until the stop, and the stored answer')
})

test('a question is answered by typing, and one with two answers by a button', { skip }, async t => {
  const { page } = await openChat(t)
  await ask(page, 'Where is my order?')
  await answers(page).getByText('Which order?').waitFor()
  await ask(page, '8')
  await answers(page).getByText('a chair, delivered').waitFor()
  await page.locator('output', { hasText: 'ready' }).waitFor()
  await ask(page, 'Cancel order 7')
  await page.getByRole('group').getByText('Shall I cancel order 7?').waitFor()
  await page.reload()
  await page.getByText('Shall I cancel order 7?').first().waitFor()
  await ask(page, 'no')
  await answers(page).getByText('Order 7 stays as it was.').waitFor()
  await ask(page, 'Cancel order 8')
  await page.getByRole('group').getByText('Shall I cancel order 8?').waitFor()
  await page.reload()
  await page.getByText('Shall I cancel order 8?').first().waitFor()
  await ask(page, ' Yes')
  await answers(page).getByText('Order 8 is cancelled.').waitFor()
  await page.getByRole('button', { name: 'New conversation' }).click()
  await ask(page, 'Cancel order 7')
  await page.getByRole('button', { name: 'Yes' }).click()
  await answers(page).getByText('Order 7 is cancelled.').waitFor()
})

test('the conversation belongs to the user who logged in', { skip }, async t => {
  const { page } = await openChat(t)
  await ask(page, 'Where is order 8?')
  await answers(page).getByText('a chair, delivered').waitFor()
  await page.getByRole('button', { name: 'Log out' }).click()
  await page.getByLabel('Name').fill('grace')
  await page.getByRole('button', { name: 'Log in' }).click()
  await page.locator('output', { hasText: 'ready' }).waitFor()
  t.equal(await answers(page).count(), 0)
})
