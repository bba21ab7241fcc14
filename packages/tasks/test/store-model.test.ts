import fc from 'fast-check'
import { test } from 'tap'
import { testDatabase } from '../../../test/fixtures/postgres.js'
import { until } from '../../../test/fixtures/until.js'
import { foldTask, isTaskError, isTerminal, isWaiting, type TaskContext, type TaskEvent, type TaskState, type TaskStore, type TaskUpdate } from '../src/index.js'
import { openPostgresStore } from './fixtures/postgres-store.js'
import { fileOf, openStore } from './fixtures/store.js'

/** A task, without a store. */
interface ModelTask { id: string, owner: string, states: TaskState[], turn: number, text: string, artifacts: number }
interface Model { tasks: ModelTask[] }
/** Two stores on one database, and the attempts that run in either. */
interface Real { stores: readonly TaskStore[], owner: string, attempts: Map<string, Attempt> }
interface Attempt { context: TaskContext, leave: (error?: Error) => void }

const stateOf = ({ states }: ModelTask): TaskState => states.at(-1) as TaskState
const attemptOf = async ({ attempts }: Real, { id, turn }: ModelTask): Promise<Attempt> =>
  await until(() => attempts.get(`${id} ${turn}`), `turn ${turn} of a task runs`)

function work (store: TaskStore, attempts: Real['attempts']): void {
  store.work(async (task, context) => {
    await new Promise<void>((resolve, reject) => {
      const leave = (error?: Error): void => { error === undefined ? resolve() : reject(error) }
      context.stop.addEventListener('abort', () => { resolve() })
      attempts.set(`${task.id} ${task.turn}`, { context, leave })
    })
  }, { concurrency: 64, ownerConcurrency: 64 })
}

async function check ({ tasks }: Model, real: Real): Promise<void> {
  for (const task of tasks) {
    const { id, owner, states, text, artifacts } = task
    if (stateOf(task) === 'working') await attemptOf(real, task)
    for (const store of real.stores) {
      const record = await store.get(owner, id)
      if (record === null) throw new Error('a task is gone')
      const events: TaskEvent[] = []
      for await (const event of store.events(owner, id)) {
        events.push(event)
        if (event.seq === record.seq) break
      }
      if (events.some(({ seq }, i) => seq !== i + 1)) throw new Error('there is a gap')
      const seen = events.flatMap(({ state }) => state ?? [])
      if (seen.join() !== states.join()) throw new Error(`${seen.join()} is not ${states.join()}`)
      if (events.map(({ delta = '' }) => delta).join('') !== text) throw new Error('the text differs')
      if (record.artifacts.length !== artifacts || record.turn !== task.turn) throw new Error('the record differs')
      const { input, skill, metadata } = record
      if (JSON.stringify(foldTask({ id, owner, skill, input, metadata }, events)) !== JSON.stringify(record)) throw new Error('the fold differs')
    }
  }
}

