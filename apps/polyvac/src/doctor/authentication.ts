import { isLoopbackHost, isRecord } from '@polyvac/core/plugin'
import { ok, problem, unchecked, warning, type Finding } from './finding.js'
import { mcpPath } from './json-rpc.js'
import { describeFailure, type HttpClient, type WholeReply } from '../client/http-client.js'

const CHECK = 'authentication'
const METADATA = '.well-known/oauth-protected-resource'

/** A 401 names its scheme (RFC 9110). */
export function checkChallenge (check: string, { status, headers }: WholeReply): Finding {
  return status === 401 && headers.get('www-authenticate') === null
    ? problem(check, '401 has no WWW-Authenticate header', 'let the service send it, and the proxy pass it: clients find the authorization server with it')
    : unchecked(check, `the service answers ${status}; send a token with --header`)
}

/** Whether the 401 of an MCP server leads to metadata that clients accept (RFC 9728). */
export async function * checkAuthentication (client: HttpClient, reply: WholeReply): AsyncGenerator<Finding> {
  const challenge = reply.headers.get('www-authenticate')
  yield { ...checkChallenge('mcp', reply), check: challenge === null ? CHECK : 'mcp' }
  if (challenge === null) return
  const named = /resource_metadata="([^"]+)"/.exec(challenge)?.[1]
  const [besides, root] = await readPublished(client)
  let metadata = isFound(besides!) ? besides! : root!
  try {
    if (named !== undefined) metadata = await client.send(named)
  } catch (err) {
    yield problem(CHECK, `the resource_metadata ${named!} of the 401: ${describeFailure(err)}`, 'set service.public_url to the address that clients reach')
    return
  }
  if (!isFound(metadata)) {
    yield (named === undefined ? warning : problem)(CHECK, `the metadata of the resource answers ${metadata.status}`,
      `serve /${METADATA} without authentication, or send tokens with --header`)
    return
  }
  const endpoint = client.address(mcpPath(client))
  const { resource, authorization_servers: servers } = metadata.json as Record<string, unknown>
  if (!covers(String(resource), endpoint)) {
    yield problem(CHECK, `the metadata names the resource ${String(resource)}, not ${endpoint.href}`,
      'set service.public_url: clients refuse metadata of another resource')
  } else if (!Array.isArray(servers) || servers.length === 0 || !servers.every(isIssuer)) {
    yield problem(CHECK, 'the metadata names no authorization server with https', 'name the issuers of accepted tokens')
  } else yield ok(CHECK, `401 leads to the metadata of the resource, with ${servers.length} authorization servers`)
  for (const other of [besides!, root!].filter(isFound)) {
    const { resource: second } = other.json as Record<string, unknown>
    if (second !== resource) yield warning(CHECK, `published metadata names both ${String(resource)} and ${String(second)}`, 'publish one resource for each endpoint')
  }
}

/** Metadata of a server that answers without a token. */
export async function * checkOpenMetadata (client: HttpClient): AsyncGenerator<Finding> {
  if (client.hasHeaders || !(await readPublished(client)).some(isFound)) return
  yield unchecked(CHECK, 'metadata names authorization servers, and requests without a token are answered: some may need none')
}

/** The metadata of the endpoint, and that of the origin. */
async function readPublished (client: HttpClient): Promise<WholeReply[]> {
  const { origin, pathname } = client.address(mcpPath(client))
  return await Promise.all([`${origin}/${METADATA}${pathname}`, `${origin}/${METADATA}`].map(url => client.send(url)))
}

const isFound = ({ status, json }: WholeReply): boolean => status === 200 && isRecord(json) && typeof json.resource === 'string'

function covers (resource: string, endpoint: URL): boolean {
  if (!URL.canParse(resource)) return false
  const { origin, pathname } = new URL(resource)
  return origin === endpoint.origin && `${endpoint.pathname}/`.startsWith(pathname.replace(/\/*$/, '/'))
}

function isIssuer (url: unknown): boolean {
  if (typeof url !== 'string' || !URL.canParse(url)) return false
  const { protocol, hostname } = new URL(url)
  return protocol === 'https:' || isLoopbackHost(hostname)
}
