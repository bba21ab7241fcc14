import { createHost, parseConfig } from '@polyvac/host'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { test } from 'tap'
import { parseAllDocuments } from 'yaml'
import { readArguments } from '../apps/polyvac/src/arguments.js'

const HASH = 'a'.repeat(64)
const root = fileURLToPath(new URL('..', import.meta.url))
const read = (name: string): string => readFileSync(join(root, 'examples/deploy', name), 'utf8')
const documents = (name: string): any[] => parseAllDocuments(read(name)).map(document => {
  const [error] = document.errors
  if (error !== undefined) throw error
  return document.toJS()
})

/** Seconds of --grace; the command is one that `polyvac` takes. */
function graceOf ([program, ...args]: string[]): number {
  if (program !== 'polyvac') throw new Error(`the command begins with ${program}`)
  const { command, host, allowUnauthenticated, grace } = readArguments(args, {})
  if (command !== 'start' || host !== '0.0.0.0' || allowUnauthenticated) throw new Error('the command does not bind a public address with authentication')
  return grace
}

async function statusOf (path: string): Promise<number> {
  const app = await createHost({ vacs: ['demo'], stream_interpreter: 'echo' })
  try {
    return (await app.inject(path)).statusCode
  } finally {
    await app.close()
  }
}

test('the files for Docker Compose start three replicas behind a balancer that only this machine reaches', t => {
  const { database, polyvac, balancer } = documents('compose.yaml')[0].services
  for (const { image, read_only: isReadOnly } of [database, balancer]) t.match(image, /:\d+\.\d+(\.\d+)?$/, `${image} is pinned, read-only: ${isReadOnly}`)
  t.equal(polyvac.deploy.replicas, 3)
  t.match(read('haproxy.cfg'), `server-template replica ${polyvac.deploy.replicas} polyvac:8080`)
  t.match(read('haproxy.cfg'), 'uri /ready')
  t.ok(Number.parseInt(polyvac.stop_grace_period) > graceOf(polyvac.command))
  t.equal(polyvac.ports, undefined)
  t.equal(database.ports, undefined)
  t.strictSame(balancer.ports, ['127.0.0.1:8080:8080'])
  t.ok(existsSync(join(root, 'examples/deploy', polyvac.build.context, polyvac.build.dockerfile)))
  t.end()
})

test('the manifest for Kubernetes probes routes of the host, and gives pods longer than their grace time', async t => {
  const all = documents('kubernetes.yaml')
  const of = (kind: string): any => all.find(document => document.kind === kind)
  const { spec } = of('Deployment').spec.template
  const [container] = spec.containers
  const { livenessProbe, readinessProbe, startupProbe, lifecycle, command, env, volumeMounts } = container
  for (const probe of [livenessProbe, readinessProbe, startupProbe]) t.equal(await statusOf(probe.httpGet.path), 200)
  t.equal(readinessProbe.httpGet.path, '/ready')
  t.ok(spec.terminationGracePeriodSeconds > graceOf(command) + Number(lifecycle.preStop.exec.command[1]))
  t.equal(spec.securityContext.runAsNonRoot, true)
  t.equal(container.securityContext.readOnlyRootFilesystem, true)
  for (const kind of ['Service', 'PodDisruptionBudget', 'NetworkPolicy']) {
    const { selector, podSelector } = of(kind).spec
    t.match({ ...selector, ...selector?.matchLabels, ...podSelector?.matchLabels }, { app: 'polyvac' }, kind)
  }
  t.strictSame(env.slice(0, 2).map((one: any) => one.valueFrom.secretKeyRef.name), ['polyvac', 'polyvac'])
  t.ok(of('ConfigMap').data[volumeMounts[0].subPath])
  t.ok(parseConfig(of('ConfigMap').data['vac_config.yaml'], '/srv/polyvac/vac_config.yaml', { env: { POLYVAC_TOKEN_SHA256: HASH } }).service.enable_a2a_agent)
})

test('the service file for Cloud Run probes routes of the host and ends within the time of Cloud Run', async t => {
  const [service] = documents('cloud-run.yaml')
  const [{ command, startupProbe, livenessProbe }] = service.spec.template.spec.containers
  for (const probe of [startupProbe, livenessProbe]) t.equal(await statusOf(probe.httpGet.path), 200)
  t.ok(graceOf(command) < 10)
})

test('the Dockerfile copies what exists, runs as a number of a user, and uses one pinned version of Node.js', t => {
  const text = read('Dockerfile')
  const images = [...text.matchAll(/^FROM (\S+)/gm)].map(([, image]) => image)
  t.equal(new Set(images).size, 1)
  t.match(images[0], /^node:\d+\.\d+\.\d+-slim$/)
  t.match(text, /^USER 1000:1000$/m)
  for (const [, path = ''] of text.matchAll(/^COPY (?!--from|\. )(\S+)/gm)) t.ok(existsSync(join(root, path)), path)
  for (const [, path = ''] of text.matchAll(/\/app\/(apps\/\S+\.js)/g)) t.ok(existsSync(join(root, path)), path)
  const [, command = '[]'] = /^CMD (.*)$/m.exec(text) ?? []
  t.equal(graceOf(JSON.parse(command) as string[]), 10)
  const config = parseConfig(read('vac_config.yaml'), '/srv/polyvac/vac_config.yaml', { env: { POLYVAC_TOKEN_SHA256: HASH } })
  t.ok(existsSync(join(root, config.vac.docs!.memory![0]!['docs-folder']!.path!)), 'its folder of documents is in the image')
  t.end()
})
