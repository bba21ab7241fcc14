import type { Memory } from '@polyvac/core'
import { checkModel } from '@polyvac/documents/model'
import { test, type Test } from 'tap'
import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { promisify } from 'node:util'
import { withoutPackage } from '../../../test/fixtures/command.js'
import { ask } from '../../documents/test/fixtures/ask.js'
import { agentInterpreter } from '../src/index.js'
import { fakeModel } from './fixtures/model.js'
import { fakeProvider } from './fixtures/providers.js'

const NAMES = ['OPENAI_BASE_URL', 'OPENAI_API_KEY', 'ANTHROPIC_API_KEY', 'ANTHROPIC_BASE_URL', 'GOOGLE_GENERATIVE_AI_API_KEY', 'GOOGLE_GENERATIVE_AI_BASE_URL']
const MAKERS = [
  { maker: 'anthropic', key: 'ANTHROPIC_API_KEY', address: 'ANTHROPIC_BASE_URL', header: 'x-api-key', path: /^\/v1\/messages$/ },
  { maker: 'google', key: 'GOOGLE_GENERATIVE_AI_API_KEY', address: 'GOOGLE_GENERATIVE_AI_BASE_URL', header: 'x-goog-api-key', path: /^\/v1\/models\/fake:streamGenerateContent\?alt=sse$/ }
] as const

const memory: Memory = { search: async () => [{ content: 'Tea is brewed for four minutes.', score: 0.9, metadata: { source: 'tea.md' } }] }
const BREW = { server: 'kitchen', name: 'brew', description: 'Brew', inputSchema: { type: 'object', properties: { drink: { type: 'string' } }, required: ['drink'] } }

/** The variables of the test only. */
function environment (t: Test, variables: Record<string, string>): void {
  const before = Object.fromEntries(NAMES.map(name => [name, process.env[name]]))
  for (const name of NAMES) delete process.env[name]
  Object.assign(process.env, variables)
  t.teardown(() => { for (const name of NAMES) if (before[name] === undefined) delete process.env[name]; else process.env[name] = before[name] })
}

for (const { maker, key, address, header, path } of MAKERS) {
  test(`a model of ${maker} cites documents and calls tools through the package of its maker`, async t => {
    const { url, requests } = await fakeProvider(t, maker, [{ says: 'One moment.', calls: [{ name: 'kitchen__brew', args: { drink: 'tea' } }] }, { says: ['Four ', 'minutes [1].'] }])
    environment(t, { [key]: 'secret-key', [address]: `${url}/` })
    const calls: unknown[] = []
    const callTool = async (...args: readonly unknown[]) => {
      calls.push(args[2])
      return { content: [{ type: 'text', text: 'done' }] }
    }
    const { final, text } = await ask(agentInterpreter({ memory }), 'How long is tea brewed?', { vac: { model: `${maker}/fake` }, listTools: async () => [BREW], callTool })
    t.equal(text, 'One moment.\n\nFour minutes [1].')
    t.strictSame(calls, [{ drink: 'tea' }])
    t.match(final, { source_documents: [{ metadata: { source: 'tea.md' } }], metadata: { model: 'fake', steps: 2, usage: { prompt_tokens: 20, completion_tokens: 10, total_tokens: 30 } } })
    t.notOk('cost' in (final.metadata.usage as object), 'none is reported')
    t.match(requests, [{ url: path, headers: { [header]: 'secret-key' } }, { url: path }])
    t.match(JSON.stringify(requests[1]!.body), /done/)
  })

  test(`a model of ${maker} that fails is named without keys, and one without a key is none`, async t => {
    const { url } = await fakeProvider(t, maker, [{ fails: '500' }])
    environment(t, { [key]: 'secret-key', [address]: url })
    const failed = ask(agentInterpreter({ retries: 0 }), 'Tea?', { vac: { model: `${maker}/fake` } })
    await t.rejects(failed, { code: 'DOCUMENTS_MODEL_FAILED', message: /failed: HTTP 500: overloaded \[redacted\]/ })
    t.strictSame(await checkModel({ model: `${maker}/fake` }, { signal: new AbortController().signal }), { server: url, model: 'fake' })
    delete process.env[key]
    await t.rejects(ask(agentInterpreter(), 'Tea?', { vac: { model: `${maker}/fake` } }), { code: 'AGENT_NOTHING_TO_ANSWER_WITH', message: new RegExp(`${key} is not set`) })
    t.match((await ask(agentInterpreter({ memory }), 'How long is tea brewed?', { vac: { model: `${maker}/fake` } })).final.metadata, { reason: `${key} is not set` })
  })

  test(`a redirect of ${maker} is not followed`, async t => {
    const server = createServer((_request, response) => { response.writeHead(307, { location: 'http://127.0.0.1:1/' }).end() }).listen(0, '127.0.0.1')
    t.teardown(() => server.close())
    await once(server, 'listening')
    environment(t, { [key]: 'secret-key', [address]: `http://127.0.0.1:${(server.address() as AddressInfo).port}` })
    await t.rejects(ask(agentInterpreter({ retries: 0 }), 'Tea?', { vac: { model: `${maker}/fake` } }), { code: 'DOCUMENTS_MODEL_REDIRECT' })
  })

  test(`without its package a model of ${maker} names what to install`, async t => {
    const code = `import { agentInterpreter } from '@polyvac/agent'
      import { createVacs } from '@polyvac/core'
      const vacs = createVacs({ vacs: { a: { model: '${maker}/fake' } }, streamInterpreter: agentInterpreter() })
      await vacs.get('a').ask({ question: 'Tea?' }).catch(({ cause, code, message }) => console.log(cause?.code ?? code, cause?.message ?? message))`
    const { stdout } = await promisify(execFile)(process.execPath, [withoutPackage(`@ai-sdk/${maker}`), '--input-type=module', '-e', code], { env: { ...process.env, [key]: 'x', NODE_OPTIONS: '' } })
    t.match(stdout, new RegExp(`^DOCUMENTS_MODEL_SDK_MISSING .*npm install ai@6 @ai-sdk/${maker}@3`))
  })
}

test('a server that is named has models of such names, too, and what it reports as cost is on the usage', async t => {
  const usage = { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15, cost: 0.1, cost_details: { upstream_inference_cost: null }, is_byok: false }
  const script = (second: object) => [{ calls: [{ name: 'kitchen__brew', args: { drink: 'tea' } }], usage }, { says: 'Done.', usage: second }]
  const tools = { listTools: async () => [BREW], callTool: async () => ({ content: [{ type: 'text', text: 'done' }] }) }
  for (const [second, cost] of [[{ ...usage, cost: 0.2 }, 0.3], [{ ...usage, cost: undefined }, undefined], [{ ...usage, cost: -1 }, undefined], [{ ...usage, cost: 'much' }, undefined], [{ ...usage, cost: 0 }, 0.1]] as const) {
    const { url, requests } = await fakeModel(t, script(second))
    environment(t, { OPENAI_BASE_URL: url, ANTHROPIC_API_KEY: 'x' })
    const { final } = await ask(agentInterpreter(), 'Brew', { vac: { model: 'anthropic/claude' }, ...tools })
    t.strictSame(final.metadata.usage, { prompt_tokens: 20, completion_tokens: 10, total_tokens: 30, ...cost !== undefined && { cost } })
    t.equal(requests[0]!.model, 'anthropic/claude')
  }
})
