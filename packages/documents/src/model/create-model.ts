// Not in providers.ts, which programs without the optional packages import.
import type { LanguageModel } from 'ai'

/** What each of their packages takes. */
interface ProviderOptions {
  readonly baseURL: string
  readonly apiKey?: string
  readonly headers: Record<string, string>
  readonly fetch: typeof fetch
}
export type CreateModel = (options: ProviderOptions) => (model: string) => LanguageModel