/** A command that always may come: it does the same to both and compares. */
class Step implements fc.AsyncCommand<Model, Real> {
  readonly #name: string
  readonly #run: (model: Model, real: Real) => Promise<void>
  constructor (name: string, run: (model: Model, real: Real) => Promise<void>) { this.#name = name; this.#run = run }
  check (): boolean { return true }
  toString (): string { return this.#name }
  async run (model: Model, real: Real): Promise<void> {
    await this.#run(model, real)
    await check(model, real)
  }
}

const pick = <T>(list: readonly T[], n: number): T | undefined => list[n % list.length]
const replica = fc.constantFrom(0, 1)

const create = replica.map(i => new Step(`create at ${i}`, async ({ tasks }, { stores, owner }) => {
  const { task } = await stores[i]!.create(owner, { skill: 's', input: i })
  tasks.push({ id: task.id, owner, states: ['submitted', 'working'], turn: 0, text: '', artifacts: 0 })
}))

const UPDATES: Record<string, readonly TaskUpdate[]> = {
  delta: [{ delta: 'a \ud83d\ude00 word ' }],
  several: [{ delta: 'one ' }, { progress: 0.5 }, { delta: 'two\0 ' }, { artifact: { name: 'a', content: { list: [1] } } }],
  question: [{ state: 'input-required', message: { role: 'agent', parts: [{ type: 'text', text: '?' }] } }],
  end: [{ artifact: { name: 'a', content: 'x' } }, { state: 'completed', artifact: { name: 'a', content: 'x'.repeat(1_000) } }]
}

const emit = fc.tuple(fc.nat(), fc.constantFrom('delta', 'several', 'several', 'question', 'end')).map(([n, name]) => new Step(`${name} of ${n}`, async ({ tasks }, real) => {
  const task = pick(tasks.filter(task => stateOf(task) === 'working'), n)
  if (task === undefined) return
  const { context, leave } = await attemptOf(real, task)
  for (const { delta = '', artifact, state } of UPDATES[name]!) {
    task.text += delta
    if (artifact !== undefined) task.artifacts++
    if (state !== undefined) task.states.push(state)
  }
  await context.emit(UPDATES[name]!)
  if (stateOf(task) !== 'working') leave()
}))

const fail = fc.nat().map(n => new Step(`fail ${n}`, async ({ tasks }, real) => {
  const task = pick(tasks.filter(task => stateOf(task) === 'working'), n)
  if (task === undefined) return
  const { leave } = await attemptOf(real, task)
  leave(new Error('no'))
  task.states.push('failed')
  await until(async () => (await real.stores[0]!.get(task.owner, task.id))?.state === 'failed', 'the task has failed')
}))

const late = fc.nat().map(n => new Step(`a late update of ${n}`, async ({ tasks }, real) => {
  const task = pick(tasks.filter(task => stateOf(task) !== 'working'), n)
  const attempt = task === undefined ? undefined : real.attempts.get(`${task.id} ${task.turn}`)
  if (attempt === undefined) return
  const error: unknown = await attempt.context.emit({ delta: 'late' }).then(() => undefined, (error: unknown) => error)
  if (!isTaskError(error)) throw new Error('a late update was accepted')
}))

const provide = fc.tuple(fc.nat(), replica).map(([n, i]) => new Step(`input of ${n} at ${i}`, async ({ tasks }, { stores }) => {
  const task = pick(tasks, n)
  if (task === undefined) return
  const isAccepted = isWaiting(stateOf(task))
  const { outcome } = await stores[i]!.provideInput(task.owner, task.id, { parts: [{ type: 'text', text: 'yes' }] })
  if (outcome !== (isAccepted ? 'accepted' : 'not-waiting')) throw new Error(outcome)
  if (!isAccepted) return
  task.states.push('submitted', 'working')
  task.turn++
}))

const cancel = fc.tuple(fc.nat(), replica).map(([n, i]) => new Step(`cancel ${n} at ${i}`, async ({ tasks }, { stores }) => {
  const task = pick(tasks, n)
  if (task === undefined) return
  const isEnded = isTerminal(stateOf(task))
  const { outcome } = await stores[i]!.cancel(task.owner, task.id)
  if (outcome !== (isEnded ? 'terminal' : 'canceled')) throw new Error(outcome)
  if (!isEnded) task.states.push('canceled')
}))

async function walk (stores: readonly TaskStore[], numRuns: number): Promise<void> {
  const attempts: Real['attempts'] = new Map()
  for (const store of stores) work(store, attempts)
  let owners = 0
  const commands = fc.commands([create, create, emit, emit, emit, provide, cancel, fail, late], { maxCommands: 15, size: 'max' })
  await fc.assert(fc.asyncProperty(commands, async commands => {
    const owner = `owner ${++owners}`
    await fc.asyncModelRun(() => ({ model: { tasks: [] }, real: { stores, owner, attempts } }), commands)
  }), { numRuns, endOnFailure: true })
}

test('any sequence of commands on two stores of one file matches the model', async t => {
  const path = await fileOf(t)
  await walk([await openStore(t, { path }), await openStore(t, { path })], 10)
})

test('any sequence of commands on two replicas of PostgreSQL matches the model', async t => {
  const url = await testDatabase(t)
  await walk([await openPostgresStore(t, { url }), await openPostgresStore(t, { url })], 6)
})
