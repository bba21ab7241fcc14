import { auditRefusal } from './audit.js'
import { VacNotFoundError } from '../basics/errors.js'
import type { ExposedVacs } from '../vac/vac.js'
import type { Log } from '../basics/log.js'
import { quoteName, vacRemedy } from '../basics/names.js'
import type { Principal } from '../vac/vac.js'

/** Scope of callers who may read what concerns the machine and all owners, such as the stderr of MCP servers. */
export const ADMIN = 'admin'

/** What concerns the machine and all owners. */
export const ADMINISTRATION = { administration: true } as const

/** What a caller may use or not. */
export type Thing =
  /** A VAC with its tasks, resources and conversations. Undefined: what names no VAC, although its kind does. */
  | { readonly vac: string | undefined }
  /** A tool of an external MCP server; without `tool` everything of it: resources, prompts, tasks. */
  | { readonly server: string, readonly tool?: string | undefined }
  /** An external MCP server of which the caller may use a tool at least; without one it does not exist. */
  | { readonly someOf: string }
  /** The decision about a call of a tool that its owner wants to make. */
  | { readonly approval: { readonly owner: string | undefined, readonly server: string, readonly tool: string } }
  /** What a caller made and others may not take over, such as a session. */
  | { readonly maker: Principal | undefined }
  | typeof ADMINISTRATION

/**
 * The one decision about access: lists, reads, streams, resumption, cancellation, input and webhooks of every protocol
 * ask here. A caller without a list of scopes may use everything except the administration. What a caller may not use
 * is answered like what does not exist.
 * @param principal undefined where callers are not authenticated: then everything is open but the administration
 */
export function mayUse (principal: Principal | undefined, thing: Thing): boolean {
  if ('maker' in thing) return isMaker(principal, thing.maker)
  const scopes = principal?.scopes
  if (scopes?.includes(ADMIN) === true) return true
  if ('administration' in thing) return false
  if ('approval' in thing) {
    const { owner, ...tool } = thing.approval
    return principal?.owner === owner && mayUse(principal, tool)
  }
  if (scopes === undefined) return true
  if ('vac' in thing) return scopes.includes('vac:*') || (thing.vac !== undefined && scopes.includes(`vac:${thing.vac}`))
  if ('someOf' in thing) {
    const { someOf: server } = thing
    return mayUseServer(scopes, server) || scopes.some(scope => scope.startsWith(`tool:${server}__`))
  }
  const { server, tool } = thing
  return mayUseServer(scopes, server) || (tool !== undefined && scopes.includes(`tool:${server}__${tool}`))
}

function mayUseServer (scopes: readonly string[], server: string): boolean {
  return scopes.includes('tool:*') || scopes.includes(`tool:${server}`)
}

/**
 * Whether a caller may continue what another request made: it is of the same owner, with the same scopes. With fewer it
 * would read the results of calls that it may not make, and with more it would leave its own where fewer reach them.
 */
function isMaker (principal: Principal | undefined, maker: Principal | undefined): boolean {
  if (principal === undefined || maker === undefined) return principal === maker
  return principal.owner === maker.owner && accessKey(principal) === accessKey(maker)
}

/** Whether a caller has no list of scopes that bounds it, or may administer: then it may use all VACs and tools. */
export function mayUseAll (principal: Principal | undefined): boolean {
  return principal?.scopes === undefined || mayUse(principal, ADMINISTRATION)
}

/** What callers with the same scopes have in common, whatever their order. */
export function accessKey (principal: Principal | undefined): string {
  return principal?.scopes === undefined ? '' : JSON.stringify([...new Set(principal.scopes)].sort())
}

/** Those of some scopes that a caller lacks. */
export function missingScopes (principal: Principal | undefined, scopes: readonly string[]): readonly string[] {
  return scopes.filter(scope => principal?.scopes?.includes(scope) !== true)
}

/** The names of the VACs that a caller may use, for a query; undefined: all. */
export function usableVacs (principal: Principal | undefined): readonly string[] | undefined {
  if (mayUse(principal, { vac: undefined })) return undefined
  return principal!.scopes!.flatMap(scope => scope.startsWith('vac:') ? [scope.slice('vac:'.length)] : [])
}

/** The VACs that a caller may use. For the caller the others do not exist; an attempt to use one is logged. */
export function vacsFor (vacs: ExposedVacs, principal: Principal | undefined, log?: Log): ExposedVacs {
  if (mayUse(principal, { vac: undefined })) return vacs
  const list = (): ReturnType<ExposedVacs['list']> => vacs.list().filter(({ name }) => mayUse(principal, { vac: name }))
  const has = (name: string): boolean => {
    if (!vacs.has(name)) return false
    const isAllowed = mayUse(principal, { vac: name })
    if (!isAllowed && log !== undefined) auditRefusal(log, { reason: 'SCOPE', owner: principal?.owner, what: `vac:${name}` })
    return isAllowed
  }
  return {
    has,
    list,
    get (name) {
      if (has(name)) return vacs.get(name)
      throw new VacNotFoundError(quoteName(name), vacRemedy(name, list().map(({ name }) => name)))
    }
  }
}
