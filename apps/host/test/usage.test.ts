import { test, type Test } from 'tap'
import type { Interpreter } from '@polyvac/core'
import { createHost } from '../src/index.js'

type Json = Record<string, any>

const USAGE = { prompt_tokens: 11, completion_tokens: 3, total_tokens: 14 }
const REPORTS: Readonly<Record<string, unknown>> = {
  openai: USAGE, messages: { input_tokens: 11, output_tokens: 3 }, sdk: { inputTokens: 11, outputTokens: 3, totalTokens: 14 }
}
const WRONG: readonly unknown[] = [null, 7, 'many', [], {}, { prompt_tokens: -1, completion_tokens: 3 }, { prompt_tokens: 1.5, completion_tokens: 3 }, { prompt_tokens: '11', completion_tokens: 3 }]

/** Answers that report what `usage` holds. */
async function hostWith (t: Test, usage: () => unknown): Promise<Record<string, () => Promise<Json>>> {
  const agent: Interpreter = async function * () {
    yield 'text'
    yield { answer: 'text', source_documents: [], metadata: { usage: usage() } }
  }
  const app = await createHost({ vacs: ['demo'], stream_interpreter: agent, enable_a2a_agent: true, enable_mcp_server: true, server: { logger: false } })
  t.teardown(() => app.close())
  const post = async (url: string, payload: object, headers: Record<string, string> = {}): Promise<Json> =>
    (await app.inject({ method: 'POST', url, payload, headers })).json()
  const rpc = async (method: string, params: object, version = '', url = '/a2a'): Promise<Json> =>
    (await post(url, { jsonrpc: '2.0', id: 1, method, params }, version === '' ? {} : { 'a2a-version': version })).result
  const text = 'hello'
  const tool = async (name: string): Promise<Json> => (await post('/mcp', {
    jsonrpc: '2.0',
    id: 1,
    method: 'tools/call',
    params: {
      name,
      arguments: { query: text },
      _meta: {
        'io.modelcontextprotocol/protocolVersion': '2026-07-28',
        'io.modelcontextprotocol/clientCapabilities': {},
        'io.modelcontextprotocol/clientInfo': { name: 'test', version: '1' }
      }
    }
  }, { 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'tools/call', 'mcp-name': name, accept: 'application/json, text/event-stream' })).result
  return {
    direct: async () => (await post('/vac/demo', { user_input: text })).metadata.usage,
    openai: async () => (await post('/openai/v1/chat/completions', { model: 'demo', messages: [{ role: 'user', content: text }] })).usage,
    'a2a 1.0': async () => (await rpc('SendMessage', { message: { messageId: 'm', role: 'ROLE_USER', parts: [{ text }] } }, '1.0')).task.metadata.usage,
    'a2a 0.3': async () => (await rpc('message/send', { message: { kind: 'message', messageId: 'm', role: 'user', parts: [{ kind: 'text', text }] } })).metadata.usage,
    'a2a description': async () => (await rpc('tasks/send', { skillName: 'vac_query_demo', input: { query: text } }, '', '/a2a/tasks/send')).metadata.usage,
    'mcp query': async () => (await tool('vac_query_demo'))._meta['polyvac/usage'],
    'mcp stream': async () => (await tool('vac_stream_demo'))._meta['polyvac/usage']
  }
}

test('the usage that an interpreter reports reaches callers of every protocol', async t => {
  let usage: unknown
  const protocols = await hostWith(t, () => usage)
  for (const [form, reported] of Object.entries(REPORTS)) {
    usage = reported
    for (const [protocol, ask] of Object.entries(protocols)) {
      t.strictSame(await ask(), protocol === 'direct' ? reported : USAGE, `${form} on ${protocol}`)
    }
  }
})

test('a usage of a wrong shape fails no answer, and is not sent as usage', async t => {
  let usage: unknown
  const { direct: _direct, openai, ...protocols } = await hostWith(t, () => usage)
  for (usage of WRONG) {
    t.match(await openai?.(), { estimated: true })
    for (const [protocol, ask] of Object.entries(protocols)) t.equal(await ask(), undefined, `${JSON.stringify(usage)} on ${protocol}`)
  }
})
