import { test } from 'tap'
import { readEvents, type EventSource } from '../src/log/read-events.js'
import { Readers } from '../src/log/readers.js'
import type { TaskEvent } from '../src/contract/task.js'

test('a reader that is behind when it is woken for an event of another process gets that event', async t => {
  const readers = new Readers()
  const log: TaskEvent[] = [{ seq: 1, at: 0, state: 'submitted' }, { seq: 2, at: 0, state: 'working' }]
  const source: EventSource = {
    readers,
    tasks: {
      find: () => ({ key: 1, seq: 1, state: 'submitted' }),
      findKey: () => ({ key: 1, seq: log.length, state: log.at(-1)?.state ?? 'submitted' }),
      page: (_key, after) => ({ events: log.slice(after), last: true, next: 500, chars: 0 })
    },
    follow: async () => {}
  }
  const reader = readEvents(() => source, 'o', 't', {})
  t.equal((await reader.next()).value?.seq, 1)
  // while the reader has the first page, this process writes an event, and another process the last one
  const third: TaskEvent = { seq: 3, at: 0, delta: 'a' }
  log.push(third)
  readers.written(1, [third], 1)
  log.push({ seq: 4, at: 0, state: 'completed' })
  readers.lookAgain(() => 4)
  const rest: number[] = []
  for await (const { seq } of reader) rest.push(seq)
  t.strictSame(rest, [2, 3, 4])
})
