const PREFIX = 'io.modelcontextprotocol/'

/** The keys of `_meta` that revision 2026-07-28 reserves. */
export const MODERN_META = {
  protocolVersion: `${PREFIX}protocolVersion`,
  clientCapabilities: `${PREFIX}clientCapabilities`,
  clientInfo: `${PREFIX}clientInfo`,
  serverInfo: `${PREFIX}serverInfo`,
  logLevel: `${PREFIX}logLevel`,
  subscriptionId: `${PREFIX}subscriptionId`
} as const

/**
 * The part of a caller's `_meta` that a gateway passes on to a server, such as a tenant or the ids of a trace. The
 * token of the progress and the keys of the specification belong to one connection. Undefined if nothing is left.
 */
export function forwardedMeta (meta: unknown): Readonly<Record<string, unknown>> | undefined {
  if (typeof meta !== 'object' || meta === null || Array.isArray(meta)) return undefined
  const passed = Object.entries(meta).filter(([key]) => key !== 'progressToken' && !key.startsWith(PREFIX))
  return passed.length === 0 ? undefined : Object.fromEntries(passed)
}

/** The token counts of an answer in `_meta` of the result of a tool. */
export const USAGE = 'polyvac/usage'

/** In `_meta` of a call of a VAC: `true` asks for the steps of the answer. */
export const STEPS = 'polyvac/steps'

/** In `_meta` of a progress notification: a step of the answer. */
export const STEP = 'polyvac/step'

/** Names the task of a result in revision 2025-11-25. */
export const RELATED_TASK = `${PREFIX}related-task`

/** MCP Apps: tools with `_meta.ui`, and pages of them as `ui:` resources. */
export const UI_EXTENSION = `${PREFIX}ui`

/** The tasks extension of revision 2026-07-28. */
export const TASKS_EXTENSION = `${PREFIX}tasks`
