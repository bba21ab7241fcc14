import type { Thing } from './callers.js'
import type { Called, Seen, Sent } from './send.js'

/** What a request does to its thing. */
export type Kind = 'list' | 'read' | 'stream' | 'resume' | 'cancel' | 'continue' | 'webhook'

/** The states of tasks in which their rows are checked. */
export const STATES = ['working', 'input-required', 'completed'] as const
export type State = typeof STATES[number]

/** What a request needs of the caller who sends it. */
export interface Sender {
  /** Where sessions are opened, and where the messages of HTTP+SSE are posted: with replicas, at another one. */
  readonly url: string
  readonly postUrl: string
  readonly authorization: string | undefined
  /** The credential of the owner. */
  readonly alice: string
  /** The headers of a session of MCP that the caller has; those of alice where it cannot have one. */
  session (revision: string): Promise<Readonly<Record<string, string>>>
  /** What else belongs to the target, such as the session of a call. */
  readonly more: Readonly<Record<string, string>>
}

export type Request = Sent | Called | (() => Promise<Seen>)

/** One line of the matrix: a request about a thing. */
export interface Row {
  readonly protocol: string
  /** Method and pattern of the route. */
  readonly route: string
  /** The method of JSON-RPC or gRPC. */
  readonly method?: string
  /** What distinguishes rows of the same method. */
  readonly about?: string
  readonly kind: Kind
  readonly thing: Thing
  /** Callers without credentials may. */
  readonly isPublic?: boolean
  /** Administrators may, also where another caller owns the thing. */
  readonly toAdmins?: boolean
  /** States of the task that are checked; default: all. */
  readonly states?: readonly State[]
  /** States in which the request changes the thing: each caller who may gets its own. */
  readonly changes?: readonly State[]
  /** States in which the request waits as long as the task does. */
  readonly waits?: readonly State[]
  /** The answer does not show the thing: callers who may can be answered like those who may not. */
  readonly isSilent?: boolean
  /** The names of the thing, and of one that does not exist; default: those of the thing. */
  readonly names?: readonly [known: string, unknown: string]
  /** What a list shows of the thing; default: its id or name. Empty: an answer without a body. */
  readonly mark?: string
  /** Derived from another row: callers of each outcome suffice. */
  readonly isDerived?: boolean
  readonly make: (id: string, sender: Sender) => Request | Promise<Request>
}

export const nameOf = ({ protocol, route, method, about, kind }: Row): string =>
  [protocol, method ?? route, ...about === undefined ? [] : [`(${about})`], `[${kind}]`].join(' ')

/** Puts what rows have in common before each of them. */
export function rowsOf (common: Partial<Row>, rows: ReadonlyArray<Partial<Row> & Pick<Row, 'make'>>): Row[] {
  return rows.map(row => ({ kind: 'read', thing: 'nothing', ...common, ...row }) as Row)
}

export const rpc = (method: string, params: object = {}): object => ({ jsonrpc: '2.0', id: 1, method, params })
