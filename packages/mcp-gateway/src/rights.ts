import type { Principal } from '@polyvac/core'
import { auditRefusal, mayUse, mayUseAll, quoteName, suggestion } from '@polyvac/core/plugin'
import type { ListKind } from '@polyvac/mcp-protocol'
import { PromptNotFoundError, ResourceNotFoundError, ServerNotFoundError, ToolNotFoundError, withContext } from './errors.js'
import type { Listing, ServerItem, Servers } from './servers.js'
import type { Upstream } from './upstream/upstream.js'

/** Whether a caller may use an entry of a list; resources and prompts need the whole server. */
export function isListedFor (principal: Principal | undefined, kind: ListKind, { server, item }: ServerItem): boolean {
  return mayUse(principal, { server, tool: kind === 'tools' ? String(item.name) : undefined })
}

/** The entries of all servers that a caller may use, from the lists of this caller. */
export async function entriesFor (servers: Servers, kind: ListKind, principal: Principal | undefined): Promise<Listing> {
  const { items, unavailable } = await servers.list(kind, principal?.owner)
  return { items: mayUseAll(principal) ? items : items.filter(item => isListedFor(principal, kind, item)), unavailable }
}

/** The server, if the caller may use some of it. @throws MCP_SERVER_NOT_FOUND, the same for one that does not exist */
export function serverFor (servers: Servers, principal: Principal | undefined, server: string): Upstream {
  if (mayUseAll(principal)) return servers.get(server)
  const names = servers.names.filter(name => mayUse(principal, { someOf: name }))
  if (names.includes(server)) return servers.get(server)
  if (servers.names.includes(server)) refuse(servers, principal, `server:${server}`)
  throw new ServerNotFoundError(quoteName(server), suggestion(server, names, 'configured'))
}

/**
 * Checks that a caller may use a tool. A caller with scopes for single tools gets the same answer for the others as for
 * a tool that does not exist.
 * @returns undefined for a caller who may use the whole server
 * @throws MCP_SERVER_NOT_FOUND, MCP_TOOL_NOT_FOUND, and the errors of a list
 */
export function checkTool (servers: Servers, principal: Principal | undefined, server: string, tool: string): Promise<void> | undefined {
  const upstream = serverFor(servers, principal, server)
  return mayUse(principal, { server }) ? undefined : checkToolOf(servers, upstream, principal, server, tool)
}

async function checkToolOf (servers: Servers, upstream: Upstream, principal: Principal | undefined, server: string, tool: string): Promise<void> {
  const all = (await upstream.list('tools', principal?.owner)).map(({ name }) => String(name))
  const names = all.filter(name => mayUse(principal, { server, tool: name }))
  if (names.includes(tool)) return
  if (all.includes(tool)) refuse(servers, principal, `tool:${server}__${tool}`)
  throw withContext(new ToolNotFoundError(quoteName(server), quoteName(tool), suggestion(tool, names, 'its tools')), { server, tool })
}

/** The server of a resource. @throws MCP_SERVER_NOT_FOUND, MCP_RESOURCE_NOT_FOUND */
export function serverOfResource (servers: Servers, principal: Principal | undefined, server: string, uri: string): Upstream {
  const upstream = serverFor(servers, principal, server)
  if (mayUse(principal, { server })) return upstream
  refuse(servers, principal, `resources:${server}`)
  throw withContext(new ResourceNotFoundError(quoteName(server), quoteName(uri), 'it has no resources'), { server })
}

/** The server of a prompt. @throws MCP_SERVER_NOT_FOUND, MCP_PROMPT_NOT_FOUND */
export function serverOfPrompt (servers: Servers, principal: Principal | undefined, server: string, prompt: string): Upstream {
  const upstream = serverFor(servers, principal, server)
  if (mayUse(principal, { server })) return upstream
  refuse(servers, principal, `prompts:${server}`)
  throw withContext(new PromptNotFoundError(quoteName(server), quoteName(prompt), suggestion(prompt, [], 'its prompts')), { server })
}

function refuse ({ log }: Servers, principal: Principal | undefined, what: string): void {
  auditRefusal(log, { reason: 'SCOPE', owner: principal?.owner, what })
}
