import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import tap, { test, type Test } from 'tap'
import type { Interpreter } from '@polyvac/core'
import { browserMissing, closeBrowser, openPage } from '../../../test/fixtures/browser.js'
import { startApp } from './fixtures/app.js'
import { violationsOfThemes } from './fixtures/axe.js'

tap.teardown(closeBrowser)

/** A receiver that answers with `statuses` in turn, then with 200; returns its host and port. */
async function startReceiver (t: Test, statuses: number[]): Promise<string> {
  const server = createServer((request, response) => {
    request.resume().on('end', () => { response.writeHead(statuses.shift() ?? 200).end() })
  })
  await new Promise<void>(resolve => { server.listen(0, '127.0.0.1', resolve) })
  t.teardown(() => { server.closeAllConnections(); server.close() })
  return `127.0.0.1:${(server.address() as AddressInfo).port}`
}

test('each delivery to a webhook is a bar with its duration and status, while the task runs and after its end', { skip: browserMissing }, async t => {
  let release = (): void => {}
  const gate = new Promise<void>(resolve => { release = resolve })
  const interpreter: Interpreter = async function * () { yield 'first'; await gate; yield ' and second' }
  const host = await startReceiver(t, [500])
  const { app, page: url } = await startApp(t, interpreter, { a2a: { push: { allow: ['127.0.0.1'] } } })
  const pushNotificationConfig = { url: `http://${host}/hook` }
  const params = { skillName: 'vac_stream_demo', input: { query: 'wait' }, pushNotificationConfig }
  const sent = await app.inject({ method: 'POST', url: '/a2a/tasks/send', payload: { jsonrpc: '2.0', id: 1, method: 'tasks/send', params } })
  const page = await openPage(t, `${url}#/timeline/${sent.json().result.taskId}`, { allow: [/\/tasks\/[\w-]+:subscribe/, /\/vac\/demo\/runs\//] })

  const bars = page.getByTestId('timeline-event').filter({ hasText: `deliver to ${host}` })
  await page.locator('[data-testid=task][data-state=working]').waitFor()
  await bars.filter({ hasText: '500, retry' }).waitFor()
  await bars.filter({ hasText: '200, delivered, try 2' }).waitFor()
  // the state working
  await bars.nth(2).waitFor()
  t.equal(await page.getByTestId('task').getAttribute('data-state'), 'working', 'they are read while the task runs')
  t.equal(await page.getByTestId('task-webhooks').textContent(), `Webhooks: http://${host}/hook`)

  release()
  await page.locator('[data-testid=task][data-state=completed]').waitFor()
  await bars.nth(3).waitFor()
  t.equal(await bars.count(), 4)
  for (const bar of await bars.all()) {
    t.match(await bar.textContent(), /^webhooks.*\d (?:ms|s)$/)
    t.ok(Number(await bar.locator('rect').getAttribute('width')) > 0)
  }

  // only the keyboard
  await page.getByTestId('timeline-filter').focus()
  await page.keyboard.type('retry')
  await page.getByText(/^1 of \d+ events$/).waitFor()
  t.equal(await page.getByTestId('lanes').locator('rect').count(), 1, 'the overview draws it')
  t.equal(await page.getByTestId('lanes').locator('.lane-3').count(), 1)
  t.strictSame(await violationsOfThemes(page), [])
  await page.getByTestId('timeline-filter').fill('deliver to')
  await page.getByText(/^4 of \d+ events$/).waitFor()
  await page.getByTestId('lane-webhooks').focus()
  await page.keyboard.press('Space')
  await page.getByText(/^0 of \d+ events$/).waitFor()
})

test('the page keeps 500 deliveries of a task', { skip: browserMissing }, async t => {
  const { page: url } = await startApp(t, async question => question)
  const page = await openPage(t, `${url}#/timeline`, { allow: [/\/vac\/demo\/runs\//] })
  await page.route('**/a2a/v1/tasks/many', async route => { await route.fulfill({ json: { id: 'many', status: { state: 'TASK_STATE_COMPLETED' } } }) })
  await page.route('**/tasks/many/pushNotificationConfigs', async route => { await route.fulfill({ json: { configs: [{ id: 'hook', url: 'http://127.0.0.1:9/' }] } }) })
  const deliveries = Array.from({ length: 600 }, (_, i) => ({ at: new Date(i).toISOString(), ms: 1, error: 'ECONNREFUSED', outcome: 'retry', try: 1 }))
  await page.route('**/a2a/tasks/pushNotification/get', async route => { await route.fulfill({ json: { jsonrpc: '2.0', id: 1, result: { deliveries } } }) })
  await page.getByTestId('task-id').fill('many')
  await page.getByTestId('task-open').click()
  await page.getByText(/^500 of 500 events$/).waitFor()
})
