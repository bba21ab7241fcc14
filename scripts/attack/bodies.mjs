// 36 shapes of a body, 13 methods, on every route of /openapi.json and of the tables of the documentation.
import { gzipSync } from 'node:zlib'
import { readFileSync } from 'node:fs'
import { jsonOf, task } from './client.mjs'
import { configuration, root, upstream } from './host.mjs'

const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'TRACE', 'CONNECT', 'PROPFIND', 'SEARCH', 'PURGE', 'LOCK']
/** Statuses above 499 that routes document: switched off, busy, timed out. */
const DOCUMENTED = [501, 503, 504]
const AT_ONCE = 24

const json = 'application/json'
const deep = levels => `${'['.repeat(levels)}${']'.repeat(levels)}`
const multipart = '--b\r\nContent-Disposition: form-data; name="a"\r\n\r\n1\r\n--b--\r\n'

/** `[name, body, content type, further headers]`; a body of undefined sends none. */
const SHAPES = [
  ['no body', undefined, undefined],
  ['an empty body', '', json],
  ['white space', ' \n\t ', json],
  ['text that is not JSON', 'hello', json],
  ['half an object', '{"user_input": "a', json],
  ['two values', '{}{}', json],
  ['null', 'null', json],
  ['a number', '7', json],
  ['a string', '"text"', json],
  ['a list', '[]', json],
  ['a list of lists', '[[1],[2]]', json],
  ['a JSON-RPC batch', JSON.stringify([{ jsonrpc: '2.0', id: 1, method: 'tasks/get', params: {} }, { jsonrpc: '2.0', id: 1, method: 'ping' }]), json],
  ['an empty object', '{}', json],
  ['400,000 nested lists', deep(400_000), json],
  ['65 levels', `{"a":${deep(65)}}`, json],
  ['4 MiB and a byte', `{"user_input":"${'x'.repeat(4 * 1024 * 1024 - 16)}"}x`, json],
  ['a string of 800,000 characters', `{"user_input":"${'y'.repeat(800_000)}"}`, json],
  ['100,000 keys', `{${Array.from({ length: 100_000 }, (_, i) => `"k${i}":0`).join()}}`, json],
  ['bytes that are not UTF-8', Buffer.from([0x7b, 0x22, 0x61, 0x22, 0x3a, 0x22, 0xff, 0xfe, 0xc3, 0x28, 0x22, 0x7d]), json],
  ['a byte order mark', '\ufeff{"user_input":"a"}', json],
  ['NUL in a string', '{"user_input":"a\\u0000b","method":"\\u0000"}', json],
  ['a raw NUL', '{"user_input":"a\u0000"}', json],
  ['a lone surrogate', '{"user_input":"\\ud800","id":"\\udfff","skillName":"\\ud800"}', json],
  ['__proto__', '{"__proto__":{"polluted":true},"user_input":"a"}', json],
  ['constructor.prototype', '{"constructor":{"prototype":{"polluted":true}},"user_input":"a"}', json],
  ['a key twice', '{"user_input":"a","user_input":5,"jsonrpc":"2.0","jsonrpc":1}', json],
  ['1e400', '{"id":1e400,"stream_timeout":1e400,"user_input":"a","limit":-1e400}', json],
  ['ids of all kinds', '{"jsonrpc":"2.0","id":{"a":[1.5,null]},"method":["tasks/send"],"params":7}', json],
  ['a wrong version', '{"jsonrpc":"1.0","id":null,"method":"tasks/send","params":{}}', json],
  ['types mixed up', '{"user_input":{},"chat_history":7,"messages":{},"model":[],"server":1,"tool":{},"uri":[],"arguments":[],"message":3,"params":[]}', json],
  ['a compressed body', gzipSync('{"user_input":"a"}'), json, { 'content-encoding': 'gzip' }],
  ['text/plain', 'hello', 'text/plain'],
  ['an odd content type', '{}', 'application/;;=\t"x'],
  ['multipart', multipart, 'multipart/form-data; boundary=b'],
  ['a form', 'vac=demo&question=%00%ff&a[__proto__]=1', 'application/x-www-form-urlencoded'],
  ['chunks', '{"user_input":"in chunks"}', json, { 'transfer-encoding': 'chunked' }]
].map(([name, body, ...more]) => [name, body === undefined ? undefined : Buffer.from(body), ...more])

