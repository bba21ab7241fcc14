// Wrong values in each field that a schema of /openapi.json names, and in the fields of JSON-RPC.
import { questions, questionsByPath } from '../../test/probes/index.mjs'
import { pool, routesOf } from './bodies.mjs'
import { jsonOf, modern, rpc } from './client.mjs'
import { configuration, upstream } from './host.mjs'

const long = 'z'.repeat(100_000)
const VALUES = [
  null, true, 0, -1, 1.5, 1e308, Number.MAX_SAFE_INTEGER + 2, '', ' ', '\u0000', '\ud800', '../../etc/passwd', '%2e%2e%2f', '__proto__', 'constructor', "' OR 1=1 --",
  '\r\nX-Injected: 1', '"', '*', 'NEAR(a b)', long, [], [null], [[]], {}, { toString: 1 }, { __proto__: null, then: 1 }, Array.from({ length: 20_000 }, () => 'a')
]
/** What the fields of other requests than questions have; those of questions come from the probes. */
const VALID = { server: 'upstream', tool: 'echo', arguments: {}, uri: 'up://a', prompt: 'p', jsonrpc: '2.0', id: 1 }
const RPC = {
  '/a2a': ['message/send', 'message/stream', 'tasks/get', 'tasks/cancel', 'tasks/resubscribe', 'tasks/pushNotificationConfig/set', 'tasks/pushNotificationConfig/get', 'tasks/pushNotificationConfig/list', 'agent/getAuthenticatedExtendedCard'],
  '/a2a 1.0': ['SendMessage', 'SendStreamingMessage', 'GetTask', 'ListTasks', 'CancelTask', 'SubscribeToTask', 'CreateTaskPushNotificationConfig', 'ListTaskPushNotificationConfigs'],
  '/mcp': ['initialize', 'ping', 'tools/list', 'tools/call', 'resources/list', 'resources/read', 'resources/subscribe', 'prompts/get', 'logging/setLevel', 'completion/complete', 'server/discover', 'subscriptions/listen', 'tasks/get', 'tasks/cancel']
}
const PARAMS = {
  message: { kind: 'message', messageId: 'm', role: 'user', parts: [{ kind: 'text', text: 'hello' }] },
  id: 'x',
  taskId: 'x',
  name: 'vac_query_demo',
  arguments: { query: 'hello' },
  uri: 'up://a',
  cursor: 'x',
  pageSize: 5,
  pushNotificationConfig: { url: 'https://127.0.0.1/' },
  metadata: {},
  configuration: {},
  contextId: 'c',
  tenant: 'demo',
  protocolVersion: '2025-11-25',
  capabilities: {},
  clientInfo: { name: 'a', version: '1' },
  level: 'info',
  notifications: {}
}

