import { readFile } from 'node:fs/promises'
import tap, { test } from 'tap'
import type { Interpreter } from '@polyvac/core'
import { browserMissing, closeBrowser, openPage } from '../../../test/fixtures/browser.js'
import { until } from '../../../test/fixtures/until.js'
import { startApp } from './fixtures/app.js'
import { openInspector } from './fixtures/chat.js'
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
  const page = await openPage(t, `${url}#/chat/demo?question=How+long`, { permissions: clipboard, viewport: VIEWPORT, allow: [/ERR_INTERNET_DISCONNECTED/] })
  await page.getByTestId('access').locator('summary').click()
  await page.getByTestId('token').fill('canary-token-0123456789')
  // another token loads the page again
  await Promise.all([page.waitForEvent('load'), page.getByTestId('token-save').click()])
  await page.getByTestId('chat-question').fill('How long? {"password":"canary-body"}')
  await page.getByTestId('chat-send').click()
  await page.locator('[data-testid=chat-answer][data-state=done]').waitFor()
  await openInspector(page)
  await page.getByTestId('nav-raw').click()
  await page.getByTestId('raw-exchange').filter({ hasText: 'ask demo' }).click()
  await page.locator('[data-testid=exchange][data-state=ended]').waitFor()
  const frames = await page.getByTestId('raw-frame').allTextContents()
  t.ok(frames.length >= 3 && frames.every(text => /^\+[\d.]+ ms.*\d B$/s.test(text)), 'a frame has its time and size')
  t.match(await page.getByTestId('exchange-figures').textContent(), new RegExp(`^200; first byte .* ${frames.length} frames, `))
  await page.getByTestId('raw-frame').first().press('Enter')
  t.match(await page.getByTestId('raw-frame-text').textContent(), /"chunk": "Green tea /)
  const copied = async (pattern: RegExp): Promise<string | undefined> =>
    await until(async () => pattern.exec(await page.evaluate('navigator.clipboard.readText()'))?.input, `the clipboard has ${String(pattern)}`)
  await page.getByTestId('copy-curl').click()
  t.ok(await copied(/^curl -sN -X POST 'http:.*\/vac\/streaming\/demo\/sse' .*-H "authorization: Bearer \$TOKEN"/))
  t.match(await page.getByTestId('copy-token').textContent(), /TOKEN, not your token/)
  await page.getByTestId('copy-fetch').click()
  t.ok(await copied(/^await fetch\("http/))
  t.strictSame(await violationsOfThemes(page), [])
  await page.setViewportSize({ width: 360, height: 740 })
  const cut = await page.locator('nav a, [data-testid=raw-exchange] > span:not(.text), [data-testid=raw-frame] > span:not(.text)').evaluateAll((parts: any[]) =>
    parts.filter(part => part.checkVisibility() === true && (part.getBoundingClientRect().right > 360 || (part.clientWidth > 0 && part.scrollWidth > part.clientWidth + 1))).map(part => part.textContent))
  t.strictSame(cut, [], 'nothing is cut at 360 px')
  await page.setViewportSize(VIEWPORT)

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
  const foreign = text.trimEnd().split('\n').map((line, i) => i === 0 ? line : JSON.stringify({ ...JSON.parse(line), request: { method: 'GET', path: '/\t/evil.example/x', headers: { authorization: 'x' } } })).join('\n')
  await choose('foreign.jsonl', foreign)
  await until(async () => /foreign\.jsonl is not opened: line 2: request\.path: .* is not an address of this service, http:/.test(await page.getByTestId('raw-problem').textContent() ?? ''), 'the file is refused')
  t.equal(await page.getByTestId('raw').getAttribute('data-state'), 'live')
  await choose('kept.jsonl', text)
  await page.locator('[data-testid=raw][data-state=file]').waitFor()
  t.equal(await page.getByTestId('raw-count').textContent(), `${count} exchanges of kept.jsonl`)
  await page.getByTestId('raw-exchange').filter({ hasText: 'ask demo' }).click()
  await page.getByTestId('raw-frame').nth(frames.length - 1).waitFor()
  t.equal((await page.getByTestId('raw-frame').allTextContents()).length, frames.length)
  await page.getByTestId('raw-close').click()
  for (const view of ['compare', 'timeline', 'inbox', 'tools', 'cards', 'chat', 'raw']) {
    if (view === 'raw') await openInspector(page)
    await page.getByTestId(`nav-${view}`).click()
    await page.getByTestId(`view-${view}`).waitFor()
  }
  await page.locator('[data-testid=raw][data-state=live]').waitFor()
})

test('the same question goes over each protocol, with figures and whether the text is identical', options, async t => {
  const { page: url } = await startApp(t, interpreter)
  const page = await openPage(t, `${url}#/compare/demo?question=How+long`, { viewport: VIEWPORT })
  // what a page of http:// on a LAN address does not have
  await page.addInitScript('delete Crypto.prototype.randomUUID')
  await page.reload()
  await page.getByTestId('compare-send').click()
  await page.locator('[data-testid=compare][data-state=done]').waitFor()
  const ids = ['direct', 'openai', 'responses', 'ai_sdk', 'ag_ui', 'a2a', 'a2a-description', 'mcp', 'mcp-session']
  for (const [i, id] of ids.entries()) {
    t.equal(await page.getByTestId(`compared-${id}`).getAttribute('data-state'), 'done', id)
    t.match(await page.getByTestId(`figures-${id}`).textContent(), /^First byte[\d.]+ m?sTotal[\d.]+ m?sFrames\d+Bytes[\d.]+ k?B$/)
    t.equal(await page.getByTestId(`difference-${id}`).count(), i === 0 ? 0 : 1)
    if (i > 0) t.equal(await page.getByTestId(`difference-${id}`).textContent(), 'The text is identical.', id)
  }
  t.strictSame(await violationsOfThemes(page), [])
  await takePicture(page, 'compare')
  for (const id of ['openai', 'responses', 'ai_sdk', 'ag_ui', 'a2a', 'a2a-description', 'mcp-session']) await page.getByTestId(`compare-with-${id}`).uncheck()
  await page.getByTestId('compare-question').fill('differ')
  await page.getByTestId('compare-send').click()
  await page.getByTestId('difference-mcp').waitFor()
  t.match(await page.getByTestId('difference-mcp').textContent(), /^The text differs from Direct \(SSE\) from character \d+ on\.$/)
  t.equal(await page.getByTestId('compared-a2a').count(), 0)
  await page.getByTestId('compare-raw-mcp').click()
  await page.locator('[data-testid=exchange][data-state=ended]').waitFor()
})

test('cards and discovery documents are checked against what the routes answer', options, async t => {
  let ready: object = { status: 'ready', reasons: [] }
  const { page: url } = await startApp(t, interpreter, {
    before: scope => {
      scope.get('/ready', async () => ready)
      scope.get('/openapi.json', async () => ({ openapi: '3.1.0', paths: { '/vac': {} } }))
    }
  })
  const page = await openPage(t, `${url}#/cards`, { viewport: VIEWPORT })
  const findings = (id: string, kind: string): Promise<string[]> => page.locator(`[data-testid=document-${id}] [data-testid=finding][data-state=${kind}]`).allTextContents()
  await page.locator('[data-testid=cards][data-state=done] [data-testid=document-openapi]').waitFor()
  for (const id of ['ready', 'jwks', 'agent', 'card-0.3', 'card-1.0', 'catalog', 'mcp', 'openapi']) {
    t.equal(await page.locator(`[data-testid="document-${id}"]`).getAttribute('data-state'), 'ok', id)
  }
  t.match(await findings('agent', 'ok'), [/each with a description/, /reaches the same agent/])
  const newest = await page.locator('[data-testid="document-card-1.0"] [data-testid=finding]').allTextContents()
  t.match(newest.join('\n'), /\/a2a \(JSONRPC 1\.0\) answers; the chat uses it too.*\/a2a\/v1 \(HTTP\+JSON 1\.0\) answers.*\/a2a \(JSONRPC 0\.3\) answers/s)
  t.match(await findings('mcp', 'ok'), [/it names 2026-07-28/, /initialize answers with 2025-11-25/])
  t.strictSame(await violationsOfThemes(page), [])
  await takePicture(page, 'cards')

  ready = { status: 'ready', reasons: [{ part: 'mcp.x', reason: 'it does not start' }], configuration: [{ file: 'vac_config.yaml', line: 6, column: 5, message: 'unknown key "agnet"', hint: 'did you mean "agent"?' }] }
  await page.route('**/.well-known/agent.json', async route => {
    const card = await (await route.fetch()).json()
    await route.fulfill({ json: { ...card, url: 'http://192.0.2.7:8080', skills: [{ name: 'silent', description: ' ' }] } })
  })
  await page.route('**/.well-known/jwks.json', async route => { await route.fulfill({ json: { keys: [{ kty: 'EC', d: 'private' }] } }) })
  await page.getByTestId('cards-check').click()
  await page.locator('[data-testid=cards][data-state=done] [data-testid=document-openapi]').waitFor()
  t.strictSame(await findings('ready', 'error'), ['vac_config.yaml:6:5  unknown key "agnet"; did you mean "agent"?'])
  t.strictSame(await findings('ready', 'warning'), ['mcp.x: it does not start'])
  t.match(await findings('agent', 'warning'), [/^skills without a description: silent;/, /^it names http:\/\/192\.0\.2\.7:8080, and this page reached the service at http:\/\/127/])
  t.match(await findings('jwks', 'error'), [/private part/])
})