/** Paths of tables such as "| GET `/a`, `/b/:id` | …" and of headings. */
function documentedPaths () {
  const pages = ['packages/vac', 'packages/a2a', 'packages/mcp-server', 'packages/mcp-gateway'].map(name => `${name}/README.md`)
  const text = [...pages, 'docs/reference/http.md', 'docs/reference/a2a-routes.md', 'docs/reference/mcp-routes.md']
    .map(page => readFileSync(`${root}/${page}`, 'utf8').match(/^(?:\|.*|#+ .*)$/gm).join('\n')).join('\n')
  return [...text.matchAll(/(?:GET|POST|DELETE|,|###?#? \w+) `?(\/[a-z.][\w./:<>{}-]*)/g)].map(([, path]) => path)
}

/** Each route of the host, with a value in place of each parameter. */
export async function routesOf (context) {
  const { paths } = jsonOf(await context.send({ path: '/openapi.json' }))
  const { taskId } = jsonOf(await context.post('/a2a/tasks/send', task('hello'))).result
  const values = { server_name: 'upstream', taskId, task_id: taskId, model: 'demo' }
  const concrete = path => path.replace(/[{:<](\w+)[}>]?/g, (whole, name, at) => {
    if (name === 'send' || name === 'stream') return whole
    return values[name] ?? (name === 'id' && !path.includes('Configs') ? taskId : name === 'id' ? 'hook' : 'demo')
  })
  const all = [...Object.keys(paths), ...documentedPaths(), '/', '/no/such/path', `/a2a/v1/tasks/${taskId}:cancel`, `/a2a/v1/tasks/${taskId}:subscribe`]
  return { paths, routes: [...new Set(all.map(concrete))].sort() }
}

/** Runs jobs, `AT_ONCE` at a time. */
export async function pool (jobs, run) {
  let next = 0
  await Promise.all(Array.from({ length: AT_ONCE }, async () => { while (next < jobs.length) await run(jobs[next++]) }))
}

const isWrong = ({ status }, method) => status >= 500 ? !DOCUMENTED.includes(status) : status < 200 && !(method === 'CONNECT' && status === 0)

export const group = {
  host: () => ({ config: configuration({ mcp_servers: [upstream()] }) }),
  async entries (context) {
    const { routes } = await routesOf(context)
    context.notes.push(`${SHAPES.length} bodies × ${METHODS.length} methods × ${routes.length} routes`)
    const statuses = new Map()
    const entries = routes.map(path => ({
      name: path,
      async attack () {
        const jobs = METHODS.flatMap(method => SHAPES.map(([name, body, type, more]) => ({ method, name, body, type, more })))
        const wrong = []
        await pool(jobs, async ({ method, name, body, type, more }) => {
          const seen = await context.send({ method, path, body, headers: { ...type !== undefined && { 'content-type': type }, ...more }, readMs: 20 })
          statuses.set(seen.status, (statuses.get(seen.status) ?? 0) + 1)
          if (isWrong(seen, method)) wrong.push({ method, name, ...seen })
        })
        return { tried: jobs.length, wrong }
      },
      holds: ({ wrong }) => wrong.map(({ method, name, status, text }) => `${method} with ${name}: ${status} ${text.slice(0, 160)}`)
    }))
    return [...entries, {
      name: 'statuses',
      async attack () { return { tried: 0, note: [...statuses].sort().map(([status, count]) => `${status} × ${count}`).join(', ') } }
    }]
  }
}
