import { test } from 'tap'
import { withRunTurn } from '@polyvac/core/plugin'
import { until } from '../../../test/fixtures/until.js'
import { hear, open, wire } from './fixtures/remote.js'
import { published } from './fixtures/published.js'

const SERVERS = [
  { name: 'SDK 1.3.0 over JSON-RPC', version: '1.0', binding: 'JSONRPC' },
  { name: 'SDK 1.3.0 over HTTP+JSON', version: '1.0', binding: 'HTTP+JSON' },
  { name: 'SDK 0.3.14', version: '0.3', binding: 'JSONRPC' }
] as const

for (const { name, version, binding } of SERVERS) {
  test(`${name}: text, progress, files and data`, async t => {
    const peer = await published(t, version, { binding })
    const { vac, remote } = open(t, peer.url)
    const said = await hear(vac, 'hello')
    t.equal(said.text, 'You said: hello')
    t.match(said.answer, { answer: 'You said: hello', source_documents: [], metadata: { remote: { agent: 'peer', task_id: String, context_id: String } } })
    t.match(said.chunks.find(chunk => typeof chunk === 'object' && 'progress' in chunk), { message: 'thinking' })
    t.match(remote.states(), [{ name: 'peer', isReady: true, title: `peer ${version}`, protocol: `${version} ${binding}` }])
    const files = await hear(vac, 'files', { steps: 'all' })
    t.match(files.answer, { answer: '', artifacts: [{ name: 'picture', parts: [{ bytes: 'AAAA', filename: 'a.png', media_type: 'image/png' }] }, { name: 'facts', parts: [{ data: { a: 1 } }] }] })
    const steps = files.chunks.filter(chunk => typeof chunk === 'object' && ('file' in chunk || 'data' in chunk))
    t.match(steps, [{ file: { name: 'a.png', bytes: 'AAAA' } }, { data: { type: 'facts', value: { a: 1 } } }], 'and as steps')
    t.equal((await vac.ask({ question: 'message' })).answer, 'Only a message')
    t.equal((await vac.ask({ question: 'status' })).answer, 'only in the status', 'an agent without artifacts')
    await t.rejects(vac.ask({ question: 'fail' }), { code: 'REMOTE_AGENT_FAILED', message: /the oven is cold/ })
  })

  test(`${name}: text that is replaced comes again, whole`, async t => {
    const peer = await published(t, version, { binding })
    const { text, answer } = await hear(open(t, peer.url).vac, 'replace')
    t.equal(answer.answer, 'the text')
    t.equal(text, 'a draft\n\nthe text')
  })

  test(`${name}: an agent that does not stream is read until it ends`, async t => {
    const peer = await published(t, version, { binding, card: { capabilities: { streaming: false, pushNotifications: false } } })
    const { vac } = open(t, peer.url)
    t.equal((await vac.ask({ question: 'hello' })).answer, 'You said: hello')
    const held = vac.ask({ question: 'hold' })
    await until(() => peer.messages.some(({ text }) => text === 'hold'), 'the message came')
    peer.release()
    t.equal((await held).answer, 'one two')
  })

  test(`${name}: a stream that breaks continues, without lost or doubled text`, async t => {
    const peer = await published(t, version, { binding })
    const line = await wire(t, peer.url)
    // its card leads over the line
    const { url } = await published(t, version, {
      binding,
      card: version === '1.0'
        ? { supportedInterfaces: [{ url: line.url, protocolBinding: binding, tenant: '', protocolVersion: '1.0' }] }
        : { url: line.url }
    })
    let text = ''
    for await (const chunk of open(t, url).vac.stream({ question: 'hold' })) {
      if (typeof chunk === 'string') text += chunk
      if (chunk !== 'one ') continue
      line.cut()
      // a server of the SDK reads no further events for a stream that is closed: it has to be open again
      const [, ...later] = line.sent
      t.strictSame(later, [])
      void until(() => line.sent.slice(1).some(text => text.includes('one ')), 'the stream is opened again').then(peer.release)
    }
    t.equal(text, 'one two')
    t.equal(peer.messages.length, 1, 'the message was sent once')
  })

  test(`${name}: a caller who leaves cancels the remote task`, async t => {
    const peer = await published(t, version, { binding })
    const { vac } = open(t, peer.url)
    const stop = new AbortController()
    await t.rejects(async () => {
      for await (const chunk of vac.stream({ question: 'slow', signal: stop.signal })) if (chunk === 'one ') stop.abort()
    }, { code: 'CALL_ABORTED' })
    await until(() => peer.canceled.length === 1, 'the task is canceled')
  })

  test(`${name}: a task that the agent does not know any more is lost, and is not begun again`, async t => {
    const peer = await published(t, version, { binding })
    const tasks = { get: async () => ({ taskId: 'gone', contextId: 'c', state: 'input-required' as const, digest: 'of another question' }), set: async () => {} }
    await t.rejects(open(t, peer.url, {}, { tasks }).vac.ask({ question: 'Bern', extra: withRunTurn({}, { id: 'r1', turn: 0 }) }), { code: 'REMOTE_AGENT_TASK_LOST', statusCode: 502 })
    t.strictSame(peer.messages, [])
  })

  test(`${name}: a task that waits for an authorization goes on by itself, and the next turn follows it`, async t => {
    const peer = await published(t, version, { binding })
    const { vac } = open(t, peer.url)
    const extra = withRunTurn({}, { id: 'run-1', turn: 0 })
    t.match(await vac.ask({ question: 'auth', extra }), { auth_required: 'sign in at https://login.example' })
    peer.release()
    await until(() => peer.completed().length > 0, 'the task has ended')
    const history = [{ role: 'user' as const, content: 'auth' }, { role: 'assistant' as const, content: 'sign in at https://login.example' }]
    t.equal((await vac.ask({ question: 'done', history, extra })).answer, 'signed in')
    t.equal(peer.messages.length, 1, 'no second message was sent')
    t.strictSame(peer.canceled, [])
  })

  test(`${name}: the reply of a run goes to the task that asked`, async t => {
    const peer = await published(t, version, { binding })
    const { vac } = open(t, peer.url)
    const extra = withRunTurn({ conversation: 'c-1' }, { id: 'run-1', turn: 0 })
    const asked = await vac.ask({ question: 'ask', extra })
    t.match(asked, { input_required: 'Which city?' })
    const message = { id: 'x', metadata: { form: 7, skillId: 'vac_stream_peer' } }
    const told = await vac.ask({ question: 'Bern', history: [{ role: 'user', content: 'ask' }, { role: 'assistant', content: 'Which city?' }], extra: { ...extra, message } })
    t.equal(told.answer, 'You said: Bern')
    t.equal(peer.messages.length, 2)
    const [first, second] = peer.messages
    t.match(first, { messageId: /^run-1-/ })
    t.match(second, { messageId: /^run-1-/, taskId: String, contextId: String, metadata: { form: 7, 'polyvac/hops': 1 } })
    t.not(first!.messageId, second!.messageId)
    t.notOk('skillId' in second!.metadata)
  })
}
