import type { ChatTurn, ConversationExport } from '@polyvac/core'

/** The turns of a history that a client has sent: each question with what was said until the next one. */
export function turnsOfHistory (sent: readonly ChatTurn[]): ConversationExport['turns'] {
  const turns: { question: string, answer?: string, createdAt: number }[] = []
  const createdAt = Date.now()
  for (const { role, content } of sent) {
    const last = turns.at(-1)
    if (role === 'user') turns.push({ question: content, createdAt })
    else if (role === 'assistant' && last !== undefined) last.answer = last.answer === undefined ? content : `${last.answer}\n\n${content}`
  }
  return turns
}

/**
 * The turn whose place a question takes, for clients that send the whole conversation with each question: they have
 * edited an earlier message, or ask it again. Undefined: the question comes after all of them.
 * The first turns of a long conversation may be deleted: then the stored ones begin later than those of the client.
 * @param stored the questions of the stored turns, in their order, with their numbers
 * @param asked the messages of the user before the question
 */
export function placeOfQuestion (stored: readonly { readonly number: number, readonly question: string }[], asked: readonly string[], question: string): number | undefined {
  const all = [...asked, question].map(text => text.trim())
  const texts = stored.map(turn => turn.question.trim())
  const rest = all.slice(lostTurns(texts, all))
  const differs = texts.findIndex((text, i) => i < rest.length && text !== rest[i])
  if (differs !== -1) return stored[differs]!.number
  // as far as the client sends, nothing differs: the last question is asked again where there is a turn in its place
  return stored[rest.length - 1]?.number
}

/** How many questions of the client come before the first stored one; 0 where that is not among them. */
function lostTurns (stored: readonly string[], all: readonly string[]): number {
  if (stored[0] === undefined || stored[0] === all[0]) return 0
  let [best, most] = [0, 0]
  for (let from = 1; from < all.length - 1; from++) {
    let same = 0
    while (same < stored.length && from + same < all.length && stored[same] === all[from + same]) same++
    if (same > most) [best, most] = [from, same]
  }
  return best
}
