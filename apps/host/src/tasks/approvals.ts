import type { VacConfig, VacsOptions } from '@polyvac/core'
import type { Gateway } from '@polyvac/mcp-gateway'
import { withNotes } from '../config/notes.js'
import type { HostConfig } from '../config/read-config.js'
import { ApprovalsError } from '../errors.js'

type Entry = { readonly approve?: readonly string[] | undefined } | undefined

/** Whether a VAC, or an MCP server, has tools that wait for approvals. */
export function asksApprovals ({ vacs }: Pick<VacsOptions, 'vacs'>, gateway: Gateway | undefined): boolean {
  return gateway?.asksApprovals === true || (!Array.isArray(vacs) && Object.values(vacs as Readonly<Record<string, VacConfig>>).some(asks))
}

function asks (entry: Entry): boolean { return (entry?.approve?.length ?? 0) > 0 }

/**
 * Opens the store of the tasks before the first question: approvals are in it.
 * @throws APPROVALS_WITHOUT_STORE, with the place of `approve` in the file
 */
export async function openApprovals (open: () => Promise<{ readonly store: { readonly approvals?: unknown } }>, config: HostConfig | undefined): Promise<void> {
  let reason: string
  try {
    if ((await open()).store.approvals !== undefined) return
    reason = 'the store of `service.tasks` keeps none'
  } catch (err) {
    reason = (err as Error).message
  }
  const error = new ApprovalsError(reason)
  const path = config === undefined ? undefined : placeOf(config)
  throw path === undefined ? error : withNotes(error, [{ path, message: error.message }])
}

/** The first `approve` of a file. */
function placeOf ({ vac, service: { mcp_servers: servers } }: HostConfig): ReadonlyArray<string | number> | undefined {
  for (const [name, entry] of Object.entries(vac)) if (asks(entry)) return ['vac', name, 'approve']
  for (const [key, entry] of Object.entries(servers ?? {})) if (asks(entry as Entry)) return ['service', 'mcp_servers', Array.isArray(servers) ? Number(key) : key, 'approve']
  return undefined
}
