import { randomUUID } from 'node:crypto'
import { eventsOf, jsonOf } from './events.mjs'

const rpc = (method, params) => ({ jsonrpc: '2.0', id: 1, method, params })
const skill = (method, kind) => (text, vac) => ({ path: `/a2a/${method}`, body: rpc(method, { skillName: `vac_${kind}_${vac}`, input: { query: text } }) })

const sent = (skillId, more) => ({ message: { messageId: randomUUID(), metadata: { skillId }, ...more } })
const message03 = (method, kind) => (text, vac) => ({
  path: '/a2a', body: rpc(method, sent(`vac_${kind}_${vac}`, { kind: 'message', role: 'user', parts: [{ kind: 'text', text }] }))
})
const v1 = (kind, path, toBody) => (text, vac) => ({
  path, body: toBody(sent(`vac_${kind}_${vac}`, { role: 'ROLE_USER', parts: [{ text }] })), headers: { 'a2a-version': '1.0' }
})
const message1 = (method, kind) => v1(kind, '/a2a', params => rpc(method, params))

const textIn = ({ parts = [] } = {}) => parts.map(({ text = '' }) => text).join('')

/** The task, or what each event of a stream has of it, in any dialect and binding. */
function viewsOf (body) {
  const whole = jsonOf(body)
  return (whole === undefined ? eventsOf(body).map(({ data }) => data) : [whole]).map(data => {
    const result = data?.result ?? data?.data ?? data
    return result?.task ?? result?.artifactUpdate ?? result?.statusUpdate ?? result ?? {}
  })
}

const piecesOf = body => viewsOf(body).map(({ delta, artifact }) => delta ?? textIn(artifact)).join('')

export const a2a = {
  isTask: true,
  ask: {
    'tasks/send': skill('tasks/send', 'query'),
    'message/send': message03('message/send', 'query'),
    SendMessage: message1('SendMessage', 'query'),
    'message:send': v1('query', '/a2a/v1/message:send', params => params)
  },
  stream: {
    'tasks/sendSubscribe': skill('tasks/sendSubscribe', 'stream'),
    'message/stream': message03('message/stream', 'stream'),
    SendStreamingMessage: message1('SendStreamingMessage', 'stream'),
    'message:stream': v1('stream', '/a2a/v1/message:stream', params => params)
  },
  textOf (body) {
    const artifact = viewsOf(body).at(-1)?.artifacts?.[0]
    return artifact === undefined ? piecesOf(body) : artifact.content?.answer ?? artifact.content?.final_answer ?? textIn(artifact)
  },
  piecesOf,
  withSteps ({ body, ...request }) {
    const { params = body } = body
    const asked = 'message' in params ? { ...params, metadata: { steps: true } } : { ...params, clientMetadata: { steps: true } }
    return { ...request, body: params === body ? asked : { ...body, params: asked } }
  },
  stepsOf: body => viewsOf(body).flatMap(({ metadata, status }) =>
    metadata?.steps ?? status?.message?.parts?.flatMap(({ data }) => data?.step ?? []) ?? []),
  errorOf (body) {
    const { error, status } = viewsOf(body).at(-1) ?? {}
    return error ?? (/failed|rejected/i.test(status?.state) ? { code: status.message?.metadata?.code, message: textIn(status.message) } : undefined)
  },
  usageOf: body => viewsOf(body).findLast(({ metadata }) => metadata?.usage !== undefined)?.metadata.usage
}
