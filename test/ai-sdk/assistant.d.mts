export function openAssistant (options: { readonly api: string, readonly fetch: typeof fetch, readonly messages?: readonly object[] }): {
  current (): any
  leave (): void
  /** The run whose answer is not complete; null for none. */
  streamId (): string | null
  /** Undefined until the page is there. */
  thread (): any
  said (): string[]
}
