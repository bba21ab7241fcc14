import type { McpServerConfig } from '@polyvac/core'

type Environment = Readonly<Record<string, string | undefined>>

/** Variables that every program needs and that are not secret; the list of the MCP SDKs. */
const SAFE = process.platform === 'win32'
  ? ['APPDATA', 'HOMEDRIVE', 'HOMEPATH', 'LOCALAPPDATA', 'PATH', 'PROCESSOR_ARCHITECTURE', 'SYSTEMDRIVE', 'SYSTEMROOT', 'TEMP', 'USERNAME', 'USERPROFILE', 'PROGRAMFILES']
  : ['HOME', 'LOGNAME', 'PATH', 'SHELL', 'TERM', 'USER']

/** Variables of Polyvac: a bare entry does not inherit them. */
const OWN = /^(?:POLYVAC_.*|DATABASE_URL|PGPASSWORD)$/

export interface EnvironmentRule {
  /** The environment of the service. */
  readonly env: Environment
  /** `none`: a bare entry inherits only the safe list. */
  readonly inheritEnv: 'all' | 'none'
  /** Names that a bare entry does not inherit: the variables that the service's configuration uses. */
  readonly secretEnv: readonly string[]
}

export interface ChildEnvironment {
  readonly env: Record<string, string>
  /** Names in `inherit_env` that the environment lacks. */
  readonly missing: readonly string[]
  /** Whether the child inherits more than the safe list and named variables. */
  readonly inheritsAll: boolean
}

/**
 * The environment of a server. The service description passes credentials as variables of the service, so a bare entry
 * inherits them, without those of Polyvac. An entry with `env` or `inherit_env` gets only the safe list and those.
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
