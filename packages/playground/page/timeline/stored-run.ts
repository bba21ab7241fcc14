import type { Step } from '@polyvac/client'
import { direct } from '@polyvac/client/direct'
import { withStep } from '../chat/answer.js'
import { storedWith } from '../chat/stored.js'
import { recorder, send } from '../requests/exchange.js'
import type { Fields } from '../shared/fields.js'
import { bodyOf, settings } from '../shared/settings.js'
import type { Traced } from './trace.js'

/** Agents that are asked for a run whose agent the address does not name. */
const MAX_AGENTS = 50
const IN_PROGRESS = ['queued', 'running']

/**
 * Reads a run that the service keeps, and follows it while it is answered; `show` gets what is known.
 * @param vacs names of agents, of which one has the run
 * @returns whether there is one that the caller may read
 */
export async function readRun (id: string, vacs: readonly string[], signal: AbortSignal, show: (traced: Traced) => void): Promise<boolean> {
  for (const vac of vacs.slice(0, MAX_AGENTS)) {
    const run = await findRun(vac, id, signal)
    if (run === undefined) continue
    await follow(vac, id, run, signal, show)
    return true
  }
  return false
}

const pathOf = (vac: string, id: string): string => `${settings.value.routes.vac!}/${encodeURIComponent(vac)}/runs/${encodeURIComponent(id)}`

/** @throws Error with the reason of the service, but for one that it does not know */
async function findRun (vac: string, id: string, signal: AbortSignal): Promise<Fields | undefined> {
  const sent = await send({ protocol: 'direct', label: `read run ${id}`, path: pathOf(vac, id), as: 'json', signal })
  // 501: it keeps none
  if (sent.exchange.status === 404 || sent.exchange.status === 501) {
    // a body that is read ends its exchange
    await sent.json()
    return undefined
  }
  return await bodyOf(sent)
}

async function follow (vac: string, id: string, first: Fields, signal: AbortSignal, show: (traced: Traced) => void): Promise<void> {
  let run = first
  let steps: readonly Step[] = []
  let name = `Run ${id}`
  const began = Date.parse(first.created_at)
  const shown = (): void => {
    const isLive = IN_PROGRESS.includes(run.state)
    show({ name, run: id, steps, state: run.state, isLive, ms: (isLive ? Date.now() : Date.parse(run.updated_at)) - began, usage: run.metadata?.usage })
  }
  shown()
  const timer = IN_PROGRESS.includes(first.state) ? setInterval(shown, 250) : undefined
  try {
    const updates = direct.resume({ base: '', url: settings.value.routes.vac!, vac, run: id, signal, fetch: recorder({ protocol: 'direct', label: `follow run ${id}` }) })
    for await (const { step, text, done } of updates) {
      // the answer begins anew, after a crash
      if (text === '' && done !== true) steps = []
      if (step !== undefined) steps = withStep(steps, step)
      shown()
    }
  } catch (err) {
    // a run that failed ends its stream with the error, which its state has, too
    if (signal.aborted) throw err
  } finally {
    clearInterval(timer)
  }
  if (timer !== undefined) run = await findRun(vac, id, signal) ?? run
  // a run whose question did not ask for steps has those of its conversation
  if (steps.length === 0) {
    const turn = await turnOf(vac, id, run.conversation_id)
    steps = turn?.steps ?? []
    name = turn?.question ?? name
  }
  shown()
}

/** The turn of a run in its conversation, where the caller has that. */
async function turnOf (vac: string, id: string, conversation: string): Promise<{ readonly question: string, readonly steps: readonly Step[] } | undefined> {
  try {
    const { turns } = await storedWith(vac, `read conversation ${conversation}`).get(conversation)
    return turns.find(turn => turn.id === id)
  } catch {
    return undefined
  }
}
