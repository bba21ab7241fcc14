import { symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import t, { test } from 'tap'
import { createHost } from '@polyvac/host'
import { init } from '../src/commands/init.js'
import { emptyFolder, json, polyvac, root } from '../../../test/fixtures/command.js'
import { startModel } from '../../../test/fixtures/model-server.js'
import { until } from '../../../test/fixtures/until.js'

const model = await startModel()
t.teardown(() => model.close())

// the files of `polyvac init --template model`; with a package.json, init packs no packages
const folder = await emptyFolder(t)
await writeFile(join(folder, 'package.json'), '{ "type": "module" }')
await init({ target: folder, template: 'model' }, process)
await symlink(join(root, 'node_modules'), join(folder, 'node_modules'))
const env = { MODEL_URL: model.url, MODEL_NAME: 'tiny', PATH: `${root}/node_modules/.bin:${process.env.PATH}` }
const url = await polyvac(t, [], folder, env).url()

test('the agent of the template calls a tool and answers with its result', async t => {
  t.match(await json(`${url}/vac/assistant`, { user_input: 'Read welcome.md' }), { answer: 'It begins with: # Welcome', metadata: { model: 'tiny', turns: 2 } })
  const [asked, again] = model.requests.slice(-2)
  t.strictSame(asked!.tools!.map(({ function: { name } }) => name), ['files__list_directory', 'files__read_text_file', 'files__search_files', 'ask_user'])
  t.match(again!.messages.slice(-2), [{ role: 'assistant', tool_calls: [{ id: 'call_1' }] }, { role: 'tool', tool_call_id: 'call_1', content: /^# Welcome/ }])
})

test('the agent of the template streams text over the direct route', async t => {
  const response = await fetch(`${url}/vac/streaming/assistant`, {
    method: 'POST', headers: { 'content-type': 'application/json', accept: 'text/plain', connection: 'close' }, body: JSON.stringify({ user_input: 'Read welcome.md' })
  })
  t.match(await response.text(), /It begins with: # Welcome/)
})

test('the agent of the template stops the model when its caller disconnects', async t => {
  const stop = new AbortController()
  const response = await fetch(`${url}/vac/streaming/assistant`, {
    method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify({ user_input: 'Tell an endless story', stream_only: true }), signal: stop.signal
  })
  const reader = response.body!.getReader()
  t.match(Buffer.from((await reader.read()).value!).toString(), /and so on/)
  t.equal(model.disconnected, 0)
  stop.abort()
  await until(() => model.disconnected === 1, 'the request to the model is aborted')
})

test('the agent of the template asks back, and the answer comes with the history', async t => {
  const asked = await json(`${url}/vac/assistant`, { user_input: 'Book a table' })
  t.match(asked, { answer: 'For which day?', input_required: 'For which day?' })
  const history = [{ role: 'user', content: 'Book a table' }, { role: 'assistant', content: asked.answer }]
  t.match(await json(`${url}/vac/assistant`, { user_input: 'Friday', chat_history: history }), { answer: 'You asked: Book a table, then: Friday' })
})

test('a failed call of a tool is an answer for the model, and progress names the tool', async t => {
  const before = { ...process.env }
  Object.assign(process.env, env)
  t.teardown(() => { process.env = before })
  const app = await createHost({ config: join(folder, 'vac_config.yaml'), watchDocuments: false, tasks: { store: 'memory' }, server: { logger: false } })
  t.teardown(() => app.close())
  const vac = app.polyvac.vacs.get('assistant')
  t.match(await vac.ask({ question: 'Make a call that is cut off' }), { answer: /^It begins with: The call failed: / })
  t.match(await vac.ask({ question: 'Call an unknown tool' }), { answer: 'It begins with: There is no tool files__nothing.' })
  const chunks = []
  for await (const chunk of vac.stream({ question: 'Read welcome.md' })) chunks.push(chunk)
  t.match(chunks[0], { progress: 0, message: 'calling files__read_text_file' })
  t.ok(chunks.filter(chunk => typeof chunk === 'string').length > 2, 'text comes in pieces')
})

test('a model server that does not answer is named to the caller, with what helps', async t => {
  const before = { ...process.env }
  Object.assign(process.env, env, { MODEL_URL: 'http://127.0.0.1:9/v1' })
  t.teardown(() => { process.env = before })
  const app = await createHost({ config: join(folder, 'vac_config.yaml'), watchDocuments: false, tasks: { store: 'memory' }, server: { logger: false } })
  t.teardown(() => app.close())
  const response = await app.inject({ method: 'POST', url: '/vac/assistant', payload: { user_input: 'Hi' } })
  t.match(response.json(), { error: { code: 'MODEL_FAILED', message: /^the model server http:\/\/127\.0\.0\.1:9\/v1 failed: .*MODEL_URL/ } })
  t.equal(response.statusCode, 502)
})
