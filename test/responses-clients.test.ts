import { createRuns } from '@polyvac/runs'
import { readFileSync, writeFileSync } from 'node:fs'
import { test } from 'tap'
import { until } from './fixtures/until.js'
import { CLIENTS, type ClientAnswer } from './responses/clients.mjs'
import { makeService, SOURCES } from './responses/service.js'

/** What the documentation has of each client. POLYVAC_WRITE_TABLE=1 writes it. */
const TABLE = new URL('responses/table.json', import.meta.url)
const FAILED = 'the interpreter of the VAC "docs" failed'
const CITED = SOURCES.map(({ metadata: { source: url, title } }) => ({ url, title }))

const table: object[] = []
const messageOf = async (answer: Promise<ClientAnswer>): Promise<string> =>
  await answer.then(({ text }) => `no failure, but ${JSON.stringify(text)}`, err => String((err as Error).message))

for (const { client, version, connect } of CLIENTS) {
  test(`${client} ${version} asks, streams, shows sources and steps, goes on, stops, reads again, and sees failures`, async t => {
    const { url, work, vacs, tasks, runs } = await makeService(t)
    const connected = connect(url)
    const row: Record<string, boolean | number | string> = { client, version }

    const whole = await connected.ask('one two')
    t.equal(whole.text, 'You asked: one two [1]')
    const streamed = await connected.stream('one two')
    t.equal(streamed.text, 'You asked: one two [1]')
    t.equal(streamed.streamed, streamed.text)
    t.equal(work.asked.length, 2, 'one run for an answer')
    for (const { sources, steps } of [whole, streamed]) {
      t.strictSame(sources, CITED)
      t.equal(steps.join(''), 'Looks upA thought')
    }
    Object.assign(row, { ask: true, stream: true, sources: true, steps: true })

    const recalled = await connected.ask('recall', whole)
    t.equal(recalled.text, 'user: one two | assistant: You asked: one two [1]', 'the second turn knows the first')
    const third = await connected.ask('recall', recalled)
    t.match(third.text, /^user: one two \| .* \| user: recall \| assistant: user: one two/)
    const question = await connected.ask('ask me')
    t.equal(question.text, 'Which one?')
    t.equal((await connected.ask('that one', question)).text, 'You asked: that one [1]')
    t.strictSame(work.asked.at(-1)!.history.map(({ content }) => content), ['ask me', 'Which one?'])
    row.question = true

    const stop = new AbortController()
    const stopped = messageOf(connected.ask('wait', undefined, stop.signal))
    await until(() => work.asked.at(-1)!.question === 'wait', 'the agent is asked')
    stop.abort()
    await until(() => work.aborted === 1, 'the answer of a reader that left is stopped')
    t.notMatch(await stopped, /^no failure/)
    row.stop = true

    if (connected.begin !== undefined && connected.resume !== undefined && connected.stop !== undefined) {
      const begun = await connected.begin('wait again')
      for (const time of ['first', 'second']) {
        const { status, text } = await connected.stop(begun)
        t.equal(status, 'cancelled', `the ${time} cancel`)
        t.equal(text, 'You asked: ')
      }
      const { status, text } = await connected.resume(begun)
      t.equal(status, 'cancelled')
      t.equal(text, 'You asked: ')
      t.equal((await connected.resume(await connected.begin('one two'))).text, 'You asked: one two [1]')
      row.reload = true
    }

    const asked = work.asked.length
    t.match(await messageOf(connected.ask('fail')), 'the source is away')
    t.match(await messageOf(connected.stream('fail')), 'the source is away')
    t.match(await messageOf(connected.stream('break')), FAILED)
    t.match(await messageOf(connected.stream('late')), FAILED)
    t.equal(work.asked.length, asked + 4, 'one run for a failure that a repetition would not mend')
    row.failure = true
    const before = work.asked.length
    const failed = await messageOf(connected.ask('break'))
    t.match(failed, FAILED)
    t.notMatch(failed, /SECRET/)
    row.runs = work.asked.length - before

    const crashing = connected.stream('crash now')
    await until(() => work.asked.at(-1)!.question === 'crash now', 'the agent is asked')
    await runs!.stop()
    createRuns({ vacs, tasks: tasks! })
    t.equal((await crashing).text, 'You asked: crash now [1]')
    row.crash = true
    table.push(row)
  })
}

test('the table of the documentation has what was seen', t => {
  if (process.env.POLYVAC_WRITE_TABLE !== undefined) writeFileSync(TABLE, `[\n${table.map(row => `  ${JSON.stringify(row)}`).join(',\n')}\n]\n`)
  t.strictSame(JSON.parse(readFileSync(TABLE, 'utf8')), table)
  t.end()
})
