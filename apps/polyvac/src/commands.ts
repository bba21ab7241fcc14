import type { OptionName } from './options.js'

/** What help shows of a command. */
export interface CommandHelp {
  /** Its arguments, one line for each way to write it. */
  readonly usage: readonly string[]
  /** What it does, in lines next to the usage. */
  readonly about: readonly string[]
  /** The options that it reads, besides --help. */
  readonly options: readonly OptionName[]
  /** A command line that can be typed. */
  readonly example: string
}

const FOLDER = '[folder | config]'
const LOGS = ['log-level'] as const

export const COMMAND_HELP = {
  start: {
    usage: [`[start] ${FOLDER}`, '[start] -- command [argument…]'],
    about: ['serve a folder of documents, the VACs of a configuration file, or the MCP servers',
      'of an MCP client\'s configuration file; after --, the tools of the MCP server that', 'the command starts'],
    options: ['config', 'port', 'host', 'public-url', 'watch', 'allow-unauthenticated', 'log-level', 'pretty', 'json', 'grace'],
    example: 'polyvac ./docs --port 9000'
  },
  mcp: {
    usage: [`mcp ${FOLDER}`],
    about: ['the same agents as an MCP server on standard input and output, for desktop clients'],
    options: ['config', ...LOGS],
    example: 'polyvac mcp ./docs'
  },
  ask: {
    usage: [`ask ${FOLDER} [vac] "question"`],
    about: ['ask once, without a server; without a question, on a terminal, hold a conversation'],
    options: ['config', 'json', 'fail', ...LOGS],
    example: 'polyvac ask ./docs "How do I start?"'
  },
  chat: {
    usage: [`chat ${FOLDER} [vac]`],
    about: ['hold a conversation on a terminal or over a pipe, here or with the service of --url'],
    options: ['config', 'url', 'conversation', 'header', 'json', ...LOGS],
    example: 'polyvac chat --url http://127.0.0.1:8080'
  },
  doctor: {
    usage: ['doctor [url | folder | config]'],
    about: ['check a running service of any kind, or the one of the configuration, and print', 'what is wrong and how to fix it'],
    options: ['config', 'header', 'json'],
    example: 'polyvac doctor http://127.0.0.1:8080'
  },
  replay: {
    usage: [`replay ${FOLDER} session.jsonl`],
    about: ['send the requests of a session that the playground exported again, here or to the', 'service of --url, and compare the answers'],
    options: ['config', 'url', 'header', 'all', 'json'],
    example: 'polyvac replay session.jsonl --url http://127.0.0.1:8080'
  },
  eval: {
    usage: [`eval ${FOLDER} cases.yaml`],
    about: ['ask the questions of a file, here or at the service of --url, and check the answers'],
    options: ['config', 'url', 'header', 'junit', 'json'],
    example: 'polyvac eval evaluation.yaml --junit evaluation.xml'
  },
  tools: {
    usage: [`tools ${FOLDER} [server]`],
    about: ['list the tools of the MCP servers that the configuration names'],
    options: ['config', 'json', ...LOGS],
    example: 'polyvac tools -- npx -y @modelcontextprotocol/server-everything'
  },
  call: {
    usage: [`call ${FOLDER} server tool '{"argument":"value"}'`],
    about: ['call one of these tools'],
    options: ['config', ...LOGS],
    example: 'polyvac call everything echo \'{"message":"hi"}\' -- npx -y @modelcontextprotocol/server-everything'
  },
  check: {
    usage: [`check ${FOLDER}`],
    about: ['read the configuration and print all problems'],
    options: ['config'],
    example: 'polyvac check'
  },
  init: {
    usage: ['init [folder]'],
    about: ['write a service to start from; in a Fastify app, without --template, one plugin'],
    options: ['template'],
    example: 'polyvac init my-agents --template ts'
  },
  openapi: {
    usage: [`openapi ${FOLDER}`],
    about: ['print the OpenAPI document'],
    options: ['config'],
    example: 'polyvac openapi > openapi.json'
  },
  token: {
    usage: ['token owner [scope…]'],
    about: ['print a new bearer token, and its entry for service.auth.tokens'],
    options: [],
    example: 'polyvac token alice vac:docs'
  },
  migrate: {
    usage: [`migrate ${FOLDER}`],
    about: ['create or update the tables of the tasks in PostgreSQL, ahead of a start'],
    options: ['config'],
    example: 'polyvac migrate'
  }
} as const satisfies Record<string, CommandHelp>

export type Command = keyof typeof COMMAND_HELP
export const COMMANDS = Object.keys(COMMAND_HELP) as Command[]
