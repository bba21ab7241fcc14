import { SERVER, VAC } from '../callers.js'
import { rowsOf, type Row } from '../row.js'

const question = { user_input: 'hello' }
const messages = [{ role: 'user', content: 'hello' }]
const form = { 'content-type': 'application/x-www-form-urlencoded' }
const get = (path: string) => () => ({ method: 'GET', path })

/** VACs over direct HTTP, the OpenAI-compatible API, search and the front page. */
const vacs: Row[] = rowsOf({ protocol: 'HTTP', thing: 'vac' }, [
  { route: 'GET /vac', kind: 'list', make: get('/vac') },
  { route: 'POST /vac/:vector_name', make: name => ({ path: `/vac/${name}`, body: question }) },
  ...['text/plain', 'text/event-stream', 'application/x-ndjson'].map(accept => ({
    route: 'POST /vac/streaming/:vector_name', about: accept, kind: 'stream' as const, make: (name: string) => ({ path: `/vac/streaming/${name}`, headers: { accept }, body: question })
  })),
  { route: 'POST /vac/streaming/:vector_name/sse', kind: 'stream', make: name => ({ path: `/vac/streaming/${name}/sse`, body: question }) },
  { route: 'GET /vac/:vector_name/search', make: name => ({ method: 'GET', path: `/vac/${name}/search?q=ships` }) },
  { route: 'POST /vac/:vector_name/search', make: name => ({ path: `/vac/${name}/search`, body: { search_query: 'ships' } }) },
  { route: 'GET /openai/v1/models', kind: 'list', make: get('/openai/v1/models') },
  { route: 'GET /openai/v1/models/:model', make: name => ({ method: 'GET', path: `/openai/v1/models/${name}` }) },
  { route: 'POST /openai/v1/chat/completions', make: model => ({ path: '/openai/v1/chat/completions', body: { model, messages } }) },
  { route: 'POST /openai/v1/chat/completions', kind: 'stream', make: model => ({ path: '/openai/v1/chat/completions', body: { model, messages, stream: true } }) },
  { route: 'POST /openai/v1/chat/completions/:vector_name', make: name => ({ path: `/openai/v1/chat/completions/${name}`, body: { messages } }) },
  { route: 'POST /openai/v1/chat/completions/:vector_name', kind: 'stream', make: name => ({ path: `/openai/v1/chat/completions/${name}`, body: { messages, stream: true } }) },
  { route: 'GET /', about: 'JSON', kind: 'list', make: get('/') }
])

/** Cards are public; callers with credentials see the VACs that they may use. */
const cards: Row[] = rowsOf({ protocol: 'cards', thing: 'vac', isPublic: true, kind: 'list' }, [
  { route: 'GET /.well-known/agent.json', make: get('/.well-known/agent.json') },
  ...['1.0', '0.3'].map(version => ({ route: 'GET /.well-known/agent-card.json', about: version, make: () => ({ method: 'GET', path: '/.well-known/agent-card.json', headers: { 'a2a-version': version } }) })),
  { route: 'GET /a2a/vacs/:vac/.well-known/agent-card.json', kind: 'read', make: name => ({ method: 'GET', path: `/a2a/vacs/${name}/.well-known/agent-card.json` }) },
  { route: 'GET /.well-known/ai-catalog.json', make: get('/.well-known/ai-catalog.json') }
])

const SAME_FOR_ALL = [
  '/health', '/openapi.json', '/.well-known/jwks.json', '/.well-known/oauth-protected-resource', '/.well-known/oauth-protected-resource/mcp', '/mcp/sign-in',
  '/mcp/sign-in/client.json', '/playground', '/playground/', '/playground/page.js', '/playground/style.css', '/playground/inspector.css', '/playground/theme.css',
  '/playground/icon.svg', '/playground/settings.json'
]

const open: Row[] = rowsOf({ protocol: 'public', isPublic: true }, [
  ...SAME_FOR_ALL.map(path => ({ route: `GET ${path}`, make: get(path) })),
  // the document of the chat, which has nothing of the service
  { route: 'GET /', about: 'page', make: () => ({ method: 'GET', path: '/', headers: { accept: 'text/html' } }) },
  { route: 'GET /playground/parts/:part', make: get('/playground/parts/none.js') },
  { route: 'POST /mcp/sign-in', kind: 'continue', make: () => ({ path: '/mcp/sign-in', headers: form, body: 'ticket=none' }) },
  // its id is sealed: with any other it answers all callers alike, also about a VAC that does not exist
  { route: 'GET /vac/:vector_name/sources/*', names: [VAC, 'unknown'] as const, make: (name: string) => ({ method: 'GET', path: `/vac/${name}/sources/none` }) },
  // of a server without sign-ins, as of one that is not configured
  ...['callback', 'client'].map(page => ({ route: `GET /mcp/sign-in/${page}/:server_name`, names: [SERVER, 'filex'] as const, make: (name: string) => ({ method: 'GET', path: `/mcp/sign-in/${page}/${name}` }) }))
])

/** A caller who may answer an approval of another one is in packages/mcp-gateway/test/approvals.test.ts. */
const approvals: Row[] = rowsOf({ protocol: 'approvals', isSilent: true, names: ['nosuch', 'nothin'] }, [
  { route: 'GET /approvals/:approval_id', make: name => ({ method: 'GET', path: `/approvals/${name}` }) },
  { route: 'POST /approvals/:approval_id', kind: 'cancel', make: name => ({ path: `/approvals/${name}`, body: { approved: true } }) }
])

const administration: Row[] = rowsOf({ protocol: 'administration', thing: 'administration' }, [
  { route: 'GET /ready', make: get('/ready') },
  { route: 'GET /metrics', make: get('/metrics') },
  // of a server that does not exist: what is there goes on for the other rows
  { route: 'POST /mcp/servers/:server_name/restart', kind: 'cancel', names: ['nosuch', 'nothin'], make: name => ({ path: `/mcp/servers/${name}/restart`, body: {} }) }
])

export const httpRows: readonly Row[] = [...vacs, ...cards, ...open, ...approvals, ...administration]
