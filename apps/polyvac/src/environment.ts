import type { HostConfig } from '@polyvac/host/command'
import type { HostOptions } from '@polyvac/host/command'

/** What the environment sets where the configuration does not: DATABASE_URL and POLYVAC_STATE_KEY. */
export function environmentOptions ({ service }: HostConfig, env: NodeJS.ProcessEnv): Pick<HostOptions, 'tasks' | 'state_key'> {
  const { tasks = {}, state_key: key } = service
  const { DATABASE_URL: url = '', POLYVAC_STATE_KEY: given } = env
  // a path is one of SQLite
  const usesUrl = url !== '' && tasks.url === undefined && (tasks.store === 'postgres' || (tasks.store === undefined && tasks.path === undefined))
  return { tasks: usesUrl ? { ...tasks, url } : undefined, state_key: key || given }
}
