import type { ToolCallOptions } from './tools.js'

// a symbol: no interpreter can set it
const ALLOWED = Symbol('allowed')

/** Marks a call as one that approvals have let through: an upstream server with `approve` asks for no other. */
export function allowCall<T extends ToolCallOptions> (options: T | undefined): T {
  return Object.assign({ ...options }, { [ALLOWED]: true }) as unknown as T
}

/** Marks options that no interpreter has. */
export function allowOwnCall<T extends object> (options: T): T { return Object.assign(options, { [ALLOWED]: true }) }

export function isAllowedCall (options: object | undefined): boolean {
  return (options as { readonly [ALLOWED]?: true } | undefined)?.[ALLOWED] === true
}
