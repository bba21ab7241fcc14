// The client of the suites' client scenarios: a gateway whose only server is that of the scenario. It lists everything,
// calls each tool, reads each resource and fetches each prompt. The suite appends the URL to the command.
import { createGateway } from '@polyvac/mcp-gateway'

const SERVER = 'suite'
const { toolCalls, client_id, client_secret } = JSON.parse(process.env.MCP_CONFORMANCE_CONTEXT || '{}')
const url = process.argv.at(-1)
const oauth = client_secret === undefined ? undefined : { client_id, client_secret, issuer: await issuerOf(url) }
const gateway = createGateway({ servers: { [SERVER]: { url, restart: false, ...oauth !== undefined && { oauth } } } })
gateway.start()
await gateway.settled()
try {
  const tools = await gateway.listTools()
  for (const { name, arguments: args } of toolCalls ?? tools.map(callOf)) await attempt(() => gateway.call(SERVER, name, given(args), { ask }))
  const server = gateway.get(SERVER)
  for (const { uri } of await server.list('resources')) await attempt(() => server.readResource(uri))
  for (const { name } of await server.list('prompts')) await attempt(() => server.getPrompt(name, {}))
  await server.list('templates')
} finally {
  await gateway.close()
}

/** The issuer that an operator would configure: the suite gives each run another port. */
async function issuerOf (url) {
  const { origin, pathname } = new URL(url)
  const { authorization_servers: [issuer] } = await (await fetch(`${origin}/.well-known/oauth-protected-resource${pathname}`)).json()
  return issuer
}

/** A call with a value for each required argument. The echo tool gets the schema of the other tool. */
function callOf ({ name, inputSchema: { properties = {}, required = [] } }, _index, tools) {
  const args = Object.fromEntries(required.map(key => [key, valueOf(properties[key] ?? {})]))
  return name === 'json_schema_echo' ? { name, arguments: { schema: tools.find(tool => tool.name !== name)?.inputSchema } } : { name, arguments: args }
}

function valueOf ({ type, default: value }) {
  const values = { string: 'a', integer: 1, number: 1, boolean: true, object: {}, array: [] }
  return value ?? values[type] ?? null
}

/** The arguments without those that are null, which no schema of the suite permits. */
function given (args) {
  return Object.fromEntries(Object.entries(args).filter(([, value]) => value !== null))
}

/** A user who accepts each form with the values that it proposes. */
async function ask ({ params: { requestedSchema: { properties = {} } = {} } = {} }) {
  return { action: 'accept', content: Object.fromEntries(Object.entries(properties).map(([key, property]) => [key, valueOf(property)])) }
}

/** A failed call is one of the outcomes; the suite judges what was sent. */
async function attempt (work) {
  await work().catch(err => { process.stderr.write(`${err.message}\n`) })
}
