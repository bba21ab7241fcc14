import type { Interpreter } from '@polyvac/core'
import { readFileSync } from 'node:fs'
import { test } from 'tap'
import { eventsOf } from './probes/events.mjs'
import { LOOPS } from './responses/tools.mjs'
import { makeService } from './responses/service.js'

/** What Codex CLI 0.171 and the two nodes of n8n send, with shorter texts. */
const requestOf = (name: string): Record<string, unknown> => JSON.parse(readFileSync(new URL(`responses/requests/${name}.json`, import.meta.url), 'utf8')) as Record<string, unknown>

interface Item { readonly type: string, readonly content?: ReadonlyArray<{ readonly text: string }> }
interface Event { readonly type: string, readonly sequence_number: number, readonly item?: Item, readonly response?: { readonly id: string, readonly usage: object, readonly tools: object[], readonly status: string } }

const ANSWER = 'You asked: What is in the handbook? [1]'

test('the request of Codex is answered with text, whatever its tools are, and keeps nothing', async t => {
  const { app, work } = await makeService(t)
  const request = requestOf('codex')
  t.equal((request.tools as object[]).length, 9)
  const response = await app.inject({ method: 'POST', url: '/openai/v1/responses', payload: request })
  t.equal(response.statusCode, 200)
  const events = eventsOf(response.body).map(({ data }) => data as Event)
  const done = events.flatMap(({ type, item }) => type === 'response.output_item.done' && item?.type === 'message' ? [item.content![0]!.text] : [])
  t.strictSame(done, [ANSWER], 'Codex reads its text from the finished item')
  const last = events.at(-2)!.response!
  t.match(last, { status: 'completed', tools: [], store: false, usage: { input_tokens: Number, output_tokens: Number, total_tokens: Number } })
  t.equal((await app.inject({ url: `/openai/v1/responses/${last.id}` })).statusCode, 404)
  const [asked] = work.asked
  t.equal(asked!.question, 'What is in the handbook?')
  t.strictSame(asked!.history.map(({ role }) => role), ['system', 'system', 'user'])
  t.equal((asked!.request.tools as object[]).length, 9, 'the interpreter may read them')
})

for (const [name, roles] of [['n8n-chat-model', ['system', 'user', 'assistant']], ['n8n-openai', ['user', 'assistant']]] as const) {
  test(`the request of ${name} is answered, with its history`, async t => {
    const { app, work } = await makeService(t)
    const response = await app.inject({ method: 'POST', url: '/openai/v1/responses', payload: requestOf(name) })
    t.equal(response.statusCode, 200)
    t.match(response.json(), { status: 'completed', error: null, output: [{ type: 'reasoning' }, { content: [{ type: 'output_text', text: ANSWER, annotations: [{ type: 'url_citation' }, { type: 'url_citation' }] }] }] })
    t.strictSame(work.asked.map(({ question, history }) => [question, history.map(({ role }) => role)]), [['What is in the handbook?', roles]])
  })
}

test('an agent that is silent for 10 seconds is followed by events, of which the reader may count the pause', async t => {
  const { url } = await makeService(t, { responses: ['responses', { keep_alive: 1 }], runs: false })
  const response = await fetch(`${url}/openai/v1/responses`, { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify({ model: 'docs', input: 'silent', stream: true }) })
  const events = eventsOf(await response.text()).map(({ data }) => data as Event)
  const first = events.findIndex(({ type }) => type === 'response.output_text.delta')
  const silence = events.slice(first + 1, events.findIndex(({ type }, i) => i > first && type === 'response.output_text.delta'))
  t.ok(silence.length >= 3, `${silence.length} events`)
  t.strictSame(new Set(silence.map(({ type, sequence_number: number }) => `${type} ${number}`)), new Set([`response.in_progress ${events[first]!.sequence_number}`]), 'the last number again')
  t.equal(events.at(-2)?.type, 'response.completed')
})

/** Calls a function of the caller, and answers with its output. */
const forecaster: Interpreter = async function * (_question, _vac, _history, { request }) {
  const { input = [] } = request as { readonly input?: ReadonlyArray<{ readonly type?: string, readonly output?: unknown }> }
  const given = input.findLast(({ type }) => type === 'function_call_output')
  if (given !== undefined) return { answer: `It is ${typeof given.output === 'string' ? given.output : JSON.stringify(given.output)}.` }
  return { answer: '', tool_calls: [{ id: 'call_1', name: 'forecast', input: { city: 'Kiel' } }] }
}

test('a function of the caller is called by its client, and the agent answers with its output, with and without a store', async t => {
  const options = { agent: () => forecaster, takes: ['tools'] }
  const [stored, plain] = [await makeService(t, options), await makeService(t, { ...options, runs: false })]
  for (const [name, ask] of LOOPS) {
    t.equal(await ask(stored.url, 'Weather?'), 'It is mild in Kiel.', name)
    // generation 5 sends only the ids of calls, unless it may not rely on a store
    if (/^AI SDK 5/.test(name) && !name.includes('store: false')) continue
    t.equal(await ask(plain.url, 'Weather?'), 'It is mild in Kiel.', `${name}, without a store`)
  }
  t.ok(stored.work.sent.some(({ input }) => JSON.stringify(input).includes('item_reference')), 'the AI SDK names items by their ids')
})
