import { createHost, parseConfig } from '@polyvac/host'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'tap'
import { parse } from 'yaml'
import { isTelemetryWanted } from '../apps/host/src/telemetry/open-telemetry.js'
import { root } from './fixtures/pages.js'
import { until } from './fixtures/until.js'

const read = (name: string): string => readFileSync(join(root, 'examples/telemetry', name), 'utf8')
/** The metrics that an expression of PromQL names. */
const namesIn = (expression: string): string[] => expression.match(/\b(?:http_|gen_ai_client_|polyvac_|nodejs_)[a-z0-9_]+(?=[\s[{)]|$)/g) ?? []
const isLabel = (name: string): boolean => /^polyvac_(protocol|outcome|status_class|task_state|mcp_server|mcp_state)$/.test(name)

test('every metric of the dashboard and of the alert rules is in a scrape', async t => {
  const dashboard = JSON.parse(read('dashboard.json'))
  const { groups } = parse(read('alerts.yaml'))
  const rules: Array<{ alert: string, expr: string, annotations: { summary: string, description: string } }> = groups.flatMap(({ rules }: { rules: unknown[] }) => rules)
  const expressions = [...dashboard.panels.flatMap(({ targets }: { targets: Array<{ expr: string }> }) => targets.map(({ expr }) => expr)), ...rules.map(({ expr }) => expr)]
  for (const { alert, annotations: { summary, description } } of rules) t.ok(summary !== '' && description !== '', `${alert} is explained`)

  const app = await createHost({
    vacs: ['demo'],
    stream_interpreter: async function * (question) {
      if (question === 'ask') return { input_required: 'which?' }
      yield 'text'
      return { answer: 'text', source_documents: [], metadata: { usage: { prompt_tokens: 1, completion_tokens: 1 } } }
    },
    enable_a2a_agent: true,
    mcp_servers: { broken: { command: process.execPath, args: ['-e', 'process.exit(1)'] } },
    tasks: { store: 'memory' },
    push: { allow: ['127.0.0.1:9'] },
    telemetry: { prometheus: true },
    server: { logger: false }
  })
  t.teardown(() => app.close())
  const post = async (url: string, payload: object): Promise<unknown> => await app.inject({ method: 'POST', url, payload })
  await post('/vac/streaming/demo', { user_input: 'x' })
  await post('/a2a/tasks/send', { jsonrpc: '2.0', id: 1, method: 'tasks/send', params: { skillName: 'vac_query_demo', input: { query: 'ask' }, pushNotificationConfig: { url: 'http://127.0.0.1:9/nobody' } } })
  const scrape = await until(async () => {
    const { payload } = await app.inject('/metrics')
    return /^polyvac_tasks\{/m.test(payload) && /^polyvac_push_deliveries_total\{/m.test(payload) && payload
  }, 'the scrape has the waiting task and a webhook')
  const scraped = new Set(scrape.split('\n').flatMap(line => /^[a-z0-9_]+/.exec(line) ?? []))
  const named = new Set(expressions.flatMap(namesIn).filter(name => !isLabel(name)))
  t.ok(named.size > 10, `${named.size} metrics`)
  for (const name of named) t.ok(scraped.has(name), name)
})

test('the alert rule of MCP servers is true in each state in which a server does not answer', async t => {
  const { groups: [{ rules }] } = parse(read('alerts.yaml')) as { groups: [{ rules: Array<{ alert: string, expr: string }> }] }
  const { expr = '' } = rules.find(({ alert }) => alert === 'McpServerIsDown') ?? {}
  // a change of the state must not start the five minutes again, so the state is not a label of the result
  const [, left = ''] = /^sum by \(instance, polyvac_mcp_server\) \(polyvac_mcp_upstream_state\{polyvac_mcp_state!~"([a-z|]+)"\}\) > 0$/.exec(expr) ?? []
  t.strictSame(left.split('|'), ['ready', 'stopped'])

  const app = await createHost({
    vacs: ['demo'],
    stream_interpreter: () => 'text',
    mcp_servers: { hangs: { command: process.execPath, args: ['-e', 'process.stdin.resume()'] } },
    telemetry: { prometheus: true },
    server: { logger: false }
  })
  t.teardown(() => app.close())
  const { payload } = await app.inject('/metrics')
  t.match(payload, /^polyvac_mcp_upstream_state\{polyvac_mcp_server="hangs",polyvac_mcp_state="starting"\} 1$/m, 'a server that hangs is starting, for a minute each time')
})

test('the files of the example are mounted by the compose file, and images are pinned', t => {
  const { services } = parse(read('compose.yaml'))
  for (const { volumes, ports = [] } of Object.values<{ volumes: string[], ports?: string[] }>(services)) {
    for (const volume of volumes) t.ok(read(volume.split(':')[0] as string).length > 0, volume)
    for (const port of ports) t.match(port, /^127\.0\.0\.1:/)
  }
  t.match(parseConfig(read('vac_config.yaml'), '/etc/polyvac/vac_config.yaml', { env: { POLYVAC_TOKEN_SHA256: 'a'.repeat(64) } }), { service: { telemetry: { prometheus: true } } })
  for (const name of ['collector', 'prometheus', 'grafana']) t.match(services[name].image, /:v?\d+\.\d+\.\d+$/)
  t.end()
})

test('the collector of the example takes the traces and metrics that the host sends to it', t => {
  const { services: { polyvac: { build, environment, depends_on: [name] } } } = parse(read('compose.yaml'))
  const { receivers, exporters, service: { pipelines } } = parse(read('collector.yaml'))
  const { hostname, port } = new URL(environment.OTEL_EXPORTER_OTLP_ENDPOINT)
  t.equal(hostname, name, 'the host starts after the collector')
  t.equal(receivers.otlp.protocols.http.endpoint, `0.0.0.0:${port}`)
  t.strictSame(Object.keys(pipelines), ['traces', 'metrics'])
  for (const pipeline of Object.values<{ receivers: string[], exporters: string[] }>(pipelines)) {
    t.strictSame([pipeline.receivers, pipeline.exporters], [Object.keys(receivers), Object.keys(exporters)])
  }
  t.ok(isTelemetryWanted(environment))
  const { dependencies, devDependencies } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
  const versions = { ...dependencies, ...devDependencies }
  for (const name of ['api', 'exporter-prometheus', 'sdk-node'].map(name => `@opentelemetry/${name}`)) {
    t.ok(build.dockerfile_inline.includes(` ${name}@${versions[name]}`), `${name} has the version of the tests`)
  }
  t.end()
})
