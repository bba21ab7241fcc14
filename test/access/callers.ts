import type { Row } from './row.js'

/** The VAC and the tool whose access is checked, and others that exist. */
export const VAC = 'harbor'
export const OTHER_VAC = 'elephant-list'
export const TOOL = 'echo'
export const OTHER_TOOL = 'get-sum'
/** The tool that asks back, the external MCP server that has all three, and the one that has tasks. */
export const ASKING_TOOL = 'trigger-elicitation-request'
export const SERVER = 'files'
export const FAR = 'far'
export const FAR_TOOL = 'vac_stream_deep'

export interface Caller {
  readonly name: string
  /** Undefined: the service knows no such caller. */
  readonly owner?: string
  /** Undefined: all but `admin`. */
  readonly scopes?: readonly string[] | undefined
  /** How the caller is known; default `token`. */
  readonly by?: 'nothing' | 'removed' | 'jwt' | 'expired' | 'token'
}

const OTHERS = [`vac:${OTHER_VAC}`, `tool:${SERVER}__${OTHER_TOOL}`]
/** All that is needed for the VAC and for the tools, but not for the whole servers. */
const NEEDED = [`vac:${VAC}`, `tool:${SERVER}__${TOOL}`, `tool:${SERVER}__${ASKING_TOOL}`, `tool:${FAR}__${FAR_TOOL}`]

/** `alice` owns everything that has an owner. */
export const CALLERS: readonly Caller[] = [
  { name: 'no credential', by: 'nothing' },
  { name: 'a removed token', by: 'removed' },
  { name: 'an expired JWT', by: 'expired' },
  { name: 'alice without scopes', owner: 'alice', scopes: [] },
  { name: 'alice with fewer scopes', owner: 'alice', scopes: OTHERS },
  { name: 'bob', owner: 'bob' },
  { name: 'bob with another VAC', owner: 'bob', scopes: [`vac:${OTHER_VAC}`] },
  { name: 'bob with another tool', owner: 'bob', scopes: [`tool:${SERVER}__${OTHER_TOOL}`] },
  { name: 'bob as administrator', owner: 'bob', scopes: ['admin'] },
  { name: 'alice as administrator', owner: 'alice', scopes: ['admin'] },
  { name: 'alice with a JWT of just these scopes', owner: 'alice', scopes: NEEDED, by: 'jwt' },
  { name: 'alice', owner: 'alice' }
]

/** The caller of the same scopes that owns nothing: lists that a caller must not see more of are equal to its lists. */
export const twinOf = ({ name, scopes, by = 'token' }: Caller): Caller => ({ name: `the twin of ${name}`, owner: 'carol', scopes, by })

const OF_VAC = ['vac:*', `vac:${VAC}`]
const OF_SERVER = [`tool:${SERVER}`]
const OF_TOOL = [...OF_SERVER, `tool:${SERVER}__${TOOL}`]
const ASKING = [...OF_SERVER, `tool:${SERVER}__${ASKING_TOOL}`]

interface Rule {
  readonly isOwned?: boolean
  /** Alice made it without a list of scopes: a credential of hers that has one does not take it over. */
  readonly isMade?: boolean
  readonly scopes?: readonly string[]
}

/** What rows are about: whether it belongs to alice, and the scopes of which a caller needs one. */
export const THINGS = {
  /** Every caller is answered alike. */
  nothing: {},
  administration: { scopes: ['admin'] },
  vac: { scopes: OF_VAC },
  /** Anything that needs some VAC. */
  anyVac: { scopes: [...OF_VAC, `vac:${OTHER_VAC}`] },
  tool: { scopes: OF_TOOL },
  farTool: { scopes: [`tool:${FAR}`, `tool:${FAR}__${FAR_TOOL}`] },
  /** Resources and prompts need the whole server. */
  wholeServer: { scopes: OF_SERVER },
  /** The name of the server needs one of its tools. */
  server: { scopes: [...OF_TOOL, ...ASKING, `tool:${SERVER}__${OTHER_TOOL}`] },
  /** A task of the VAC, by A2A; by a call over MCP; a running call; sessions; a call on a stream of alice. */
  task: { isOwned: true, scopes: OF_VAC },
  toolTask: { isOwned: true, scopes: OF_VAC },
  farTask: { isOwned: true, scopes: [`tool:${FAR}`, `tool:${FAR}__${FAR_TOOL}`] },
  /** A run of the VAC, the conversation of one in progress, and an idempotency key of an answer. */
  run: { isOwned: true, scopes: OF_VAC },
  /** The digits that the ids of a response and of its items have in common. */
  response: { isOwned: true, scopes: OF_VAC },
  conversation: { isOwned: true, scopes: OF_VAC },
  /** A conversation under an id of the service. */
  storedConversation: { isOwned: true, scopes: OF_VAC },
  /** One that alice began without a VAC. */
  begunConversation: { isOwned: true },
  /** A conversation under an id that alice made: other owners have others under the same id. */
  namedConversation: { isOwned: true, scopes: OF_VAC },
  runKey: { isOwned: true, isMade: true, scopes: OF_VAC },
  /** A run of AG-UI under the id of its client, and the question of one that waits. */
  namedRun: { isOwned: true, isMade: true, scopes: OF_VAC },
  interrupt: { isOwned: true, scopes: OF_VAC },
  call: { isOwned: true, isMade: true, scopes: OF_VAC },
  session: { isOwned: true, isMade: true },
  sseSession: { isOwned: true, isMade: true },
  sseVac: { isOwned: true, isMade: true, scopes: OF_VAC },
  /** The state of a call that waits for its caller: at the gateway, and over MCP. */
  parked: { isOwned: true, scopes: ASKING },
  parkedVac: { isOwned: true, isMade: true, scopes: OF_VAC }
} as const satisfies Readonly<Record<string, Rule>>

export type Thing = keyof typeof THINGS
export type Outcome = 'allowed' | 'unknown' | 'unauthenticated' | 'forbidden'

/** What a caller must see of a row: the one rule of the matrix. */
export function expected ({ thing, isPublic = false, toAdmins = false }: Pick<Row, 'thing' | 'isPublic' | 'toAdmins'>, { owner, scopes }: Pick<Caller, 'owner' | 'scopes'>): Outcome {
  if (owner === undefined) return isPublic ? 'allowed' : 'unauthenticated'
  const { isOwned = false, isMade = false, scopes: needed }: Rule = THINGS[thing]
  if (isOwned && owner !== 'alice' && !(toAdmins && scopes?.includes('admin') === true)) return 'unknown'
  if (isMade && scopes !== undefined) return 'unknown'
  const may = needed === undefined || (scopes === undefined ? thing !== 'administration' : scopes.some(scope => scope === 'admin' || needed.includes(scope)))
  if (may) return 'allowed'
  return thing === 'administration' ? 'forbidden' : 'unknown'
}
