import { parseArgs, type ParseArgsConfig } from 'node:util'
import { UsageError } from './errors.js'

export const COMMANDS = ['start', 'mcp', 'check', 'ask', 'init', 'openapi', 'tools', 'call'] as const

/** Commands whose words are not the name of a folder, unless they are written as a path; and the most words they take. */
const WITH_WORDS: Partial<Record<string, number>> = { ask: Infinity, tools: 1, call: 3 }
export type Command = typeof COMMANDS[number]

/** What was asked for on the command line, with the environment's say. */
export interface Arguments {
  readonly command: Command | 'help' | 'version'
  /** What follows the command, less the folder or file. */
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
  /** Seconds that answers in progress get at a stop. */
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

export const HELP = `polyvac: agents over direct HTTP, the OpenAI-compatible wire, A2A and MCP

  polyvac [start] [folder | config]     serve a folder of documents, or what a configuration file says
  polyvac mcp [folder | config]         the same agents as an MCP server on standard input and output, for desktop clients
  polyvac ask [folder | config] [vac] "question"
                                        ask once, here, without a server
  polyvac tools [folder | config] [server]
                                        list the tools of the MCP servers that the configuration names
  polyvac call [folder | config] server tool '{"argument":"value"}'
                                        call one of them
  polyvac check [folder | config]       read the configuration and tell all that is wrong with it
  polyvac init [folder]                 write a configuration, an interpreter and a first document to start from
  polyvac openapi [folder | config]     print the OpenAPI document

  -c, --config file           configuration file (default: vac_config.yaml, then config/vac_config.yaml)
  -p, --port number           port, 0 for a free one (default: PORT, then ${DEFAULTS.port})
      --host address          address to bind (default: HOST, then ${DEFAULTS.host})
      --public-url url        address under which callers reach the service (default: PUBLIC_URL)
  -w, --watch                 also follow changes of interpreter modules
      --allow-unauthenticated bind an address that other machines reach, though nobody is asked who they are
      --log-level level       ${LOG_LEVELS.join(', ')}
      --pretty, --json        log lines for people, or for programs; with ask and tools: the result as JSON
      --grace seconds         time for answers in progress at a stop (default: ${DEFAULTS.graceSeconds})
`

/** @throws USAGE naming the word that is not understood */
export function readArguments (argv: readonly string[], env: Readonly<Record<string, string | undefined>>): Arguments {
  const { values, positionals } = parse(argv)
  const named = (COMMANDS as readonly string[]).includes(positionals[0] ?? '')
  const command = named ? positionals[0] as Command : 'start'
  const rest = named ? positionals.slice(1) : positionals
  const { [command]: most = 0 } = WITH_WORDS
  // after `ask` the only word is a question, even if it looks like a path
  const target = most === 0 || (rest.length > (command === 'ask' ? 1 : 0) && isPath(rest[0]!)) ? rest[0] : undefined
  const words = target === undefined ? rest : rest.slice(1)
  if (words.length > most) throw new UsageError(`${JSON.stringify(words[most])} is one word too many for polyvac ${command}`)
  const { 'log-level': logLevel = env.LOG_LEVEL, 'public-url': publicUrl = env.PUBLIC_URL } = values
  if (logLevel !== undefined && !LOG_LEVELS.includes(logLevel)) throw new UsageError(`--log-level ${logLevel} is none of ${LOG_LEVELS.join(', ')}`)
  if (publicUrl && !/^https?:\/\/./.test(publicUrl)) throw new UsageError(`--public-url ${publicUrl} is no http(s) URL`)
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
    throw new UsageError((err as Error).message.split('. ')[0] ?? 'the arguments are not understood')
  }
}

function wholeNumber (name: string, text: string | undefined, fallback: number, max: number): number {
  if (text === undefined || text === '') return fallback
  const value = Number(text)
  if (!/^\d+$/.test(text) || value > max) throw new UsageError(`${name} ${text} is no whole number from 0 to ${max}`)
  return value
}

function isPath (word: string): boolean {
  return /^\.{1,2}$|[/\\]|\.(ya?ml|json)$/.test(word) && !/\s/.test(word)
}
