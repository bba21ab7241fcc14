import { mcpRequest as requestOf } from '@polyvac/client/mcp'
import { settings } from '../shared/settings.js'

/** What the page sends, and shows to copy. */
export interface PageRequest { readonly path: string, readonly headers: Record<string, string>, readonly body: object }

/**
 * A request of MCP 2026-07-28 to the service.
 * @param elicitation the questions that the page can show
 */
export function mcpRequest (method: string, params: Readonly<Record<string, unknown>>, elicitation: object): PageRequest {
  return { path: settings.value.routes.mcp!, ...requestOf(method, params, { elicitation }) }
}
