import fc from 'fast-check'
import { test } from 'tap'
import { root } from './fixtures/pages.js'

type Entry = Record<string, unknown> & { kind: string, seq?: number, state?: string, subscriber?: string, text?: string }
interface Verdict { problems: Array<{ name: string, guarantee: string }>, lost: number, duplicated: number }

const { checkHistory } = await import(`${root}/scripts/faults/history.mjs`) as { checkHistory: (history: Entry[]) => Verdict }

/** What the log of a task with an attempt that was lost and one that completed holds; `words` texts each. */
function logOf (task: string, words: number): Entry[] {
  const deltas = (attempt: number): object[] => Array.from({ length: words }, (_, i) => ({ state: 'working', delta: `a${attempt} w${i} `, writers: [attempt] }))
  const events = [{ state: 'submitted' }, { state: 'working' }, ...deltas(0), { state: 'working', retry: 1 }, ...deltas(1), { state: 'completed' }]
  return events.map((event, i) => ({ kind: 'event', task, seq: i + 1, body: `${task} ${i + 1} ${JSON.stringify(event)}`, ...event }))
}

/** A history in which every guarantee holds: two readers, one of which resumes in the middle, and a webhook. */
function goodHistory (task = 't', words = 3): Entry[] {
  const log = logOf(task, words)
  const text = Array.from({ length: words }, (_, i) => `a1 w${i} `).join('')
  const read = { kind: 'read', task, state: 'completed', text, body: 'the record' }
  const reader = (name: string, after: number): Entry[] => {
    const subscriber = `${task} ${name}`
    return [{ kind: 'subscribed', task, subscriber, after }, ...log.slice(after).map(event => ({ ...event, subscriber }))]
  }
  return [
    { kind: 'created', task, key: `key of ${task}` },
    { kind: 'created', task, key: `key of ${task}` },
    { kind: 'hooked', task, config: 'hook' },
    { kind: 'executed', task, question: 'q', attempt: 0 },
    { kind: 'executed', task, question: 'q', attempt: 1 },
    ...reader('first', 0),
    ...reader('second', 2),
    ...log.filter(({ delta }) => delta === undefined).map(({ seq, body }) => ({ kind: 'webhook', task, config: 'hook', id: `id ${seq}`, body })),
    read,
    read
  ]
}

const names = (history: Entry[]): string[] => [...new Set(checkHistory(history).problems.map(({ name }) => name))]
const at = (history: Entry[], isWanted: (entry: Entry) => boolean): number => history.findIndex(isWanted)
const change = (history: Entry[], isWanted: (entry: Entry) => boolean, fields: object): Entry[] =>
  history.map((entry, i) => i === at(history, isWanted) ? { ...entry, ...fields } : entry)
const without = (history: Entry[], isWanted: (entry: Entry) => boolean): Entry[] => history.filter((_, i) => i !== at(history, isWanted))
const isFirst = ({ kind, subscriber }: Entry): boolean => kind === 'event' && subscriber === 't first'
const isEnd = (entry: Entry): boolean => isFirst(entry) && entry.state === 'completed'
const isSecond = ({ kind, subscriber }: Entry): boolean => kind === 'event' && subscriber === 't second'
const isWebhook = ({ kind }: Entry): boolean => kind === 'webhook'
const isRead = ({ kind }: Entry): boolean => kind === 'read'

test('a history in which every guarantee holds has no problem, whatever its tasks', t => {
  fc.assert(fc.property(fc.array(fc.nat(6), { minLength: 1, maxLength: 5 }), tasks => {
    t.strictSame(names(tasks.flatMap((words, i) => goodHistory(`t${i}`, words))), [])
  }), { numRuns: 30 })
  t.end()
})

