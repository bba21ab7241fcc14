import { cp, mkdir, readFile, writeFile } from 'node:fs/promises'
import { existsSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { addLocalPackages, localInstall } from '../local-packages.js'
import { findConfig } from '../config-file.js'
import { toPlainText } from '../terminal.js'
import { filesOf, TEMPLATE_FILES } from '../template-files.js'
import type { Arguments } from '../arguments.js'
import type { CommandIo } from '../command-io.js'

/** The packages that the plugin of an app imports. */
const APP_PACKAGES = ['@polyvac/core', '@polyvac/vac']

/**
 * `polyvac init`: copies the template of a service; in a Fastify app, without a named template, only one
 * file with a plugin. It does not change existing files.
 */
export async function init ({ target = '.', template }: Pick<Arguments, 'target' | 'template'>, io: CommandIo): Promise<void> {
  const folder = resolve(io.cwd(), target)
  const say = (exists: boolean, path: string): unknown => io.stdout.write(`  ${exists ? 'kept   ' : 'written'}  ${toPlainText(join(target, path))}\n`)
  const app = template === undefined ? await fastifyApp(folder) : undefined
  if (app !== undefined) {
    const exists = await copy(join(TEMPLATE_FILES, 'app', `agents.${app.isTyped ? 'ts' : 'mjs'}`), join(folder, app.file))
    say(exists, app.file)
    const lines = await localInstall(APP_PACKAGES, folder) ?? [`npm install ${APP_PACKAGES.join(' ')}`]
    io.stdout.write(`\n  This is a Fastify app: nothing else of it is changed. Install the packages${target === '.' ? '' : ` in ${toPlainText(target)}`}:\n\n`)
    io.stdout.write(lines.map(line => `    ${toPlainText(line)}\n`).join(''))
    io.stdout.write(`\n  Register the plugin before the app listens:\n\n${app.register.map(line => `    ${line}\n`).join('')}`)
    io.stdout.write('\n  Then the agent answers: POST /agents/vac/assistant with {"user_input":"Is it on?"}\n')
    return
  }
  await mkdir(folder, { recursive: true })
  let keptManifest: string | undefined
  for (const [path, from] of await filesOf(template ?? 'default')) {
    const to = join(folder, path)
    const exists = path === 'package.json' ? await writeManifest(from, to) : await copy(from, to)
    if (exists && path === 'package.json') keptManifest = from
    say(exists, path)
  }
  if (keptManifest !== undefined) {
    const { dependencies, devDependencies = {} } = JSON.parse(await readFile(keptManifest, 'utf8')) as Record<string, object>
    io.stdout.write(`\n  package.json was kept. The service needs these packages in it: ${Object.keys({ ...dependencies, ...devDependencies }).join(', ')}.
  In a new folder it installs and starts unchanged: polyvac init my-agents${template === undefined ? '' : ` --template ${template}`}\n`)
    return
  }
  io.stdout.write(`\n  ${folder === io.cwd() ? '' : `cd ${toPlainText(target)} && `}npm install && npm start\n`)
}

/** Copies a file that does not exist yet. @returns whether it exists */
async function copy (from: string, to: string): Promise<boolean> {
  if (existsSync(to)) return true
  await mkdir(dirname(to), { recursive: true })
  await cp(from, to)
  return false
}

/** Writes package.json, with the tarballs of packages that did not come from a registry. @returns whether it exists */
async function writeManifest (from: string, to: string): Promise<boolean> {
  if (existsSync(to)) return true
  const manifest = JSON.parse(await readFile(from, 'utf8')) as { dependencies: Record<string, string> }
  const local = await addLocalPackages(dirname(to))
  const dependencies = { ...manifest.dependencies, ...local }
  await writeFile(to, `${JSON.stringify({ ...manifest, dependencies }, null, 2)}\n`)
  return false
}

interface FastifyApp {
  readonly isTyped: boolean
  /** Where the plugin goes, below the folder. */
  readonly file: string
  /** The lines that register it. */
  readonly register: readonly string[]
}

/** What a folder is that has Fastify as a dependency and no configuration of Polyvac. */
async function fastifyApp (folder: string): Promise<FastifyApp | undefined> {
  if (findConfig(folder) !== undefined) return undefined
  const manifest = await readManifest(join(folder, 'package.json'))
  if (typeof manifest?.dependencies !== 'object' || !('fastify' in (manifest.dependencies ?? {}))) return undefined
  const isTyped = existsSync(join(folder, 'tsconfig.json'))
  const file = isTyped ? join(await sourcesOf(folder), 'agents.ts') : 'agents.mjs'
  const isModule = manifest.type === 'module'
  const register = isTyped || isModule
    ? [`import agents from './agents.${isTyped ? 'js' : 'mjs'}'`, `${isModule ? 'await ' : ''}app.register(agents, { prefix: '/agents' })`]
    : ['app.register(import(\'./agents.mjs\'), { prefix: \'/agents\' })']
  return { isTyped, file, register }
}

/** A folder with a broken package.json is not an app. */
async function readManifest (file: string): Promise<{ type?: unknown, dependencies?: object | null } | undefined> {
  try {
    return JSON.parse(await readFile(file, 'utf8')) ?? undefined
  } catch {
    return undefined
  }
}

/** `src` where the compiler reads that folder only: a file next to it would not be compiled. */
async function sourcesOf (folder: string): Promise<string> {
  const text = await readFile(join(folder, 'tsconfig.json'), 'utf8')
  return existsSync(join(folder, 'src')) && /"(?:rootDir|include)"\s*:\s*\[?\s*"(?:\.\/)?src\b/.test(text) ? 'src' : ''
}
