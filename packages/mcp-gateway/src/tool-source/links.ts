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

/** The result of a tool whose links and embedded resources have the URIs under which the source reads them. */
export async function withLinks (origin: LinkOrigin, result: ToolResult): Promise<ToolResult> {
  if (!hasLinks(result.content)) return result
  const uriOf = await offeredUris(origin)
  return { ...result, content: relinked(result.content, uriOf) }
}

/** The same of the messages of a prompt. */
export async function withMessageLinks (origin: LinkOrigin, result: ToolResult): Promise<ToolResult> {
  const { messages } = result
  if (!Array.isArray(messages) || !messages.some(message => isRecord(message) && hasLinks(message.content))) return result
  const uriOf = await offeredUris(origin)
  return { ...result, messages: messages.map(message => isRecord(message) ? { ...message, content: relinked(message.content, uriOf) } : message) }
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

function hasLinks (content: unknown): boolean {
  return [content].flat().some(block => isRecord(block) && (block.type === 'resource_link' || block.type === 'resource'))
}

function relinked (content: unknown, uriOf: (uri: string) => string): unknown {
  if (Array.isArray(content)) return content.map(block => relinked(block, uriOf) as object)
  if (!isRecord(content)) return content
  const { type, uri, resource } = content
  if (type === 'resource_link' && typeof uri === 'string') return { ...content, uri: uriOf(uri) }
  if (type !== 'resource' || !isRecord(resource) || typeof resource.uri !== 'string') return content
  return { ...content, resource: { ...resource, uri: uriOf(resource.uri) } }
}
