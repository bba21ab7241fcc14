import { isLoopbackHost, isRecord } from '@polyvac/core/plugin'
import { checkChallenge } from './authentication.js'
import { ok, problem, unchecked, warning, type Finding } from './finding.js'
import { describeFailure, type HttpClient } from '../client/http-client.js'

type Json = Readonly<Record<string, unknown>>

const CARDS = ['.well-known/agent-card.json', '.well-known/agent.json'] as const
const NO_TASK = '00000000-0000-4000-8000-000000000000'
/** TaskNotFoundError of A2A. */
const TASK_NOT_FOUND = -32001
/** Addresses of one card that are tried. */
const MAX_INTERFACES = 8

/** The agent cards, and whether the addresses that they name reach the agent from this machine. */
export async function * checkA2a (client: HttpClient): AsyncGenerator<Finding> {
  const versions = new Set<string>()
  const interfaces = new Map<string, string>()
  let found = 0
  for (const path of CARDS) {
    const reply = await client.send(path)
    if (reply.status === 401 || reply.status === 403) {
      yield unchecked('card', `GET /${path} answers ${reply.status}; send a token with --header`)
    } else if (reply.status === 404 || reply.status === 501) {
      yield unchecked('card', `GET /${path} answers ${reply.status}: no A2A agent there`)
    } else if (reply.status !== 200 || !isRecord(reply.json)) {
      yield problem('card', `GET /${path} answers ${reply.status}${reply.json === undefined ? ' without JSON' : ''}`,
        'let the proxy pass /.well-known/ to the service')
    } else {
      found++
      if (typeof reply.json.version === 'string') versions.add(reply.json.version)
      for (const [version, url] of declaredVersions(reply.json)) if (!interfaces.has(version)) interfaces.set(version, url)
      yield * checkCard(client, path, reply.json)
    }
  }
  if (versions.size > 1) yield warning('card', `the cards name the versions ${[...versions].join(' and ')}`, 'deploy one version, and clear caches of the proxy')
  yield * checkVersions(client, interfaces)
  if (found > 0) yield * checkDescriptionDialect(client)
}

async function * checkCard (client: HttpClient, path: string, card: Json): AsyncGenerator<Finding> {
  const missing = ['name', 'description', 'version', 'skills'].filter(key => card[key] === undefined)
  const skills = Array.isArray(card.skills) ? card.skills.filter(isRecord) : []
  const silent = skills.filter(({ description }) => typeof description !== 'string' || description.trim() === '')
  if (missing.length > 0) yield problem('card', `/${path} has no ${missing.join(', ')}`, 'add the fields: clients refuse a card without them')
  else if (silent.length > 0) {
    yield warning('card', `${silent.length} of ${skills.length} skills of /${path} have no description`, 'describe them: clients choose a skill by its description')
  } else yield ok('card', `/${path} is complete, with ${skills.length} skills`)
  const entries = [card.supportedInterfaces, card.additionalInterfaces].flatMap(list => Array.isArray(list) ? list.filter(isRecord) : [])
  const urls = new Set([card.url, ...entries.map(({ url }) => url)].filter(url => typeof url === 'string'))
  if (urls.size === 0) yield problem('card url', `/${path} names no url`, 'set service.public_url')
  for (const url of [...urls].slice(0, MAX_INTERFACES)) yield await checkCardUrl(client, path, url)
}