export const group = {
  host: () => ({ config: configuration({ mcp_servers: [upstream()] }) }),
  async entries (context) {
    const { paths } = await routesOf(context)
    const { components } = jsonOf(await context.send({ path: '/openapi.json' }))
    const fieldsOf = schema => schema?.$ref === undefined ? Object.entries(schema?.properties ?? {}) : fieldsOf(components.schemas[schema.$ref.split('/').at(-1)])
    const asked = questionsByPath('hello', 'demo')
    const entries = []
    const add = (name, jobs) => entries.push({
      name,
      async attack () {
        const wrong = []
        await pool(jobs, async ({ path, what, body, headers = {} }) => {
          const seen = await context.post(path, body, headers, { readMs: 20 })
          if (seen.status < 200 || (seen.status >= 500 && ![501, 503, 504].includes(seen.status))) wrong.push(`${path} with ${what}: ${seen.status} ${seen.text.slice(0, 200)}`)
        })
        return { tried: jobs.length, wrong }
      },
      holds: ({ wrong }) => wrong
    })
    const shown = value => JSON.stringify(value).slice(0, 40)
    for (const [route, { post }] of Object.entries(paths)) {
      const path = route.replace(/\{\w+\}/g, 'demo')
      const schema = post?.requestBody?.content?.['application/json']?.schema
      const fields = fieldsOf(schema)
      const { body, headers } = asked.get(path) ?? {}
      const method = schema?.properties?.method?.const ?? (path.startsWith('/a2a/tasks/') ? path.slice(5) : undefined)
      const valid = { ...Object.fromEntries(fields.filter(([name]) => name in VALID).map(([name]) => [name, VALID[name]])), ...body ?? (method && rpc(method, {})) }
      const names = [...fields.map(([name]) => name), ...method === undefined ? [] : ['skillName', 'input', 'taskId', 'limit', 'cursor', 'state', 'pushNotificationConfig', 'clientMetadata'].map(name => `params.${name}`)]
      if (names.length > 0) {
        add(path, names.flatMap(name => VALUES.map(value => ({
          path, headers, what: `${name} = ${shown(value)}`, body: name.startsWith('params.') ? { ...valid, params: { skillName: 'vac_query_demo', input: { query: 'hello' }, [name.slice(7)]: value } } : { ...valid, [name]: value }
        }))))
      }
    }
    for (const [name, methods] of Object.entries(RPC)) {
      const [path, version] = name.split(' ')
      for (const method of methods) {
        const { body, headers } = path === '/mcp' ? modern(method, PARAMS) : { body: rpc(method, PARAMS), headers: version === undefined ? {} : { 'a2a-version': version } }
        const jobs = Object.keys(PARAMS).flatMap(field => VALUES.map(value => ({ path, headers, what: `${method}, params.${field} = ${shown(value)}`, body: { ...body, params: { ...body.params, [field]: value } } })))
        add(`${name} ${method}`, [...jobs, ...VALUES.map(value => ({ path, headers, what: `${method}, id = ${shown(value)}`, body: { ...body, id: value } }))])
      }
    }
    const names = ['..', '..%2f..%2fetc', '%00', '%ff', '__proto__', 'constructor', 'hasOwnProperty', 'demo%20', 'DEMO', 'a'.repeat(400), '%c0%ae', 'ｄemo', 'demo/', 'demo;x', '%2e%2e', '\u{1f600}'].map(encodeURI)
    const all = names.flatMap(name => [name, encodeURIComponent(name)])
    const odd = [
      ...all.flatMap(name => questions('hello', name).map(([, request, probe]) => ({ method: 'POST', probe, ...request }))),
      ...['/vac/', '/vac/streaming/', '/openai/v1/models/', '/openai/v1/chat/completions/', '/a2a/vacs/', '/a2a/v1/tasks/', '/mcp/tools/', '/vac/demo/conversations/'].flatMap(path => all.flatMap(name => [
        { method: 'GET', path: path + name }, { method: 'POST', path: path + name, body: {} }
      ]))
    ]
    entries.push({
      name: 'names that are not VACs',
      async attack () {
        const wrong = []
        await pool(odd, async ({ method, path, body, headers, probe }) => {
          const { status, text } = await context.send({ readMs: 120_000, method, path, body: body && JSON.stringify(body), headers: { 'content-type': 'application/json', ...headers } })
          // JSON-RPC refuses the message with 200 before it looks for the VAC
          // an entry above has begun a conversation with such a name: it is one of this caller
          const isOwn = path.startsWith('/vac/demo/conversations/') && text.startsWith(`{"id":${JSON.stringify(decodeURI(path.slice('/vac/demo/conversations/'.length)))},`)
          const isRefused = isOwn || status >= 400 || /^\{"jsonrpc":"2.0".*"error":/.test(text) || probe?.errorOf(text) !== undefined
          if (!isRefused || (status >= 500 && status !== 501)) wrong.push(`${method} ${path.slice(0, 80)}: ${status} ${text.slice(0, 120)}`)
        })
        return { tried: odd.length, wrong }
      },
      holds: ({ wrong }) => wrong
    })
    return entries
  }
}
