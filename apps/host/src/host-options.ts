import type { Authenticate, FunctionTools, Interpreter, McpServerConfig, VacConfig } from '@polyvac/core'
import { callback, flag, isRecord, optional, type OptionRule, type OptionRules } from '@polyvac/core/plugin'
import type { ProtectedResource } from '@polyvac/mcp-server'
import type { TSchema } from '@sinclair/typebox'
import { Value } from '@sinclair/typebox/value'
import type { FastifyServerOptions } from 'fastify'
import type { HostConfig } from './config/read-config.js'
import type { A2aAgentConfig } from './config/agent-config.js'
import { ServiceConfig } from './config/service-config.js'

/** The progress of indexing, with the name of the VAC. */
export interface IndexingProgress {
  readonly vac: string
  readonly files: number
  readonly done: number
  readonly passages: number
  /** Passages with a vector so far; set while a model embeds them. */
  readonly embedded?: number | undefined
}

/**
 * Options of `createHost`: the keys of `service` of a configuration file, and options of programs. A
 * switch here takes precedence over the one of the configuration file.
 */
export interface HostOptions {
  /** A function, a built-in name (`documents`, `openai`, `echo`) or a module path. Default: `documents`. */
  readonly stream_interpreter?: Interpreter | string | undefined
  /** A function or a module path. Without it the static call collects the stream. */
  readonly vac_interpreter?: Interpreter | string | undefined
  /** Tools for interpreters: what `defineTools` of `@polyvac/core` returns, or the path of a module that exports it. */
  readonly tools?: FunctionTools | string | undefined
  /** Register the A2A endpoints. Default false. */
  readonly enable_a2a_agent?: boolean | undefined
  /** Null or absent: all; an empty array: none. */
  readonly a2a_vac_names?: readonly string[] | null | undefined
  /** Options of A2A 1.0 and 0.3: `{ default_vac, input_modes, strict_card, grpc: { port, host, url } }`. */
  readonly a2a?: ServiceConfig['a2a'] | undefined
  /** Offer an MCP server at /mcp. Default false. */
  readonly enable_mcp_server?: boolean | undefined
  /** Options of the MCP server: `{ tool_search: 40 }`. */
  readonly mcp_server?: ServiceConfig['mcp_server'] | undefined
  /**
   * Serve the chat and its inspector at / and /playground/. Default: false in `createHost`; the command line sets it
   * where it listens on a loopback address and NODE_ENV is not `production`.
   */
  readonly enable_playground?: boolean | undefined
  /** The page of the playground: `{ title, theme, read_only, sign_in }`. */
  readonly playground?: ServiceConfig['playground'] | undefined
  /** External MCP servers: a list, or the `mcpServers` map of other tools. */
  readonly mcp_servers?: readonly McpServerConfig[] | Readonly<Record<string, McpServerConfig>> | null | undefined
  /** Agents of other services that answer over A2A, as VACs: `{ name, url, auth, … }`. */
  readonly a2a_agents?: readonly A2aAgentConfig[] | null | undefined
  /** `none`: MCP servers inherit only the safe list of variables and those that their entry names. Default `all`. */
  readonly mcp_inherit_env?: 'all' | 'none' | undefined
  /** Protocols of `@polyvac/vac` by name: false, true, or options such as `{ keep_alive: 20 }`. Default: all. */
  readonly protocols?: ServiceConfig['protocols'] | undefined
  /** False: interpreter modules run in worker threads. Default true. */
  readonly async_stream?: boolean | undefined
  /** Bounds of the connections of callers: `{ max, stall_timeout, … }`, times in seconds. */
  readonly connections?: ServiceConfig['connections'] | undefined
  /** MiB that requests, responses and sessions may hold together. Default: a quarter of the heap limit. */
  readonly memory_budget?: number | undefined
  /** Who may call: `{ tokens, jwt, platform, open }`. An `authenticate` function takes precedence. */
  readonly auth?: ServiceConfig['auth'] | undefined
  /** Lets pages of `allowed_origins` read responses, by @fastify/cors. Default false. */
  readonly cors?: boolean | undefined
  /** Sends the security headers of @fastify/helmet. Default false. */
  readonly helmet?: boolean | undefined
  /** Bounds of callers: `{ owner: { requests_per_minute, at_once, tasks_per_day }, address, owner_share }`. */
  readonly limits?: ServiceConfig['limits'] | undefined
  /** Addresses of the proxies in front, whose `X-Forwarded-*` headers count. Default: none. */
  readonly trusted_proxies?: readonly string[] | undefined
  /** Address under which callers reach the service. */
  readonly public_url?: string | undefined
  /** Further host names of the service in `Host`; `*` allows all. */
  readonly allowed_hosts?: readonly string[] | undefined
  /** Web pages that may send requests with effects, as origins; `*` allows all. */
  readonly allowed_origins?: readonly string[] | undefined
  /** `{ prometheus: true }` serves GET /metrics; `{ capture_content: true }` puts content into spans. */
  readonly telemetry?: ServiceConfig['telemetry'] | undefined
  /** Seconds for loading an interpreter or memory module, and for opening a memory. Default 30. */
  readonly load_timeout?: number | undefined
  /**
   * The store of the tasks of A2A and MCP: `{ store, path, ttl, input_ttl, max_tasks, max_size }`, or in PostgreSQL
   * `{ url, schema, pool, … }`. Default: `.polyvac/tasks.db` next to the configuration file; in memory where there is
   * none.
   */
  readonly tasks?: ServiceConfig['tasks'] | undefined
  /** The conversations that the store of the tasks keeps: `{ store, ttl, max_turns, max_conversations, max_size }`. */
  readonly conversations?: ServiceConfig['conversations'] | undefined
  /** Signs state of MCP that clients keep, 32 bytes or more. Default: a key in the database; without one, random. */
  readonly state_key?: string | undefined
  /** Push notifications: `{ enabled, allow }`. Default: on, only to public https addresses. */
  readonly push?: ServiceConfig['push'] | undefined
  /** The VACs, by name; instead of a configuration file. */
  readonly vacs?: readonly string[] | Readonly<Record<string, VacConfig>> | undefined
  /** A configuration file, or what `readConfig` of this package returns; default without `vacs`: `vac_config.yaml`. */
  readonly config?: string | HostConfig | undefined
  /** Names the caller; undefined refuses the request with 401. */
  readonly authenticate?: Authenticate | undefined
  /**
   * With `authenticate`: how MCP clients get a token, published at /.well-known/oauth-protected-resource and named in
   * each 401 (RFC 9728).
   */
  readonly protectedResource?: ProtectedResource | undefined
  /** Options of the Fastify instance. */
  readonly server?: FastifyServerOptions | undefined
  /** Follow changes of document folders. Default true. */
  readonly watchDocuments?: boolean | undefined
  /** Called while document folders are indexed. */
  readonly onIndexing?: ((progress: IndexingProgress) => void) | undefined
}

