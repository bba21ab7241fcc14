// Which part of a server a sample of its CPU profile belongs to.
import { Session } from 'node:inspector/promises'

/** Time in µs between two samples: short requests take some tens of µs, so thousands of requests are sampled. */
const INTERVAL_US = 200

/** In the order of a request. The first frame from the top of a stack whose file matches decides. */
export const LAYERS = [
  ['HTTP of Node.js', /node:_http_(?:server|incoming|common)|node:internal\/(?:http|url|timers)/],
  ['routing', /find-my-way|fastify\/lib\/(?:route|request|handle-request|context)\.js/],
  ['hooks', /fastify\/lib\/(?:hooks|wrap-thenable)\.js/],
  ['parsing', /content-type-parser|secure-json-parse|core\/dist\/http\/(?:request-memory|json-body)|core\/dist\/limits\/json-scan|node:internal\/streams\/readable|node:string_decoder/],
  ['validation', /fastify\/lib\/validation|core\/dist\/(?:http\/validation|json-schema)|ajv|typebox/],
  ['authentication', /packages\/auth|core\/dist\/access\/(?:authenticate|authentication|principal|open-callers)/],
  ['access', /core\/dist\/(?:access|registry)/],
  ['memory budget', /core\/dist\/limits|core\/dist\/http\/(?:open-|client-disconnect)/],
  ['log record', /telemetry\/call-record|\/pino|fast-redact|sonic-boom|fastify\/lib\/logger/],
  ['telemetry', /core\/dist\/telemetry|opentelemetry/],
  ['steps', /interpreter\/(?:run-steps|agent-calls)|vac\/(?:read-step|step)/],
  ['interpreter', /core\/dist\/(?:interpreter|vac|basics)|bench\/parts\/(?:interpreters|task-interpreters|mcp-apps|bare-app|gateway-app)/],
  ['tasks and their store', /packages\/(?:tasks|runs|sqlite)|better-sqlite3|node:sqlite/],
  ['protocol', /packages\/[^/]+\/dist|modelcontextprotocol/],
  ['serialisation', /fast-json-stringify|fastify\/lib\/schema/],
  ['write', /fastify\/lib\/reply|node:_http_outgoing|node:net|node:internal\/(?:stream_base_commons|streams)|node:child_process/]
]
export const GARBAGE = 'garbage collection'
/** Native code without a frame of a script below it, and the queues of promises and callbacks. */
export const REST = 'event loop and rest'

/** Samples this process until the function that it returns is called, which resolves to the µs of each layer. */
export async function profileLayers () {
  const session = new Session()
  session.connect()
  await session.post('Profiler.enable')
  await session.post('Profiler.setSamplingInterval', { interval: INTERVAL_US })
  await session.post('Profiler.start')
  return async () => {
    const { profile } = await session.post('Profiler.stop')
    session.disconnect()
    return timesOf(profile)
  }
}

function timesOf ({ nodes, samples, timeDeltas }) {
  const layers = layersOf(nodes)
  const times = {}
  samples.forEach((id, i) => {
    const layer = layers.get(id)
    if (layer !== undefined) times[layer] = (times[layer] ?? 0) + timeDeltas[i]
  })
  return times
}

/** The layer of each node of the tree of stacks; that of its caller where its own file matches none. */
function layersOf (nodes) {
  const byId = new Map(nodes.map(node => [node.id, node]))
  const layers = new Map()
  const walk = (node, inherited) => {
    const { functionName, url } = node.callFrame
    const own = functionName === '(garbage collector)' ? GARBAGE : layerOf(functionName, url)
    const layer = own ?? inherited
    if (functionName !== '(idle)') layers.set(node.id, layer)
    for (const child of node.children ?? []) walk(byId.get(child), layer)
  }
  walk(nodes[0], REST)
  return layers
}

function layerOf (name, url) {
  // the compiled functions of validators and serializers have no file
  if (url === '') return /^(?:check_|validate\d)/.test(name) ? 'validation' : /^(?:anonymous\d|main)$/.test(name) ? 'serialisation' : undefined
  if (url.endsWith('fastify/lib/reply.js') && /serializ/i.test(name)) return 'serialisation'
  return LAYERS.find(([, file]) => file.test(url))?.[0]
}
