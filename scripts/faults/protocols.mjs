// Requests of the other protocols. Each resolves to `{ response, value }`; `value` is undefined where the answer is not
// the expected one.
import { forms } from '../../test/probes/index.mjs'
import { jsonOf, mcpSession, post, rpc } from '../attack/client.mjs'

const MAX_MS = 15_000
const alone = { alone: true, ms: MAX_MS, readMs: MAX_MS }
const HEARD = 'heard: hello'

const valueOf = (response, isExpected, value = true) => ({ response, value: response.status === 200 && isExpected ? value : undefined })
const hears = response => valueOf(response, response.text.includes(HEARD))

/** Calls that leave nothing behind: tasks are checked one by one. */
export const CALLS = {
  ...Object.fromEntries(forms().filter(([, , { isTask }]) => isTask !== true).map(([what, ask]) => [what, async url => {
    const { path, body, headers } = ask('hello', 'demo')
    return hears(await post(url, path, body, headers, alone))
  }])),
  /** Its three requests go to three replicas. */
  async 'mcp session' (url) {
    const { status, headers } = await mcpSession(url)
    if (status !== 200) return { response: { status, text: 'initialize' } }
    return hears(await post(url, '/mcp', rpc('tools/call', { name: 'vac_query_demo', arguments: { query: 'hello' } }), headers, alone))
  }
}

const message = (key, more) => ({ messageId: key, ...more })
const QUERY = 'words 4 20'

/** Messages of public A2A, which wait for the end. `value` is `{ task, isEnded }`. */
export const MESSAGES = {
  async 'A2A 1.0' (url, key) {
    const response = await post(url, '/a2a', rpc('SendMessage', { message: message(key, { role: 'ROLE_USER', parts: [{ text: QUERY }] }) }), { 'a2a-version': '1.0' }, alone)
    const task = jsonOf(response)?.result?.task
    return valueOf(response, task !== undefined, { task: task?.id, isEnded: task?.status.state === 'TASK_STATE_COMPLETED' })
  },
  async 'A2A 0.3' (url, key) {
    const response = await post(url, '/a2a', rpc('message/send', { message: message(key, { kind: 'message', role: 'user', parts: [{ kind: 'text', text: QUERY }] }) }), {}, alone)
    const task = jsonOf(response)?.result
    return valueOf(response, task !== undefined, { task: task?.id, isEnded: task?.status.state === 'completed' })
  }
}
