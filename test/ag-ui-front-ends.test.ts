import { randomUUID } from 'node:crypto'
import { test } from 'tap'
import { textsOf } from './ag-ui/agents.mjs'
import { copilotPage, cuttingFetch, tanstackChat, uiTexts, type Core, type Seen } from './ag-ui/front-ends.mjs'
import { makeService } from './ag-ui/service.js'
import { until } from './fixtures/until.js'
import './fixtures/timeout.mjs'

const message = (content: string): object => ({ id: randomUUID(), role: 'user', content })

for (const transport of ['rest', 'single'] as const) {
  test(`CopilotKit without its runtime asks, reads in a second tab, stops, and answers questions: ${transport}`, async t => {
    const service = await makeService(t)
    const page = await copilotPage({ url: `${service.url}/ag-ui`, transport })
    t.teardown(() => page.close())
    const threadId = randomUUID()
    const open = async (thread = threadId): Promise<{ core: Core, agent: NonNullable<ReturnType<Core['getAgent']>> }> => {
      const core = await page.connect()
      await until(() => core.runtimeConnectionStatus === 'connected', 'the list of agents is read')
      const agent = core.getAgent('docs')!
      agent.threadId = thread
      return { core, agent }
    }
    const first = await open()
    t.strictSame(Object.keys(first.core.agents).sort(), ['docs', 'other'])
    t.match(first.core.agents.docs!.capabilities, { transport: { streaming: true, resumable: true }, humanInTheLoop: { interrupts: true } })
    await first.core.connectAgent(first)
    t.strictSame(first.agent.messages, [], 'a new thread is empty')

    first.agent.addMessage(message('one'))
    await first.core.runAgent(first)
    t.strictSame(textsOf(first.agent), ['You asked: one'])

    first.agent.addMessage(message('wait for it'))
    const running = first.core.runAgent(first)
    await until(() => textsOf(first.agent).at(-1) === 'You asked: ', 'the text has begun')
    const second = await open()
    const connected = second.core.connectAgent(second)
    await until(() => textsOf(second.agent).at(-1) === 'You asked: ', 'the second tab has it')
    t.strictSame(textsOf(second.agent, 'user'), ['one', 'wait for it'])
    first.core.stopAgent(first)
    await Promise.all([running, connected])
    t.equal(service.work.aborted, 1, 'stop is one')
    t.strictSame(textsOf(second.agent), ['You asked: one', 'You asked: '])

    const third = await open()
    await third.core.connectAgent(third)
    t.strictSame(textsOf(third.agent, 'user'), ['one', 'wait for it'], 'after a stop a reload is quiet')
    third.agent.addMessage(message('ask'))
    await third.core.runAgent(third)
    t.equal(textsOf(third.agent).at(-1), 'Which one?')
    const fourth = await open()
    await fourth.core.connectAgent(fourth)
    const [interrupt] = fourth.agent.pendingInterrupts!
    t.match(interrupt, { reason: 'input_required', message: 'Which one?' }, 'another tab gets the question')
    await fourth.core.runAgent({ ...fourth, resume: [{ interruptId: interrupt!.id, status: 'resolved', payload: 'that one' }] })
    t.equal(textsOf(fourth.agent).at(-1), 'You asked: that one')
    const fifth = await open()
    await fifth.core.connectAgent(fifth)
    t.strictSame(fifth.agent.pendingInterrupts, [], 'it does not come again')
    t.strictSame(textsOf(fifth.agent, 'user'), ['one', 'wait for it', 'ask', 'that one'])
    t.equal(textsOf(fifth.agent).at(-1), 'You asked: that one')

    const unknown = await open(randomUUID())
    await unknown.core.connectAgent(unknown)
    t.strictSame(unknown.agent.messages, [])
    t.strictSame(page.errors.filter(error => !/STOPPED|has taken its place|cancelled/.test(error)), [])
  })
}

test('TanStack AI goes on after a cut, from the last event', async t => {
  const service = await makeService(t)
  const seen: Seen[] = []
  const chat = tanstackChat({ url: `${service.url}/ag-ui/docs`, threadId: randomUUID(), fetchClient: cuttingFetch(seen, 'You asked: ') })
  const sent = chat.sendMessage('wait for it')
  await until(() => uiTexts(chat).at(-1)?.[1] === 'You asked: ', 'the text has begun')
  service.work.open()
  await sent
  t.strictSame(uiTexts(chat), [['user', 'wait for it'], ['assistant', 'You asked: wait for it.']])
  t.equal(chat.getError(), undefined)
  t.equal(service.work.asked.length, 1, 'it ran once')
  t.strictSame(seen.map(({ method }) => method), ['POST', 'POST'])
  t.equal(seen[1]!.body, seen[0]!.body)
  t.match(seen[1]!.headers.get('last-event-id'), /^0-\d+-\d+$/)
  t.equal(seen[1]!.headers.get('x-run-id'), JSON.parse(String(seen[0]!.body)).runId)
})

test('TanStack AI begins with the thread, follows what runs, and answers a question', async t => {
  const service = await makeService(t)
  const url = `${service.url}/ag-ui/docs`
  const threadId = randomUUID()
  const first = tanstackChat({ url, threadId })
  await first.sendMessage('one')
  const waiting = first.sendMessage('wait for it').catch(() => {})
  await until(() => uiTexts(first).at(-1)?.[1] === 'You asked: ', 'the text has begun')
  first.stop()
  await waiting

  const seen: Seen[] = []
  const open = (): ReturnType<typeof tanstackChat> => {
    const chat = tanstackChat({ url, threadId, persistence: true, fetchClient: async (input, init) => { seen.push({ method: init?.method, url: String(input), headers: new Headers(init?.headers), body: init?.body }); return await fetch(input, init) } })
    t.teardown(() => { chat.dispose() })
    chat.attach()
    return chat
  }
  const second = open()
  await until(() => uiTexts(second).at(-1)?.[1] === 'You asked: ', 'it follows the run')
  service.work.open()
  await until(() => !second.getIsLoading(), 'the run has ended')
  t.strictSame(uiTexts(second), [['user', 'one'], ['assistant', 'You asked: one'], ['user', 'wait for it'], ['assistant', 'You asked: wait for it.']])
  t.match(seen.map(({ url }) => url), [/\?threadId=/, /\?offset=-1&runId=/])
  t.equal(service.work.asked.length, 2)

  await second.sendMessage('ask')
  t.strictSame(uiTexts(second).at(-1), ['assistant', 'Which one?'])
  const third = open()
  await until(() => third.getInterrupts().length > 0, 'it has the question')
  const [interrupt] = third.getInterrupts()
  t.match(interrupt, { interruptId: String, reason: 'input_required', message: 'Which one?' })
  t.ok(await third.resumeInterrupts([{ interruptId: interrupt.interruptId, status: 'resolved', payload: { text: 'that one' } }]))
  t.strictSame(uiTexts(third).at(-1), ['assistant', 'You asked: that one'])
  t.equal(third.getInterrupts().length, 0)
  await third.sendMessage('recall')
  t.match(uiTexts(third).at(-1)![1], /user: ask \| assistant: Which one\? \| user: that one/)
})
