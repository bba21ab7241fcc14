import { addressOf, send, sendForJson } from './send.js'
import type { Connection, Source, Step } from './types.js'

export interface ConversationHead {
  readonly id: string
  readonly title: string
  readonly created_at: string
  readonly updated_at: string
  readonly turn_count: number
}

/** A question and its answer. */
export interface ConversationTurn {
  readonly id: string
  readonly question: string
  /** Absent while there is none, and where it failed; of one that was cancelled, the text until then. */
  readonly answer?: string
  readonly source_documents: readonly Source[]
  readonly steps: readonly Step[]
  readonly files: readonly unknown[]
  readonly state: string
  readonly created_at: string
  readonly duration_ms?: number
  readonly error?: { readonly code: string, readonly message: string }
}

export interface Conversation extends ConversationHead {
  /** In the order of the questions. */
  readonly turns: readonly ConversationTurn[]
  /** Whether there are turns before these: read them with the id of the first as `before`. */
  readonly has_earlier: boolean
}

export interface ConversationPage {
  /** The newest first. */
  readonly conversations: readonly ConversationHead[]
  /** For `cursor` of the next page; absent on the last one. */
  readonly next_cursor?: string
}

/** The conversations of the caller with a VAC. Each function rejects with a ServiceError; an unknown id is 404. */
export interface Conversations {
  list (page?: { readonly limit?: number, readonly cursor?: string }): Promise<ConversationPage>
  get (id: string, before?: string): Promise<Conversation>
  rename (id: string, title: string): Promise<void>
  delete (id: string): Promise<void>
  /** Everything that the service keeps of a conversation, as JSON for `import`. */
  export (id: string): Promise<object>
  import (exported: object): Promise<ConversationHead>
}

/** The conversations that a service keeps for its caller. */
export function conversations (connection: Connection & { readonly vac: string }): Conversations {
  const root = `${addressOf(connection, 'vac')}/${encodeURIComponent(connection.vac)}/conversations`
  const one = (id: string): string => `${root}/${encodeURIComponent(id)}`
  const end = async (url: string, method: string, body?: object): Promise<void> => {
    await (await send(connection, url, { method, ...body !== undefined && { body } })).body?.cancel()
  }
  const read = async <T extends object> (url: string, body?: object): Promise<T> => await sendForJson(connection, url, body === undefined ? {} : { body }) as unknown as T
  return {
    async list (page = {}) {
      const query = new URLSearchParams(Object.entries(page).map(([key, value]) => [key, String(value)])).toString()
      return await read(query === '' ? root : `${root}?${query}`)
    },
    get: async (id, before) => await read(before === undefined ? one(id) : `${one(id)}?before=${encodeURIComponent(before)}`),
    rename: async (id, title) => { await end(one(id), 'PATCH', { title }) },
    delete: async id => { await end(one(id), 'DELETE') },
    export: async id => await read(`${one(id)}/export`),
    import: async exported => await read(root, exported)
  }
}
