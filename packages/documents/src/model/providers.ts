/** The makers of models whose API is not that of OpenAI, by the first part of `model`, such as `anthropic/<name>`. */
export const PROVIDERS = {
  anthropic: {
    packageName: '@ai-sdk/anthropic', version: 3, create: 'createAnthropic', key: 'ANTHROPIC_API_KEY', address: 'ANTHROPIC_BASE_URL', baseUrl: 'https://api.anthropic.com/v1'
  },
  google: {
    packageName: '@ai-sdk/google',
    version: 3,
    create: 'createGoogleGenerativeAI',
    key: 'GOOGLE_GENERATIVE_AI_API_KEY',
    address: 'GOOGLE_GENERATIVE_AI_BASE_URL',
    baseUrl: 'https://generativelanguage.googleapis.com/v1beta'
  }
} as const
export type ProviderName = keyof typeof PROVIDERS

/** The maker and the name of a model; undefined for one of a server with the API of OpenAI. */
export function providerOf (model: string | undefined): { readonly provider: ProviderName, readonly model: string } | undefined {
  const [, provider = '', name = ''] = /^([a-z]+)\/(.+)$/s.exec(model ?? '') ?? []
  return Object.hasOwn(PROVIDERS, provider) ? { provider: provider as ProviderName, model: name } : undefined
}
