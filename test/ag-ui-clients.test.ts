import { randomUUID } from 'node:crypto'
import { test, type Test } from 'tap'
import { run, textsOf, VERSIONS, type Agent } from './ag-ui/agents.mjs'
import { ARTIFACT, FILE, makeService, SOURCES, type Service } from './ag-ui/service.js'
import { until } from './fixtures/until.js'
import './fixtures/timeout.mjs'

/** Fails where the client warns: 1.0.0 does for each key and each event that it does not know. */
function watchWarnings (t: Test): void {
  const { warn, error } = console
  // it prints what it rejects with
  console.error = () => {}
  console.warn = (...words: unknown[]) => { t.fail(`the client warns: ${words.map(String).join(' ').slice(0, 600)}`) }
  t.teardown(() => { Object.assign(console, { warn, error }) })
}

for (const { version, make, interrupts, metadata, is1 } of VERSIONS) {
  const agentOf = ({ url }: Service, threadId: string = randomUUID()): Agent => make({ url: `${url}/ag-ui/docs`, threadId })

  test(`HttpAgent ${version} asks, and goes on in its thread`, async t => {
    watchWarnings(t)
    const service = await makeService(t)
    const agent = agentOf(service)
    const first = await run(agent, 'one')
    t.strictSame(first.types, ['RUN_STARTED', 'TEXT_MESSAGE_START', 'TEXT_MESSAGE_CONTENT', 'TEXT_MESSAGE_CONTENT', 'TEXT_MESSAGE_END', 'RUN_FINISHED'].filter((type, i) => i !== 3 || first.types.length === 6))
    t.equal(first.events[0]!.protocolVersion, is1 ? '1.0' : undefined)
    t.strictSame(textsOf(agent), ['You asked: one'])
    t.strictSame(first.result, { answer: 'You asked: one', source_documents: [] })
    await run(agent, 'recall')
    t.equal(textsOf(agent).at(-1), 'user: one | assistant: You asked: one')
    t.strictSame(agent.messages.map(({ role }) => role), ['user', 'assistant', 'user', 'assistant'])
  })

  test(`HttpAgent ${version} shows steps, reasoning, sources, files and artifacts`, async t => {
    watchWarnings(t)
    const service = await makeService(t)
    const agent = agentOf(service)
    const { types, events, finished } = await run(agent, 'steps')
    const custom = (name: string): any => events.find(event => event.type === 'CUSTOM' && event.name === name)?.value
    t.strictSame(custom('source'), SOURCES[0])
    t.strictSame(custom('data'), { type: 'note', value: { a: null } })
    t.strictSame(custom('file'), FILE)
    t.strictSame(custom('artifact'), ARTIFACT)
    const sources = [{ index: 1, url: 'https://example.org/a.md', title: 'A', ...SOURCES[0] }, { index: 2, ...SOURCES[1] }]
    t.match(custom('source_documents'), sources)
    t.match(finished, { result: { answer: 'First. Then [1].', source_documents: SOURCES, artifacts: [ARTIFACT] } })
    if (metadata) t.strictSame(finished!.usage, [{ inputTokens: 3, outputTokens: 4, totalTokens: 7 }])
    const shown = agent.messages.filter(({ role }) => role !== 'activity').map(({ role, content, toolCalls }) => [role, content ?? toolCalls[0].function])
    t.strictSame(shown, [
      ['user', 'steps'],
      ['reasoning', 'I think.'],
      ['assistant', 'First. '],
      ['assistant', { name: 'kitchen__kettle', arguments: '{"cups":2}' }],
      ['tool', '{"hot":true}'],
      ['assistant', { name: 'oven', arguments: '{}' }],
      ['tool', '{"error":{"message":"cold"}}'],
      ['assistant', 'Then [1].']
    ], types.join(' '))
    t.strictSame(agent.messages.filter(({ role }) => role === 'activity').map(({ activityType }) => activityType), ['polyvac.progress', 'polyvac.file', 'polyvac.artifact'])
    if (metadata) t.match(agent.messages.findLast(({ role }) => role === 'assistant')!.metadata, { source_documents: sources })
    for (const event of events) t.notOk(Object.values(event).includes(null), `${event.type} has no null`)
  })

  test(`HttpAgent ${version} sees failures`, async t => {
    watchWarnings(t)
    const service = await makeService(t)
    for (const [question, code, texts] of [['break', 'VAC_INTERPRETER_FAILED', []], ['late', 'VAC_INTERPRETER_FAILED', ['You asked: ']], ['refuse', 'SOURCE_AWAY', []]] as const) {
      const agent = agentOf(service)
      const { error, types } = await run(agent, question)
      t.equal(error!.code, code)
      t.notMatch(JSON.stringify(error), /MARKER/)
      if (question === 'refuse') t.notMatch(error!.message, /request id/)
      else t.match(error!.message, new RegExp(`request id ${String(error!.metadata?.requestId ?? '\\S+')}$`))
      t.equal(types.at(-1), 'RUN_ERROR')
      t.strictSame(textsOf(agent), texts)
    }
    await t.rejects(agentOf(service).runAgent({}), /400|HTTP/)
    await t.rejects(run(make({ url: `${service.url}/ag-ui/dosc` }), 'x'), /404/)
  })

  test(`HttpAgent ${version} is asked back, answers and cancels`, async t => {
    watchWarnings(t)
    const service = await makeService(t)
    const agent = agentOf(service)
    const { finished } = await run(agent, 'ask')
    t.strictSame(textsOf(agent), ['Which one?'])
    if (!interrupts) {
      await run(agent, 'that one')
    } else {
      const [interrupt] = agent.pendingInterrupts!
      t.match(interrupt, { reason: 'input_required', message: 'Which one?', responseSchema: { type: 'string' } })
      t.equal(finished!.interrupts?.length ?? finished!.outcome.interrupts.length, 1)
      await t.rejects(run(agent, 'I type'), /interrupt/)
      agent.setMessages(agent.messages.slice(0, -1))
      await run(agent, undefined, { resume: [{ interruptId: interrupt!.id, status: 'resolved', payload: 'that one' }] })
    }
    t.equal(textsOf(agent).at(-1), 'You asked: that one')
    t.strictSame(service.work.asked.at(-1)!.history, [{ role: 'user', content: 'ask' }, { role: 'assistant', content: 'Which one?' }])
  })

  test(`HttpAgent ${version} reads a run again in its middle, from an empty, a user-only and a half-filled client`, async t => {
    watchWarnings(t)
    const service = await makeService(t)
    const threadId = randomUUID()
    const before = agentOf(service, threadId)
    await run(before, 'one')
    const runId = randomUUID()
    let reading = run(before, 'wait for it', { runId })
    await until(() => textsOf(before).at(-1) === 'You asked: ', 'the text has begun')
    const half = [...before.messages]
    before.abortRun()
    await reading
    const clients = [[], half.slice(2, 3), half].map(messages => {
      const agent = agentOf(service, threadId)
      agent.setMessages(messages)
      return agent
    })
    const all = clients.map(async agent => await run(agent, undefined, { runId }))
    for (const agent of clients) await until(() => textsOf(agent).at(-1) === 'You asked: ', 'the client has the text')
    service.work.open()
    for (const [i, agent] of clients.entries()) {
      const { events } = await all[i]!
      t.strictSame(agent.messages.map(({ role, content }) => [role, content]), [
        ['user', 'one'], ['assistant', 'You asked: one'], ['user', 'wait for it'], ['assistant', 'You asked: wait for it.']
      ], `client ${i}`)
      t.equal(events.filter(({ type }) => type === 'RUN_FINISHED').length, 1)
    }
    t.equal(service.work.asked.length, 2, 'it ran once')
    reading = run(agentOf(service, threadId), undefined, { runId })
    t.equal((await reading).finished!.result.answer, 'You asked: wait for it.', 'also after its end')
  })
}
