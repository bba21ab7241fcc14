import { dirname } from 'node:path'
import type { Static, TObject, TSchema } from '@sinclair/typebox'
import { Value, ValueErrorType, type ValueError } from '@sinclair/typebox/value'
import { isAlias, isMap, isScalar, LineCounter, parseDocument, visit, type Alias, type Document, type Node, type Pair, type Scalar } from 'yaml'
import { equalKeys, excessOf, isTooLarge } from './bounds.js'
import { ConfigError, frameProblem, MAX_CONFIG_PROBLEMS, type ConfigProblem, type RefusedAuth } from './problem.js'
import { adoptClientFile, withoutComments } from './client-file.js'
import { readClientVariables, type ClientInputs } from './client-variables.js'
import { configFile, McpServerConfig, MemoryEntry, VacConfig, VacConfigFile } from './schema.js'
import { isModulePath } from './module-path.js'
import { interpolate } from './interpolate.js'
import { isRecord } from '../basics/is-record.js'
import { meantKey } from './mcp-server-problems.js'
import { aliasesOf, mergeKeys, nodeAt } from './merge-keys.js'
import { nearest, quoteName, vacNameProblem } from '../basics/names.js'
import { convert, explain, toPath, valueAt, type Path } from './schema-errors.js'
import type { ConfigOptions, FileCheck, SectionOptions, ServiceSection } from './service-section.js'
import { VAC_PREFIX } from '../basics/tool-name.js'

/** A checked configuration file. */
export interface Config<Service = Readonly<Record<string, unknown>>> {
  /** Absolute path. */
  readonly file: string
  /** Relative paths in the file are relative to this folder. */
  readonly folder: string
  /** Checked where the program that reads the file knows the section; otherwise any map. */
  readonly service: Service
  readonly vac: Readonly<Record<string, VacConfig>>
  /** Unknown keys inside VACs, which are kept, and variables that are not set. */
  readonly warnings: readonly ConfigProblem[]
  /** Names of the environment variables that the file refers to; they may be secrets. */
  readonly variables: readonly string[]
}

/** Most times that a part of the file is used by aliases and merge keys; each level of aliases multiplies it. */
const MAX_ALIASES = 1_000

/** SHA-256 in hexadecimal. */
const HASHES = /\b[0-9a-f]{64}\b/gi

/** Longest part of a text with variables that is repeated in a message, in UTF-16 units. */
const MAX_WRITTEN_CHARS = 200

/**
 * Checks the text of a configuration file.
 * @param file its absolute path, for messages and relative paths
 * @throws CONFIG_INVALID with all problems at once
 */
export function parseConfig (text: string, file: string, options: ConfigOptions = {}): Config {
  return parseSections(text, file, options)
}

/** The value of a file with another schema; its texts have no variables. @throws CONFIG_INVALID with all problems */
export function parseWith<T extends TSchema> (schema: T, text: string, file: string): Static<T> {
  const check = checkOf(text, file, undefined)
  const value = check.toValue()
  check.shape(value, schema)
  check.end()
  return value as Static<T>
}

/** The same for a program that knows `service`. */
export function parseSections (text: string, file: string, options: SectionOptions): Config {
  const { section } = options
  const check = checkOf(text, file, section)
  const variables = check.interpolate(options.env ?? process.env)
  const value = check.toValue()
  check.shape(value, section === undefined ? VacConfigFile : configFile(section.schema))
  check.warnOfVacs(value)
  const { vac, service } = value as { vac?: unknown, service?: unknown }
  const vacs = isRecord(vac) ? vac : {}
  if (section === undefined) check.mustServe(vac, service !== undefined, 'add a VAC under "vac:"')
  else section.check(check, { vac, service: isRecord(service) ? service : {} }, options)
  check.names(vacs, options)
  check.end()
  return { file, folder: dirname(file), service: (service ?? {}) as Record<string, unknown>, vac: vacs as Record<string, VacConfig>, warnings: check.warnings, variables }
}

/** @throws CONFIG_INVALID for a file that is too large or too deep */
function checkOf (text: string, file: string, section: ServiceSection | undefined): Check {
  const excess = excessOf(text)
  if (excess === undefined) return new Check(text, file, section)
  const { at, message } = excess
  const lines = text.slice(0, at).split('\n')
  throw new ConfigError([frameProblem({ file, line: lines.length, column: lines.at(-1)!.length + 1 }, text, 1, message)])
}