const isText = (value: unknown): boolean => typeof value === 'string'
const isList = (value: unknown): boolean => Array.isArray(value)

// the command decides what a stray error does, since it has the process
const { stream_interpreter: _stream, vac_interpreter: _once, tools: _tools, on_stray_error: _stray, ...SWITCHES } = ServiceConfig.properties

/** Types and defaults of the options: a switch takes in code what it takes in the configuration file. */
export const HOST_OPTIONS = {
  ...switchRules(),
  stream_interpreter: optional('a function, a built-in name or a module path', value => typeof value === 'function' || isText(value)),
  vac_interpreter: optional('a function or a module path', value => typeof value === 'function' || isText(value)),
  tools: optional('what defineTools() returns, or a module path', value => isText(value) || (isRecord(value) && typeof value.list === 'function' && typeof value.call === 'function')),
  // the gateway checks each of them
  mcp_servers: optional('a list of servers, a map of them, or null', value => value === null || isList(value) || isRecord(value)),
  public_url: optional('a text', isText),
  vacs: optional('names, or entries by name', value => isList(value) || isRecord(value)),
  config: optional('the path of a file, or what readConfig() of @polyvac/host returns', value => isText(value) || (isRecord(value) && Value.Check(ServiceConfig, value.service ?? {}))),
  authenticate: callback(),
  protectedResource: optional('an object', isRecord),
  server: optional('an object of Fastify options', isRecord),
  watchDocuments: flag(true),
  onIndexing: callback()
} satisfies OptionRules<HostOptions>

function switchRules (): Record<keyof typeof SWITCHES, OptionRule<undefined>> {
  const ruleOf = ([name, schema]: [string, TSchema]): [string, OptionRule<undefined>] =>
    [name, schema.type === 'boolean' ? flag() : optional(`what \`service.${name}\` of the configuration file takes`, value => Value.Check(schema, value))]
  return Object.fromEntries(Object.entries(SWITCHES).map(ruleOf)) as Record<keyof typeof SWITCHES, OptionRule<undefined>>
}

/** The options, joined with the switches of the configuration file. */
export interface Settings {
  readonly vacs: Readonly<Record<string, VacConfig>>
  readonly folder: string
  readonly switches: Omit<ServiceConfig, 'stream_interpreter' | 'vac_interpreter' | 'tools'>
  readonly streamInterpreter: Interpreter | string
  readonly vacInterpreter: Interpreter | string | undefined
  readonly tools: FunctionTools | string | undefined
  /** Names of all MCP servers of the file and of the options, which may switch them off. */
  readonly serverNames: readonly string[]
}

/** Joins options and configuration file; options in code take precedence. */
export function toSettings (options: HostOptions, config: HostConfig | undefined): Settings {
  const { stream_interpreter: stream = 'documents', vac_interpreter: once, tools, ...file } = config?.service ?? {}
  const code = Object.fromEntries(Object.entries(options).filter(([name, value]) => Object.hasOwn(SWITCHES, name) && value !== undefined)) as Settings['switches']
  type Vacs = Readonly<Record<string, VacConfig>>
  const { vacs: own } = options
  const vacs: Vacs = own === undefined
    ? config?.vac ?? {}
    : Array.isArray(own) ? Object.fromEntries(own.map((name: string) => [name, {}])) : own as Vacs
  return {
    vacs,
    folder: config?.folder ?? process.cwd(),
    switches: { ...file, ...code },
    streamInterpreter: options.stream_interpreter ?? stream,
    vacInterpreter: options.vac_interpreter ?? (options.stream_interpreter === undefined ? once : undefined),
    tools: options.tools ?? tools,
    serverNames: [options.mcp_servers, file.mcp_servers].flatMap(servers => Object.entries<unknown>(servers ?? {}).map(([key, entry]) => isRecord(entry) ? String(entry.name ?? key) : key))
  }
}
