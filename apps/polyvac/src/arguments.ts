import { nearest } from '@polyvac/core/basics'
import { existsSync } from 'node:fs'
import { parseArgs, type ParseArgsConfig } from 'node:util'
import { UsageError } from './errors.js'

export const COMMANDS = ['start', 'mcp', 'check', 'ask', 'chat', 'doctor', 'replay', 'init', 'openapi', 'tools', 'call', 'migrate', 'token'] as const

/** Commands whose words are a folder only when written as a path, with the maximum number of words. */
const WITH_WORDS: Partial<Record<string, number>> = { ask: Infinity, token: Infinity, chat: 1, doctor: 1, replay: 1, tools: 1, call: 3 }

/** Commands that take the command of an MCP server after `--`. */
const WITH_SERVER: readonly string[] = ['start', 'mcp', 'check', 'openapi', 'tools', 'call']

export const TEMPLATES = ['default', 'model', 'ts'] as const
export type Template = typeof TEMPLATES[number]
export type Command = typeof COMMANDS[number]

/** The command line, with the defaults of the environment. */
export interface Arguments {
  readonly command: Command | 'help' | 'version'
  /** The words after the command, without the folder or file. */
  readonly words: readonly string[]
  /** The folder or configuration file named by position. */
  readonly target: string | undefined
  readonly config: string | undefined
  /** The command after `--`, which starts the one MCP server to serve. */
  readonly serverCommand: readonly string[] | undefined
  /** What `init` copies; without a name the default one, or in a Fastify app only a plugin. */
  readonly template: Template | undefined
  readonly port: number
  readonly host: string
  readonly publicUrl: string | undefined
  readonly watch: boolean
  readonly allowUnauthenticated: boolean
  readonly logLevel: string | undefined
  readonly pretty: boolean | undefined
  readonly json: boolean
  /** The running service that `chat` talks to, and to which `replay` sends a session. */
  readonly url: string | undefined
  /** Lines `name: value` that go with each request of `chat`, `doctor` and `replay`. They may be secrets. */
  readonly headers: readonly string[]
  /** Whether `replay` also sends requests that may change something. */
  readonly all: boolean
  /** Seconds for answers in progress when the service stops. */
  readonly grace: number
}

const OPTIONS = {
  config: { type: 'string', short: 'c' },
  template: { type: 'string', short: 't' },
  port: { type: 'string', short: 'p' },
  host: { type: 'string' },
  'public-url': { type: 'string' },
  watch: { type: 'boolean', short: 'w' },
  'allow-unauthenticated': { type: 'boolean' },
  'log-level': { type: 'string' },
  pretty: { type: 'boolean' },
  json: { type: 'boolean' },
  url: { type: 'string' },
  header: { type: 'string', multiple: true },
  all: { type: 'boolean' },
  grace: { type: 'string' },
  help: { type: 'boolean', short: 'h' },
  version: { type: 'boolean', short: 'v' }
} as const satisfies ParseArgsConfig['options']

export const DEFAULTS = { port: 8080, host: '127.0.0.1', graceSeconds: 10 } as const

const LOG_LEVELS = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent']

export const HELP = `polyvac: agents over direct HTTP, the OpenAI-compatible API, A2A and MCP

  polyvac [start] [folder | config]     serve a folder of documents, the VACs of a configuration file, or the MCP servers
                                        of an MCP client's configuration file
  polyvac [start] -- command [argument…]
                                        serve the tools of the MCP server that this command starts
  polyvac mcp [folder | config]         the same agents as an MCP server on standard input and output, for desktop clients
  polyvac ask [folder | config] [vac] "question"
                                        ask once, without a server
  polyvac chat [folder | config] [vac]  hold a conversation on a terminal or over a pipe, here or with the service of --url
  polyvac doctor [url | folder | config]
                                        check a running service of any kind, or the one of the configuration, and print
                                        what is wrong and how to fix it
  polyvac replay [folder | config] session.jsonl
                                        send the requests of a session that the playground exported again, here or to the
                                        service of --url, and compare the answers
  polyvac tools [folder | config] [server]
                                        list the tools of the MCP servers that the configuration names
  polyvac call [folder | config] server tool '{"argument":"value"}'
                                        call one of them
  polyvac check [folder | config]       read the configuration and print all problems
  polyvac init [folder]                 write a service to start from; in a Fastify app, one plugin
  polyvac openapi [folder | config]     print the OpenAPI document
  polyvac token owner [scope…]          print a new bearer token, and its entry for service.auth.tokens
  polyvac migrate [folder | config]     create or update the tables of the tasks in PostgreSQL, ahead of a start
  polyvac help                          print this text

  -c, --config file           configuration file (default: vac_config.yaml, then config/vac_config.yaml)
  -t, --template name         with init: default, model (a language model with tools), ts (TypeScript)
  -p, --port number           port, 0 for a free one (default: PORT, then ${DEFAULTS.port})
      --host address          address to bind (default: HOST, then ${DEFAULTS.host})
      --public-url url        address under which callers reach the service (default: PUBLIC_URL)
  -w, --watch                 also follow changes of interpreter modules
      --allow-unauthenticated bind an address that other machines reach, without authentication of callers
      --log-level level       ${LOG_LEVELS.join(', ')}
      --pretty, --json        log lines for people, or for programs; with ask, chat, doctor, replay and tools: results as JSON
      --url service           with chat and replay: the address of a running service
      --header 'name: value'  with chat, doctor and replay: a header of each request, such as a token; repeatable
      --all                   with replay: also send requests that may change something
      --grace seconds         time for answers in progress when the service stops (default: ${DEFAULTS.graceSeconds})
`

