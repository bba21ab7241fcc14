import { McpServerConfig } from './schema.js'
import { nearest } from '../basics/names.js'
import { isLoopbackHost } from '../basics/public-address.js'

/** One thing wrong with the entry of an MCP server. Without `key` it concerns the whole entry. */
export interface McpServerProblem {
  readonly key?: keyof McpServerConfig
  readonly message: string
  readonly hint?: string
}

/** Keys of entries, and what is written in place of them. */
const MISTAKEN: ReadonlyArray<readonly [keyof McpServerConfig, readonly string[]]> = [
  ['command', ['cmd', 'exec', 'executable', 'program']],
  ['args', ['arguments', 'argv', 'params']],
  ['env', ['environment']],
  ['url', ['uri', 'endpoint', 'address']],
  ['cwd', ['dir', 'directory', 'workdir']],
  ['type', ['transport']]
]

/** The key of an entry that was most likely meant. */
export function meantKey (key: string): string | undefined {
  const [known] = MISTAKEN.find(([, mistaken]) => mistaken.includes(key.toLowerCase())) ?? []
  return known ?? nearest(key, Object.keys(McpServerConfig.properties))
}

/** What the schema of an entry cannot express. `where` names the entry in the messages. */
export function mcpServerProblems (entry: Readonly<Record<string, unknown>>, where: string): McpServerProblem[] {
  const textOf = (key: string): string | undefined => typeof entry[key] === 'string' ? entry[key] : undefined
  const [command, cwd, url] = ['command', 'cwd', 'url'].map(textOf)
  const args = Array.isArray(entry.args) ? entry.args.map(String) : []
  const problems: McpServerProblem[] = []
  if (entry.command === undefined && entry.url === undefined) {
    problems.push({ message: `${where} has no "command"`, hint: 'add "command:", or "url:" for a server reached over HTTP' })
  }
  if (command !== undefined && url !== undefined) {
    problems.push({ key: 'url', message: `${where} has a command and a url`, hint: 'keep one of the two' })
  }
  if ([command, cwd, ...args].some(text => text?.includes('\0') === true)) {
    problems.push({ message: `${where}: a command, an argument or a folder holds a NUL character` })
  }
  if (command?.split(/[/\\]/).includes('..') === true) {
    problems.push({ key: 'command', message: `${where}.command holds \`..\``, hint: 'write its whole path' })
  }
  // a path may hold spaces; the name of a program does not
  const [program = '', ...rest] = command?.trim().split(/\s+/) ?? []
  if (rest.length > 0 && !/[/\\]/.test(program)) {
    const hint = `write command: ${program}, args: [${[...rest, ...args].join(', ')}]`
    problems.push({ key: 'command', message: `${where}.command holds arguments`, hint })
  }
  if (url !== undefined && !url.startsWith('${') && !/^https?:$/.test(protocolOf(url))) {
    problems.push({ key: 'url', message: `${where}.url: expected an http(s) address` })
  }
  const { client_id: id, client_secret: secret } = (entry.oauth ?? {}) as { client_id?: unknown, client_secret?: unknown }
  if (entry.per_owner === true && (url === undefined || entry.oauth === undefined)) {
    problems.push({ key: 'per_owner', message: `${where}.per_owner: owners sign in only to a server with a url and oauth`, hint: 'add `url:` and `oauth: {}`' })
  }
  if ((entry.process === 'owner' || entry.process === 'session') && command === undefined) {
    problems.push({ key: 'process', message: `${where}.process: a server with a url has no processes here`, hint: 'remove it; with `per_owner` each owner has a connection' })
  }
  const headers = Object.keys((entry.headers ?? {}) as object)
  const marked = Array.isArray(entry.secret_headers) ? entry.secret_headers.map(String) : []
  const absent = marked.find(name => !headers.some(header => header.toLowerCase() === name.toLowerCase()))
  if (absent !== undefined) {
    problems.push({ key: 'secret_headers', message: `${where}.secret_headers names ${JSON.stringify(absent)}, which is not one of its headers` })
  }
  if (entry.per_owner === true && headers.some(name => name.toLowerCase() === 'authorization')) {
    problems.push({ key: 'headers', message: `${where}.headers has an authorization for all owners`, hint: 'remove it, or `per_owner`' })
  }
  if (entry.per_owner !== true && entry.oauth !== undefined && (typeof id !== 'string' || typeof secret !== 'string')) {
    problems.push({ key: 'oauth', message: `${where}.oauth has no client_id and client_secret`, hint: 'add both, or `per_owner: true` so that each owner signs in' })
  }
  const issuer = issuerOf(entry.oauth) ?? url
  if (entry.oauth !== undefined && issuer !== undefined && !`${url}${issuer}`.includes('${') && !isProtected(issuer, url)) {
    problems.push({
      key: 'oauth',
      message: `${where}.oauth: the client secret would be sent to ${JSON.stringify(issuer)}, which is not an https address`,
      hint: 'set `issuer` to the https address of the authorization server'
    })
  }
  return problems
}

function issuerOf (oauth: unknown): string | undefined {
  const { issuer } = (oauth ?? {}) as { issuer?: unknown }
  return typeof issuer === 'string' ? issuer : undefined
}

/** Whether the issuer is reached over https, or over http within this machine. */
function isProtected (issuer: string, url = ''): boolean {
  if (protocolOf(issuer) !== 'http:') return protocolOf(issuer) === 'https:'
  return URL.canParse(url) && [issuer, url].every(address => isLoopbackHost(new URL(address).hostname))
}

function protocolOf (url: string): string {
  return URL.canParse(url) ? new URL(url).protocol : ''
}
