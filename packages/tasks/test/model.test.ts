import { openDatabase } from '@polyvac/sqlite'
import fc from 'fast-check'
import { test } from 'tap'
import { canFollow, isTerminal, isWaiting, type TaskState, type TaskUpdate } from '../src/index.js'
import { isTaskError } from '../src/basics/errors.js'
import { foldTask } from '../src/log/fold-task.js'
import { migrate } from '../src/sqlite/tables.js'
import { TaskLog, type Fence } from '../src/sqlite/task-log.js'
import { prepareTask } from '../src/store/new-task.js'
import { prepareUpdates } from '../src/log/task-updates.js'

const LEASE = 100
const RETRIES = 2

/** What a task is, said without SQL. */
interface ModelTask { key: number, id: string, state: TaskState, attempt: number, turn: number, losses: number, seq: number, worker: string | null, due: number | null }
interface Model { now: number, tasks: ModelTask[], fences: Fence[] }
interface Real { log: TaskLog }

const end = (task: ModelTask, state: TaskState): void => { Object.assign(task, { state, seq: task.seq + 1, worker: null, due: null }) }
const held = ({ tasks }: Model, { key, ...fence }: Fence): ModelTask | undefined => {
  const task = tasks.find(task => task.key === key)
  return task?.state === 'working' && task.attempt === fence.attempt && task.turn === fence.turn && task.worker === fence.worker ? task : undefined
}

async function check ({ tasks }: Model, { log }: Real): Promise<void> {
  for (const task of tasks) {
    const row = log.find('o', task.id)
    if (row === undefined) throw new Error('a task is gone')
    const { state, attempt, turn, losses, seq, worker, due } = row
    const { id, key, ...expected } = task
    if (JSON.stringify({ state, attempt, turn, losses, seq, worker, due }) !== JSON.stringify(expected)) throw new Error(`${JSON.stringify(row)} is not ${JSON.stringify(task)}`)
    const { events } = log.smallPage(key, 0, 500)
    if (events.some((event, j) => event.seq !== j + 1) || events.length !== seq) throw new Error('there is a gap')
    if (events.findIndex(event => isTerminal(event.state ?? 'working')) !== (isTerminal(state) ? seq - 1 : -1)) throw new Error('not one end, at the end')
    const states = events.flatMap(({ state }) => state ?? [])
    if (states.some((state, j) => j > 0 && !canFollow(states[j - 1] as TaskState, state))) throw new Error(`${states.join()} is not in the table`)
    const record = (await log.fold(row)).record()
    const folded = foldTask({ id, owner: 'o', skill: 's', input: null, metadata: {} }, events)
    if (JSON.stringify(record) !== JSON.stringify(folded) || folded.state !== state || folded.attempt !== attempt || folded.turn !== turn) throw new Error('the fold differs')
  }
}

