import {
  defineTools, echoInterpreter, loadInterpreters, workerInterpreter, type FunctionTools, type Interpreters, type Log, type Memory, type MemoryEntry, type VacConfig,
  type VacParts, type VacsOptions
} from '@polyvac/core'
import { DESTRUCTIVE, importWithin, isModulePath, MAX_LOAD_MS, moduleProblem, moduleUrl, quoteName, selectTools, within } from '@polyvac/core/plugin'
import type { FolderMemory } from '@polyvac/documents'
import { createHash } from 'node:crypto'
import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { AgentsError, LoadTimeoutError, MemoryModuleError, NoMemoryError, ToolsModuleError, VacToolsError, WorkerFunctionError } from './errors.js'
import { BUILT_IN } from './config/read-config.js'
import { readInstructions } from './read-instructions.js'
import type { HostOptions, Settings } from './host-options.js'
import { openAgents, type HostAgents } from './remote-agents.js'

/** The run-time objects of one set of settings: the registry's options, and what must be closed with it. */
export interface Assembly {
  readonly vacsOptions: VacsOptions
  /** The folder memories by VAC, for readiness and the banner. */
  readonly folders: ReadonlyMap<string, readonly FolderMemory[]>
  /** The agents of other services; undefined without any. */
  readonly agents: HostAgents | undefined
  /** Closes everything that `next` does not take over. */
  close (next?: Assembly): Promise<void>
  /** @internal open objects by what they were opened from */
  readonly open: ReadonlyMap<string, Closable>
}

interface Closable { close?: () => Promise<void> | void }

type Options = Pick<HostOptions, 'watchDocuments' | 'onIndexing'> & {
  readonly log: Log
  /** The port of this service, which is not one of a language model. */
  readonly ownPort: () => number | undefined
  /** The origins of this service. */
  readonly ownOrigins: () => readonly string[]
}

/** Loaded at first use: a start without folders and built-in interpreters does not need the 55 modules. */
const documents = async (): Promise<typeof import('@polyvac/documents')> => await import('@polyvac/documents')

/**
 * Opens the memories, interpreters and worker threads of the VACs of these settings. It takes over open folders of
 * `previous`, so that a reload does not index them again. On an error it closes what it has opened.
 */
