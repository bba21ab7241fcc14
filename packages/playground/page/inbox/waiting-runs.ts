import type { Approval } from '../chat/answer.js'
import { send, type Sent } from '../requests/exchange.js'
import { bodyOf, settings } from '../shared/settings.js'

/** A run of the caller that asks for the approval of a call. */
export interface WaitingRun {
  readonly id: string
  readonly vac: string
  readonly conversation: string
  /** What the answer has, with the question at its end. */
  readonly text: string
  readonly approval: Approval
}

/** Agents whose runs are read, and runs of one agent. */
const MAX_AGENTS = 50
const MAX_RUNS = 100

interface RunHead { readonly run_id: string, readonly conversation_id: string, readonly created_at: string }

async function get (label: string, vac: string, path: string, signal: AbortSignal): Promise<Sent> {
  return await send({ protocol: 'direct', label, path: `${settings.value.routes.vac!}/${encodeURIComponent(vac)}/runs${path}`, as: 'json', signal })
}

/** Agents whose service keeps no runs, so that it is not asked again. */
// @keyed names of agents of the service
const withoutRuns = new Set<string>()

/**
 * The runs that wait for an approval, over whatever protocol they were asked.
 * @param known those of the last look, which are not read again
 */
export async function listWaitingRuns (vacs: readonly string[], known: readonly WaitingRun[], signal: AbortSignal): Promise<readonly WaitingRun[]> {
  const found = await Promise.all(vacs.slice(0, MAX_AGENTS).map(async vac => await waitingOf(vac, known, signal)))
  return found.flat().filter(({ approval: { expires_at: expires } }) => expires === undefined || Date.parse(expires) > Date.now())
}

async function waitingOf (vac: string, known: readonly WaitingRun[], signal: AbortSignal): Promise<readonly WaitingRun[]> {
  if (withoutRuns.has(vac)) return []
  const sent = await get(`list waiting runs of ${vac}`, vac, `?state=input_required&limit=${MAX_RUNS}`, signal)
  if (sent.exchange.status === 501) {
    withoutRuns.add(vac)
    await sent.json()
    return []
  }
  const waiting = (await bodyOf(sent)).runs as readonly RunHead[]
  if (waiting.length === 0) return []
  // a reply may be another run of the conversation, and then nothing waits
  const latest = (await bodyOf(await get(`list runs of ${vac}`, vac, `?limit=${MAX_RUNS}`, signal))).runs as readonly RunHead[]
  const open = waiting.filter(run => !latest.some(later => later.conversation_id === run.conversation_id && later.created_at > run.created_at))
  const read = await Promise.all(open.map(async ({ run_id: id, conversation_id: conversation }): Promise<WaitingRun | undefined> => {
    const before = known.find(run => run.id === id && run.vac === vac)
    if (before !== undefined) return before
    const { approval, answer = '' } = await bodyOf(await get(`read run ${id}`, vac, `/${encodeURIComponent(id)}`, signal)) as { approval?: Approval, answer?: string }
    return approval && { id, vac, conversation, text: answer, approval }
  }))
  return read.filter(run => run !== undefined)
}

/** Answers a run; what follows is another run of its conversation, which goes on without a reader. */
export async function answerRun ({ vac, conversation, approval: { id } }: WaitingRun, approved: boolean): Promise<void> {
  const body = { user_input: approved ? 'yes' : 'no', conversation_id: conversation, approval: { id, approved }, background: true }
  await bodyOf(await send({ protocol: 'direct', label: `answer ${vac}`, path: `${settings.value.routes.vac!}/${encodeURIComponent(vac)}`, body, as: 'json' }))
}
