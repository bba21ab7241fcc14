/** What a client makes of an answer. */
export interface ClientAnswer {
  readonly id?: string
  readonly text: string
  /** The text as it came. */
  readonly streamed?: string
  readonly sources: ReadonlyArray<{ readonly url: string, readonly title: string }>
  readonly steps: readonly string[]
  readonly asks?: boolean
  readonly status?: string
}

/** What a page keeps of an answer that it reads. */
export interface Begun { readonly id: string, readonly text: string, readonly after: number }

export interface Connected {
  ask (question: string, previous?: ClientAnswer, signal?: AbortSignal): Promise<ClientAnswer>
  stream (question: string): Promise<ClientAnswer>
  /** Reads up to an event, by default the first text, and leaves. */
  begin? (question: string, isLast?: (event: { readonly type: string, readonly sequence_number: number }) => boolean): Promise<Begun>
  resume? (begun: Begun): Promise<ClientAnswer>
  stop? (begun: Begun): Promise<ClientAnswer>
}

export interface ResponsesClient {
  readonly client: string
  readonly version: string
  connect (url: string): Connected
}

export const CLIENTS: readonly ResponsesClient[]
