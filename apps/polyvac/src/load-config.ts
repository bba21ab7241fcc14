import { ConfigError } from '@polyvac/core'
import { accessSync, constants, existsSync, statSync } from 'node:fs'
import { basename, dirname, join, resolve } from 'node:path'
import { parseEnv } from 'node:util'
import { quoteName, readBoundedFile, vacNameProblem } from '@polyvac/core/plugin'
import { parseConfig, readConfig, type HostConfig } from '@polyvac/host/command'
import { commandConfig } from './command-config.js'
import { FILE_NAMES, findConfig } from './config-file.js'
import type { Arguments } from './arguments.js'
import type { CommandIo } from './command-io.js'

/**
 * Finds and reads the configuration: the command of an MCP server after `--`; `--config`; a file named by position; the
 * file of a named folder, or, where it has none, that folder as the documents of one VAC; otherwise
 * `VAC_CONFIG_FOLDER`, or the working directory. It first loads a `.env` next to the file, which does not overwrite
 * variables that are set.
 * @throws CONFIG_INVALID
 */
export async function loadConfig ({ config, target, serverCommand }: Pick<Arguments, 'config' | 'target'> & Partial<Arguments>,
  { env, cwd }: Pick<CommandIo, 'env' | 'cwd'>): Promise<HostConfig> {
  if (serverCommand !== undefined) return commandConfig(serverCommand, cwd())
  if (config !== undefined) return await read(resolve(cwd(), config), env)
  if (target !== undefined) {
    const path = resolve(cwd(), target)
    const stats = statSync(path, { throwIfNoEntry: false })
    if (stats === undefined) {
      return fail(path, 'there is no such folder or file; name a folder of documents or a configuration file')
    }
    if (!stats.isDirectory()) return await read(path, env)
    return await read(findConfig(path), env) ?? folderConfig(path, env)
  }
  const folder = resolve(cwd(), env.VAC_CONFIG_FOLDER ?? '.')
  const file = findConfig(folder)
  if (file === undefined) {
    const message = 'there is no such file; name a folder of documents (polyvac ./docs), or write one with `polyvac init`'
    return fail(join(folder, FILE_NAMES[0]), message)
  }
  return await read(file, env)
}

async function read (file: string, env: NodeJS.ProcessEnv): Promise<HostConfig>
async function read (file: string | undefined, env: NodeJS.ProcessEnv): Promise<HostConfig | undefined>
async function read (file: string | undefined, env: NodeJS.ProcessEnv): Promise<HostConfig | undefined> {
  if (file === undefined) return undefined
  const dotenv = join(dirname(file), '.env')
  if (existsSync(dotenv)) await loadEnvironment(dotenv, env)
  return await readConfig(file, { env })
}

/** The largest `.env`, in bytes. */
const MAX_ENV_BYTES = 1024 * 1024

/** Sets the variables of a file that are not set. */
async function loadEnvironment (file: string, env: NodeJS.ProcessEnv): Promise<void> {
  const text = await readBoundedFile(file, MAX_ENV_BYTES).catch((err: Error) => fail(file, `cannot be read: ${err.message}`))
  for (const [name, value] of Object.entries(parseEnv(text.toString('utf8')))) env[name] ??= value
}

/**
 * The configuration for a folder without one: a VAC named after it, with A2A and the MCP server switched on. A folder
 * whose name a VAC cannot have gets a suffix, and a warning.
 */
export function folderConfig (folder: string, env: NodeJS.ProcessEnv = process.env): HostConfig {
  const title = basename(folder) || 'docs'
  const plain = title.slice(0, 64).replace(/[^\p{L}\p{N}_-]+/gu, '-').replace(/^-+|-+$/g, '') || 'docs'
  const problem = vacNameProblem(plain)
  const name = problem === undefined ? plain : `${plain}-docs`
  // the tasks are kept in the database of the environment, next to the documents, or in memory where that folder cannot
  // be written
  const state = join(dirname(folder), '.polyvac')
  const tasks = env.DATABASE_URL ? {} : isWritable(dirname(folder)) ? { path: join(state, `${name}-tasks.db`) } : { store: 'memory' }
  const text = JSON.stringify({
    kind: 'vacConfig',
    service: { stream_interpreter: 'documents', enable_a2a_agent: true, enable_mcp_server: true, tasks },
    vac: {
      [name]: {
        display_name: title,
        description: `Answers from the documents in ${title}`,
        agent: 'documents',
        memory: [{ [name]: { vectorstore: 'folder', path: folder } }]
      }
    }
  })
  const config = parseConfig(text.replaceAll('$', '$$$$'), join(folder, FILE_NAMES[0]))
  if (problem === undefined) return config
  const message = `the VAC of this folder is named ${quoteName(name)}: ${problem.reason}`
  return { ...config, warnings: [...config.warnings, { file: folder, line: 1, column: 1, message, text: `${folder}  ${message}` }] }
}

function isWritable (folder: string): boolean {
  try {
    accessSync(folder, constants.W_OK)
    return true
  } catch {
    return false
  }
}

function fail (file: string, message: string): never {
  throw new ConfigError([{ file, line: 1, column: 1, message, text: `${file}  ${message}` }])
}
