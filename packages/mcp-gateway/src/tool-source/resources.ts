import type { Principal } from '@polyvac/core'
import { auditRefusal, mayUse, quoteName } from '@polyvac/core/plugin'
import { ResourceNotFoundError } from '../errors.js'
import { entriesFor } from '../rights.js'
import type { ToolResult } from '../protocol/call-options.js'
import type { ServerItem, Servers } from '../servers.js'
import { requestFor } from './call.js'
import { withContentUris } from './links.js'
import { collisions, pageOf, placeOf, qualifiedUri, withPage, type Place } from './resource-uris.js'
import type { SourceContext } from './types.js'

/** The tools, whose pages have the URIs under which the source lists them. */
export async function withPages (tools: readonly ServerItem[], resources: () => Promise<readonly ServerItem[]>): Promise<readonly ServerItem[]> {
  if (tools.every(({ item }) => pageOf(item) === undefined)) return tools
  const twice = collisions('resources', await resources())
  return tools.map(({ server, item }) => {
    const page = pageOf(item)
    if (page === undefined || !twice.has(page)) return { server, item }
    return { server, item: { ...item, _meta: withPage(item._meta as Record<string, unknown>, qualifiedUri(server, page)) } }
  })
}

/**
 * Where a resource of a caller may be: at the server that lists it to the caller, or that its URI names; otherwise at
 * any, of a template.
 */
export async function placesOf (servers: Servers, uri: string, principal: Principal | undefined): Promise<readonly Place[]> {
  const { items } = await entriesFor(servers, 'resources', principal)
  const listed = items.find(({ item }) => item.uri === uri)
  if (listed !== undefined) return [{ server: listed.server, own: uri }]
  const place = placeOf(uri, servers.names)
  const anywhere = servers.names.map(server => ({ server, own: uri }))
  if (place === undefined) return anywhere
  return items.some(({ server, item }) => server === place.server && item.uri === place.own) ? [place] : [place, ...anywhere]
}

/** Reads a resource from the first place that has it. @throws MCP_RESOURCE_NOT_FOUND */
export async function readResource (servers: Servers, uri: string, context?: SourceContext): Promise<ToolResult> {
  let missing: unknown = new ResourceNotFoundError('gateway', quoteName(uri), 'no server has it')
  const places = await placesOf(servers, uri, context?.principal)
  for (const { server, own } of places) {
    if (!mayUse(context?.principal, { server })) {
      // where it may be anywhere, a server that is left out is not a refusal
      if (places.length === 1) auditRefusal(servers.log, { reason: 'SCOPE', owner: context?.principal?.owner, what: `resources:${server}` })
      continue
    }
    try {
      const upstream = servers.get(server)
      const result = await requestFor(servers, upstream, context, async options => await upstream.readResource(own, options))
      return await withContentUris({ servers, server, principal: context?.principal }, result, own, uri)
    } catch (err) {
      if (!(err instanceof ResourceNotFoundError)) throw err
      missing = err
    }
  }
  throw missing
}
