import { yieldToEventLoop } from '@polyvac/core/plugin'

export interface ModelMessage {
  readonly role: 'user' | 'assistant' | 'system'
  readonly content: string
}

/** Turns that one turn of the event loop reads. */
const TURNS_AT_ONCE = 1_000

/** Stands before an assistant that speaks first. */
const BEGINNING = '(The conversation begins.)'

/**
 * A conversation as every model API takes it. Anthropic, Mistral and the chat templates of local models refuse a turn
 * without text, a system message after another turn, two turns of one role in succession, and an assistant that speaks
 * first; servers in Python and Go refuse half of a surrogate pair.
 */
export async function fitMessages (messages: readonly ModelMessage[]): Promise<ModelMessage[]> {
  // @keyed none: lists in order, of one conversation; the body limit
  const system: string[] = []
  const turns: { readonly role: 'user' | 'assistant', readonly texts: string[] }[] = []
  for (const [i, { role, content }] of messages.entries()) {
    if ((i + 1) % TURNS_AT_ONCE === 0) await yieldToEventLoop()
    if (content.trim() === '') continue
    const text = content.toWellFormed()
    const last = turns.at(-1)
    if (role === 'system') system.push(text)
    else if (last?.role === role) last.texts.push(text)
    else turns.push({ role, texts: [text] })
  }
  if (turns[0]?.role === 'assistant') turns.unshift({ role: 'user', texts: [BEGINNING] })
  const fitted: ModelMessage[] = turns.map(({ role, texts }) => ({ role, content: texts.join('\n\n') }))
  return system.length === 0 ? fitted : [{ role: 'system', content: system.join('\n\n') }, ...fitted]
}
