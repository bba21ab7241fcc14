import { isTaskError, StoreDatabaseError, StoreUnavailableError } from '../basics/errors.js'

interface DatabaseError extends Error { readonly code?: unknown }

/** Classes of SQLSTATE that name a state of the server, not a mistake in a statement. */
const UNAVAILABLE = ['08', '53', '57', '58']
/** Lock not available, read-only transaction, serialization failure, deadlock. */
const PASSING = ['55P03', '25006', '40001', '40P01']

function sqlState (error: unknown): string | undefined {
  const { code } = error as DatabaseError
  return typeof code === 'string' && /^[0-9A-Z]{5}$/.test(code) && 'severity' in (error as object) ? code : undefined
}

/** Whether `import()` failed since a package is missing; a bundle calls `require()` in its place. */
export function isMissingPackage (error: unknown): boolean {
  return ['ERR_MODULE_NOT_FOUND', 'MODULE_NOT_FOUND'].includes(String((error as DatabaseError).code))
}

/** Whether the connection cannot be used any more. */
export function isBroken (error: unknown): boolean {
  const state = sqlState(error)
  return !isTaskError(error) && (state === undefined || state.startsWith('08') || state.startsWith('57P'))
}

/** What a caller may read of an error of the driver: without addresses and names of the server. */
export function unavailable (error: unknown): unknown {
  if (isTaskError(error)) return error
  const state = sqlState(error)
  if (state !== undefined && !UNAVAILABLE.includes(state.slice(0, 2)) && !PASSING.includes(state)) return error
  const { code, message } = error as DatabaseError
  const reason = state !== undefined ? message : typeof code === 'string' ? code : /time/i.test(message) ? 'no answer in time' : 'the connection ended'
  const refused = new StoreUnavailableError(`the database does not take it (${reason})`)
  refused.cause = error
  return refused
}

export interface Target { readonly host: string, readonly port: number, readonly database: string, readonly user: string, readonly password: string }

/** An error of `open`: it names server, database, reason and remedy, never the password. */
export function openError (error: unknown, { host, port, database, user, password }: Target): unknown {
  if (isTaskError(error)) return error
  const state = sqlState(error)
  const where = `the database '${database}' of ${host}:${port}`
  const { message, code } = error as DatabaseError
  const said = password === '' ? message : message.replaceAll(password, '…')
  const remedy = remedyOf(state, database, user)
  if (remedy !== undefined) return new StoreDatabaseError(where, `${said}; ${remedy}`)
  if (state !== undefined && !UNAVAILABLE.includes(state.slice(0, 2)) && !PASSING.includes(state)) return new StoreDatabaseError(where, said)
  const reason = state === undefined && typeof code === 'string' ? code : said
  return new StoreUnavailableError(`${where} is not reachable (${reason}); check host and port, and whether the server runs`)
}

function remedyOf (state: string | undefined, database: string, user: string): string | undefined {
  if (state === '28P01' || state === '28000') return `check user name and password of '${user}'`
  if (state === '3D000') return `create it: CREATE DATABASE "${database}"`
  if (state === '42501') return `grant '${user}' the right, or run \`polyvac migrate\` ahead with a role that has it`
  return undefined
}