/** @throws USAGE naming the invalid argument */
export function readArguments (argv: readonly string[], env: Readonly<Record<string, string | undefined>>): Arguments {
  const end = argv.indexOf('--')
  const serverCommand = end === -1 ? undefined : argv.slice(end + 1)
  const { values, positionals } = parse(end === -1 ? argv : argv.slice(0, end))
  const [first = ''] = positionals
  const named = (COMMANDS as readonly string[]).includes(first)
  if (!named && first !== '' && first !== 'help') refuseTypingError(first)
  const command = named ? first as Command : 'start'
  const rest = named ? positionals.slice(1) : positionals
  const { [command]: maxWords = 0 } = WITH_WORDS
  if (serverCommand !== undefined) checkServerCommand(serverCommand, command, values.config)
  // the last word of `ask` is the question and that of `replay` the session, even if it looks like a path
  const minRest = ['ask', 'replay'].includes(command) ? 1 : 0
  const isTarget = serverCommand === undefined && command !== 'token' && (maxWords === 0 || (rest.length > minRest && isPath(rest[0]!)))
  const target = isTarget ? rest[0] : undefined
  const words = target === undefined ? rest : rest.slice(1)
  const isHelp = values.help === true || first === 'help'
  if (words.length > maxWords && !isHelp) throw new UsageError(`${JSON.stringify(words[maxWords])} is one word too many for polyvac ${command}`)
  const { 'log-level': logLevel = env.LOG_LEVEL, 'public-url': publicUrl = env.PUBLIC_URL } = values
  if (logLevel !== undefined && !LOG_LEVELS.includes(logLevel)) {
    throw new UsageError(`--log-level ${logLevel} is not one of ${LOG_LEVELS.join(', ')}`)
  }
  if (publicUrl && !/^https?:\/\/./.test(publicUrl)) throw new UsageError(`--public-url ${publicUrl} is not an http(s) URL`)
  return {
    command: isHelp ? 'help' : values.version === true ? 'version' : command,
    words,
    target,
    config: values.config,
    serverCommand,
    template: templateOf(values.template),
    port: wholeNumber('--port', values.port ?? env.PORT, DEFAULTS.port, 65_535),
    host: values.host ?? (env.HOST === '' ? undefined : env.HOST) ?? DEFAULTS.host,
    publicUrl: publicUrl === '' ? undefined : publicUrl,
    watch: values.watch === true,
    allowUnauthenticated: values['allow-unauthenticated'] === true,
    logLevel,
    pretty: values.pretty,
    json: values.json === true,
    url: values.url,
    headers: values.header ?? [],
    all: values.all === true,
    grace: wholeNumber('--grace', values.grace, DEFAULTS.graceSeconds, 3_600)
  }
}

function parse (argv: readonly string[]) {
  try {
    return parseArgs({ args: [...argv], options: OPTIONS, allowPositionals: true })
  } catch (err) {
    throw new UsageError((err as Error).message.split('. ')[0] ?? 'the arguments are invalid')
  }
}

/** @throws USAGE naming the command that a first word is close to; a word that names a file or folder is one */
function refuseTypingError (word: string): void {
  const near = nearest(word, [...COMMANDS, 'help'])
  if (near !== undefined && !isPath(word) && !existsSync(word)) {
    throw new UsageError(`${JSON.stringify(word)} is not a command, a folder or a file; did you mean \`polyvac ${near}\`?`)
  }
}

function checkServerCommand (serverCommand: readonly string[], command: Command, config: string | undefined): void {
  if (serverCommand.length === 0) throw new UsageError('there is no command after --; polyvac -- npx -y @modelcontextprotocol/server-everything')
  if (!WITH_SERVER.includes(command)) throw new UsageError(`polyvac ${command} does not take the command of an MCP server after --`)
  if (config !== undefined) throw new UsageError('--config and the command of an MCP server after -- exclude each other')
}

function templateOf (name: string | undefined): Template | undefined {
  if (name === undefined) return undefined
  const template = TEMPLATES.find(template => template === name)
  if (template === undefined) throw new UsageError(`--template ${name} is not one of ${TEMPLATES.join(', ')}`)
  return template
}

function wholeNumber (name: string, text: string | undefined, fallback: number, max: number): number {
  if (text === undefined || text === '') return fallback
  const value = Number(text)
  if (!/^\d+$/.test(text) || value > max) throw new UsageError(`${name} ${text} is not a whole number from 0 to ${max}`)
  return value
}

function isPath (word: string): boolean {
  return !/^https?:\/\//.test(word) && /^\.{1,2}$|[/\\]|\.(ya?ml|json)$/.test(word) && !/\s/.test(word)
}