/** By what is planted: the histories, each with the problems that must be found. */
const PLANTED: Record<string, [wanted: string, plant: (good: Entry[]) => Entry[]]> = {
  'an acknowledged task that is not there': ['lost', good => [...good, { kind: 'read', task: 't' }]],
  'an acknowledged task that was never seen again': ['lost', good => [...good, { kind: 'created', task: 'u', key: 'u' }]],
  'a task that does not end': ['unended', good => good.filter(entry => !isRead(entry)).concat({ kind: 'read', task: 't', state: 'working' })],
  'attempts without a bound': ['attempts', good => [...good, ...[2, 3, 4].map(attempt => ({ kind: 'executed', task: 't', question: 'q', attempt }))]],
  'a record that changes after its end': ['changed', good => [...good, { kind: 'read', task: 't', state: 'completed', body: 'another record' }]],
  'a record that ends in another state than the log': ['changed', good => good.map(entry => isRead(entry) ? { ...entry, state: 'failed' } : entry)],
  'an event after the end': ['afterEnd', good => [...good, ...['first', 'second'].map(name => ({ kind: 'event', task: 't', subscriber: `t ${name}`, seq: 11, state: 'failed', body: 'a second end' }))]],
  'text of an attempt that was replaced': ['fenced', good => good.map(entry => entry.kind === 'event' && entry.seq === 8 ? { ...entry, writers: [1, 0] } : entry)],
  'an event that a reader did not get': ['gap', good => without(good, entry => isSecond(entry) && entry.seq === 5)],
  'a stream without its end': ['gap', good => without(good, isEnd)],
  'a reader that got nothing': ['gap', good => good.filter(entry => !isSecond(entry))],
  'an event that a reader got twice': ['repeated', good => good.flatMap(entry => isFirst(entry) && entry.seq === 4 ? [entry, entry] : [entry])],
  'an event that differs between readers': ['differs', good => change(good, isSecond, { body: 'another' })],
  'a text that differs from the record by a byte': ['text', good => good.map(entry => isRead(entry) ? { ...entry, text: `${entry.text}.` } : entry)],
  'a delta that is lost in the log of all readers': ['text', good => good.map(entry => entry.kind === 'event' && entry.seq === 8 ? { ...entry, delta: '' } : entry)],
  'a cancel that did not count': ['uncanceled', good => [...good, { kind: 'canceled', task: 't' }]],
  'two tasks of one key': ['twoTasks', good => [...good, ...goodHistory('u').map(entry => entry.kind === 'created' ? { ...entry, key: 'key of t' } : entry)]],
  'an attempt that ran twice': ['twoRuns', good => [...good, { kind: 'executed', task: 't', question: 'q', attempt: 1 }]],
  'a webhook that was not sent': ['unnotified', good => without(good, isWebhook)],
  'no webhook at all': ['unnotified', good => good.filter(entry => !isWebhook(entry))],
  'webhooks in another order': ['order', good => [...good.filter(entry => !isWebhook(entry)), ...good.filter(isWebhook).reverse()]],
  'a repeated webhook with another id': ['webhookId', good => [...good, { ...good.find(isWebhook) as Entry, id: 'another' }]],
  'one id for two webhooks': ['webhookId', good => change(good, entry => isWebhook(entry) && entry.id === 'id 2', { id: 'id 1' })],
  'a webhook that is not an event': ['forged', good => [...good, { ...good.find(isWebhook) as Entry, body: 'another' }]]
}

for (const [what, [wanted, plant]] of Object.entries(PLANTED)) {
  test(`the checker finds ${what}`, t => {
    t.ok(names(plant(goodHistory())).includes(wanted), wanted)
    t.end()
  })
}

test('a repeated webhook with its own id, and a create that was repeated with its key, are what is promised', t => {
  const good = goodHistory()
  t.strictSame(names([...good, good.find(isWebhook) as Entry, { kind: 'created', task: 't', key: 'key of t' }]), [])
  t.end()
})

test('no event of a reader can be left out, repeated or moved without a problem', t => {
  const good = goodHistory()
  const places = good.flatMap((entry, i) => entry.kind === 'event' ? [i] : [])
  fc.assert(fc.property(fc.constantFrom(...places), fc.constantFrom('leave out', 'repeat', 'move'), (place, how) => {
    const history = [...good]
    const [entry] = history.splice(place, 1) as [Entry]
    const wanted = how === 'leave out' ? 'lost' : 'duplicated'
    if (how === 'repeat') history.splice(place, 0, entry, entry)
    if (how === 'move') {
      // to the place before another event of the same reader
      const isNeighbour = places.includes(place - 1) && good[place - 1]?.subscriber === entry.subscriber
      if (!isNeighbour) return
      history.splice(place - 1, 0, entry)
    }
    t.ok(checkHistory(history)[wanted] > 0, `${how} ${place}`)
  }))
  t.end()
})

test('lost and duplicated are counted apart', t => {
  const { lost, duplicated } = checkHistory([...goodHistory(), { kind: 'read', task: 't' }])
  t.strictSame({ lost, duplicated }, { lost: 1, duplicated: 0 })
  t.end()
})
