import { existsSync } from 'node:fs'
import { join } from 'node:path'

/** The names of a configuration file in its folder, in the order in which they are looked for. */
export const FILE_NAMES = ['vac_config.yaml', 'vac_config.yml', 'vac_config.json', 'config/vac_config.yaml'] as const

/** The configuration file of a folder, if it has one. */
export function findConfig (folder: string): string | undefined {
  return FILE_NAMES.map(name => join(folder, name)).find(path => existsSync(path))
}
