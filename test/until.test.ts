import { test } from 'tap'
import { until } from './fixtures/until.js'

test('until returns the first truthy value, of a synchronous and of an asynchronous condition', async t => {
  let calls = 0
  t.equal(await until(() => ++calls === 3 && 'third', 'it is the third call'), 'third')
  t.equal(await until(async () => ++calls === 5 ? calls : undefined, 'it is the fifth call'), 5)
})

test('until fails after its deadline with the name of the condition and the last value', async t => {
  await t.rejects(until(() => ({ state: 'working' }).state === 'completed', 'the task is completed', { ms: 30 }),
    { message: 'waited 30 ms in vain until the task is completed; last value: false' })
  await t.rejects(until(() => new Promise<boolean>(() => {}), 'the socket closes', { ms: 30 }), /30 ms .* the socket closes; last value: undefined/)
})

test('until rejects with what its condition throws', async t => {
  await t.rejects(until(() => { throw new Error('the server exited') }, 'the server answers'), { message: 'the server exited' })
})
