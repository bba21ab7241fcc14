import { isAdmin } from './authentication.js'
import { auditRefusal } from './audit.js'
import { VacNotFoundError } from './errors.js'
import type { ExposedVacs } from './exposed-vacs.js'
import type { Log } from './log.js'
import { quoteName, vacRemedy } from './names.js'
import type { Principal } from './vac.js'

/** Whether all VACs and tools are open to a caller: without a list of scopes, or as an administrator. */
function mayUseAll (principal: Principal | undefined): boolean {
  return principal?.scopes === undefined || isAdmin(principal)
}

export function mayUseVac (principal: Principal | undefined, name: string): boolean {
  if (mayUseAll(principal)) return true
  const { scopes } = principal as Required<Principal>
  return scopes!.includes('vac:*') || scopes!.includes(`vac:${name}`)
}

/** Whether a caller may use a tool of an external MCP server, or without `tool` all that the server has. */
export function mayUseTool (principal: Principal | undefined, server: string, tool?: string): boolean {
  if (mayUseAll(principal)) return true
  const { scopes } = principal as Required<Principal>
  return scopes!.includes(`tool:${server}`) || (tool !== undefined && scopes!.includes(`tool:${server}__${tool}`))
}

/** Whether a caller may use a tool of the server, or all of it: otherwise the server does not exist for the caller. */
export function mayUseServer (principal: Principal | undefined, server: string): boolean {
  return mayUseTool(principal, server) || principal!.scopes!.some(scope => scope.startsWith(`tool:${server}__`))
}

/** The VACs that a caller may use. For the caller the others do not exist; an attempt to use one is logged. */
export function vacsFor (vacs: ExposedVacs, principal: Principal | undefined, log?: Log): ExposedVacs {
  if (mayUseAll(principal)) return vacs
  const list = (): ReturnType<ExposedVacs['list']> => vacs.list().filter(({ name }) => mayUseVac(principal, name))
  const has = (name: string): boolean => {
    if (!vacs.has(name)) return false
    const isAllowed = mayUseVac(principal, name)
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
