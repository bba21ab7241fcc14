import type { Agent } from './agents.mjs'

export interface Chat {
  sendMessage (text: string): Promise<void>
  attach (): void
  dispose (): void
  stop (): void
  getMessages (): ReadonlyArray<{ readonly id: string, readonly role: string, readonly metadata?: any }>
  getStatus (): string
  getIsLoading (): boolean
  getError (): Error | undefined
  getInterruptState (): any
  getInterrupts (): readonly any[]
  resumeInterrupts (resume: readonly object[]): Promise<boolean>
  getCurrentRunId (): string | null
}

export interface Seen { readonly method: string | undefined, readonly url: string, readonly headers: Headers, readonly body: unknown }

export function tanstackChat (options: { url: string, threadId: string, fetchClient?: typeof fetch, headers?: Readonly<Record<string, string>>, persistence?: true }): Chat
export function uiTexts (chat: Chat): Array<[role: string, text: string]>
export function cuttingFetch (seen: Seen[], text: string): typeof fetch

export interface Core {
  readonly runtimeConnectionStatus: string
  readonly agents: Readonly<Record<string, Agent & { readonly capabilities?: any }>>
  getAgent (name: string): Agent | undefined
  runAgent (options: { agent: Agent, resume?: readonly object[], runId?: string }): Promise<any>
  connectAgent (options: { agent: Agent }): Promise<any>
  stopAgent (options: { agent: Agent }): void
}

export function copilotPage (options: { url: string, headers?: Readonly<Record<string, string>>, transport?: 'rest' | 'single' | 'auto' }): Promise<{ connect (): Promise<Core>, readonly errors: string[], close (): Promise<void> }>
