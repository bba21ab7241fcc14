import type { Answer, Chunk } from '@polyvac/core'
import type { RunItem } from '@polyvac/core/plugin'
import { foldTask, type TaskEvent, type TaskRecord, type TaskStore } from '@polyvac/tasks'
import fc from 'fast-check'
import { deepEqual, equal } from 'node:assert/strict'
import { test } from 'tap'
import { runItems } from '../src/runs/run-items.js'
import { errorOf } from '../src/runs/run-view.js'

// What readers of a run get, whatever its attempts said, wherever a reader came, left and came back.

type Body = Omit<TaskEvent, 'seq' | 'at'>
interface Attempt { readonly pieces: readonly string[], readonly reports: boolean }
interface Turn { readonly crashed: readonly Attempt[], readonly last: Attempt }

/** Few letters, so that attempts repeat, continue and contradict each other. */
const text = fc.string({ unit: fc.constantFrom('a', 'b'), maxLength: 6 })
const attempt = fc.record({ pieces: fc.array(text, { maxLength: 4 }), reports: fc.boolean() })
/** Often the same text again, cut in another way, or a part of it. */
const turn = fc.record({ crashed: fc.array(attempt, { maxLength: 3 }), last: attempt, twin: fc.option(fc.nat(20), { nil: undefined }) }).map(({ crashed, last, twin }): Turn => {
  const whole = last.pieces.join('')
  return { last, crashed: twin === undefined ? crashed : [{ pieces: [whole.slice(0, twin % 3), whole.slice(twin % 3, twin)], reports: twin % 2 === 0 }, ...crashed] }
})
const END = fc.constantFrom('completed' as const, 'failed' as const, 'canceled' as const)

function eventsOf ({ pieces, reports }: Attempt, retry: number): Body[] {
  return [
    { state: 'working', ...retry > 0 && { retry } },
    ...reports ? [{ progress: 0.1 * retry }] : [],
    ...pieces.filter(piece => piece !== '').map(delta => ({ delta })),
    ...reports ? [{ progress: 0.5, progressMessage: 'half' }] : []
  ]
}

/** The log of a run; all turns but the last one ask back. */
function logOf (turns: readonly Turn[], end: 'completed' | 'failed' | 'canceled'): TaskEvent[] {
  const bodies = turns.flatMap(({ crashed, last }, i): Body[] => {
    const state = i < turns.length - 1 ? 'input-required' : end
    const content = { answer: last.pieces.join(''), source_documents: [] }
    const isAnswered = state === 'completed' || state === 'input-required'
    return [
      { state: 'submitted' },
      ...[...crashed, last].flatMap(eventsOf),
      { state, ...isAnswered && { artifact: { name: 'answer', type: 'json', content, createdAt: 0 } }, ...state === 'failed' && { error: { code: 'X', message: 'x', timestamp: 0 } } }
    ]
  })
  return bodies.map((body, i) => ({ ...body, seq: i + 1, at: 0 }))
}

/** A store whose log has these events; `head` of them were there when the reader came. */
function storeOf (log: readonly TaskEvent[], head: number): { store: TaskStore, task: TaskRecord } {
  const task = foldTask({ id: 'i', owner: 'o', skill: 's', input: null, metadata: {} }, log.slice(0, head))
  async function * events (_owner: string, _id: string, { after = 0 } = {}): AsyncGenerator<TaskEvent> { yield * log.slice(after) }
  return { store: { events } as unknown as TaskStore, task }
}

/** A client: what it has at the end of each turn. `restarts` counts the texts that it forgot. */
class Client {
  text = ''
  restarts = 0
  readonly turns: Array<{ text: string, answer: string }> = []
  error: string | undefined

  take (item: RunItem): void {
    if ('restart' in item) {
      this.text = ''
      this.restarts++
      return
    }
    const chunk: Chunk = item.chunk
    if (typeof chunk === 'string') this.text += chunk
    if (typeof chunk !== 'object' || !('answer' in chunk)) return
    this.turns.push({ text: this.text, answer: (chunk as Answer).answer })
    this.text = ''
  }
}

const { signal } = new AbortController()

/** Reads to the end of the run, through the turns that ask back. Resolves to the items, which `client` has taken. */
async function read (log: readonly TaskEvent[], head: number, client: Client, after = 0): Promise<RunItem[]> {
  const items: RunItem[] = []
  try {
    // each call ends with a turn
    for (let cursor = after, had = -1; items.length > had && cursor < log.length;) {
      had = items.length
      const { store, task } = storeOf(log, Math.max(head, cursor))
      for await (const item of runItems(store, task, { after: cursor, signal, view: undefined })) {
        client.take(item)
        items.push(item)
        cursor = item.seq
      }
    }
  } catch (err) {
    client.error = (err as { code: string }).code
  }
  return items
}

