import type { Principal } from '@polyvac/core'
import { isRecord } from '@polyvac/core/plugin'
import { entriesFor } from '../rights.js'
import type { ToolResult } from '../protocol/call-options.js'
import type { Servers } from '../servers.js'
import { collisions, qualifiedUri } from './resource-uris.js'

/** Clients read these from the web, unless a server lists them. */
const WEB = /^https?:/

/** Whose result it is, and for whom. */
export interface LinkOrigin {
  readonly servers: Servers
  readonly server: string
  readonly principal: Principal | undefined
}

/**
 * The result of a tool whose links and embedded resources have the URIs under which the source reads them. Servers that
 * make structured content of what a tool returns repeat them there.
 */
export async function withLinks (origin: LinkOrigin, result: ToolResult): Promise<ToolResult> {
  const { content, structuredContent } = result
  if (!hasLinks(content) && !hasLinks(structuredContent)) return result
  const uriOf = await offeredUris(origin)
  return { ...result, content: relinked(content, uriOf), ...structuredContent !== undefined && { structuredContent: relinked(structuredContent, uriOf) } }
}

/** The same of the messages of a prompt. */
export async function withMessageLinks (origin: LinkOrigin, result: ToolResult): Promise<ToolResult> {
  const { messages } = result
  if (!hasLinks(messages)) return result
  return { ...result, messages: relinked(messages, await offeredUris(origin)) }
}

/** The same of contents that were read from one URI: those of a folder have others. */
export async function withContentUris (origin: LinkOrigin, result: ToolResult, own: string, uri: string): Promise<ToolResult> {
  const { contents } = result
  if (!Array.isArray(contents)) return result
  const isOther = contents.some(one => isRecord(one) && one.uri !== own)
  if (!isOther && own === uri) return result
  const uriOf = isOther ? await offeredUris(origin) : () => uri
  return { ...result, contents: (contents as unknown[]).map(one => isRecord(one) && typeof one.uri === 'string' ? { ...one, uri: one.uri === own ? uri : uriOf(one.uri) } : one) }
}

/** The URI of a resource of the server, as the source lists it. One that it does not list may be at any server. */
async function offeredUris ({ servers, server, principal }: LinkOrigin): Promise<(uri: string) => string> {
  const { items } = await entriesFor(servers, 'resources', principal)
  const twice = collisions('resources', items)
  const own = new Set(items.filter(item => item.server === server).map(({ item }) => item.uri))
  const isAlone = servers.names.length === 1
  return uri => {
    const isPlain = own.has(uri) ? !twice.has(uri) : isAlone || WEB.test(uri)
    return isPlain ? uri : qualifiedUri(server, uri)
  }
}

type Block = Readonly<Record<string, unknown>>

function isLink ({ type, uri }: Block): boolean {
  return type === 'resource_link' && typeof uri === 'string'
}

function isEmbedded (block: Block): block is { readonly resource: Block & { readonly uri: string } } {
  return block.type === 'resource' && isRecord(block.resource) && typeof block.resource.uri === 'string'
}

function hasLinks (value: unknown): boolean {
  if (Array.isArray(value)) return value.some(hasLinks)
  return isRecord(value) && (isLink(value) || isEmbedded(value) || Object.values(value).some(hasLinks))
}

function relinked (value: unknown, uriOf: (uri: string) => string): unknown {
  if (Array.isArray(value)) return value.map(one => relinked(one, uriOf))
  if (!isRecord(value)) return value
  if (isLink(value)) return { ...value, uri: uriOf(value.uri as string) }
  if (isEmbedded(value)) return { ...value, resource: { ...value.resource, uri: uriOf(value.resource.uri) } }
  return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, relinked(one, uriOf)]))
}
