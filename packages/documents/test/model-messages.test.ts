import { createServer } from 'node:http'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { test, type Test } from 'tap'
import type { ChatTurn } from '@polyvac/core'
import { documentsInterpreter } from '../src/index.js'
import { openaiInterpreter } from '../src/model.js'
import { ask } from './fixtures/ask.js'
import { GUIDE, memoryOf } from './fixtures/folder.js'

interface Message { readonly role: string, readonly content: unknown }

/** What OpenAI, Anthropic, Mistral or a chat template refuses of a conversation; undefined for one that they take. */
function refusal (messages: readonly Message[], text: string): string | undefined {
  const turns = messages.filter(({ role }) => role !== 'system')
  if (/\\ud[89a-f][0-9a-f]{2}/i.test(text)) return 'a lone surrogate'
  if (messages.some(({ content }) => typeof content !== 'string' || content.trim() === '')) return 'text content blocks must contain non-whitespace text'
  if (messages.some(({ role }) => !['system', 'user', 'assistant'].includes(role))) return 'unknown role'
  if (messages.findLastIndex(({ role }) => role === 'system') > 0) return 'Unexpected role \'system\' after role \'user\''
  if (turns.some(({ role }, i) => role !== (i % 2 === 0 ? 'user' : 'assistant'))) return 'Conversation roles must alternate user/assistant/user/assistant'
  return turns.at(-1)?.role === 'user' ? undefined : 'Expected last role User'
}

/** A model server that refuses what others refuse. */
async function strictServer (t: Test): Promise<{ readonly url: string, readonly asked: Message[][], readonly refused: string[] }> {
  const asked: Message[][] = []
  const refused: string[] = []
  const server = createServer(async (request, response) => {
    let text = ''
    for await (const piece of request.setEncoding('utf8')) text += String(piece)
    const { messages } = JSON.parse(text) as { messages: Message[] }
    asked.push(messages)
    const problem = refusal(messages, text)
    if (problem !== undefined) {
      refused.push(problem)
      response.writeHead(400, { 'content-type': 'application/json' }).end(JSON.stringify({ error: { message: problem } }))
      return
    }
    const chunk = (delta: object, finish: string | null): string =>
      `data: ${JSON.stringify({ id: 'c', object: 'chat.completion.chunk', created: 0, model: 'm', choices: [{ index: 0, delta, finish_reason: finish }] })}\n\n`
    response.writeHead(200, { 'content-type': 'text/event-stream' }).end(`${chunk({ content: 'fine [1]' }, null)}${chunk({}, 'stop')}data: [DONE]\n\n`)
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => { server.close(); server.closeAllConnections() })
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`, asked, refused }
}

const user = (content: string): ChatTurn => ({ role: 'user', content })
const assistant = (content: string): ChatTurn => ({ role: 'assistant', content })
const system = (content: string): ChatTurn => ({ role: 'system', content })

const histories: Record<string, { readonly history: ChatTurn[], readonly sent: string[] }> = {
  none: { history: [], sent: ['user: Q'] },
  'as it should be': { history: [system('S'), user('a'), assistant('b')], sent: ['system: S', 'user: a', 'assistant: b', 'user: Q'] },
  'turns without text': { history: [user('a'), assistant(''), user(' \n'), assistant('b'), system('')], sent: ['user: a', 'assistant: b', 'user: Q'] },
  'only turns without text': { history: [assistant('\u200a'), user('')], sent: ['user: Q'] },
  'two user turns': { history: [user('a'), user('b')], sent: ['user: a\n\nb\n\nQ'] },
  'two user turns around an empty answer': { history: [user('a'), assistant(''), user('b'), assistant('c')], sent: ['user: a\n\nb', 'assistant: c', 'user: Q'] },
  'two assistant turns': { history: [user('a'), assistant('b'), assistant('c')], sent: ['user: a', 'assistant: b\n\nc', 'user: Q'] },
  'an assistant that speaks first': { history: [assistant('Hello.')], sent: ['user: (The conversation begins.)', 'assistant: Hello.', 'user: Q'] },
  'a system message and an assistant that speaks first': { history: [system('S'), assistant('Hello.'), user('a'), assistant('b')], sent: ['system: S', 'user: (The conversation begins.)', 'assistant: Hello.', 'user: a', 'assistant: b', 'user: Q'] },
  'system messages in the middle and at the end': { history: [user('a'), system('S'), assistant('b'), system('T')], sent: ['system: S\n\nT', 'user: a', 'assistant: b', 'user: Q'] },
  'half of a surrogate pair': { history: [user('a\ud83d'), assistant('\ude00b')], sent: ['user: a\ufffd', 'assistant: \ufffdb', 'user: Q'] }
}

test('each history reaches a strict model server in a form that it takes, with every text', async t => {
  const server = await strictServer(t)
  const vac = { model: 'm', openai: { base_url: server.url, api_key: 'k' } }
  for (const [name, { history, sent }] of Object.entries(histories)) {
    const { text } = await ask(openaiInterpreter(), 'Q', { vac }, history)
    t.equal(text, 'fine [1]', name)
    t.strictSame(server.asked.at(-1)?.map(({ role, content }) => `${role}: ${String(content)}`), sent, name)
  }
  await ask(openaiInterpreter(), 'Q\ud83d', { vac })
  t.strictSame(server.asked.at(-1), [user('Q\ufffd')])
  t.strictSame(server.refused, [])
})

test('the documents interpreter sends each history in a form that a strict model server takes', async t => {
  const server = await strictServer(t)
  const vac = { model: 'm', openai: { base_url: server.url, api_key: 'k' } }
  const interpreter = documentsInterpreter(await memoryOf(t, GUIDE))
  for (const [name, { history }] of Object.entries(histories)) {
    const { final } = await ask(interpreter, 'How do I cancel a task?', { vac }, history)
    t.match(final.metadata, { mode: 'model' }, name)
  }
  t.strictSame(server.refused, [])
})

test('a history of 10,000 odd turns is sent', async t => {
  const server = await strictServer(t)
  const vac = { model: 'm', openai: { base_url: server.url, api_key: 'k' } }
  const history = Array.from({ length: 10_000 }, (_, i) => ({ role: (['user', 'user', 'assistant', 'system'] as const)[i % 4]!, content: i % 5 === 0 ? '' : `turn ${i}` }))
  t.equal((await ask(openaiInterpreter(), 'Q', { vac }, history)).text, 'fine [1]')
  const text = server.asked[0]!.map(({ content }) => String(content)).join('\n\n').split('\n\n')
  t.strictSame(text.sort(), [...history.filter(({ content }) => content !== '').map(({ content }) => content), 'Q'].sort())
})
