import { test } from 'tap'
import { postgresServer, query } from '../../../test/fixtures/postgres.js'
import { until } from '../../../test/fixtures/until.js'
import { foldTask, type TaskEvent, type TaskStore } from '../src/index.js'
import { collect } from './conformance.js'
import { openPostgresStore } from './fixtures/postgres-store.js'

interface Attempt { readonly id: string, readonly attempt: number, readonly signal: AbortSignal, write (text: string): Promise<unknown> }

/** A reader that goes on during the test. */
function follow (store: TaskStore, owner: string, id: string, after = 0): { readonly events: TaskEvent[], readonly ended: () => boolean } {
  const events: TaskEvent[] = []
  let hasEnded = false
  const read = async (): Promise<void> => { for await (const event of store.events(owner, id, { after })) events.push(event) }
  read().finally(() => { hasEnded = true }).catch(() => {})
  return { events, ended: () => hasEnded }
}

const textOf = (events: readonly TaskEvent[]): string => events.map(({ delta = '' }) => delta).join('')

for (const promote of [false, true]) {
  test(`after a failover to a server that was behind${promote ? ', on another timeline' : ''}, no reader and no attempt meets the task of another`, async t => {
    const server = await postgresServer(t)
    const open = async (): Promise<TaskStore> => await openPostgresStore(t, { url: server.url() })
    const [front, back] = [await open(), await open()]
    const attempts: Attempt[] = []
    let go = (): void => {}
    const mayEnd = new Promise<void>(resolve => { go = resolve })
    for (const store of [front, back]) {
      store.work(async (task, { attempt, signal, emit }) => {
        if (task.owner === 'bob') return await emit([{ delta: 'text of bob' }, { state: 'completed' }]).then(() => {})
        attempts.push({ id: task.id, attempt, signal, write: async delta => await emit({ delta }) })
        await Promise.race([mayEnd, new Promise<void>(resolve => { signal.addEventListener('abort', () => { resolve() }, { once: true }) })])
      }, { concurrency: 40, ownerConcurrency: 20 })
    }
    const create = async (store: TaskStore, owner: string): Promise<string> => (await store.create(owner, { skill: 's', input: owner })).task.id
    const heard: string[] = []
    const append = async (text: string): Promise<void> => { await front.replicas!.append('stream', [text], { owner: 'alice', ttlMs: 600_000 }) }
    await append('kept')
    const kept = await create(front, 'alice')
    /** Writes as the present attempt: on a busy machine, another replica may have taken the task over. */
    const writeTo = async (id: string, text: string): Promise<Attempt> => await until(async () => {
      const present = attempts.findLast(one => one.id === id && !one.signal.aborted)
      return await present?.write(text).then(() => present, () => undefined)
    }, `'${text}' is written`)
    await writeTo(kept, 'kept ')
    await server.save()
    await until(async () => (await front.health()).ok && (await back.health()).ok, 'the stores are back')

    // what the copy lacks
    await back.replicas!.follow('stream', 0, entries => { heard.push(...entries.map(({ text }) => text)) })
    for (const text of ['lost 1', 'lost 2', 'lost 3']) await append(text)
    await until(() => heard.length === 3, 'the follower has all')
    const first = await writeTo(kept, 'lost ')
    const lost = await Promise.all(Array.from({ length: 6 }, async (_, i) => await create(i % 2 === 0 ? front : back, 'alice')))
    const lostAttempts = await Promise.all(lost.slice(0, 2).map(async id => await writeTo(id, 'text of alice')))
    const readers = [front, back].flatMap(store => lost.map(id => follow(store, 'alice', id)))
    const ofKept = [front, back].map(store => follow(store, 'alice', kept))
    await until(() => ofKept.every(({ events }) => textOf(events) === 'kept lost ') && readers.every(({ events }) => events.length > 0), 'the readers have all')

    await server.goBack({ promote })
    await until(async () => (await front.health()).ok && (await back.health()).ok, 'the stores are back')
    const late = await open()
    const ofBob = await Promise.all(Array.from({ length: 12 }, async (_, i) => await create([front, back, late][i % 3] as TaskStore, 'bob')))
    for (const id of ofBob) {
      const seen = await collect(late.events('bob', id))
      t.strictSame(seen.map(({ seq }) => seq), seen.map((_, i) => i + 1))
      t.equal(textOf(seen), 'text of bob')
      t.match(await front.get('bob', id), { state: 'completed', owner: 'bob' })
    }
    await until(() => [...readers, ...ofKept].every(({ ended }) => ended()), 'all readers of what was lost end')
    for (const { events } of readers) t.notMatch(textOf(events), 'bob')
    await append('again')
    await until(() => heard.includes('again'), 'a follower of a stream of the replicas is not behind its end')
    t.equal(new Set([front, back, late].map(({ replicas }) => replicas!.id)).size, 3)
    for (const { write } of lostAttempts) await t.rejects(write('late'), { code: 'TASK_FENCED' })
    for (const id of lost) t.equal(await late.get('alice', id), null)
    t.strictSame(await query(server.url(), "SELECT count(*)::int AS n FROM polyvac.event WHERE data LIKE '%alice%' OR data LIKE '%late%'"), [{ n: 0 }])

    // the task that both histories have goes on in the second one
    await until(() => first.signal.aborted, 'its attempt of the first history ends')
    await t.rejects(first.write('late'), { code: 'TASK_FENCED' })
    const again = follow(late, 'alice', kept)
    await writeTo(kept, 'again ')
    go()
    await until(() => again.ended(), 'it ends')
    t.equal(textOf(again.events), 'kept again ')
    t.strictSame(again.events.map(({ seq }) => seq), again.events.map((_, i) => i + 1))
    const record = await late.get('alice', kept)
    t.match(record, { state: 'completed' })
    t.ok(record!.attempt > 0)
    t.strictSame(record, foldTask(record!, again.events))
    for (const { events } of ofKept) t.equal(textOf(events), 'kept lost ')
  })
}