/** A problem at a place of a file that was checked before, such as one that shows when a service starts. */
export function problemIn (text: string, file: string, path: Path, message: string, hint?: string): ConfigProblem {
  return new Check(text, file, undefined).problemFor(path, message, hint)
}

/** One check of one file: its tree, its value, and their problems, each with its place. */
class Check implements FileCheck {
  // @keyed none: a list of one check of the configuration; MAX_CONFIG_PROBLEMS
  readonly problems: ConfigProblem[] = []
  // @keyed none: a list of one check of the configuration; MAX_CONFIG_PROBLEMS
  readonly warnings: ConfigProblem[] = []
  /** Whether there are more problems than are reported. */
  hasMore = false
  readonly #lines = new LineCounter()
  readonly #document: Document
  readonly #aliases: ReadonlyMap<Alias, Node>
  #isUnclear = false
  /** Of the file of an MCP client. */
  readonly #inputs: ClientInputs | undefined
  /** Scalars that had a `${…}`: only these are converted from text to the number or boolean of the schema. */
  // @keyed none: the keys are nodes of the configuration, and it lives for one check
  readonly #filled = new Map<Node, string>()

  constructor (readonly text: string, readonly file: string, readonly section: ServiceSection | undefined) {
    // its search for equal keys takes quadratic time
    this.#document = parseDocument(/\.jsonc?$/i.test(file) ? withoutComments(text) : text, { lineCounter: this.#lines, prettyErrors: false, uniqueKeys: false, logLevel: 'error' })
    for (const { pos: [from, to], message } of this.#document.errors) {
      const line = text.split('\n')[this.#lines.linePos(from).line - 1] ?? ''
      // eslint-disable-next-line no-template-curly-in-string
      const hint = /[{[].*\$\{/.test(line) ? 'a ${VAR} within { } or [ ] needs quotes: "${VAR}"' : undefined
      this.#report(this.problemAt(from, to - from, message, hint))
    }
    for (const key of equalKeys(this.#document)) {
      this.#isUnclear = true
      this.#report(this.#problemFor(key, 'Map keys must be unique'))
    }
    const aliases = aliasesOf(this.#document)
    this.#aliases = aliases
    for (const { node, message } of this.#isUnclear ? [] : mergeKeys(this.#document, aliases)) {
      this.#isUnclear = true
      this.#report(this.#problemFor(node, message))
    }
    const client = section === undefined ? undefined : adoptClientFile(this.#document, section.ofClient)
    this.#inputs = client?.inputs
    for (const { node, key, server } of client?.removed ?? []) {
      if (!this.#mayWarn) break
      this.warnings.push(this.#problemFor(node, `the key ${quoteName(key)} of the MCP server ${quoteName(server)} is not used`))
    }
  }

  get #mayWarn (): boolean {
    return this.warnings.length < MAX_CONFIG_PROBLEMS
  }

  interpolate (env: Readonly<Record<string, string | undefined>>): string[] {
    // @keyed none: the values are names in the configuration
    const variables = new Set<string>()
    const [servers, agents] = ['mcp_servers', 'a2a_agents'].map(key => this.#document.getIn(['service', key], true))
    visit(this.#document, {
      Scalar: (key, node, parents) => {
        if (key === 'key' || typeof node.value !== 'string' || !node.value.includes('$')) return
        // that of a merged entry is met again
        if (this.#filled.has(node)) return
        const isOfServer = parents.includes(servers as never)
        const written = isOfServer ? readClientVariables(node.value, this.file, this.#inputs) : { text: node.value, asked: undefined }
        const { text, variables: read, problems } = interpolate(written.text, env)
        for (const { message, unset } of problems) {
          // a missing credential must not stop the start-up; the status of the server or agent reports it
          if (unset !== undefined && parents.includes(agents as never)) {
            if (this.#mayWarn) this.warnings.push(this.#problemFor(node, `the environment variable ${unset} is not set; this agent is not asked without it`))
          } else if (unset !== undefined && isOfServer) {
            const id = written.asked?.get(unset)
            const question = id === undefined ? '' : `\${input:${id}} is a question of an MCP client, and a service asks no person: `
            const warning = `${question}the environment variable ${unset} is not set; this MCP server is not started without it`
            if (this.#mayWarn) this.warnings.push(this.#problemFor(node, warning))
          } else this.#report(this.#problemFor(node, message))
        }
        for (const name of read) variables.add(name)
        this.#filled.set(node, node.value)
        node.value = text
      }
    })
    return [...variables]
  }

  toValue (): unknown {
    if (this.#document.errors.length > 0 || this.#isUnclear) throw new ConfigError(this.problems, [], this.hasMore, this.refusedAuth)
    let value: unknown
    try {
      value = this.#document.toJS({ maxAliasCount: MAX_ALIASES }) ?? {}
    } catch (err) {
      throw new ConfigError([this.problemAt(0, 1, (err as Error).message)])
    }
    if (isTooLarge(value)) throw new ConfigError([this.problemAt(0, 1, 'the aliases of the file expand to too many values')])
    if (!isRecord(value)) return value
    listSingleNames(value)
    const { service, ...others } = withoutAnchors(value)
    return { ...others, ...service !== undefined && { service: isRecord(service) ? withoutAnchors(service) : service } }
  }

  /** The credentials of the file, as far as they can be read. */
  get refusedAuth (): RefusedAuth | undefined {
    let auth: unknown
    try {
      auth = this.#nodeAt(['service', 'auth'])?.toJS(this.#document, { maxAliasCount: 100 })
    } catch { /* aliases without end */ }
    // @keyed none: hashes of the file of the operator, of one check
    const hashes = new Set(this.text.match(HASHES))
    // those of variables, too
    visit(this.#document, { Scalar: (_key, { value }) => { for (const hash of String(value).match(HASHES) ?? []) hashes.add(hash) } })
    const isRead = isRecord(auth) && !isTooLarge(auth)
    if (!isRead && hashes.size === 0) return undefined
    return { auth: isRead ? auth as Record<string, unknown> : undefined, isWhole: this.#document.errors.length === 0, hashes: [...hashes].map(hash => hash.toLowerCase()) }
  }

  /** @throws CONFIG_INVALID where there are problems */
  end (): void {
    if (this.problems.length === 0) return
    throw new ConfigError(this.problems.sort((a, b) => a.line - b.line || a.column - b.column), this.warnings, this.hasMore, this.refusedAuth)
  }

  /** Checks the value against the schema. */
  shape (value: unknown, schema: TSchema): void {
    for (const error of errorsOf(schema, value)) {
      if (this.hasMore) return
      // a missing key has an error of type ObjectRequiredProperty, too
      if (error.value === undefined && error.type !== ValueErrorType.ObjectRequiredProperty) continue
      const path = toPath(error.path)
      const node = this.#nodeAt(path)
      if (this.#writtenAt(node) !== undefined && convert(value, path, error.schema)) continue
      this.#report(this.#explain(error, path, value))
    }
  }

  /** Warns of unknown keys inside VACs. */
  warnOfVacs (value: unknown): void {
    const { vac } = value as { vac?: unknown }
    for (const [name, entry] of isRecord(vac) ? Object.entries(vac) : []) {
      if (isRecord(entry)) this.#warnOfKeys(entry, VacConfig, ['vac', name], 'kept for the interpreter')
    }
  }

  #warnOfKeys (entry: Readonly<Record<string, unknown>>, { properties }: TObject, path: Path, what: string): void {
    for (const key of Object.keys(entry)) {
      if (key in properties || key.startsWith('x-')) continue
      if (!this.#mayWarn) return
      const warning = `unknown key ${quoteName(key)} in ${path.join('.')}, ${what}`
      this.warnings.push(this.#problemForKey([...path, key], warning, didYouMean(nearest(key, Object.keys(properties)))))
    }
  }

  /** Checks names, and references to interpreters and vectorstores, on the tree: a wrong part does not hide others. */
  names (vacs: Readonly<Record<string, unknown>>, { interpreters, vectorstores }: ConfigOptions): void {
    // @keyed none: names in the configuration, of one check
    const tools = new Set<unknown>()
    for (const [name, entry] of Object.entries(vacs)) {
      const problem = vacNameProblem(name)
      if (problem !== undefined) this.reportKey(['vac', name], `${quoteName(name)} cannot be the name of a VAC: ${problem.reason}`, problem.remedy)
      if (!isRecord(entry)) continue
      const { mcp_tool: tool } = entry
      if (tool !== undefined && tools.has(tool)) this.report(['vac', name, 'mcp_tool'], 'another VAC has a tool of this name')
      tools.add(tool)
      this.mustBeOneOf(entry.interpreter, interpreters, ['vac', name, 'interpreter'], 'built-in interpreter', true)
      const others = Object.keys(vacs).filter(other => other !== name).map(other => VAC_PREFIX + other)
      for (const [i, tool] of Array.isArray(entry.tools) ? entry.tools.entries() : []) {
        if (String(tool).startsWith(VAC_PREFIX)) this.mustBeOneOf(tool, others, ['vac', name, 'tools', i], 'other VAC', false)
      }
      for (const [i, stores] of Array.isArray(entry.memory) ? entry.memory.entries() : []) {
        for (const [label, store] of isRecord(stores) ? Object.entries(stores) : []) {
          if (isRecord(store)) {
            const path = ['vac', name, 'memory', i, label, 'vectorstore']
            this.mustBeOneOf(store.vectorstore, vectorstores, path, 'built-in vectorstore', true)
            // a module may read other keys
            if (vectorstores?.includes(String(store.vectorstore)) === true) this.#warnOfKeys(store, MemoryEntry, path.slice(0, -1), 'not read')
          }
        }
      }
    }
  }

  mustServe (vac: unknown, isOther: boolean, hint: string): void {
    if (isOther || (vac !== undefined && !(isRecord(vac) && Object.keys(vac).length === 0))) return
    this.reportKey(['vac'], vac === undefined ? 'the file has no "vac"' : 'vac: there is no VAC', hint)
  }

  report (path: Path, message: string, hint?: string): void {
    this.#report(this.#problemFor(this.#nodeAt(path), message, hint))
  }

  problemFor (path: Path, message: string, hint?: string): ConfigProblem {
    return this.#problemForKey(path, message, hint)
  }

  reportKey (path: Path, message: string, hint?: string): void {
    this.#report(this.#problemForKey(path, message, hint))
  }

  describe (path: Path, value: unknown): string {
    return this.#describe(this.#nodeAt(path), value)
  }

  mustBeOneOf (name: unknown, names: readonly string[] | undefined, path: Path, what: string, orPath: boolean): void {
    if (typeof name !== 'string' || names === undefined || names.includes(name)) return
    if (orPath && isModulePath(name)) return
    const list = names.length === 0 ? 'none is known' : `known: ${names.slice(0, MAX_CONFIG_PROBLEMS).join(', ')}`
    const more = orPath ? '; or give a module path, such as ./mine.mjs' : ''
    this.report(path, `there is no ${what} ${this.describe(path, name)}; ${list}${more}`, didYouMean(nearest(name, names)))
  }

  #explain (error: ValueError, path: Path, value: unknown): ConfigProblem {
    const where = path.length === 0 ? 'the file' : path.slice(0, -1).join('.') || 'the file'
    const key = String(path.at(-1) ?? '')
    if (error.type === ValueErrorType.ObjectAdditionalProperties) {
      const known = Object.keys((error.schema as TObject).properties)
      const near = error.schema.properties === McpServerConfig.properties
        ? meantKey(key)
        : nearest(key, known.filter(name => !(name in (valueAt(value, path.slice(0, -1)) as object))))
      return this.#problemForKey(path, `unknown key ${quoteName(key)} in ${where}`,
        didYouMean(near) ?? `known: ${known.join(', ')}`)
    }
    if (error.type === ValueErrorType.ObjectRequiredProperty) {
      return this.#problemForKey(path.slice(0, -1), `${where} has no ${quoteName(key)}`, `add "${key}:"`)
    }
    const node = this.#nodeAt(path)
    const meant = this.#writtenAt(this.#nodeAt([...path, 'vac'])) === undefined ? meantTool(error.value) : undefined
    return this.#problemFor(node ?? this.#keyNode(path),
      `${path.join('.') || 'the file'}: ${lower(error.message)}, got ${this.#describe(node, error.value)}`, didYouMean(meant))
  }

  /** A value for messages; one from the environment may be a secret and is shown as its `${…}`. */
  #describe (node: Node | undefined, value: unknown): string {
    if (value === null) return 'nothing'
    if (typeof value === 'object') return Array.isArray(value) ? 'a list' : 'a map'
    const written = this.#writtenAt(node)
    if (written !== undefined) return `the value of ${written.slice(0, MAX_WRITTEN_CHARS)}`
    return typeof value === 'string' ? quoteName(value) : String(value)
  }

  /** The text of a scalar that had a `${…}`, also of the one that an alias stands for. */
  #writtenAt (node: Node | undefined): string | undefined {
    const scalar = isAlias(node) ? this.#aliases.get(node) : node
    return scalar === undefined ? undefined : this.#filled.get(scalar)
  }

  /** Adds a problem; a missing key is left out where a mistyped one explains it. */
  #report (problem: ConfigProblem): void {
    const { line, column, message } = problem
    if (this.problems.some(other => other.line === line && other.column === column && other.message === message)) return
    const [, where, missing] = /^(.*) has no ("[^"]+")$/.exec(message) ?? []
    const explains = (other: ConfigProblem): boolean =>
      other.hint === `did you mean ${missing}?` && other.message.endsWith(` in ${where}`)
    if (missing !== undefined && this.problems.some(explains)) return
    if (this.problems.length >= MAX_CONFIG_PROBLEMS) {
      this.hasMore = true
      return
    }
    this.problems.push(problem)
    const meant = /^did you mean ("[^"]+")\?$/.exec(problem.hint ?? '')?.[1]
    const inside = message.slice(message.lastIndexOf(' in ') + 4)
    const explained = meant === undefined ? -1 : this.problems.findIndex(other => other.message === `${inside} has no ${meant}`)
    if (explained !== -1) this.problems.splice(explained, 1)
  }

  #nodeAt (path: Path): Node | undefined {
    const node = nodeAt(this.#document, this.#aliases, path)
    if (node !== undefined || typeof path.at(-1) !== 'number') return node
    // a single name is a list of one, which the tree does not have
    const whole = nodeAt(this.#document, this.#aliases, path.slice(0, -1))
    return isScalar(whole) || isAlias(whole) ? whole : undefined
  }

  #keyNode (path: Path): Node | undefined {
    let parent: unknown = this.#nodeAt(path.slice(0, -1))
    if (isAlias(parent)) parent = this.#aliases.get(parent)
    if (!isMap(parent)) return undefined
    const pair = (parent.items as Array<Pair<Scalar>>).find(({ key }) => isScalar(key) && String(key.value) === String(path.at(-1)))
    return pair?.key
  }

  #problemForKey (path: Path, message: string, hint?: string): ConfigProblem {
    return this.#problemFor(this.#keyNode(path) ?? this.#nodeAt(path), message, hint)
  }

  #problemFor (node: Node | null | undefined, message: string, hint?: string): ConfigProblem {
    const [from, to] = node?.range ?? [0, 1]
    return this.problemAt(from, to - from, message, hint)
  }

  problemAt (offset: number, width: number, message: string, hint?: string): ConfigProblem {
    const { line, col } = this.#lines.linePos(offset)
    return frameProblem({ file: this.file, line: Math.max(1, line), column: Math.max(1, col) }, this.text, width, message, hint)
  }
}

function * errorsOf (schema: TSchema, value: unknown): Generator<ValueError> {
  for (const error of Value.Errors(schema, value)) yield * explain(error)
}

const didYouMean = (near: string | undefined): string | undefined => near && `did you mean ${quoteName(near)}?`
const lower = (text: string): string => text.charAt(0).toLowerCase() + text.slice(1)

/** A single name in place of a list of tools becomes a list of one. */
function listSingleNames ({ vac, service }: Readonly<Record<string, unknown>>): void {
  const servers = isRecord(service) ? service.mcp_servers : undefined
  for (const entries of [vac, servers]) {
    for (const entry of isRecord(entries) || Array.isArray(entries) ? Object.values<unknown>(entries) : []) {
      if (!isRecord(entry)) continue
      for (const key of ['tools', 'approve']) if (typeof entry[key] === 'string') entry[key] = [entry[key]]
    }
  }
}

/** `vac: name`, a map of YAML, in place of the text `vac:name`. */
function meantTool (value: unknown): string | undefined {
  if (!isRecord(value) || Object.keys(value).length !== 1 || typeof value.vac !== 'string') return undefined
  return VAC_PREFIX + value.vac
}

/** Leaves out the entries that are there for anchors, as in files of docker compose. */
function withoutAnchors (value: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(value).filter(([key]) => !key.startsWith('x-')))
}
