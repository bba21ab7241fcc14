import { test, type Test } from 'tap'
import type { Interpreter } from '@polyvac/core'
import { createHost } from '../src/index.js'
import { questions } from '../../../test/probes/index.mjs'

const USAGE = { prompt_tokens: 11, completion_tokens: 3, total_tokens: 14 }
const REPORTS: Readonly<Record<string, unknown>> = {
  openai: USAGE, messages: { input_tokens: 11, output_tokens: 3 }, sdk: { inputTokens: 11, outputTokens: 3, totalTokens: 14 }
}
const WRONG: readonly unknown[] = [null, 7, 'many', [], {}, { prompt_tokens: -1, completion_tokens: 3 }, { prompt_tokens: 1.5, completion_tokens: 3 }, { prompt_tokens: '11', completion_tokens: 3 }]

/** Asks in every form; the interpreter reports what `usage` gives. Resolves to what each response reports. */
async function hostWith (t: Test, usage: () => unknown): Promise<() => Promise<Array<[what: string, usage: unknown]>>> {
  const agent: Interpreter = async function * () {
    yield 'text'
    yield { answer: 'text', source_documents: [], metadata: { usage: usage() } }
  }
  const app = await createHost({ vacs: ['demo'], stream_interpreter: agent, enable_a2a_agent: true, enable_mcp_server: true, server: { logger: false } })
  t.teardown(() => app.close())
  return async () => await Promise.all(questions('hello', 'demo').map(async ([what, { path, body, headers }, probe]) => {
    const { body: text } = await app.inject({ method: 'POST', url: path, payload: body, headers })
    t.equal(probe.textOf(text), 'text', what)
    return [what, probe.usageOf(text)]
  }))
}

test('the usage that an interpreter reports reaches callers in every form of every protocol', async t => {
  let usage: unknown
  const ask = await hostWith(t, () => usage)
  for (const [name, reported] of Object.entries(REPORTS)) {
    usage = reported
    for (const [what, got] of await ask()) {
      // direct: the metadata of the answer; a stream of OpenAI has the usage where its request asks for it
      const expected = what === 'openai: events' ? undefined : what.startsWith('direct:') ? reported : USAGE
      t.strictSame(got, expected, `${name} in ${what}`)
    }
  }
})

test('a usage of a wrong shape fails no answer, and is not sent as usage', async t => {
  let usage: unknown
  const ask = await hostWith(t, () => usage)
  for (usage of WRONG) {
    for (const [what, got] of await ask()) {
      if (what.startsWith('direct:')) continue
      const isEstimated = (got as { estimated?: true } | undefined)?.estimated
      t.equal(isEstimated ?? got, /^(?:responses|openai): (?!(?<=openai: )events$)/.test(what) ? true : undefined, `${JSON.stringify(usage)} in ${what}`)
    }
  }
})
