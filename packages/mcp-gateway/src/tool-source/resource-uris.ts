import { isRecord } from '@polyvac/core/plugin'
import { LISTS } from '@polyvac/mcp-protocol'
import type { ServerItem } from '../servers.js'

const UI = 'ui://'
/** The scheme of URIs with a server in their authority; `ui:` stays, since clients of MCP Apps look for it. */
const SCHEME = 'mcp://'

/** The place of a resource: its server, and its URI there. */
export interface Place { readonly server: string, readonly own: string }

/**
 * A URI, or the template of one, with its server as the authority. The rest is a plain suffix, so that expanding the
 * template gives the URI of a resource of the same server.
 */
export function qualifiedUri (server: string, uri: string): string {
  const isPage = uri.startsWith(UI)
  return `${isPage ? UI : SCHEME}${encodeURIComponent(server)}/${isPage ? uri.slice(UI.length) : uri}`
}

/** The place that a URI with a server names; undefined for any other URI. */
export function placeOf (uri: string, servers: readonly string[]): Place | undefined {
  const scheme = [UI, SCHEME].find(scheme => uri.startsWith(scheme))
  const end = scheme === undefined ? -1 : uri.indexOf('/', scheme.length)
  if (scheme === undefined || end === -1) return undefined
  // clients may write the authority in lower case
  const authority = uri.slice(scheme.length, end).toLowerCase()
  const server = servers.find(name => encodeURIComponent(name).toLowerCase() === authority)
  const rest = uri.slice(end + 1)
  return server === undefined ? undefined : { server, own: scheme === UI ? UI + rest : rest }
}

/** The URIs, or templates, that several servers list. */
export function collisions (kind: 'resources' | 'templates', items: readonly ServerItem[]): ReadonlySet<unknown> {
  const [seen, twice] = [new Set<unknown>(), new Set<unknown>()]
  for (const { item: { [LISTS[kind].id]: uri } } of items) (seen.has(uri) ? twice : seen).add(uri)
  return twice
}

/** The URI of the page of a tool (MCP Apps); `ui/resourceUri` is the key of the extension's first version. */
export function pageOf ({ _meta: meta }: ServerItem['item']): string | undefined {
  if (!isRecord(meta)) return undefined
  const uri = isRecord(meta.ui) ? meta.ui.resourceUri : meta[PAGE_KEY]
  return typeof uri === 'string' ? uri : undefined
}

const PAGE_KEY = 'ui/resourceUri'

/** `_meta` of a tool with another URI of its page. */
export function withPage (meta: Readonly<Record<string, unknown>>, uri: string): object {
  return {
    ...meta,
    ...isRecord(meta.ui) && { ui: { ...meta.ui, resourceUri: uri } },
    ...meta[PAGE_KEY] !== undefined && { [PAGE_KEY]: uri }
  }
}
