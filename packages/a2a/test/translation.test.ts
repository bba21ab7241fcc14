import { legacyPushNotificationToV1StreamResponse } from '@a2a-js/sdk/compat/v0_3'
import { Task as SdkTask } from '@a2a-js/sdk'
import fc from 'fast-check'
import { test } from 'tap'
import { taskStates, type TaskArtifact, type TaskPart, type TaskRecord, type TaskState } from '@polyvac/tasks'
import { toTask as toDescription } from '../src/dialects/description/record.js'
import { toTask as to03 } from '../src/dialects/v0_3/answers.js'
import { readSend as read03 } from '../src/dialects/v0_3/requests.js'
import { toTask as to10 } from '../src/dialects/v1/answers.js'
import { readSend as read10 } from '../src/dialects/v1/requests.js'
import type { Json } from './fixtures/public.js'

const RUNS = { numRuns: 300 }
const word = fc.string({ minLength: 1, maxLength: 20 })
const struct = fc.dictionary(fc.string({ minLength: 1, maxLength: 10 }).filter(key => key !== '__proto__'), fc.oneof(fc.string(), fc.integer(), fc.boolean(), fc.constant(null)), { maxKeys: 3 })
const base64 = fc.uint8Array({ maxLength: 20 }).map(bytes => Buffer.from(bytes).toString('base64'))
const url = fc.webUrl()
const optional = <T> (value: fc.Arbitrary<T>): fc.Arbitrary<T | undefined> => fc.option(value, { nil: undefined })

/** What both generations have a word for. */
const shared: fc.Arbitrary<TaskPart> = fc.oneof(
  fc.record({ type: fc.constant('text' as const), text: fc.string() }),
  fc.record({ type: fc.constant('text' as const), text: fc.string(), metadata: struct }),
  fc.record({ type: fc.constant('file' as const), bytes: base64, filename: word, mediaType: fc.constant('image/png') }),
  fc.record({ type: fc.constant('file' as const), uri: url, filename: word, mediaType: fc.constant('text/plain') }),
  fc.record({ type: fc.constant('data' as const), data: struct }))
const parts = fc.array(shared, { minLength: 1, maxLength: 4 })

const time = fc.integer({ min: 0, max: 4_000_000_000_000 })
const message = fc.record({ role: fc.constantFrom('user' as const, 'agent' as const), parts, timestamp: time, id: word, metadata: struct, extensions: fc.array(word, { maxLength: 2 }), referenceTaskIds: fc.array(word, { maxLength: 2 }) })
const artifact: fc.Arbitrary<TaskArtifact> = fc.record({ name: word, type: fc.constant('json' as const), content: fc.constant(null), parts, description: word, metadata: struct, createdAt: time })

const task: fc.Arbitrary<TaskRecord> = fc.record({
  id: fc.uuid(),
  owner: word,
  skill: fc.constant('vac_query_docs'),
  input: fc.constant({ query: 'x' }),
  contextId: optional(fc.uuid()),
  metadata: fc.constant({}),
  state: fc.constantFrom(...taskStates),
  createdAt: time,
  updatedAt: time,
  statusAt: time,
  completedAt: fc.constant(null),
  seq: fc.nat(),
  attempt: fc.constant(0),
  turn: fc.constant(0),
  progress: fc.constantFrom(0, 0.5, 1),
  messages: fc.array(message, { maxLength: 4 }),
  artifacts: fc.array(artifact, { maxLength: 3 }),
  error: fc.option(fc.record({ code: word, message: word, timestamp: time }))
})

const blank: TaskRecord = {
  id: 'task', owner: 'o', skill: 'vac_query_docs', input: {}, metadata: {}, state: 'working', createdAt: 0, updatedAt: 0, statusAt: 0, completedAt: null, seq: 1, attempt: 0, turn: 0, progress: 0, messages: [], artifacts: [], error: null
}