/** A command that always may come: it does the same to both and compares. */
class Step implements fc.AsyncCommand<Model, Real> {
  readonly #name: string
  readonly #run: (model: Model, real: Real) => void | Promise<void>
  constructor (name: string, run: (model: Model, real: Real) => void | Promise<void>) { this.#name = name; this.#run = run }
  check (): boolean { return true }
  toString (): string { return this.#name }
  async run (model: Model, real: Real): Promise<void> {
    await this.#run(model, real)
    await check(model, real)
  }
}

const pick = <T>(list: readonly T[], n: number): T | undefined => list[n % list.length]

const create = fc.constant(new Step('create', async (model, { log }) => {
  const made = await prepareTask('o', { skill: 's', input: null }, model.now)
  const key = log.insert(made, undefined)
  model.tasks.push({ key, id: made.origin.id, state: 'submitted', attempt: -1, turn: 0, losses: 0, seq: 1, worker: null, due: 0 })
}))

const createClaimed = fc.constantFrom('w1', 'w2').map(worker => new Step(`create for ${worker}`, async (model, { log }) => {
  const made = await prepareTask('o', { skill: 's', input: null }, model.now)
  const due = model.now + LEASE
  const key = log.insert(made, { worker, due })
  model.tasks.push({ key, id: made.origin.id, state: 'working', attempt: 0, turn: 0, losses: 0, seq: 2, worker, due })
  model.fences.push({ key, attempt: 0, turn: 0, worker })
}))

const take = fc.tuple(fc.constantFrom('w1', 'w2'), fc.integer({ min: 1, max: 3 })).map(([worker, limit]) => new Step(`take ${worker} ${limit}`, (model, { log }) => {
  const lost = model.tasks.filter(({ due }) => due !== null && due > 0 && due <= model.now).sort((a, b) => (a.due ?? 0) - (b.due ?? 0) || model.tasks.indexOf(a) - model.tasks.indexOf(b))
  const chosen = [...lost, ...model.tasks.filter(({ due }) => due === 0)].slice(0, limit)
  const taken = log.take({ queue: '', worker, now: model.now, limit, leaseMs: LEASE, retries: RETRIES, after: '', freeOf: () => 64, skip: null, serves: () => true, admit: () => true })
  if (JSON.stringify(taken.map(({ row }) => row.id)) !== JSON.stringify(chosen.map(({ id }) => id))) throw new Error('other tasks were taken')
  for (const task of chosen) {
    const expired = task.due !== 0
    if (expired && task.losses >= RETRIES) { end(task, 'failed'); continue }
    Object.assign(task, { state: 'working', attempt: task.attempt + 1, losses: task.losses + (expired ? 1 : 0), seq: task.seq + 1, worker, due: model.now + LEASE })
    model.fences.push({ key: task.key, attempt: task.attempt, turn: task.turn, worker })
  }
}))

const emit = fc.tuple(fc.nat(), fc.array(fc.constantFrom<TaskUpdate>({ delta: 'x' }, { progress: 0.5 }, { artifact: { name: 'a', content: 1 } }), { maxLength: 3 }),
  fc.constantFrom<TaskUpdate['state']>(undefined, undefined, 'input-required', 'auth-required', 'completed', 'failed', 'rejected'))
  .map(([n, some, state]) => new Step(`emit ${n} ${some.length} ${state}`, (model, { log }) => {
    const updates = [...some, ...(state === undefined ? [{ delta: 'y' }] : [{ state }])]
    const fence = pick(model.fences, n)
    if (fence === undefined) return
    const task = held(model, fence)
    let fenced = false
    try {
      log.append(fence, 'id', prepareUpdates(updates, model.now))
    } catch (error) {
      if (!isTaskError(error, 'TASK_FENCED')) throw error
      fenced = true
    }
    if (fenced !== (task === undefined)) throw new Error(fenced ? 'it was fenced out' : 'it was let through')
    if (task === undefined) return
    task.seq += updates.length
    if (state !== undefined) Object.assign(task, { state, worker: null, due: null })
  }))

const renew = fc.tuple(fc.nat(), fc.boolean()).map(([n, release]) => new Step(`${release ? 'release' : 'renew'} ${n}`, (model, { log }) => {
  const fence = pick(model.fences, n)
  if (fence === undefined) return
  const task = held(model, fence)
  const due = release ? 0 : model.now + LEASE
  if (log.renew(fence, due) !== (task !== undefined)) throw new Error('the lease is in other hands')
  if (task !== undefined) task.due = due
}))

const fromOutside = fc.tuple(fc.nat(), fc.constantFrom('canceled', 'submitted')).map(([n, state]) => new Step(`${state} ${n}`, (model, { log }) => {
  const task = pick(model.tasks, n)
  const row = task === undefined ? undefined : log.find('o', task.id)
  if (task === undefined || row === undefined) return
  if (state === 'canceled' && !isTerminal(row.state)) {
    log.appendFree(row, { at: model.now, state })
    end(task, state)
  }
  if (state === 'submitted' && isWaiting(row.state)) {
    log.appendFree(row, { at: model.now, state, message: { role: 'user', parts: [], timestamp: model.now } })
    Object.assign(task, { state, seq: task.seq + 1, turn: task.turn + 1, attempt: -1, losses: 0, due: 0 })
  }
}))

const wait = fc.integer({ min: 1, max: 2 * LEASE }).map(ms => new Step(`wait ${ms}`, model => { model.now += ms }))

test('any sequence of create, take, emit, cancel, input, release and expired leases matches the model', async t => {
  await fc.assert(fc.asyncProperty(fc.commands([create, createClaimed, take, take, emit, emit, renew, fromOutside, wait], { maxCommands: 60, size: 'max' }), async commands => {
    const database = await openDatabase(':memory:')
    try {
      migrate(database, ':memory:')
      const real = { log: new TaskLog(database) }
      await fc.asyncModelRun(async () => ({ model: { now: 1_000, tasks: [], fences: [] }, real }), commands)
    } finally {
      database.close()
    }
  }), { numRuns: 200 })
  t.pass('200 walks')
})