test('a reader that stays, comes late, or comes back with any cursor has the answer in the end, once', async () => {
  await fc.assert(fc.asyncProperty(fc.array(turn, { minLength: 1, maxLength: 2 }), END, fc.nat(), fc.nat(), async (turns, end, some, other) => {
    const log = logOf(turns, end)
    const error = { completed: undefined, failed: 'X', canceled: 'RUN_CANCELLED' }[end]
    const answers = turns.slice(0, end === 'completed' ? undefined : -1).map(({ last }) => last.pieces.join('')).map(answer => ({ text: answer, answer }))
    for (const head of [1, 1 + some % log.length, log.length]) {
      const client = new Client()
      const items = await read(log, head, client)
      deepEqual(client.turns, answers, 'what a reader has')
      equal(client.error, error)
      for (const [i, { seq }] of items.entries()) {
        // events between two items of a reader that stays changed nothing
        const next = head === 1 ? items[i + 1]?.seq ?? log.length : 0
        // a client that has the end does not come back
        for (let after = seq; after < log.length && (after === seq || after < next); after++) {
          const later = new Client()
          for (const item of items.slice(0, i + 1)) later.take(item)
          await read(log, after + other % (log.length - after + 1), later, after)
          deepEqual(later.turns, answers, `what a reader has that came back after event ${after}`)
          equal(later.error, error)
        }
      }
    }
  }), { numRuns: 60 })
})

test('a reader that came after the crashes gets only the text that counts', async () => {
  await fc.assert(fc.asyncProperty(turn, async turn => {
    const log = logOf([turn], 'completed').map(({ progress: _progress, ...event }): TaskEvent => event)
    const client = new Client()
    const items = await read(log, log.length, client)
    equal(client.restarts, 0)
    equal(items.map(item => 'chunk' in item && typeof item.chunk === 'string' ? item.chunk : '').join(''), turn.last.pieces.join(''))
  }))
})

test('a reader that asks for the text that stands gets it once, after one restart where there is one', async () => {
  await fc.assert(fc.asyncProperty(fc.array(turn, { minLength: 1, maxLength: 2 }), fc.nat(), async (turns, some) => {
    const log = logOf(turns, 'completed')
    const last = turns.length - 1
    for (const isExact of [false, true]) {
      const { store, task } = storeOf(log, 1 + some % log.length)
      const client = new Client()
      const items: RunItem[] = []
      // a run whose last turn has not begun is read until its first one ends
      const turn = task.turn === last ? last : 0
      for await (const item of runItems(store, task, { after: 0, signal, view: undefined, turn, isExact, isLatest: true })) {
        client.take(item)
        items.push(item)
      }
      const answer = turns[turn]!.last.pieces.join('')
      deepEqual(client.turns, [{ text: answer, answer }])
      if (task.seq === log.length && turn === last) {
        equal(items.map(item => 'chunk' in item && typeof item.chunk === 'string' ? item.chunk : '').join(''), answer)
        equal(items.findLastIndex(item => 'restart' in item) <= 0, true, 'nothing is taken back')
      }
    }
  }))
})

test('a reader that takes what a turn has said until now, and then what follows, has its answer once', async () => {
  await fc.assert(fc.asyncProperty(fc.array(turn, { minLength: 1, maxLength: 2 }), END, async (turns, end) => {
    const log = logOf(turns, end)
    const begins = log.flatMap(({ state, seq }) => state === 'submitted' ? [seq] : [])
    for (const [n, begin] of begins.entries()) {
      const isAnswered = n < turns.length - 1 || end === 'completed'
      for (let head = begin; head <= log.length; head++) {
        const client = new Client()
        const { store, task } = storeOf(log, head)
        const turnRead = { turn: n, signal, view: undefined }
        let after = 0
        try {
          for await (const item of runItems(store, task, { ...turnRead, after: 0, isExact: true, isSnapshot: true })) {
            if ('chunk' in item && typeof item.chunk === 'object' && 'answer' in item.chunk) break
            client.take(item)
            after = item.seq
          }
        } catch (err) {
          equal(isAnswered, false, String(err))
        }
        try {
          for await (const item of runItems(store, task, { ...turnRead, after })) client.take(item)
        } catch (err) {
          client.error = (err as { code: string }).code
        }
        const answer = turns[n]!.last.pieces.join('')
        deepEqual(client.turns, isAnswered ? [{ text: answer, answer }] : [], `turn ${n}, from event ${head} on`)
        equal(client.error !== undefined, !isAnswered)
      }
    }
  }), { numRuns: 60 })
})

test('a run whose failure found no place in the store failed for a while', t => {
  const statusOf = (code: string): unknown => errorOf({ state: 'failed', artifacts: [], error: { code, message: 'it is full', timestamp: 0 } })
  t.match(statusOf('TASK_STORE_FULL'), { code: 'TASK_STORE_FULL', statusCode: 503 })
  t.match(statusOf('TASK_TIMEOUT'), { code: 'TASK_TIMEOUT', statusCode: 500 })
  t.end()
})
