import { ServiceConfig, type Authenticate, type Config, type Interpreter, type McpServerConfig, type VacConfig } from '@polyvac/core'
import { callback, flag, isRecord, optional, type OptionRule, type OptionRules } from '@polyvac/core/plugin'
import type { ProtectedResource } from '@polyvac/mcp-server'
import { Value } from '@sinclair/typebox/value'
import type { FastifyServerOptions } from 'fastify'

/** What the documents packages tells of its progress, with the VAC it is for. */
export interface IndexingProgress {
  readonly vac: string
  readonly files: number
  readonly done: number
  readonly passages: number
}

/**
 * Options of `createHost`: the switches of the service description by their own names, and the few things a program
 * adds. A switch given here outranks the configuration file's.
 */
export interface HostOptions {
  /** A function, a built-in name (`documents`, `openai`, `echo`) or a module path. Default: `documents`. */
  readonly stream_interpreter?: Interpreter | string | undefined
  /** A function or a module path. Without it the static call collects the stream. */
  readonly vac_interpreter?: Interpreter | string | undefined
  readonly enable_a2a_agent?: boolean | undefined
  /** Null or absent: all; an empty array: none. */
  readonly a2a_vac_names?: readonly string[] | null | undefined
  /** More of A2A 1.0 and 0.3: `{ default_vac, input_modes, strict_card, grpc: { port, host, url } }`. */
  readonly a2a?: ServiceConfig['a2a'] | undefined
  readonly enable_mcp_server?: boolean | undefined
  readonly mcp_servers?: readonly McpServerConfig[] | Readonly<Record<string, McpServerConfig>> | null | undefined
  /** `none`: MCP servers see the safe list of variables and what their entry names. Default `all`. */
  readonly mcp_inherit_env?: 'all' | 'none' | undefined
  /** False: interpreter modules run in worker threads. Default true. */
  readonly async_stream?: boolean | undefined
  readonly public_url?: string | undefined
  /** Where the tasks of A2A and MCP are kept: `{ store, path, ttl, max_tasks }`. Default: `.polyvac/tasks.db` beside the configuration file; in memory where there is none. */
  readonly tasks?: ServiceConfig['tasks'] | undefined
  /** Push notifications: `{ enabled, allow }`. Default: on, to public https addresses alone. */
  readonly push?: ServiceConfig['push'] | undefined
  /** The VACs, by name; instead of a configuration file. */
  readonly vacs?: readonly string[] | Readonly<Record<string, VacConfig>> | undefined
  /** A configuration file, or one that is read already. Default, where no `vacs` are given: `vac_config.yaml`. */
  readonly config?: string | Config | undefined
  /** Names the caller; undefined refuses the request with 401. */
  readonly authenticate?: Authenticate | undefined
  /** With `authenticate`: how MCP clients get a token, told at /.well-known/oauth-protected-resource and with each 401 (RFC 9728). */
  readonly protectedResource?: ProtectedResource | undefined
  /** Options of the Fastify instance. */
  readonly server?: FastifyServerOptions | undefined
  /** Follow changes of document folders. Default true. */
  readonly watchDocuments?: boolean | undefined
  readonly onIndexing?: ((progress: IndexingProgress) => void) | undefined
}

const isText = (value: unknown): boolean => typeof value === 'string'
const isList = (value: unknown): boolean => Array.isArray(value)

/** Types and defaults of the options. */
export const HOST_OPTIONS = {
  stream_interpreter: optional('a function, a built-in name or a module path', value => typeof value === 'function' || isText(value)),
  vac_interpreter: optional('a function or a module path', value => typeof value === 'function' || isText(value)),
  enable_a2a_agent: flag(),
  a2a_vac_names: switchRule('a2a_vac_names'),
  a2a: switchRule('a2a'),
  enable_mcp_server: flag(),
  mcp_servers: optional('a list of servers, a map of them, or null', value => value === null || isList(value) || isRecord(value)),
  mcp_inherit_env: switchRule('mcp_inherit_env'),
  async_stream: flag(),
  public_url: optional('a text', isText),
  tasks: switchRule('tasks'),
  push: switchRule('push'),
  vacs: optional('names, or entries by name', value => isList(value) || isRecord(value)),
  config: optional('the path of a file, or what readConfig() returns', value => isText(value) || isRecord(value)),
  authenticate: callback(),
  protectedResource: optional('an object', isRecord),
  server: optional('an object of Fastify options', isRecord),
  watchDocuments: flag(true),
  onIndexing: callback()
} satisfies OptionRules<HostOptions>

/** A switch that takes in code what it takes in the configuration file. */
function switchRule (name: keyof ServiceConfig): OptionRule<undefined> {
  return optional(`what \`service.${name}\` of the configuration file takes`, value => Value.Check(ServiceConfig.properties[name], value))
}

/** The host's options with the file's switches filled in. */
export interface Settings {
  readonly vacs: Readonly<Record<string, VacConfig>>
  readonly folder: string
  readonly switches: Omit<ServiceConfig, 'stream_interpreter' | 'vac_interpreter'>
  readonly streamInterpreter: Interpreter | string
  readonly vacInterpreter: Interpreter | string | undefined
}

/** Built-in names, for checks and messages. */
export const BUILT_IN = { interpreters: ['documents', 'openai', 'echo'], vectorstores: ['folder'] } as const

/** Joins options and configuration file; options given in code win. */
export function toSettings (options: HostOptions, config: Config | undefined): Settings {
  const { stream_interpreter: stream = 'documents', vac_interpreter: once, ...file } = config?.service ?? {}
  const code = Object.fromEntries(Object.entries({
    enable_a2a_agent: options.enable_a2a_agent,
    a2a_vac_names: options.a2a_vac_names,
    a2a: options.a2a,
    enable_mcp_server: options.enable_mcp_server,
    mcp_servers: options.mcp_servers,
    mcp_inherit_env: options.mcp_inherit_env,
    async_stream: options.async_stream,
    public_url: options.public_url,
    tasks: options.tasks,
    push: options.push
  }).filter(([, value]) => value !== undefined)) as Settings['switches']
  const named = options.vacs
  const vacs: Readonly<Record<string, VacConfig>> = named === undefined
    ? config?.vac ?? {}
    : Array.isArray(named) ? Object.fromEntries(named.map((name: string) => [name, {}])) : named as Readonly<Record<string, VacConfig>>
  return {
    vacs,
    folder: config?.folder ?? process.cwd(),
    switches: { ...file, ...code },
    streamInterpreter: options.stream_interpreter ?? stream,
    vacInterpreter: options.vac_interpreter ?? (options.stream_interpreter === undefined ? once : undefined)
  }
}