test('a task in 0.3 is, to the translator of the SDK, the task that 1.0 has', t => {
  fc.assert(fc.property(task, record => {
    const older = JSON.parse(JSON.stringify(to03(record))) as Json
    const newer = JSON.parse(JSON.stringify(to10(record))) as Json
    const { payload } = legacyPushNotificationToV1StreamResponse(older)
    t.equal(payload?.$case, 'task')
    const translated = SdkTask.toJSON((payload as { value: SdkTask }).value) as Json
    t.strictSame(translated, SdkTask.toJSON(SdkTask.fromJSON(newer)))
  }), RUNS)
  t.end()
})

test('a message of 1.0 or 0.3 comes back as its client sent it', t => {
  fc.assert(fc.property(fc.record({
    messageId: word,
    parts: fc.array(fc.oneof(
      fc.record({ text: fc.string(), filename: word, mediaType: word }), fc.record({ raw: base64, metadata: struct }), fc.record({ url, mediaType: word }), fc.record({ data: fc.jsonValue() })
    ), { minLength: 1, maxLength: 4 }),
    metadata: struct,
    extensions: fc.array(word),
    referenceTaskIds: fc.array(word)
  }), sample => {
    const said = JSON.parse(JSON.stringify({ ...sample, role: 'ROLE_USER', contextId: 'c' })) as Json
    const read = read10({ message: said }).message
    const record = { ...blank, contextId: 'c', messages: [{ ...read, role: 'user' as const, timestamp: 0 }] }
    t.strictSame(JSON.parse(JSON.stringify(to10(record as TaskRecord).history)), [{ ...said, taskId: blank.id }])
  }), RUNS)
  fc.assert(fc.property(fc.record({
    messageId: word,
    parts: fc.array(fc.oneof(
      fc.record({ kind: fc.constant('text'), text: fc.string(), metadata: struct }), fc.record({ kind: fc.constant('file'), file: fc.record({ name: word, mimeType: word, bytes: base64 }) }),
      fc.record({ kind: fc.constant('file'), file: fc.record({ uri: url }) }), fc.record({ kind: fc.constant('data'), data: struct })
    ), { minLength: 1, maxLength: 4 }),
    metadata: struct
  }), sample => {
    const said = JSON.parse(JSON.stringify({ ...sample, kind: 'message', role: 'user', contextId: 'c' })) as Json
    const read = read03({ message: said }).message
    const record = { ...blank, contextId: 'c', messages: [{ ...read, role: 'user' as const, timestamp: 0 }] }
    t.strictSame(JSON.parse(JSON.stringify(to03(record as TaskRecord).history)), [{ ...said, taskId: blank.id }])
  }), RUNS)
  t.end()
})

test('the description has every text and artifact of a task, and only states of the contract', t => {
  const STATES: readonly TaskState[] = ['submitted', 'working', 'input-required', 'completed', 'failed', 'canceled']
  fc.assert(fc.property(task, record => {
    const told = toDescription(record)
    t.ok(STATES.includes(told.state))
    t.strictSame(told.messages.map(({ role, parts }) => [role, parts.map(({ text }) => text)]), record.messages.map(({ role, parts }) => [role, parts.flatMap(({ text }) => text ?? [])]))
    t.strictSame(told.artifacts.map(({ name, content }) => [name, content]), record.artifacts.map(({ name, parts }) => [name, { parts }]))
  }), RUNS)
  t.end()
})

test('what 0.3 has no name for is answered with the nearest that it has', t => {
  const parts: TaskPart[] = [{ type: 'text', text: 'a', filename: 'a.md', mediaType: 'text/markdown' }, { type: 'data', data: [1, 2] }]
  const { history } = to03({ ...blank, messages: [{ role: 'user', parts, timestamp: 0, id: 'm' }] })
  t.match(history, [{ parts: [{ kind: 'text', text: 'a' }, { kind: 'data', data: { value: [1, 2] } }] }])
  t.end()
})
