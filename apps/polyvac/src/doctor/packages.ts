import { createRequire } from 'node:module'
import { environmentOptions } from '../environment.js'
import { ok, problem, type Finding } from './finding.js'
import type { HostConfig } from '@polyvac/host/command'
import { isDatabase, isOn, isTelemetryWanted, PROTOCOLS, toSettings, type Settings } from '@polyvac/host/command'

/** Packages that a part of the configuration needs. */
interface Need {
  readonly setting: string
  readonly packages: readonly string[]
  /** The package that imports them. Default: the host. */
  readonly importer?: string
  readonly isOn: (switches: Settings['switches'], env: NodeJS.ProcessEnv) => boolean
}

const NEEDS: readonly Need[] = [
  ...PROTOCOLS.map(({ switch: setting, package: name }): Need => ({ setting, packages: [name], isOn: switches => isOn(switches[setting]) })),
  { setting: 'enable_a2a_agent', packages: ['@polyvac/tasks'], isOn: ({ enable_a2a_agent: a2a }) => a2a === true },
  { setting: 'a2a.grpc', packages: ['@grpc/grpc-js', 'protobufjs'], importer: '@polyvac/a2a', isOn: ({ a2a }) => a2a?.grpc !== undefined },
  { setting: 'cors', packages: ['@fastify/cors'], isOn: ({ cors }) => cors === true },
  { setting: 'helmet', packages: ['@fastify/helmet'], isOn: ({ helmet }) => helmet === true },
  { setting: 'tasks.url', packages: ['pg', 'pg-boss'], importer: '@polyvac/tasks', isOn: ({ tasks }) => isDatabase(tasks ?? {}) },
  {
    setting: 'telemetry.prometheus',
    packages: ['@opentelemetry/exporter-prometheus', '@opentelemetry/sdk-metrics'],
    isOn: ({ telemetry }) => telemetry?.prometheus === true
  },
  { setting: 'OTEL_*', packages: ['@opentelemetry/api', '@opentelemetry/sdk-node'], isOn: (_switches, env) => isTelemetryWanted(env) }
]

/** All optional packages that the configuration needs and that are not installed, before the service starts. */
export function * checkPackages (config: HostConfig, env: NodeJS.ProcessEnv, isThere = isInstalled): Generator<Finding> {
  const { switches } = toSettings(environmentOptions(config, env), config)
  const needs = NEEDS.filter(need => need.isOn(switches, env))
  let missing = 0
  for (const { setting, packages, importer } of needs) {
    const absent = packages.filter(name => !isThere(name, importer))
    missing += absent.length
    if (absent.length > 0) yield problem('packages', `${setting} needs ${absent.join(' and ')}, not installed`, `run \`npm install ${absent.map(name => withVersion(name, importer)).join(' ')}\`, or remove ${setting}`)
  }
  if (missing === 0) yield ok('packages', needs.length === 0 ? 'the configuration needs no optional package' : 'the optional packages that the configuration needs are installed')
}

/** What npm has to install: the newest version of a package may not be one that its importer takes. */
function withVersion (name: string, importer?: string): string {
  const { peerDependencies = {} } = placeOf(importer)('./package.json') as { peerDependencies?: Record<string, string> }
  const version = /^\^?(\d+)\.[\d.]+$/.exec(peerDependencies[name] ?? '')
  if (version === null) return name
  return `${name}@${version[0].startsWith('^') ? version[1] : version[0]}`
}

/** `require` as the package that imports others has it. Default: the host. */
function placeOf (importer: string | undefined): NodeJS.Require {
  const host = createRequire(createRequire(import.meta.url).resolve('@polyvac/host/package.json'))
  return importer === undefined ? host : createRequire(host.resolve(`${importer}/package.json`))
}

/** Whether a package is found from the place of the one that imports it. */
export function isInstalled (name: string, importer?: string): boolean {
  try {
    placeOf(importer).resolve(name)
    return true
  } catch (err) {
    // a package without an entry for require() is there
    return (err as NodeJS.ErrnoException).code !== 'MODULE_NOT_FOUND'
  }
}
