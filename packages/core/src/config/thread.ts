// Runs in a thread of read-config.ts: it parses one configuration file.
import { parentPort, workerData } from 'node:worker_threads'
import { ConfigError, type ConfigProblem, type RefusedAuth } from './problem.js'
import { parseConfig, type Config, type ConfigOptions } from './vac-config.js'

export interface ConfigJob { readonly text: string, readonly file: string, readonly options: ConfigOptions }

export type ConfigResult =
  | { readonly config: Config }
  | { readonly problems: readonly ConfigProblem[], readonly warnings: readonly ConfigProblem[], readonly hasMore: boolean, readonly refused: RefusedAuth | undefined }

const { text, file, options } = workerData as ConfigJob

parentPort?.postMessage(parse())

function parse (): ConfigResult {
  try {
    return { config: parseConfig(text, file, options) }
  } catch (err) {
    if (!(err instanceof ConfigError)) throw err
    const { problems, warnings, hasMore, refused } = err
    return { problems, warnings, hasMore, refused }
  }
}
