import { ClientFactory } from '@a2a-js/sdk/client'
import { Message, type Task } from '@a2a-js/sdk'
import { ClientFactory as ClientFactory03 } from 'a2a-js-0-3/client'
import { test } from 'tap'
import { published } from '../../../packages/a2a-client/test/fixtures/published.js'
import { PROBES, questions } from '../../../test/probes/index.mjs'
import '../../../test/fixtures/timeout.mjs'
import { createHost } from '../src/index.js'

let made = 0

/** Asks an agent by the published client of its version. */
const CLIENTS = {
  async '1.0' (url: string, text: string): Promise<string> {
    const client = await new ClientFactory().createFromUrl(url)
    const message = Message.fromJSON({ messageId: `ring-${++made}`, role: 'ROLE_USER', parts: [{ text }] })
    const { artifacts } = await client.sendMessage({ tenant: '', configuration: undefined, metadata: undefined, message }) as Task
    const content = artifacts[0]?.parts[0]?.content
    return content?.$case === 'text' ? content.value : 'no text'
  },
  async '0.3' (url: string, text: string): Promise<string> {
    const client = await new ClientFactory03().createFromUrl(url)
    const task = await client.sendMessage({ message: { kind: 'message', messageId: `ring-${++made}`, role: 'user', parts: [{ kind: 'text', text }] } }) as { artifacts?: Array<{ parts: Array<{ text?: string }> }> }
    return task.artifacts?.[0]?.parts[0]?.text ?? 'no text'
  }
}

for (const [outer, inner] of [['0.3', '1.0'], ['1.0', '0.3']] as const) {
  test(`a ring: Polyvac, an agent of SDK ${outer} with its client, Polyvac, an agent of SDK ${inner}`, async t => {
    let url = ''
    const end = await published(t, inner)
    const front = await published(t, outer, { answer: async text => `the inner one: ${await CLIENTS[outer](url, `${text}!`)}` })
    const app = await createHost({
      vacs: ['demo'],
      stream_interpreter: 'echo',
      enable_a2a_agent: true,
      enable_mcp_server: true,
      a2a: { default_vac: 'end' },
      a2a_agents: [{ name: 'front', url: front.url }, { name: 'end', url: end.url }],
      tasks: { store: 'memory' },
      server: { logger: false }
    })
    t.teardown(() => app.close())
    url = await app.listen({ port: 0, host: '127.0.0.1' })
    const asked = questions('hello', 'front', { direct: PROBES.direct, openai: PROBES.openai, a2a: PROBES.a2a })
    for (const [what, { path, body, headers }, probe] of asked) {
      const { payload } = await app.inject({ method: 'POST', url: path, payload: body, headers: { ...headers } })
      t.equal(probe.textOf(payload), 'the inner one: You said: hello!', what)
    }
    t.equal(front.messages.length, asked.length)
    t.equal(end.messages.length, asked.length, 'each question came once')
    t.match(end.messages[0], { text: 'hello!', metadata: { 'polyvac/hops': 1 } })
  })
}

test('a question of a remote agent is asked over the protocols of conversations, and the reply goes to its task', async t => {
  const peer = await published(t, '1.0')
  const app = await createHost({
    vacs: ['demo'], stream_interpreter: 'echo', a2a_agents: [{ name: 'peer', url: peer.url }], tasks: { store: 'memory' }, server: { logger: false }
  })
  t.teardown(() => app.close())
  const post = async (url: string, payload: object) => (await app.inject({ method: 'POST', url, payload })).json()
  const asked = await post('/vac/peer', { user_input: 'ask', conversation_id: 'new' })
  t.match(asked, { input_required: 'Which city?', conversation_id: String })
  t.match(await post('/vac/peer', { user_input: 'Bern', conversation_id: asked.conversation_id }), { answer: 'You said: Bern' })
  const [question, reply] = peer.messages
  t.ok(question!.text === 'ask' && reply!.text === 'Bern')
  t.equal(reply!.taskId, asked.metadata.remote.task_id)
  const responses = '/openai/v1/responses'
  const first = await post(responses, { model: 'peer', input: 'ask' })
  await post(responses, { model: 'peer', input: 'Basel', previous_response_id: first.id })
  t.equal(peer.messages.length, 4)
  t.match(peer.messages[3], { text: 'Basel', taskId: String })
})
