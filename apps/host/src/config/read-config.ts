import type { Config, ConfigOptions, ReadConfigOptions } from '@polyvac/core'
import { configFile, parseSections, readSections } from '@polyvac/core/plugin'
import { ServiceConfig } from './service-config.js'
import { SECTION } from './service-section.js'

/** Built-in names of interpreters and vectorstores. */
export const BUILT_IN = { interpreters: ['documents', 'agent', 'openai', 'echo'], vectorstores: ['folder'] } as const

/** A checked configuration file of the host. */
export type HostConfig = Config<ServiceConfig>

/** The whole of `vac_config.yaml`: the source of its checks and of the schema file for editors. */
export const HostConfigFile = configFile(ServiceConfig)

/**
 * Checks the text of a configuration file with the host's section `service`.
 * @param file its absolute path, for messages and relative paths
 * @throws CONFIG_INVALID with all problems at once
 */
export function parseConfig (text: string, file: string, options?: ConfigOptions): HostConfig {
  return parseSections(text, file, { ...BUILT_IN, section: SECTION, ...options }) as HostConfig
}

/**
 * Reads and checks a configuration file with the host's section `service`.
 * @throws CONFIG_INVALID with all problems at once, or if the file cannot be read
 * @example const app = await createHost({ config: await readConfig('vac_config.yaml') })
 */
export async function readConfig (file: string, options?: ReadConfigOptions): Promise<HostConfig> {
  return await readSections(file, { ...BUILT_IN, section: SECTION, ...options }) as HostConfig
}