async function checkCardUrl (client: HttpClient, path: string, text: string): Promise<Finding> {
  const remedy = 'set service.public_url to the address that callers use, or trust the forwarded headers of the proxy'
  if (!URL.canParse(text)) return /^[\w.-]+:\d+$/.test(text) ? unchecked('card url', `${text} is not HTTP`) : problem('card url', `${text} of /${path} is not a URL`, remedy)
  const url = new URL(text)
  const { base } = client
  if (!/^https?:$/.test(url.protocol)) return unchecked('card url', `${text} is not HTTP`)
  if (isLoopbackHost(url.hostname) && !isLoopbackHost(base.hostname)) return problem('card url', `/${path} names ${text}, which other machines do not reach`, remedy)
  if (base.protocol === 'https:' && url.protocol === 'http:') return problem('card url', `/${path} names ${text} without TLS`, remedy)
  try {
    // GET is harmless on every interface: an endpoint for POST answers 404 or 405
    const own = await client.send(url.href)
    // the description's url is the address of the whole service
    const card = await client.send(`${url.href.replace(/\/$/, '')}/.well-known/agent.json`)
    const rpc = await client.send(url.href, {
      headers: { 'a2a-version': '1.0' }, body: { jsonrpc: '2.0', id: 1, method: 'GetTask', params: { id: NO_TASK } }
    })
    const answers = card.status === 200 || (isRecord(rpc.json) && rpc.json.jsonrpc === '2.0') || [401, 403].includes(rpc.status) ||
      (isRecord(rpc.json) && isRecord(rpc.json.error)) || own.status === 200
    if (!answers) return problem('card url', `${text} of /${path} answers ${rpc.status} and is not an A2A endpoint`, remedy)
    return url.host === base.host
      ? ok('card url', `${text} answers`)
      : warning('card url', `/${path} names ${text}, another host than ${base.host}; it answers`, `${remedy}, unless both are one service`)
  } catch (err) {
    return problem('card url', `${text} of /${path}: ${describeFailure(err)}`, remedy)
  }
}

/** The versions of JSON-RPC that a card names, with their addresses. */
function * declaredVersions (card: Json): Generator<[string, string]> {
  const { protocolVersion, url, preferredTransport = 'JSONRPC', supportedInterfaces } = card
  if (typeof protocolVersion === 'string' && typeof url === 'string' && preferredTransport === 'JSONRPC') yield [protocolVersion.slice(0, 3), url]
  for (const entry of Array.isArray(supportedInterfaces) ? supportedInterfaces.filter(isRecord) : []) {
    if (entry.protocolBinding === 'JSONRPC') yield [String(entry.protocolVersion).slice(0, 3), String(entry.url)]
  }
}

/** Whether each version that a card names answers at its address. */
async function * checkVersions (client: HttpClient, interfaces: ReadonlyMap<string, string>): AsyncGenerator<Finding> {
  for (const [version, method] of [['1.0', 'GetTask'], ['0.3', 'tasks/get']] as const) {
    const check = `a2a ${version}`
    const url = interfaces.get(version)
    if (url === undefined || !URL.canParse(url)) {
      if (interfaces.size > 0) yield unchecked(check, `the card names no JSON-RPC address of A2A ${version}`)
      continue
    }
    const remedy = 'let the proxy pass POST and the header A2A-Version, or remove the version from the card'
    try {
      const reply = await client.send(url, { headers: { 'a2a-version': version }, body: { jsonrpc: '2.0', id: 1, method, params: { id: NO_TASK } } })
      const error = isRecord(reply.json) && isRecord(reply.json.error) ? reply.json.error : undefined
      if (reply.status === 401 || reply.status === 403) yield checkChallenge(check, reply)
      else if (error?.code === TASK_NOT_FOUND) yield ok(check, `${method} answers`)
      else yield problem(check, `${method} at ${url} answers ${reply.status} with ${error === undefined ? 'no error' : `the error ${String(error.code)}`}, not ${TASK_NOT_FOUND} for an unknown task`, remedy)
    } catch (err) {
      yield problem(check, `${url}: ${describeFailure(err)}`, remedy)
    }
  }
}

async function * checkDescriptionDialect (client: HttpClient): AsyncGenerator<Finding> {
  const { status, json } = await client.send('a2a/tasks/get', { body: { jsonrpc: '2.0', id: '1', method: 'tasks/get', params: { taskId: NO_TASK } } })
  if (isRecord(json) && json.jsonrpc === '2.0') yield ok('a2a tasks', 'POST /a2a/tasks/get answers JSON-RPC')
  else yield unchecked('a2a tasks', `POST /a2a/tasks/get answers ${status}`)
}
