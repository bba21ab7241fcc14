import { answers, ask, isAsking } from './conversation.js'
import type { Answer } from './answer.js'
import { changeStored, storedWith } from './stored.js'

/**
 * Asks the question of an answer again, or another one in its place; the later turns are dropped. A conversation that
 * the service keeps goes on in a copy of the turns before, which takes its place once there is an answer.
 */
export async function askAgain (answer: Answer, question: string, protocol: NonNullable<Answer['protocol']>): Promise<void> {
  const at = answers.value.indexOf(answer)
  if (at === -1 || isAsking.value) return
  const { vac, conversation: id, attached, replaces = [] } = answer
  const dropped = answers.value.length - at
  if (id === undefined) answers.value = answers.value.slice(0, at)
  else if (!await changeStored(vac, async () => { answers.value = await copyBefore(vac, id, dropped, answers.value.slice(0, at)) })) return
  await ask(vac, protocol, question, { attached, replaces: id === undefined ? undefined : [...replaces, id] })
}

/** The answers that stay, in a copy of their conversation. */
async function copyBefore (vac: string, id: string, dropped: number, kept: readonly Answer[]): Promise<readonly Answer[]> {
  const stored = storedWith(vac, `copy conversation ${id}`)
  const isOther = ({ conversation }: Answer): boolean => conversation !== id
  let exported: { readonly id: string, readonly turns: readonly unknown[] }
  try {
    exported = await stored.export(id) as typeof exported
  } catch (err) {
    // the service has never got its first question
    if ((err as { status?: number }).status === 404 && kept.every(isOther)) return kept
    throw err
  }
  const { id: _id, turns, ...head } = exported
  const before = turns.slice(0, Math.max(0, turns.length - dropped))
  if (before.length === 0) return kept.filter(isOther)
  const { id: copy } = await stored.import({ ...head, turns: before })
  return kept.map(answer => isOther(answer) ? answer : { ...answer, conversation: copy })
}
