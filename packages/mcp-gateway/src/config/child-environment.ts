import type { McpServerConfig } from '@polyvac/core'

type Environment = Readonly<Record<string, string | undefined>>

/** What every program needs and nobody keeps a secret in; the list of the protocol's own SDKs. */
const SAFE = process.platform === 'win32'
  ? ['APPDATA', 'HOMEDRIVE', 'HOMEPATH', 'LOCALAPPDATA', 'PATH', 'PROCESSOR_ARCHITECTURE', 'SYSTEMDRIVE', 'SYSTEMROOT', 'TEMP', 'USERNAME', 'USERPROFILE', 'PROGRAMFILES']
  : ['HOME', 'LOGNAME', 'PATH', 'SHELL', 'TERM', 'USER']

/** Polyvac's own, wherever it runs: no child of a bare entry gets them. */
const OWN = /^(?:POLYVAC_.*|DATABASE_URL|PGPASSWORD)$/

export interface EnvironmentRule {
  /** The environment of the service. */
  readonly env: Environment
  /** `none`: a bare entry inherits no more than the safe list. */
  readonly inheritEnv: 'all' | 'none'
  /** Names that a bare entry never inherits: what the service's own configuration read. */
  readonly secretEnv: readonly string[]
}

export interface ChildEnvironment {
  readonly env: Record<string, string>
  /** Names in `inherit_env` that the service does not have. */
  readonly missing: readonly string[]
  /** Whether the child inherits the environment of the service at large. */
  readonly inheritsAll: boolean
}

/**
 * The environment of a server. The service description passes credentials as variables of the service, so a bare entry
 * inherits them, less Polyvac's own; an entry that names `env` or `inherit_env` gets the safe list, those, and nothing else.
 */
export function childEnvironment ({ env: own, inherit_env: names }: McpServerConfig, { env, inheritEnv, secretEnv }: EnvironmentRule): ChildEnvironment {
  const inheritsAll = own === undefined && names === undefined && inheritEnv === 'all'
  const secret = new Set(secretEnv)
  const wanted = inheritsAll
    ? Object.keys(env).filter(name => !secret.has(name) && !OWN.test(name))
    : [...SAFE, ...names ?? []]
  const child: Record<string, string> = {}
  for (const name of wanted) {
    const value = env[name]
    // an exported shell function would run in every shell that the server starts
    if (value !== undefined && !value.startsWith('()')) child[name] = value
  }
  return { env: { ...child, ...own }, missing: (names ?? []).filter(name => env[name] === undefined), inheritsAll }
}
