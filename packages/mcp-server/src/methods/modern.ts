import { MODERN_REVISIONS } from '@polyvac/mcp-protocol'
import { listen } from './listen.js'
import { modernTaskMethods } from './modern-tasks.js'
import type { Method } from './method.js'
import { sharedMethods } from './shared.js'

/** The methods of revision 2026-07-28. */
export const modernMethods: ReadonlyMap<string, Method> = new Map<string, Method>([
  ...sharedMethods,
  ...modernTaskMethods,
  ['server/discover', async (server, call) => server.texts.complete(call.protocolVersion, {
    supportedVersions: MODERN_REVISIONS,
    capabilities: server.capabilities(call.protocolVersion),
    instructions: server.instructions
  }, server.listHint)],
  ['subscriptions/listen', listen]
])
