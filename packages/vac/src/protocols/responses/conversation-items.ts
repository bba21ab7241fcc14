import { randomUUID } from 'node:crypto'
import type { ConversationTurn, TurnChange, TurnItem } from '@polyvac/core'
import type { ChatRequest } from '../../protocol.js'
import { messageItem, type Cite } from './frames.js'
import { ANSWER, inputId, keyOfTurn, outputId, QUESTION } from './ids.js'
import { readItem, type Item } from './input.js'
import { itemText, messageOf } from './stored.js'

/** Items of a turn that has no answer: a further one begins another turn. */
const MAX_TURN_ITEMS = 1_000

/** What items may have, which reach no interpreter as files. */
const TAKEN = ['images', 'files']

/** An item that a client writes, and its text. */
export interface WrittenItem {
  readonly item: Item
  /** `user`, `assistant`, or another role; undefined for an item that is not a message. */
  readonly role?: string | undefined
  readonly text: string
}

/** A turn that is made of items. */
interface Draft { readonly id: string, readonly question: string, answer: string, readonly items: TurnItem[] }

type Written = Pick<ConversationTurn, 'id' | 'question' | 'answer' | 'items'>

/** The items of a request, with the messages that its references name. @throws BAD_REQUEST, ITEM_NOT_FOUND */
export async function readItems (request: ChatRequest, items: readonly Item[]): Promise<WrittenItem[]> {
  const all: WrittenItem[] = []
  for (const [i, item] of items.entries()) {
    const [entry] = readItem(item, `body/items/${i}`, TAKEN)
    if (entry?.kind === 'reference') {
      const { role, text } = await itemText(request, entry.id)
      all.push({ item: { type: 'message', role, content: text }, role, text })
    } else if (entry?.kind === 'message') all.push({ item, role: entry.role.toLowerCase(), text: textOf(entry) })
    else all.push({ item, text: '' })
  }
  return all
}

/** What databases keep of a text. */
function textOf ({ text }: { readonly text: string }): string { return text.replaceAll('\0', '').toWellFormed() }

/**
 * Puts items after a turn: a message of the user begins a turn, and all other items belong to it. Those before any
 * message of the user belong to the last turn where it was written so and has no answer.
 * @returns `items`: what was written, with ids
 */
export function placeItems (written: readonly WrittenItem[], last?: Written): { readonly change: TurnChange, readonly items: readonly Item[] } {
  const joined: Draft | undefined = last?.items === undefined || (last.answer ?? '') !== '' ? undefined : { id: last.id, question: last.question, answer: '', items: [...last.items] }
  const before = joined?.items.length
  const [added, items]: [Draft[], Item[]] = [[], []]
  let draft = joined
  for (const { item, role, text } of written) {
    if (draft === undefined || role === 'user' || draft.items.length >= MAX_TURN_ITEMS) {
      draft = { id: randomUUID(), question: role === 'user' ? text : '', answer: '', items: [] }
      added.push(draft)
    }
    const number = (draft.items.at(-1)?.number ?? -1) + 1
    draft.items.push({ number, item })
    if (role === 'assistant') draft.answer = joinAnswers([draft.answer, text])
    items.push(itemOf(draft.id, { number, item }))
  }
  const createdAt = Date.now()
  return { change: { turn: joined?.items.length === before ? undefined : joined, added: added.map(turn => ({ ...turn, createdAt })) }, items }
}

/** The items of a turn, with ids: those of its client, or its question and its answer. */
export function itemsOf ({ id, question, answer, sourceDocuments, items }: ConversationTurn, cite: Cite): Item[] {
  if (items !== undefined) return items.map(item => itemOf(id, item))
  const key = keyOfTurn(id)
  const asked = messageOf(inputId(key, QUESTION), { role: 'user', content: question })
  if (answer === undefined) return [asked]
  return [asked, messageItem({ id: outputId('msg', key, ANSWER), text: answer }, 'completed', cite({ answer, source_documents: [...sourceDocuments] })) as Item]
}

/** What becomes of a turn without one of its items; undefined where it has none with this id. */
export function withoutItem (turn: ConversationTurn, id: string): TurnChange | undefined {
  const all = itemsOf(turn, () => [])
  const index = all.findIndex(item => item.id === id)
  const item = all[index]
  if (item === undefined) return undefined
  const { question, items } = turn
  // the answer to no question is not one
  if (all.length === 1 || item.role === 'user') return { turn: null }
  if (items === undefined) return { turn: { question } }
  const rest = items.filter((_item, i) => i !== index)
  const answers = rest.flatMap(({ item }) => readItem(item, '', TAKEN)).flatMap(entry => entry.kind === 'message' && entry.role.toLowerCase() === 'assistant' ? [textOf(entry)] : [])
  return { turn: { question, answer: joinAnswers(answers), items: rest } }
}

function joinAnswers (texts: readonly string[]): string { return texts.filter(text => text !== '').join('\n\n') }

function itemOf (turn: string, { number, item }: TurnItem): Item {
  const id = inputId(keyOfTurn(turn), number, item.type)
  return 'role' in item ? messageOf(id, item) : { ...item, id }
}
