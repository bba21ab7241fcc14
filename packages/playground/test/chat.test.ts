import tap, { test } from 'tap'
import { browserMissing, closeBrowser, openPage } from '../../../test/fixtures/browser.js'
import { startApp } from './fixtures/app.js'

tap.teardown(closeBrowser)

test('text appears before the answer ends', { skip: browserMissing }, async t => {
  let release = (): void => {}
  const gate = new Promise<void>(resolve => { release = resolve })
  const { page: url } = await startApp(t, async function * () { yield 'first'; await gate; yield ' second' })
  const page = await openPage(t, url)
  await page.getByTestId('chat-question').fill('Hello')
  await page.getByTestId('chat-send').click()
  await page.getByText('first', { exact: true }).waitFor()
  release()
  await page.locator('[data-testid=chat-answer][data-state=done]').waitFor()
  t.match(await page.getByTestId('chat-answer').textContent(), /first second/)
})
