export interface Client { readonly major: 5 | 6 | 7, readonly version: string, readonly ai: any }
export const CLIENTS: readonly Client[]

export interface SentRequest {
  readonly url: string
  readonly method: string
  readonly headers: Headers
  readonly status?: number
  readonly response?: Headers
  /** What has been read of the body. */
  readonly text?: string
}

export interface Browser {
  readonly fetch: typeof fetch
  readonly requests: SentRequest[]
  /** Cuts off the body that is read. */
  cut (): void
}
export function browserFetch (): Browser

export interface Part { readonly type: string, readonly [key: string]: any }
export interface ChatMessage { readonly id: string, readonly role: string, readonly metadata?: any, readonly parts: readonly Part[] }

export interface OpenChat extends Browser {
  readonly chat: any
  /** Parts that came as data. */
  readonly data: any[]
  readonly ends: any[]
  last (): ChatMessage
  /** The text of the last message. */
  text (): string
}
export function openChat (ai: any, url: string, options?: {
  readonly messages?: readonly ChatMessage[], readonly id?: string, readonly transport?: (options: { readonly api: string, readonly fetch: typeof fetch }) => any, readonly [key: string]: any
}): OpenChat
