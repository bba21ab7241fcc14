import { InvalidStoreOptionError } from './errors.js'
import { ANYONE } from './owner-key.js'

/** Default part of what all share that one owner may use: tasks and space of a store, executors, deliveries. */
export const OWNER_SHARE = 0.25

/** Most tasks and bytes of a store, and the part of one owner. */
export interface CapacityLimits { readonly maxTasks: number, readonly maxBytes: number, readonly ownerShare: number }

/** The owner of the unknown callers of a protocol that puts its name before its owners, such as ` mcp  anonymous`. */
const ANONYMOUS = /^ [a-z0-9-]+ {2}anonymous$/

/** How much of `total` the owner may use. Owners that stand for many callers have no share. */
export function shareOf (owner: string, total: number, ownerShare: number): number {
  return standsForMany(owner) ? total : Math.ceil(total * ownerShare)
}

/** Whether an owner is that of all unknown callers. */
export function standsForMany (owner: string): boolean { return owner === ANYONE || ANONYMOUS.test(owner) }

/** The option of a store. @throws TASK_STORE_OPTION */
export function readOwnerShare (value: number = OWNER_SHARE): number {
  if (typeof value === 'number' && value > 0 && value <= 1) return value
  throw new InvalidStoreOptionError('ownerShare', String(value), 'a number above 0, and at most 1')
}