export async function assemble (settings: Settings, options: Options, previous?: Assembly): Promise<Assembly> {
  const { ownPort } = options
  const open = new Map<string, Closable>()
  const folders = new Map<string, FolderMemory[]>()
  const taken = new Set<string>()
  const { load_timeout: seconds } = settings.switches
  const loadMs = seconds === undefined ? MAX_LOAD_MS : seconds * 1000

  /** Opens an object once for all VACs that name it. */
  async function once<T extends Closable> (key: string, make: () => Promise<T>): Promise<T> {
    const existing = open.get(key) ?? previous?.open.get(key)
    if (previous?.open.has(key) === true) taken.add(key)
    const thing = existing ?? await inTime(make(), loadMs, key)
    open.set(key, thing)
    return thing as T
  }

  async function interpretersOf (name: string): Promise<Interpreters> {
    if (settings.switches.async_stream === false) {
      // by its URL, which changes with the file
      const { log } = options
      return await once(`worker ${moduleUrl(name, settings.folder)}`, async () => await workerInterpreter(name, settings.folder, { log, loadMs }))
    }
    return await loadInterpreters(name, settings.folder, { timeoutMs: loadMs })
  }

  async function memoryOf (vac: string, entry: MemoryEntry, { openai, embed: model }: VacConfig): Promise<Memory> {
    const { log } = options
    if (entry.vectorstore !== 'folder') {
      return await once(`memory ${JSON.stringify(entry)}`, () => loadMemory(entry, settings.folder, log, loadMs))
    }
    const { path = '.', k, index_file: index, extensions, ignore, max_file_bytes: maxFileBytes, max_files: maxFiles, encoding, embed = model } = entry
    const folder = resolve(settings.folder, path)
    // errors name the object by its key, so secrets are not in it
    const server = embed === undefined ? undefined : createHash('sha256').update(JSON.stringify(openai ?? {})).digest('base64url')
    const indexFile = index === undefined || index === ':memory:' ? index : resolve(settings.folder, index)
    const memory = await once(`folder ${JSON.stringify([folder, indexFile, k, extensions, ignore, maxFileBytes, maxFiles, encoding, embed, server])}`, async () => await (await documents()).openFolder({
      path: folder,
      indexFile,
      k,
      extensions,
      ignore,
      maxFileBytes,
      maxFiles,
      encoding,
      embed: embed === undefined ? undefined : { model: embed, openai, ownPort },
      watch: options.watchDocuments,
      log,
      onProgress: progress => { options.onIndexing?.({ vac, ...progress }) }
    }))
    folders.set(vac, [...folders.get(vac) ?? [], memory])
    return memory
  }

  async function partsOf (name: string, config: VacConfig): Promise<VacParts> {
    const entries = (config.memory ?? []).flatMap(entry => Object.values(entry))
    const memories: Memory[] = []
    for (const entry of entries) memories.push(await memoryOf(name, entry, config))
    const memory = memories.length > 1 ? (await documents()).combineMemories(memories) : memories[0]
    const chosen = config.interpreter ?? settings.streamInterpreter
    if (typeof chosen === 'function') {
      if (settings.switches.async_stream === false) throw new WorkerFunctionError()
      return { streamInterpreter: chosen, vacInterpreter: await staticOf(), memory }
    }
    if (chosen === 'documents') {
      if (memory === undefined) throw new NoMemoryError(JSON.stringify(name))
      return { streamInterpreter: (await documents()).documentsInterpreter(memory, { ownPort }), vacInterpreter: await staticOf(config), memory }
    }
    if (chosen === 'agent') {
      const instructions = await readInstructions(name, config.instructions, settings.folder)
      return { streamInterpreter: (await import('@polyvac/agent')).agentInterpreter({ memory, instructions, ownPort }), vacInterpreter: await staticOf(config), memory }
    }
    if (chosen === 'openai') return { streamInterpreter: (await import('@polyvac/documents/model')).openaiInterpreter({ ownPort }), vacInterpreter: await staticOf(config), memory }
    if (chosen === 'echo') return { streamInterpreter: echoInterpreter, vacInterpreter: await staticOf(config), memory }
    const own = await interpretersOf(chosen)
    return { streamInterpreter: own.stream_interpreter, vacInterpreter: await staticOf(config) ?? own.vac_interpreter, memory }
  }

  /** The shared static interpreter; a VAC with its own interpreter answers only with that one. */
  async function staticOf (config?: VacConfig): Promise<VacParts['vacInterpreter']> {
    const { vacInterpreter } = settings
    if (vacInterpreter === undefined || typeof vacInterpreter === 'function') {
      return config?.interpreter === undefined ? vacInterpreter : undefined
    }
    if (config?.interpreter !== undefined) return undefined
    const { vac_interpreter: named, stream_interpreter: only } = await interpretersOf(vacInterpreter)
    return named ?? only
  }

  async function toolsOf (): Promise<FunctionTools | undefined> {
    return typeof settings.tools === 'string' ? await loadTools(settings.tools, settings.folder, loadMs) : settings.tools
  }

  const close = async (next?: Assembly): Promise<void> => {
    await Promise.all([...open].map(async ([key, thing]) => { if (next?.open.has(key) !== true) await thing.close?.() }))
  }
  try {
    const tools = await toolsOf()
    checkTools(settings, tools)
    const { a2a_agents: entries } = settings.switches
    const agents = entries == null || entries.length === 0
      ? undefined
      : await once(`remote agents ${createHash('sha256').update(JSON.stringify(entries)).digest('base64url')}`, async () => await openAgents(entries, settings.folder, options.ownOrigins))
    const parts = Object.create(null) as Record<string, VacParts>
    for (const [name, config] of Object.entries(settings.vacs)) parts[name] = await partsOf(name, config)
    return {
      // the cards of agents come later
      get vacsOptions () { return { vacs: { ...settings.vacs, ...agents?.entries() }, parts: { ...parts, ...agents?.parts }, tools } },
      folders,
      agents,
      open,
      close
    }
  } catch (err) {
    await Promise.all([...open].map(async ([key, thing]) => { if (!taken.has(key)) await thing.close?.() }))
    throw err
  }
}

