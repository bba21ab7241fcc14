// The options of the command line, with what help shows of them.

export const TEMPLATES = ['default', 'agent', 'model', 'ts'] as const
export type Template = typeof TEMPLATES[number]

export const DEFAULTS = { port: 8080, host: '127.0.0.1', graceSeconds: 10 } as const

export const LOG_LEVELS = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'] as const

/** As `parseArgs` of node:util takes them; `value` names the value of an option, and `about` states what it does. */
export const OPTIONS = {
  config: { type: 'string', short: 'c', value: 'file', about: 'configuration file (default: vac_config.yaml, then config/vac_config.yaml)' },
  template: { type: 'string', short: 't', value: 'name', about: 'with init: default, agent (a language model, no code), model (its code), ts (TypeScript)' },
  port: { type: 'string', short: 'p', value: 'number', about: `port, 0 for a free one (default: PORT, then ${DEFAULTS.port})` },
  host: { type: 'string', value: 'address', about: `address to bind (default: HOST, then ${DEFAULTS.host})` },
  'public-url': { type: 'string', value: 'url', about: 'address under which callers reach the service (default: PUBLIC_URL)' },
  watch: { type: 'boolean', short: 'w', about: 'also follow changes of interpreter modules' },
  'allow-unauthenticated': { type: 'boolean', about: 'bind an address that other machines reach, without authentication of callers' },
  'log-level': { type: 'string', value: 'level', about: LOG_LEVELS.join(', ') },
  pretty: { type: 'boolean', about: 'log lines for people (default: on a terminal)' },
  json: { type: 'boolean', about: 'log lines for programs; with ask, chat, doctor, eval, replay and tools: results as JSON' },
  fail: { type: 'boolean', about: 'with ask: exit code 1 where the question is not answered' },
  url: { type: 'string', value: 'service', about: 'with chat, eval and replay: the address of a running service' },
  conversation: { type: 'string', value: 'id', about: 'with chat --url: a conversation that the service keeps; `/list` shows yours, `/open <id>` opens one' },
  header: { type: 'string', multiple: true, value: '\'name: value\'', about: 'with chat, doctor, eval and replay: a header of each request, such as a token; repeatable' },
  junit: { type: 'string', value: 'file', about: 'with eval: write the results as XML of JUnit, for CI' },
  all: { type: 'boolean', about: 'with replay: also send requests that may change something' },
  grace: { type: 'string', value: 'seconds', about: `time for answers in progress when the service stops (default: ${DEFAULTS.graceSeconds})` },
  help: { type: 'boolean', short: 'h', about: 'print the help of a command, or this text' },
  version: { type: 'boolean', short: 'v', about: 'print the version' }
} as const satisfies Record<string, Option>

export type OptionName = keyof typeof OPTIONS

export interface Option {
  readonly type: 'string' | 'boolean'
  readonly short?: string
  readonly multiple?: boolean
  readonly value?: string
  readonly about: string
}
