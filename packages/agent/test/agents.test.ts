import { createVacs, type Interpreter } from '@polyvac/core'
import { test, type Test } from 'tap'
import { agentInterpreter } from '../src/index.js'
import { fakeModel, type ModelStep } from './fixtures/model.js'

const cook: Interpreter = async question => question === 'tea'
  ? { input_required: 'Green or black?' }
  : { answer: `${question}: four minutes [1].`, source_documents: [{ page_content: 'p', metadata: { source: 'tea.md', lines: '1-2' } }] }

async function asking (t: Test, tools: string[], script: readonly ModelStep[]) {
  const { vac, requests } = await fakeModel(t, script)
  const vacs = createVacs({
    vacs: { front: { ...vac, tools }, cook: { display_name: 'The cook', description: 'Knows brewing times.' }, peer: { description: 'Far away.' } },
    parts: {
      front: { streamInterpreter: agentInterpreter() },
      cook: { streamInterpreter: cook },
      peer: { streamInterpreter: async question => { throw Object.assign(new Error(`no ${question} here`), { code: 'NO', statusCode: 400 }) }, remote: () => ({ ready: true }) }
    }
  })
  return { vac: vacs.get('front'), requests }
}

test('other VACs and remote agents are tools of a model, with their descriptions, steps and citations', async t => {
  const { vac, requests } = await asking(t, ['vac:cook', 'peer'], [
    { calls: [{ name: 'vac_cook', args: { message: 'green tea' } }, { name: 'peer', args: { message: 'coffee' } }] },
    { says: 'Four minutes.' }
  ])
  const steps: unknown[] = []
  const { answer } = await vac.ask({ question: 'How long?', steps: 'names', onStep: step => steps.push(step) })
  t.equal(answer, 'Four minutes.')
  t.match(requests[0]!.tools!.map(({ function: { name, description } }) => [name, description]), [
    ['vac_cook', 'Ask the agent cook: Knows brewing times.'], ['peer', 'Ask the agent peer: Far away.'], ['ask_user']
  ])
  const [cooked, far] = requests[1]!.messages.slice(-2).map(({ content }) => content)
  t.match(cooked, /^<data (\w+) from="vac_cook">\ngreen tea: four minutes \[1\]\.\n\nSources of the agent:\n\[1\] tea\.md:1-2\n<\/data \1>$/)
  t.match(far, /The call failed: no coffee here/, 'the model reads the failure')
  t.match(steps.filter(step => 'tool_call' in (step as object)), [{ tool_call: { name: 'cook' } }, { tool_call: { name: 'peer' } }])
  const spans = steps.filter(step => 'span' in (step as object))
  t.match(spans, [1, 1, 2, 2].map((call, index) => ({ span: { id: `model-${call}`, kind: 'model', name: 'fake', state: index % 2 === 0 ? 'running' : 'completed' } })), 'each call of the model is a span')
  t.match(spans.at(-1), { span: { usage: { prompt_tokens: 10, completion_tokens: 5 }, finish_reason: 'stop' } })
  t.equal(steps.length, 8)
})

test('a question of an agent is the result of its tool, and the next call is the reply', async t => {
  const { vac, requests } = await asking(t, ['vac:cook'], [
    { calls: [{ name: 'vac_cook', args: { message: 'tea' } }] },
    { calls: [{ name: 'vac_cook', args: { message: 'green' } }] },
    { says: 'Four minutes.' }
  ])
  t.equal((await vac.ask({ question: 'How long?' })).answer, 'Four minutes.')
  t.match(requests[1]!.messages.at(-1)!.content, /The agent asks back: Green or black\?\nCall it again/)
  t.match(requests[2]!.messages.at(-1)!.content, /green: four minutes/)
})

test('an agent that the caller may not use is not offered, and without a list none are', async t => {
  const { vac, requests } = await asking(t, ['vac:cook', 'peer'], [{ says: 'No.' }])
  await vac.ask({ question: 'x', principal: { owner: 'ada', scopes: ['vac:front', 'vac:peer'] } })
  t.strictSame(requests[0]!.tools!.map(({ function: { name } }) => name), ['peer', 'ask_user'])
  const model = await fakeModel(t, [{ says: 'No.' }])
  const vacs = createVacs({ vacs: { front: model.vac, cook: {} }, parts: { front: { streamInterpreter: agentInterpreter() }, cook: { streamInterpreter: cook } } })
  await vacs.get('front').ask({ question: 'x' })
  t.strictSame(model.requests[0]!.tools!.map(({ function: { name } }) => name), ['ask_user'])
})
