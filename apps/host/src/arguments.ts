import { parseArgs, type ParseArgsConfig } from 'node:util'
import { UsageError } from './errors.js'

export const COMMANDS = ['start', 'mcp', 'check', 'ask', 'init', 'openapi', 'tools', 'call'] as const

/** Commands whose words are a folder only when written as a path, with the maximum number of words. */
const WITH_WORDS: Partial<Record<string, number>> = { ask: Infinity, tools: 1, call: 3 }
export type Command = typeof COMMANDS[number]

/** The command line, with the defaults of the environment. */
export interface Arguments {
  readonly command: Command | 'help' | 'version'
  /** The words after the command, without the folder or file. */
  readonly words: readonly string[]
  /** The folder or configuration file named by position. */
  readonly target: string | undefined
  readonly config: string | undefined
  readonly port: number
  readonly host: string
  readonly publicUrl: string | undefined
  readonly watch: boolean
  readonly allowUnauthenticated: boolean
  readonly logLevel: string | undefined
  readonly pretty: boolean | undefined
  readonly json: boolean
  /** Seconds for answers in progress when the service stops. */
  readonly grace: number
}

const OPTIONS = {
  config: { type: 'string', short: 'c' },
  port: { type: 'string', short: 'p' },
  host: { type: 'string' },
  'public-url': { type: 'string' },
  watch: { type: 'boolean', short: 'w' },
  'allow-unauthenticated': { type: 'boolean' },
  'log-level': { type: 'string' },
  pretty: { type: 'boolean' },
  json: { type: 'boolean' },
  grace: { type: 'string' },
  help: { type: 'boolean', short: 'h' },
  version: { type: 'boolean', short: 'v' }
} as const satisfies ParseArgsConfig['options']

export const DEFAULTS = { port: 8080, host: '127.0.0.1', graceSeconds: 10 } as const

const LOG_LEVELS = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent']

export const HELP = `polyvac: agents over direct HTTP, the OpenAI-compatible API, A2A and MCP

  polyvac [start] [folder | config]     serve a folder of documents, or the VACs of a configuration file
  polyvac mcp [folder | config]         the same agents as an MCP server on standard input and output, for desktop clients
  polyvac ask [folder | config] [vac] "question"
                                        ask once, without a server
  polyvac tools [folder | config] [server]
                                        list the tools of the MCP servers that the configuration names
  polyvac call [folder | config] server tool '{"argument":"value"}'
                                        call one of them
  polyvac check [folder | config]       read the configuration and print all problems
  polyvac init [folder]                 write a configuration, an interpreter and a first document to start from
  polyvac openapi [folder | config]     print the OpenAPI document

  -c, --config file           configuration file (default: vac_config.yaml, then config/vac_config.yaml)
  -p, --port number           port, 0 for a free one (default: PORT, then ${DEFAULTS.port})
      --host address          address to bind (default: HOST, then ${DEFAULTS.host})
      --public-url url        address under which callers reach the service (default: PUBLIC_URL)
  -w, --watch                 also follow changes of interpreter modules
      --allow-unauthenticated bind an address that other machines reach, without authentication of callers
      --log-level level       ${LOG_LEVELS.join(', ')}
      --pretty, --json        log lines for people, or for programs; with ask and tools: the result as JSON
      --grace seconds         time for answers in progress when the service stops (default: ${DEFAULTS.graceSeconds})
`

/** @throws USAGE naming the invalid argument */
export function readArguments (argv: readonly string[], env: Readonly<Record<string, string | undefined>>): Arguments {
  const { values, positionals } = parse(argv)
  const named = (COMMANDS as readonly string[]).includes(positionals[0] ?? '')
  const command = named ? positionals[0] as Command : 'start'
  const rest = named ? positionals.slice(1) : positionals
  const { [command]: maxWords = 0 } = WITH_WORDS
  // after `ask` a single word is the question, even if it looks like a path
  const target = maxWords === 0 || (rest.length > (command === 'ask' ? 1 : 0) && isPath(rest[0]!)) ? rest[0] : undefined
  const words = target === undefined ? rest : rest.slice(1)
  if (words.length > maxWords) throw new UsageError(`${JSON.stringify(words[maxWords])} is one word too many for polyvac ${command}`)
  const { 'log-level': logLevel = env.LOG_LEVEL, 'public-url': publicUrl = env.PUBLIC_URL } = values
  if (logLevel !== undefined && !LOG_LEVELS.includes(logLevel)) {
    throw new UsageError(`--log-level ${logLevel} is not one of ${LOG_LEVELS.join(', ')}`)
  }
  if (publicUrl && !/^https?:\/\/./.test(publicUrl)) throw new UsageError(`--public-url ${publicUrl} is not an http(s) URL`)
  return {
    command: values.help === true ? 'help' : values.version === true ? 'version' : command,
    words,
    target,
    config: values.config,
    port: wholeNumber('--port', values.port ?? env.PORT, DEFAULTS.port, 65_535),
    host: values.host ?? (env.HOST === '' ? undefined : env.HOST) ?? DEFAULTS.host,
    publicUrl: publicUrl === '' ? undefined : publicUrl,
    watch: values.watch === true,
    allowUnauthenticated: values['allow-unauthenticated'] === true,
    logLevel,
    pretty: values.pretty,
    json: values.json === true,
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

function wholeNumber (name: string, text: string | undefined, fallback: number, max: number): number {
  if (text === undefined || text === '') return fallback
  const value = Number(text)
  if (!/^\d+$/.test(text) || value > max) throw new UsageError(`${name} ${text} is not a whole number from 0 to ${max}`)
  return value
}

function isPath (word: string): boolean {
  return /^\.{1,2}$|[/\\]|\.(ya?ml|json)$/.test(word) && !/\s/.test(word)
}