/** Waits for an object at most `ms`; one that comes later is closed. */
async function inTime<T extends Closable> (making: Promise<T>, ms: number, what: string): Promise<T> {
  return await within(making, ms, (): never => {
    making.then(thing => thing.close?.()).catch(() => { /* the error below is reported */ })
    throw new LoadTimeoutError(what, ms / 1000)
  })
}

/**
 * @throws A2A_AGENTS for an agent with the name of a tool, VAC_TOOLS for a VAC whose list `tools` names what there is
 *   not, or two tools of one name
 */
function checkTools ({ vacs, serverNames: servers, switches: { a2a_agents: agents } }: Settings, tools: FunctionTools | undefined): void {
  const functions = tools?.list() ?? []
  const remote = agents?.map(({ name }) => name) ?? []
  const taken = functions.find(({ name }) => remote.includes(name))
  if (taken !== undefined) throw new AgentsError('a2a_agents', `${quoteName(taken.name)} is an agent and a tool of the application; rename one of them`)
  for (const [name, { tools: chosen, approve = [] }] of Object.entries(vacs)) {
    if (chosen === undefined && approve.length === 0) continue
    // of a program: those of a file are checked
    const isList = (value: unknown): boolean => Array.isArray(value) && value.every(entry => typeof entry === 'string')
    if (!isList(chosen ?? []) || !isList(approve)) throw new VacToolsError(JSON.stringify(name), `\`${isList(approve) ? 'tools' : 'approve'}\` must be a list of texts`)
    const names = [...chosen ?? [], ...approve.filter(entry => entry !== DESTRUCTIVE)]
    const { problems } = selectTools(names, { listed: [], servers, functions, vacs: Object.keys(vacs).filter(other => other !== name), remote })
    if (problems.length > 0) throw new VacToolsError(JSON.stringify(name), problems.map(({ message }) => message).join('; '))
  }
}

/** Loads tools from a module whose export `tools`, or default export, has them. Its URL changes with the file. */
async function loadTools (path: string, folder: string, loadMs: number): Promise<FunctionTools> {
  const where = JSON.stringify(path)
  const file = isModulePath(path) ? resolve(folder, path) : undefined
  let given: unknown
  try {
    const loaded = await importWithin(moduleUrl(path, folder), loadMs)
    given = loaded.tools ?? loaded.default
  } catch (err) {
    const reason = (err as { code?: unknown }).code === 'INTERPRETER_MODULE'
      ? `there is no file ${file}; paths are relative to the configuration file`
      : await moduleProblem(err, file)
    throw Object.assign(new ToolsModuleError(where, reason), { cause: err })
  }
  if (Array.isArray(given)) {
    try {
      return defineTools(given as [])
    } catch (err) {
      throw new ToolsModuleError(where, (err as Error).message)
    }
  }
  const { list, call } = (given ?? {}) as Partial<FunctionTools>
  if (typeof list !== 'function' || typeof call !== 'function') {
    throw new ToolsModuleError(where, 'it exports no tools; export const tools = defineTools([…]), or a list of tools')
  }
  return given as FunctionTools
}

/** Loads a memory from a module whose export `createMemory(entry, { folder, log })`, or default export, creates it. */
async function loadMemory (entry: MemoryEntry, folder: string, log: Log, loadMs: number): Promise<Memory> {
  const { vectorstore } = entry
  const where = JSON.stringify(vectorstore)
  if (!isModulePath(vectorstore)) {
    throw new MemoryModuleError(where, `there is no such vectorstore; known: ${BUILT_IN.vectorstores.join(', ')}, or a module path`)
  }
  let loaded: { createMemory?: unknown, default?: unknown }
  const file = /^\.{0,2}[/\\]/.test(vectorstore) ? resolve(folder, vectorstore) : undefined
  try {
    loaded = await importWithin(file === undefined ? vectorstore : pathToFileURL(file).href, loadMs)
  } catch (err) {
    const reason = await moduleProblem(err, file)
    throw Object.assign(new MemoryModuleError(where, reason), { cause: err })
  }
  const create = loaded.createMemory ?? loaded.default
  if (typeof create !== 'function') throw new MemoryModuleError(where, 'it does not export a function createMemory(entry, { folder, log })')
  const memory = await (create as (entry: MemoryEntry, context: object) => Promise<Memory>)(entry, { folder, log })
  if (typeof (memory as Memory | undefined)?.search !== 'function') throw new MemoryModuleError(where, 'its memory has no search()')
  return memory
}
