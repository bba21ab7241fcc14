import { randomUUID } from 'node:crypto'
import { eventsOf, jsonOf } from './events.mjs'

const rpc = (method, params) => ({ jsonrpc: '2.0', id: 1, method, params })
const skill = (method, kind) => (text, vac) => ({ path: `/a2a/${method}`, body: rpc(method, { skillName: `vac_${kind}_${vac}`, input: { query: text } }) })
const metadata = vac => ({ skillId: `vac_query_${vac}` })

/** The last task of a response in any dialect. */
function taskOf (body) {
  const { result } = jsonOf(body) ?? {}
  return result?.task ?? result ?? eventsOf(body).at(-1)?.data.data
}

export const a2a = {
  ask: {
    'tasks/send': skill('tasks/send', 'query'),
    'tasks/sendSubscribe': skill('tasks/sendSubscribe', 'stream'),
    'A2A 1.0': (text, vac) => ({
      path: '/a2a', body: rpc('SendMessage', { message: { messageId: randomUUID(), role: 'ROLE_USER', parts: [{ text }], metadata: metadata(vac) } }), headers: { 'a2a-version': '1.0' }
    }),
    'A2A 0.3': (text, vac) => ({
      path: '/a2a', body: rpc('message/send', { message: { kind: 'message', messageId: randomUUID(), role: 'user', parts: [{ kind: 'text', text }], metadata: metadata(vac) } })
    })
  },
  textOf (body) {
    const artifact = taskOf(body)?.artifacts?.[0]
    return artifact?.content?.answer ?? artifact?.content?.final_answer ?? artifact?.parts?.map(({ text, data }) => text ?? data?.answer ?? '').join('')
  },
  errorOf: body => jsonOf(body)?.error ?? taskOf(body)?.error
}
