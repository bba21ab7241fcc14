import { isDeepStrictEqual } from 'node:util'
import { CALLERS, expected, twinOf, type Caller } from './callers.js'
import { nameOf, STATES, type Row, type State } from './row.js'
import { agUiRows } from './rows/ag-ui.js'
import { gatewayRows } from './rows/gateway.js'
import { httpRows } from './rows/http.js'
import { a2aRows } from './rows/a2a.js'
import { mcpRows } from './rows/mcp.js'
import { conversationRows } from './rows/conversations.js'
import { aiSdkRows } from './rows/ai-sdk.js'
import { responseRows } from './rows/responses.js'
import { runRows } from './rows/runs.js'
import { shown, type Seen, type Wire } from './send.js'
import type { Target, World } from './world.js'

export const ROWS: readonly Row[] = [...httpRows, ...runRows, ...responseRows, ...aiSdkRows, ...agUiRows, ...conversationRows, ...gatewayRows, ...a2aRows, ...mcpRows]

/** One row for one caller in one state: what is wrong, or nothing. */
export interface Cell { readonly name: string, readonly protocol: string, readonly problem: string | undefined }

/** One for each way to be refused, and one who may. */
const FEW = ['no credential', 'alice without scopes', 'bob', 'alice']
const OF_TASKS: readonly unknown[] = ['task', 'toolTask', 'farTask', 'run', 'response']
const MAX_SHOWN = 700

export interface Parts {
  readonly wire: Wire
  readonly world: World
  readonly authorizationOf: (caller: Pick<Caller, 'name'>) => string | undefined
}

/** The answers to the callers of a row about what does not exist. */
type Unknowns = Map<string, string>

/**
 * Checks all callers of a row, first those who may not, on one thing that must then be unchanged.
 * @param allStates of tasks
 */
export async function * checkRow (row: Row, parts: Parts, allStates: readonly State[] = STATES): AsyncGenerator<Cell> {
  const { world } = parts
  const unknowns: Unknowns = new Map()
  const callers = row.isDerived === true ? CALLERS.filter(({ name }) => FEW.includes(name)) : [...CALLERS]
  const inOrder = callers.sort((a, b) => Number(expected(row, a) === 'allowed') - Number(expected(row, b) === 'allowed'))
  for (const state of OF_TASKS.includes(row.thing) ? row.states ?? allStates : STATES.slice(-1)) {
    const of = OF_TASKS.includes(row.thing) ? `, ${state}` : ''
    const cell = (who: string, problem: string | undefined): Cell => ({ name: `${nameOf(row)}${of}, ${who}`, protocol: row.protocol, problem })
    const shared = await world.target(row, state, row.thing === 'call')
    const before = await shared.look?.()
    for (const caller of inOrder) {
      const outcome = expected(row, caller)
      if (outcome === 'allowed') break
      yield cell(`${caller.name}: ${outcome}`, await refused(row, caller, outcome, shared, parts, unknowns).catch(String))
    }
    const after = await shared.look?.()
    if (shared.look !== undefined) yield cell('the thing is unchanged', isDeepStrictEqual(before, after) ? undefined : `${JSON.stringify(before)} became ${JSON.stringify(after)}`)
    if (shared.proof !== undefined) yield cell('the call goes on', await shared.proof().catch(String))
    for (const caller of inOrder) {
      if (expected(row, caller) !== 'allowed' || (row.waits ?? []).includes(state)) continue
      const own = (row.changes ?? []).includes(state) ? await world.target(row, state, true) : shared
      yield cell(`${caller.name}: allowed`, await allowed(row, caller, own, parts, unknowns).catch(String))
      if (row.kind === 'webhook') await world.setHook(own.id)
    }
  }
}

async function ask (row: Row, caller: Caller, id: string, { more }: Target, { wire, world, authorizationOf }: Parts): Promise<Seen> {
  const request = await row.make(id, world.sender(caller, more))
  return typeof request === 'function' ? await request() : await wire.send(request, authorizationOf(caller))
}

