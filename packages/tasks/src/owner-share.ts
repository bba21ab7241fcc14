/** Part of a shared resource that one owner may use: of the tasks and the space of a store, and of its executors. */
export const OWNER_SHARE = 0.25

/** The owner of all callers without an identity. */
export const ANYONE = 'anyone'

/** Owners that stand for many callers: they have no share. The second is the one of the MCP server. */
const SHARED: readonly string[] = [ANYONE, ' mcp  anonymous']

/** How much of `total` the owner may use. */
export function shareOf (owner: string, total: number): number {
  return SHARED.includes(owner) ? total : Math.ceil(total * OWNER_SHARE)
}
