import { conversations, type Conversations, type ConversationTurn } from '@polyvac/client'
import type { HttpClient } from './http-client.js'

/** Conversations that one list shows. */
const LISTED = 20

/** The conversations that a service keeps for the caller of `polyvac chat`, and the one that is open. */
export class KeptConversations {
  /** The open one; undefined: the command keeps the turns itself. */
  id: string | undefined
  readonly #conversations: Conversations

  constructor ({ base: { href: base }, fetch }: Pick<HttpClient, 'base' | 'fetch'>, vac: string, id: string | undefined) {
    this.id = id
    this.#conversations = conversations({ base, fetch, vac })
  }

  /** A line for each, latest change first. */
  async list (): Promise<string[]> {
    const { conversations: heads } = await this.#conversations.list({ limit: LISTED })
    if (heads.length === 0) return ['no conversations are kept for you; begin one with --conversation <name>']
    return heads.map(({ id, title, updated_at: at }) => `${id === this.id ? '*' : ' '} ${id}  ${at.slice(0, 16).replace('T', ' ')}  ${title}`)
  }

  /** Opens one; what was said in it, a line for each question and each answer. */
  async open (id: string): Promise<string[]> {
    const { turns } = await this.#conversations.get(id)
    this.id = id
    return turns.flatMap(linesOf)
  }
}

function linesOf ({ question, answer, state }: ConversationTurn): string[] {
  return [`> ${question}`, answer ?? `(${state})`, '']
}
