import { setTimeout as delay } from 'node:timers/promises'

const orders = { 7: 'two lamps, on their way since Monday', 8: 'a chair, delivered' }
const confirmation = number => `Shall I cancel order ${number}?`

/** Looks up orders. It asks which one, and asks before it cancels one. It is slow, so that one can stop and reload. */
export async function * agent (question, vac, history, { signal }) {
  const asked = history.at(-1)?.content ?? ''
  const named = /\d+/.exec(question)?.[0]
  const number = named ?? /\d+/.exec(asked)?.[0]
  if (number === undefined) return { input_required: 'Which order? Give its number.' }
  // a reply comes after the question, and names no order; nothing is kept here, so that a restart does not matter
  if (named === undefined && asked === confirmation(number)) {
    yield * words(/^\s*yes\b/i.test(question) ? `Order ${number} is cancelled.` : `Order ${number} stays as it was.`, signal)
    return
  }
  if (/cancel/i.test(question)) return { input_required: confirmation(number), input_schema: { type: 'boolean' } }
  yield { tool_call: { id: 'find', name: 'find_order', input: { number } } }
  await delay(200, undefined, { signal })
  yield { tool_result: { id: 'find', output: orders[number] ?? null } }
  const found = orders[number] === undefined ? 'I know no such order.' : `That is ${orders[number]}. `
  yield * words(found + 'Ask me about another one whenever you like. '.repeat(number === '7' ? 8 : 1), signal)
}

async function * words (text, signal) {
  for (const word of text.match(/\S+\s*/g)) {
    await delay(60, undefined, { signal })
    yield word
  }
}