/** The answer about what does not exist, which has no state: it is asked for once. */
async function unknown (row: Row, caller: Caller, target: Target, parts: Parts, unknowns: Unknowns): Promise<string> {
  const key = `${caller.name} ${JSON.stringify(target.more)}`
  const known = unknowns.get(key) ?? shown(await ask(row, caller, target.unknown, target, parts), target.unknown)
  unknowns.set(key, known)
  return known
}

const markOf = ({ mark }: Row, { id }: Target): string => mark ?? id
const has = ({ text }: Seen, mark: string): boolean => text.includes(mark) || text.includes(JSON.stringify(mark).slice(1, -1))

/** The answer must be that for what does not exist; a list must be that of a caller who owns nothing. */
async function refused (row: Row, caller: Caller, outcome: string, target: Target, parts: Parts, unknowns: Unknowns): Promise<string | undefined> {
  const seen = await ask(row, caller, target.id, target, parts)
  const status = { unauthenticated: 401, forbidden: 403 }[outcome]
  if (status !== undefined && seen.status !== status) return `status ${seen.status}: ${seen.text.slice(0, MAX_SHOWN)}`
  if (status === undefined && (seen.status === 0 || seen.status >= 500)) return `status ${seen.status}: ${seen.text.slice(0, MAX_SHOWN)}`
  if (row.kind === 'list' && status === undefined) {
    if (row.mark !== '' && has(seen, markOf(row, target))) return `the list shows ${markOf(row, target)}: ${seen.text.slice(0, MAX_SHOWN)}`
    return difference(shown(seen), shown(await ask(row, twinOf(caller), target.id, target, parts)))
  }
  // without a known credential, also every reason for it is answered alike
  const other = outcome === 'unauthenticated' ? CALLERS[0]! : caller
  return difference(shown(seen, target.id), await unknown(row, other, target, parts, unknowns))
}

/** The answer must differ from that for what does not exist; a list must show the thing. */
async function allowed (row: Row, caller: Caller, target: Target, parts: Parts, unknowns: Unknowns): Promise<string | undefined> {
  const other = row.thing === 'nothing' ? CALLERS.find(({ owner }) => row.isPublic === true || owner !== undefined)! : caller
  // the answer about what does not exist comes first: the other may change the thing
  const absent = row.kind === 'list' ? undefined : await unknown(row, other, target, parts, unknowns)
  const seen = await ask(row, caller, target.id, target, parts)
  const { status, text } = seen
  const shows = `status ${status}: ${text.slice(0, MAX_SHOWN)}`
  if ([0, 401, 403].includes(status) || (status >= 500 && row.thing !== 'nothing')) return shows
  if (row.kind === 'list') return has(seen, markOf(row, target)) ? undefined : `the list lacks ${markOf(row, target)}: ${shows}`
  const isSame = shown(seen, target.id) === absent
  if (row.thing === 'nothing') return isSame ? undefined : difference(shown(seen, target.id), absent!)
  return isSame && row.isSilent !== true && row.thing !== 'administration' ? `is answered like what does not exist: ${shows}` : undefined
}

function difference (seen: string, other: string): string | undefined {
  if (seen === other) return undefined
  let at = 0
  while (seen[at] === other[at]) at++
  const from = Math.max(0, at - 150)
  return `differs from the answer about what does not exist:\n  ${seen.slice(from, from + MAX_SHOWN)}\n  ${other.slice(from, from + MAX_SHOWN)}`
}

/** Lists first: other rows create tasks. */
export const inOrder = (rows: readonly Row[]): Row[] => [...rows.filter(({ kind }) => kind === 'list'), ...rows.filter(({ kind }) => kind !== 'list')]

/** The cells of each protocol, as one line. */
export function countsOf (cells: readonly Cell[]): string {
  const counts = new Map<string, number>()
  for (const { protocol } of cells) counts.set(protocol, (counts.get(protocol) ?? 0) + 1)
  return [...counts].map(([protocol, count]) => `${protocol} ${count}`).join(', ')
}
