import { once } from 'node:events'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { test, type Test } from 'tap'
import { until } from '../../../test/fixtures/until.js'
import { documentsInterpreter, openFolder } from '../src/index.js'
import { openaiInterpreter } from '../src/model.js'
import { embedTexts } from '../src/model/embedding-model.js'
import { findModel } from '../src/model/model-server.js'
import { ask } from './fixtures/ask.js'
import { folderOf, GUIDE, memoryOf } from './fixtures/folder.js'
import { fakeOpenai } from './fixtures/openai-server.js'

const QUESTION = 'How do I cancel a task?'

async function listen (t: Test, handle: RequestListener): Promise<string> {
  const server = createServer(handle).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => { server.closeAllConnections(); server.close() })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

/** A server that redirects all that is asked of /old/, and counts what reaches its other paths. */
async function redirecting (t: Test, status: number, target: string): Promise<{ url: string, followed: string[] }> {
  const followed: string[] = []
  const origin = await listen(t, (request, response) => {
    if (request.url?.startsWith('/old/') === true) response.writeHead(status, { location: target }).end('moved')
    else { followed.push(request.url!); response.end('{}') }
  })
  return { url: `${origin}/old/v1`, followed }
}

for (const status of [300, 301, 302, 303, 305, 307, 308]) {
  for (const kind of ['another origin', 'the same origin', 'an unreadable address']) {
    test(`a redirect of a model server with ${status} to ${kind} is refused, whatever was asked`, async t => {
      const elsewhere = await fakeOpenai(t, 'none')
      const target = kind === 'another origin' ? `${elsewhere.url}/chat/completions?key=canary` : kind === 'the same origin' ? '/new/v1/chat/completions' : 'http://[::1'
      const { url, followed } = await redirecting(t, status, target)
      const vac = { model: 'm', openai: { base_url: url, api_key: 'sk-secret' } }
      const origin = kind === 'another origin' ? new URL(elsewhere.url).origin : kind === 'the same origin' ? new URL(url).origin : 'no address'
      const refusal = { code: 'DOCUMENTS_MODEL_REDIRECT', statusCode: 502, message: `the model server at '${url}' redirects to ${origin}, and questions and keys are not sent on; set \`base_url\` to the final URL` }

      await t.rejects(ask(openaiInterpreter({ retries: 0 }), QUESTION, { vac }), refusal)
      const warnings: object[] = []
      const log = { warn: (fields: object) => { warnings.push(fields) } }
      const { text, final } = await ask(documentsInterpreter(await memoryOf(t, GUIDE)), QUESTION, { vac, log })
      t.match(text, /^To cancel a task, post/)
      t.match(final.metadata, { mode: 'extractive-fallback', reason: `the server answers with a redirect (HTTP ${status}), which is not followed; set \`base_url\` to the final URL` })
      t.match(warnings, [{ err: refusal }], 'the log names the server')
      t.notMatch(JSON.stringify(final), /canary|127\.0\.0\.1/)
      await t.rejects(embedTexts({ server: { baseUrl: url, model: 'm', apiKey: 'sk-secret' }, texts: ['secret words'], signal: new AbortController().signal, timeoutMs: 10_000 }), { cause: refusal })
      t.match(await findModel({ model: 'auto', openai: { base_url: url, api_key: 'sk-secret' } }, { signal: new AbortController().signal }), { reason: /redirect \(HTTP 3\d\d\)/ })
      t.strictSame([followed, elsewhere.requests], [[], []], 'no other address got a request')
    })
  }
}

test('a redirect of a server that embeds is logged with the server, and searches compare words', async t => {
  const { url, followed } = await redirecting(t, 308, '/new/')
  const warnings: object[] = []
  const log = { info () {}, error () {}, debug () {}, warn: (fields: object) => { warnings.push(fields) } }
  const memory = await openFolder({ path: await folderOf(t, GUIDE), indexFile: ':memory:', watch: false, embed: { model: 'm', openai: { base_url: url } }, log: log as never })
  t.teardown(async () => { await memory.close() })
  await until(() => warnings.length > 0, 'the warning')
  t.match(warnings, [{ reason: /redirect/, err: { code: 'DOCUMENTS_MODEL_REDIRECT', message: new RegExp(url) } }])
  t.ok((await memory.search({ query: QUESTION, threshold: 0 })).length > 0)
  t.strictSame(followed, [])
})
