import { test } from 'tap'
import type { Exchange } from '../page/requests/exchange-record.js'
import { eventsOf } from '../page/timeline/timeline-events.js'
import { barsOfAnswer } from '../page/timeline/trace.js'

test('a call of a tool in an answer and its result are events of the timeline, over each protocol', t => {
  const call = { tool_call: { id: 'c1', name: 'read_it', input: {} } }
  const result = { tool_result: { id: 'c1', state: 'failed', duration_ms: 2 } }
  const frames = (wrap: (step: object) => object): string[] => [call, result].map(step => `event: step\ndata: ${JSON.stringify(wrap(step))}`)
  const wraps: Array<(step: object) => object> = [
    step => step,
    step => ({ result: { statusUpdate: { status: { state: 'TASK_STATE_WORKING', message: { parts: [{ data: { step } }] } } } } }),
    step => ({ type: 'task_update', data: { state: 'working', metadata: { steps: [step] } } }),
    step => ({ method: 'notifications/progress', params: { progress: 1, _meta: { 'polyvac/step': step } } })
  ]
  for (const wrap of wraps) {
    const exchange = {
      startedAt: 100,
      endedAt: 9,
      protocol: 'direct',
      label: 'ask demo',
      request: { path: '/vac/demo', headers: {} },
      status: 200,
      frames: frames(wrap).map((text, i) => ({ at: 2 + i * 3, bytes: text.length, text }))
    } as unknown as Exchange
    const read = (): unknown[] => eventsOf([exchange], []).slice(1).map(({ lane, start, end, label, isFrame }) => [lane, start, end, label, isFrame])
    t.strictSame(read(), [['tool calls', 102, 102, 'read_it', true], ['tool calls', 105, 105, 'failed', true]])
    t.equal(read().length, 2, 'read again')
  }
  t.end()
})

test('steps of earlier services have bars without places in time, and what has not ended is named so', t => {
  const steps = [
    { tool_call: { id: 'a', name: 'cook', input: { message: 'tea' } } }, { tool_result: { id: 'a', state: 'completed' as const, output: { content: [{ type: 'text', text: 'four minutes' }] }, duration_ms: 30 } },
    { reasoning: 'And now?' }, { tool_call: { id: 'b', name: 'brew', server: 'kitchen' } }
  ]
  const barsOf = (isLive: boolean, seen: ReadonlyMap<string, number>) => barsOfAnswer({ name: 'Tea?', steps, state: isLive ? 'running' : 'failed', isLive, ms: 100 }, seen, new Set(['cook']))
  t.match(barsOf(false, new Map()), [
    { kind: 'Answer', name: 'Tea?', state: 'failed', start: 0, ms: 100, tokens: undefined },
    { kind: 'Agent', name: 'cook', depth: 1, state: 'completed', start: undefined, ms: 30, contents: [['Input', { message: 'tea' }], ['Output', 'four minutes']] },
    { kind: 'Reasoning', start: undefined, contents: [['Text', 'And now?']] },
    { kind: 'Tool', name: 'brew', server: 'kitchen', state: 'not ended', start: undefined, ms: undefined, contents: [] }
  ])
  t.match(barsOf(true, new Map([['b', 60]])).at(-1), { state: 'running', start: 60, ms: 40 }, 'the page has seen it begin')
  t.end()
})
