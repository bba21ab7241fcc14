import { ok, problem, warning, type Finding } from './finding.js'
import { ACCEPT, isAbsent, mcpPath, rpc } from './json-rpc.js'
import type { HttpClient } from '../client/http-client.js'

const ORIGIN = 'https://other-origin.invalid'
/** What pages need to read of responses of MCP. */
const NEEDED = ['mcp-session-id', 'www-authenticate']
const REMEDY = 'name the origins of your pages where the application sets CORS, or in the proxy'

/** What browsers of another origin may do. */
export async function * checkCors (client: HttpClient): AsyncGenerator<Finding> {
  const path = mcpPath(client)
  const preflight = await client.send(path, {
    method: 'OPTIONS', headers: { origin: ORIGIN, 'access-control-request-method': 'POST', 'access-control-request-headers': 'content-type,mcp-session-id' }
  })
  const answered = await client.send(path, { headers: { origin: ORIGIN, accept: ACCEPT }, body: rpc('ping', {}) })
  const hasMcp = !isAbsent(answered)
  const { headers } = hasMcp ? answered : await client.send('health', { headers: { origin: ORIGIN } })
  const allowed = preflight.headers.get('access-control-allow-origin') ?? headers.get('access-control-allow-origin')
  const isOpen = [preflight.headers, headers].some(sent => sent.get('access-control-allow-credentials') === 'true')
  const ofDelete = await client.send(path, { method: 'OPTIONS', headers: { origin: ORIGIN, 'access-control-request-method': 'DELETE' } })
  const methods = ofDelete.headers.get('access-control-allow-methods')
  if (hasMcp && methods !== null && !/(?:^|[,\s])(?:DELETE|\*)(?:[,\s]|$)/i.test(methods)) {
    yield warning('cors', `pages may send ${methods}, and cannot end a session of MCP`, 'allow DELETE with Access-Control-Allow-Methods')
  }
  if (allowed === null) yield ok('cors', 'pages of unknown origins may not read responses')
  else if (allowed !== '*' && allowed !== ORIGIN) yield ok('cors', `pages of ${allowed} may read responses`)
  else if (isOpen) yield problem('cors', `pages of any origin may send credentials (allowed: ${allowed})`, REMEDY)
  else {
    const exposed = (headers.get('access-control-expose-headers') ?? '').toLowerCase().split(',').map(name => name.trim())
    const hidden = hasMcp && !exposed.includes('*') ? NEEDED.filter(name => !exposed.includes(name)) : []
    if (hidden.includes('mcp-session-id')) {
      yield warning('cors', `pages may read responses of MCP but not ${hidden.join(', ')}`, `expose ${hidden.join(', ')} with Access-Control-Expose-Headers`)
    } else yield ok('cors', 'pages of any origin may read responses, without credentials')
  }
}
