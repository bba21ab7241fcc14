import { ASKING_TOOL, SERVER, TOOL } from '../callers.js'
import { rowsOf, type Row } from '../row.js'

const DOCUMENT = 'demo://resource/static/document/features.md'
const TEMPLATE = 'demo://resource/dynamic/text/{resourceId}'
const PROMPT = 'simple-prompt'
const get = (path: string) => () => ({ method: 'GET', path })
const call = (tool: string, more: object = {}): object => ({ server: SERVER, tool, arguments: tool === ASKING_TOOL ? {} : { message: 'hello' }, ...more })
const events = { accept: 'text/event-stream' }

/** The REST routes of external MCP servers. */
export const gatewayRows: readonly Row[] = rowsOf({ protocol: 'gateway' }, [
  { route: 'GET /mcp/servers', thing: 'server', kind: 'list', mark: `"${SERVER}"`, make: get('/mcp/servers') },
  { route: 'GET /mcp/tools', thing: 'tool', kind: 'list', mark: `"name":"${TOOL}"`, make: get('/mcp/tools') },
  { route: 'GET /mcp/tools/:server_name', thing: 'server', make: name => ({ method: 'GET', path: `/mcp/tools/${name}` }) },
  { route: 'GET /mcp/openapi.json', thing: 'tool', kind: 'list', mark: `"${SERVER}__${TOOL}"`, make: get('/mcp/openapi.json') },
  { route: 'GET /mcp/openapi/:file', thing: 'server', make: name => ({ method: 'GET', path: `/mcp/openapi/${name}.json` }) },
  { route: 'GET /mcp/openapi/:file', about: 'tools', thing: 'tool', kind: 'list', mark: `"operationId":"${TOOL}"`, make: get(`/mcp/openapi/${SERVER}.json`) },
  { route: 'POST /mcp/tools/:server_name/:tool_name', thing: 'tool', make: tool => ({ path: `/mcp/tools/${SERVER}/${tool}`, body: tool === ASKING_TOOL ? {} : { message: 'hello' } }) },
  { route: 'POST /mcp/tools/:server_name/:tool_name', thing: 'tool', kind: 'stream', make: tool => ({ path: `/mcp/tools/${SERVER}/${tool}`, headers: events, body: { message: 'hello' } }) },
  { route: 'POST /mcp/tools/:server_name/:tool_name', about: 'server', thing: 'server', make: server => ({ path: `/mcp/tools/${server}/nosuch`, body: {} }) },
  { route: 'POST /mcp/call', thing: 'tool', make: tool => ({ path: '/mcp/call', body: call(tool) }) },
  { route: 'POST /mcp/call', thing: 'tool', kind: 'stream', make: tool => ({ path: '/mcp/call', headers: events, body: call(tool) }) },
  { route: 'POST /mcp/call', about: 'server', thing: 'server', make: server => ({ path: '/mcp/call', body: { ...call(TOOL), server, tool: 'nosuch' } }) },
  {
    route: 'POST /mcp/call',
    about: 'state of a call that asks',
    thing: 'parked',
    kind: 'continue',
    changes: ['working', 'input-required', 'completed'],
    make: requestState => ({ path: '/mcp/call', body: call(ASKING_TOOL, { requestState, inputResponses: { 'input-1': { action: 'decline' } } }) })
  },
  { route: 'GET /mcp/resources', thing: 'wholeServer', kind: 'list', mark: DOCUMENT, make: get('/mcp/resources') },
  { route: 'GET /mcp/resources', about: 'of one server', thing: 'server', make: name => ({ method: 'GET', path: `/mcp/resources?server=${name}` }) },
  { route: 'GET /mcp/resources/templates', thing: 'wholeServer', kind: 'list', mark: TEMPLATE, make: get('/mcp/resources/templates') },
  { route: 'GET /mcp/prompts', thing: 'wholeServer', kind: 'list', mark: `"${PROMPT}"`, make: get('/mcp/prompts') },
  {
    route: 'POST /mcp/resources/read', thing: 'wholeServer', names: [DOCUMENT, DOCUMENT.replace('features', 'nothings')], make: uri => ({ path: '/mcp/resources/read', body: { server: SERVER, uri } })
  },
  { route: 'POST /mcp/prompts/get', thing: 'wholeServer', names: [PROMPT, 'nosuch-prompt'], make: prompt => ({ path: '/mcp/prompts/get', body: { server: SERVER, prompt } }) }
])
