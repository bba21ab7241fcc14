import type { Log } from '@polyvac/core'
import type { StateKey } from '@polyvac/core/plugin'
import type { Limits } from './options.js'
import type { ListKind } from '@polyvac/mcp-protocol'
import type { CallOptions, ToolResult } from './protocol/call-options.js'
import type { ChangeListener, Item } from './protocol/lists.js'
import type { SignIns } from './sign-in/sign-ins.js'
import type { Upstream } from './upstream/upstream.js'

/** One entry of a list and the server that lists it. */
export interface ServerItem { readonly server: string, readonly item: Item }

/** A list over several servers, and the servers that did not answer. */
export interface Listing {
  readonly items: readonly ServerItem[]
  readonly unavailable: ReadonlyArray<{ readonly server: string, readonly error: unknown }>
}

/** The configured servers, as REST routes, the tool source and calls that wait for input need them. */
export interface Servers {
  /** Names of the servers, in the order of the configuration. */
  readonly names: readonly string[]
  readonly limits: Limits
  readonly log: Log
  readonly stateKey: StateKey | undefined
  /** @throws MCP_SERVER_NOT_FOUND, with the name most likely meant */
  get (server: string): Upstream
  /** The entries of all servers in a fixed order; servers that do not answer are named separately. */
  list (kind: ListKind, owner?: string): Promise<Listing>
  /** The entries of the servers to which no owner signs in. */
  listShared (kind: ListKind): Promise<Listing>
  readonly signIns: SignIns
  /** Calls a tool for its caller, with the approval that the caller names. */
  readonly approvals: { call (upstream: Upstream, tool: string, args: unknown, options: CallOptions, approval: string | undefined): Promise<ToolResult> }
  /** Whether owners sign in to one of the servers, so that they see different lists. */
  readonly hasSignIns: boolean
  /** Calls `listener` when lists may have changed. The function that it returns stops that. */
  onChange (listener: ChangeListener): () => void
}
