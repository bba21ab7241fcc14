import { nearest } from '@polyvac/core/basics'
import { existsSync, statSync } from 'node:fs'
import { resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { findConfig } from './config-file.js'
import { COMMANDS, type Command } from './commands.js'
import { UsageError } from './errors.js'
import { DEFAULTS, LOG_LEVELS, OPTIONS, TEMPLATES, type Template } from './options.js'

/** Commands whose words are a folder only when written as a path, with the maximum number of words. */
const WITH_WORDS: Partial<Record<string, number>> = { ask: Infinity, token: Infinity, chat: 1, doctor: 1, replay: 1, eval: 1, tools: 1, call: 3 }

/** Commands that take the command of an MCP server after `--`. */
const WITH_SERVER: readonly string[] = ['start', 'mcp', 'check', 'openapi', 'tools', 'call']

/** The command line, with the defaults of the environment. */
export interface Arguments {
  readonly command: Command | 'help' | 'version'
  /** The command that `help` is about; without one, all. */
  readonly topic: Command | undefined
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
  /** Whether `ask` fails where the question is not answered. */
  readonly fail: boolean
  /** The running service that `chat` and `eval` ask, and to which `replay` sends a session. */
  readonly url: string | undefined
  /** The file that `eval` writes its results to. */
  readonly junit: string | undefined
  /** The conversation of the service that `chat` continues. */
  readonly conversation: string | undefined
  /** Lines `name: value` that go with each request of `chat`, `doctor`, `eval` and `replay`. They may be secrets. */
  readonly headers: readonly string[]
  /** Whether `replay` also sends requests that may change something. */
  readonly all: boolean
  /** Seconds for answers in progress when the service stops. */
  readonly grace: number
}

/** @throws USAGE naming the invalid argument */
export function readArguments (argv: readonly string[], env: Env, cwd = process.cwd()): Arguments {
  const end = argv.indexOf('--')
  const serverCommand = end === -1 ? undefined : argv.slice(end + 1)
  const { values, positionals } = parse(end === -1 ? argv : argv.slice(0, end))
  const [first = ''] = positionals
  const named = (COMMANDS as readonly string[]).includes(first)
  const isHelp = values.help === true || first === 'help'
  if (!named && first !== '' && first !== 'help') refuseTypingError(first, cwd)
  const command = named ? first as Command : 'start'
  const rest = named ? positionals.slice(1) : positionals
  const { target, words } = isHelp || serverCommand !== undefined ? { target: undefined, words: rest } : splitWords(command, rest, { ...values, env, cwd })
  if (!isHelp) {
    if (serverCommand !== undefined) checkServerCommand(serverCommand, command, values.config)
    const { [command]: maxWords = 0 } = WITH_WORDS
    if (words.length > maxWords) throw new UsageError(`${JSON.stringify(words[maxWords])} is one word too many for polyvac ${command}`)
  }
  const { 'log-level': logLevel = env.LOG_LEVEL, 'public-url': publicUrl = env.PUBLIC_URL } = values
  if (logLevel !== undefined && !(LOG_LEVELS as readonly string[]).includes(logLevel)) {
    throw new UsageError(`--log-level ${logLevel} is not one of ${LOG_LEVELS.join(', ')}`)
  }
  if (publicUrl && !/^https?:\/\/./.test(publicUrl)) throw new UsageError(`--public-url ${publicUrl} is not an http(s) URL`)
  return {
    command: isHelp ? 'help' : values.version === true ? 'version' : command,
    topic: first === 'help' ? topicOf(positionals[1]) : named ? command : undefined,
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
    fail: values.fail === true,
    url: values.url,
    junit: values.junit,
    conversation: conversationOf(values),
    headers: values.header ?? [],
    all: values.all === true,
    grace: wholeNumber('--grace', values.grace, DEFAULTS.graceSeconds, 3_600)
  }
}

/** @throws USAGE where no service keeps conversations */
function conversationOf ({ conversation, url }: { readonly conversation?: string | undefined, readonly url?: string | undefined }): string | undefined {
  if (conversation !== undefined && url === undefined) throw new UsageError('--conversation is kept by a running service; name it with --url')
  return conversation
}

type Env = Readonly<Record<string, string | undefined>>

/** @throws USAGE naming the unknown option, and the one that it is close to */
function parse (argv: readonly string[]) {
  try {
    return parseArgs({ args: [...argv], options: OPTIONS, allowPositionals: true })
  } catch (err) {
    const { code, message } = err as NodeJS.ErrnoException
    const text = message.split('. ')[0] ?? 'the arguments are invalid'
    const unknown = code === 'ERR_PARSE_ARGS_UNKNOWN_OPTION' ? /'--?([^'=]+)/.exec(message)?.[1] : undefined
    const near = unknown === undefined || unknown.length === 1 ? undefined : nearOption(unknown)
    throw new UsageError(near === undefined ? text : `${text}; did you mean \`--${near}\`?`)
  }
}

/** The option that a word is close to, in any style of writing, or the only one that begins with it. */
function nearOption (word: string): string | undefined {
  const name = word.replace(/\B[A-Z]/g, letter => `-${letter}`).replaceAll('_', '-').toLowerCase()
  const beginning = Object.keys(OPTIONS).filter(option => option.startsWith(name))
  return beginning.length === 1 ? beginning[0] : nearest(name, Object.keys(OPTIONS))
}

interface Place { readonly config?: string | undefined, readonly url?: string | undefined, readonly env: Env, readonly cwd: string }

/**
 * Splits the words of a command into the folder or file that it reads, and the others. For a command that takes words,
 * the first word is the folder if it is written as a path, or if it names a folder and no configuration file is found,
 * since it could name a VAC of that file. The only word of `ask` is the question unless that path exists; the only word
 * of `replay` and of `eval` is its file.
 */
function splitWords (command: Command, rest: readonly string[], { config, url, env, cwd }: Place): { target: string | undefined, words: readonly string[] } {
  const [first] = rest
  if (first === undefined || command === 'token') return { target: undefined, words: rest }
  const isLast = rest.length === 1
  const exists = (): boolean => existsSync(resolve(cwd, first))
  const isFolderOnly = (): boolean => config === undefined && url === undefined && isFolder(resolve(cwd, first)) &&
    findConfig(resolve(cwd, env.VAC_CONFIG_FOLDER ?? '.')) === undefined
  const isFileLast = command === 'replay' || command === 'eval'
  const isTarget = !(command in WITH_WORDS) ||
    (isPath(first) ? !isLast || (command === 'ask' ? exists() : !isFileLast) : !(isLast && isFileLast) && isFolderOnly())
  return isTarget ? { target: first, words: rest.slice(1) } : { target: undefined, words: rest }
}

function isFolder (path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() === true
}

/** @throws USAGE naming the command that a first word is close to; a word that names a file or folder is one */
function refuseTypingError (word: string, cwd: string): void {
  const near = nearest(word, [...COMMANDS, 'help'])
  if (near !== undefined && !isPath(word) && !existsSync(resolve(cwd, word))) {
    throw new UsageError(`${JSON.stringify(word)} is not a command, a folder or a file; did you mean \`polyvac ${near}\`?`)
  }
}

/** @throws USAGE where `polyvac help` is asked about something else than a command */
function topicOf (word: string | undefined): Command | undefined {
  if (word === undefined || word === 'help') return undefined
  const topic = COMMANDS.find(name => name === word)
  if (topic !== undefined) return topic
  const near = nearest(word, [...COMMANDS])
  throw new UsageError(`${JSON.stringify(word)} is not a command${near === undefined ? '' : `; did you mean \`polyvac help ${near}\`?`}`)
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
