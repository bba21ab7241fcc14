import { readFile } from 'node:fs/promises'
import tap, { test } from 'tap'
import type { Interpreter } from '@polyvac/core'
import { browserMissing, closeBrowser, openPage } from '../../../test/fixtures/browser.js'
import { startApp } from './fixtures/app.js'
import { takePicture, violationsOfThemes } from './fixtures/axe.js'

const options = { skip: browserMissing }
const VIEWPORT = { width: 1_000, height: 740 }
const clipboard = ['clipboard-read', 'clipboard-write']

tap.teardown(closeBrowser)

const interpreter: Interpreter = async function * (question) {
  yield 'Green tea '
  yield 'is brewed for two minutes.'
  return { answer: `Green tea is brewed for two minutes.${question === 'differ' ? ` ${Math.random()}` : ''}`, source_documents: [] }
}

test('the raw view shows each frame, and a session that it exports is opened again without a server', options, async t => {
  const { app, page: url } = await startApp(t, interpreter)
  const page = await openPage(t, `${url}#/chat/demo?question=How+long`, { permissions: clipboard, viewport: VIEWPORT })
  await page.getByTestId('access').locator('summary').click()
  await page.getByTestId('token').fill('canary-token-0123456789')
  await page.getByTestId('token-save').click()
  await page.getByTestId('chat-question').fill('How long? {"password":"canary-body"}')
  await page.getByTestId('chat-send').click()
  await page.locator('[data-testid=chat-answer][data-state=done]').waitFor()
  await page.getByTestId('nav-raw').click()
  await page.getByTestId('raw-exchange').filter({ hasText: 'ask demo' }).click()
  await page.locator('[data-testid=exchange][data-state=ended]').waitFor()
  const frames = await page.getByTestId('raw-frame').allTextContents()
  t.ok(frames.length >= 3 && frames.every(text => /^\+[\d.]+ ms.*\d B$/s.test(text)), 'a frame has its time and size')
  t.match(await page.getByTestId('exchange-figures').textContent(), new RegExp(`^200; first byte .* ${frames.length} frames, `))
  await page.getByTestId('raw-frame').first().press('Enter')
  t.match(await page.getByTestId('raw-frame-text').textContent(), /"chunk": "Green tea "/)
  await page.getByTestId('copy-curl').click()
  t.match(await page.evaluate('navigator.clipboard.readText()'), /^curl -sN -X POST 'http:.*\/vac\/streaming\/demo\/sse' .*-H 'authorization: •••'/)
  await page.getByTestId('copy-fetch').click()
  t.match(await page.evaluate('navigator.clipboard.readText()'), /^await fetch\("http/)
  t.strictSame(await violationsOfThemes(page), [])
  await takePicture(page, 'raw')

  const [download] = await Promise.all([page.waitForEvent('download'), page.getByTestId('raw-export').click()])
  t.match(download.suggestedFilename(), /^polyvac-session-.*\.jsonl$/)
  const text = await readFile(await download.path(), 'utf8')
  t.match(text, /^\{"polyvac":"session","version":1,"exportedAt":"/)
  t.notMatch(text, /canary/)
  const count = text.trimEnd().split('\n').length - 1

  await app.close()
  await page.context().setOffline(true)
  const choose = async (name: string, content: string): Promise<void> =>
    await page.getByTestId('raw-file').setInputFiles({ name, mimeType: 'application/jsonl', buffer: Buffer.from(content) })
  await choose('broken.jsonl', `${text}{"id":1}\n`)
  t.match(await page.getByTestId('raw-problem').textContent(), new RegExp(`broken\\.jsonl is not opened: line ${count + 2}: `))
  await choose('kept.jsonl', text)
  await page.locator('[data-testid=raw][data-state=file]').waitFor()
  t.equal(await page.getByTestId('raw-count').textContent(), `${count} exchanges of kept.jsonl`)
  await page.getByTestId('raw-exchange').filter({ hasText: 'ask demo' }).click()
  t.equal((await page.getByTestId('raw-frame').allTextContents()).length, frames.length)
  await page.getByTestId('raw-close').click()
  await page.locator('[data-testid=raw][data-state=live]').waitFor()
})
