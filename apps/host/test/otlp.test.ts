import { test, type Test } from 'tap'
import { spawn } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { until } from '../../../test/fixtures/until.js'
import { MetricsPackageError, TelemetrySdkMissingError } from '../src/errors.js'
import { emptyFolder, polyvac, withoutPackage } from './command.js'

const cli = fileURLToPath(new URL('../bin/polyvac.js', import.meta.url))

/** Runs the command with these variables until it serves; `stop` resolves to its exit code. */
async function start (t: Test, env: Record<string, string>) {
  const folder = await mkdtemp(join(tmpdir(), 'polyvac-otlp-'))
  await writeFile(join(folder, 'vac_config.yaml'), 'kind: vacConfig\nvac:\n  demo: {}\nservice:\n  stream_interpreter: echo\n')
  const child = spawn(process.execPath, [cli, 'start', '--port', '0', '--grace', '5'], { cwd: folder, env: { PATH: process.env['PATH'], ...env }, stdio: ['ignore', 'pipe', 'pipe'] })
  let out = ''
  for (const pipe of [child.stdout, child.stderr]) pipe.on('data', chunk => { out += String(chunk) })
  const exited = new Promise<number | null>(resolve => { child.once('exit', resolve) })
  t.teardown(async () => {
    child.kill('SIGKILL')
    await exited
    await rm(folder, { recursive: true, force: true })
  })
  const url = await until(() => /http:\/\/[\d.]+:\d+/.exec(out)?.[0], 'the banner shows the address')
  return { url, stop: async () => { child.kill('SIGTERM'); return await exited } }
}

async function collector (t: Test): Promise<{ received: string[], endpoint: string }> {
  const received: string[] = []
  const server = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', chunk => { chunks.push(chunk as Buffer) })
    request.on('end', () => {
      received.push(`${request.url} ${Buffer.concat(chunks).toString('latin1')}`)
      response.end()
    })
  })
  await new Promise<void>(resolve => { server.listen(0, '127.0.0.1', resolve) })
  t.teardown(() => { server.closeAllConnections(); server.close() })
  return { received, endpoint: `http://127.0.0.1:${(server.address() as AddressInfo).port}` }
}

async function ask (url: string): Promise<void> {
  const body = JSON.stringify({ user_input: 'canary-question' })
  await (await fetch(`${url}/vac/demo`, { method: 'POST', headers: { 'content-type': 'application/json' }, body })).text()
}

test('OTEL_EXPORTER_OTLP_ENDPOINT sends the spans of the service when it ends at the latest', async t => {
  const { received, endpoint } = await collector(t)
  const { url, stop } = await start(t, { OTEL_EXPORTER_OTLP_ENDPOINT: endpoint })
  await ask(url)
  t.equal(await stop(), 0)
  const traces = received.filter(text => text.startsWith('/v1/traces')).join()
  for (const part of ['polyvac', 'POST /vac/:vector_name', 'invoke_agent demo']) t.ok(traces.includes(part), part)
  t.notMatch(received.join(), /canary/)
})

test('OTEL_SDK_DISABLED=true sends nothing, and a collector that is not there does not fail the end', async t => {
  const { received, endpoint } = await collector(t)
  const disabled = await start(t, { OTEL_EXPORTER_OTLP_ENDPOINT: endpoint, OTEL_SDK_DISABLED: 'true' })
  await ask(disabled.url)
  t.equal(await disabled.stop(), 0)
  t.strictSame(received, [])
  const lost = await start(t, { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:9' })
  await ask(lost.url)
  t.equal(await lost.stop(), 0)
})

for (const [name, missing, service, env] of [
  ['@opentelemetry/sdk-node', new TelemetrySdkMissingError(), '', { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:9' }],
  ['@opentelemetry/exporter-prometheus', new MetricsPackageError(), 'telemetry: { prometheus: true }', {}],
  ['@opentelemetry/sdk-metrics', new MetricsPackageError(), 'telemetry: { prometheus: true }', {}]
] as const) {
  test(`without ${name} a service that needs it ends with ${missing.code}, and others start`, async t => {
    const folder = await emptyFolder(t)
    const write = (service: string): Promise<void> => writeFile(join(folder, 'vac_config.yaml'),
      `kind: vacConfig\nvac: { demo: {} }\nservice:\n  stream_interpreter: echo\n  ${service}\n`)
    const NODE_OPTIONS = withoutPackage(name)
    await write('')
    await polyvac(t, ['start'], folder, { NODE_OPTIONS }).url()
    await write(service)
    const { out, ended } = polyvac(t, ['start'], folder, { NODE_OPTIONS, ...env })
    t.equal(await ended, 1)
    t.equal(out.stderr, `polyvac: ${missing.message}\n`)
    t.match(out.stderr, new RegExp(`install .*${name}@`), 'the message names the package')
  })
}
