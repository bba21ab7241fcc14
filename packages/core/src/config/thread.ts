// Runs in a thread of read-config.ts: it parses one configuration file.
import { parentPort, workerData } from 'node:worker_threads'
import { ConfigError, type ConfigProblem, type RefusedAuth } from './problem.js'
import type { ConfigOptions, ServiceSection } from './service-section.js'
import { parseSections, type Config } from './vac-config.js'

export interface ConfigJob {
  readonly text: string
  readonly file: string
  readonly options: ConfigOptions
  /** URL of a module, since functions cannot be sent. */
  readonly sectionModule: string | undefined
}

export type ConfigResult =
  | { readonly config: Config }
  | { readonly problems: readonly ConfigProblem[], readonly warnings: readonly ConfigProblem[], readonly hasMore: boolean, readonly refused: RefusedAuth | undefined }

const { text, file, options, sectionModule } = workerData as ConfigJob
const { SECTION: section } = sectionModule === undefined ? {} : await import(sectionModule) as { SECTION?: ServiceSection }

parentPort?.postMessage(parse())

function parse (): ConfigResult {
  try {
    return { config: parseSections(text, file, { ...options, section }) }
  } catch (err) {
    if (!(err instanceof ConfigError)) throw err
    const { problems, warnings, hasMore, refused } = err
    return { problems, warnings, hasMore, refused }
  }
}
