/** An earlier message of a conversation. */
export interface Turn { readonly role: 'user' | 'assistant' | 'system', readonly content: string }

/** A source of an answer. */
export interface Source { readonly page_content: string, readonly metadata: Readonly<Record<string, unknown>> }

/** What happens in an answer besides its text: an object with the kind as its key. */
export type Step =
  | { readonly tool_call: { id: string, name: string, server?: string, input?: unknown } }
  | { readonly tool_result: { id: string, state: 'completed' | 'failed', output?: unknown, error?: { code?: string, message: string }, duration_ms?: number, start_ms?: number } }
  | { readonly span: { id: string, kind: string, name: string, state: 'running' | 'completed' | 'failed', start_ms: number, duration_ms?: number, usage?: { prompt_tokens: number, completion_tokens: number, total_tokens: number }, passages?: number, finish_reason?: string, input?: unknown } }
  | { readonly reasoning: string }
  | { readonly source: { page_content: string, metadata: Record<string, unknown> } }
  | { readonly data: { type: string, value: unknown } }
  | { readonly file: { name: string, media_type: string, url?: string, bytes?: string } }

/** A question of the agent. Give it back as `reply`, with the answer of the person as `text`. */
export interface InputRequest {
  readonly text: string
  /** What the protocol needs for the reply; JSON. */
  readonly state?: unknown
}

/** What one event changes in an answer. The text is then `update.text ?? text + (update.delta ?? '')`. */
export interface Update {
  /** The next text. */
  readonly delta?: string
  /** The whole text; it replaces the one before, also by an empty one where a service begins the answer anew. */
  readonly text?: string
  /** `text` is only the beginning of the answer: the service keeps no more of it. */
  readonly isTruncated?: boolean
  readonly sources?: readonly Source[]
  /** From 0 to 1. */
  readonly progress?: number
  /** What the agent does at present, for people. */
  readonly message?: string
  readonly step?: Step
  /** The agent asks back; the stream ends. */
  readonly input?: InputRequest
  /** The agent waits for a sign-in, and goes on after it. */
  readonly signIn?: { readonly text: string, readonly url?: string }
  /** The last update. */
  readonly done?: boolean
  /** The id of the run, for `resume` and `stop`. */
  readonly run?: string
  /** The place in the run, for `after` of `resume`. */
  readonly cursor?: string
  readonly conversation?: string
  /** The object of the protocol that this update is made of, for what it leaves out: `metadata`, files, usage. */
  readonly event?: Readonly<Record<string, unknown>>
}

/** Where a service is, and how requests get there. */
export interface Connection {
  /** Address of the service. In a browser a path serves as well: '' is the root of the page's origin. */
  readonly base: string
  /** Address of the routes of the protocol, where it is not the usual one below `base`. */
  readonly url?: string | undefined
  /** Headers of each request, such as `authorization`. */
  readonly headers?: Readonly<Record<string, string>> | undefined
  readonly signal?: AbortSignal | undefined
  /** Sends the requests in place of `globalThis.fetch`. */
  readonly fetch?: ((url: string, init: RequestInit) => Promise<Response>) | undefined
}

export interface Question extends Connection {
  readonly vac: string
  readonly text: string
  readonly history?: readonly Turn[] | undefined
  readonly conversation?: string | undefined
  /** Asks for the steps of the answer. */
  readonly steps?: boolean | undefined
  /** The answer of the agent's question that `text` replies to. */
  readonly reply?: InputRequest | undefined
}

/** A run that was begun before. */
export interface RunReference extends Connection {
  readonly vac: string
  readonly run: string
  /** `cursor` of the last update that the reader has; without it the run is read from its beginning. */
  readonly after?: string | undefined
}

/** A way to ask. `ask` ends with an update that has `done`, or rejects. */
export interface Protocol<Asked extends Question = Question> {
  ask (question: Asked): AsyncGenerator<Update, void>
}

/** A protocol whose answers go on without their reader. */
export interface RunProtocol<Asked extends Question = Question, Run extends RunReference = RunReference> extends Protocol<Asked> {
  /** Reads a run as it is answered. A connection that is lost is opened again where it ended. */
  resume (run: Run): AsyncGenerator<Update, void>
  /** Stops a run, wherever it is answered. */
  stop (run: Run): Promise<void>
}
