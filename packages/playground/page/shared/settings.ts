import { signal } from '@preact/signals'
import { send, SIGN_IN, type Sent } from '../requests/exchange.js'

export type RouteName = 'vac' | 'openai' | 'responses' | 'ai_sdk' | 'ag_ui' | 'a2a' | 'card' | 'mcp' | 'gateway' | 'ready' | 'openapi' | 'home'

export interface Settings {
  readonly title: string
  /** The page asks, and changes nothing. */
  readonly readOnly: boolean
  /** Addresses relative to the page; null where the service does not have them. */
  readonly routes: Readonly<Record<RouteName, string | null>>
  /** Where a person signs in. */
  readonly signIn?: string
}

export interface VacInfo {
  readonly name: string
  readonly display_name?: string
  readonly description?: string
  readonly model?: string
  readonly agent?: string
  readonly memory?: boolean
  /** Questions to begin with, of its entry. */
  readonly examples?: readonly string[]
  /** What it takes besides text. */
  readonly takes?: readonly string[]
}

export const settings = signal<Settings>({
  title: 'Playground',
  readOnly: true,
  routes: { vac: null, openai: null, responses: null, ai_sdk: null, ag_ui: null, a2a: null, card: null, mcp: null, gateway: null, ready: null, openapi: null, home: null }
})
export const vacs = signal<readonly VacInfo[]>([])
/** Whether settings and VACs were read, or why they could not be. */
export const isLoaded = signal(false)
/** Why the page cannot ask, for people. */
export const problem = signal('')
/** Whether the caller has to sign in, or to enter another token. */
export const isRefused = signal(false)
/** What the index of the service has of its VACs, by their names. */
interface Home {
  /** Questions to begin with. */
  readonly questions?: Readonly<Record<string, readonly string[]>>
  /** Which files of their folders are left out, in words. */
  readonly left_out?: Readonly<Record<string, readonly string[]>>
}
export const home = signal<Home>({})

/** Reads the settings of the page and the VACs. */
export async function loadSettings (): Promise<void> {
  problem.value = ''
  try {
    settings.value = await bodyOf(await send({ protocol: 'http', label: 'settings', path: 'settings.json', as: 'json' })) as unknown as Settings
    document.title = settings.value.title
    const { vac } = settings.value.routes
    if (vac === null) return
    const sent = await send({ protocol: 'direct', label: 'list VACs', path: vac, as: 'json' })
    isRefused.value = sent.exchange.status === 401
    vacs.value = (await bodyOf(sent)).vacs as VacInfo[] | undefined ?? []
    await loadHome()
  } catch (err) {
    problem.value = `The page cannot ask: ${(err as Error).message}`
  } finally {
    isLoaded.value = true
  }
}

/** The page works without it. */
async function loadHome (): Promise<void> {
  const { home: path } = settings.value.routes
  if (path === null || path === undefined) return
  home.value = await bodyOf(await send({ protocol: 'http', label: 'index of the service', path, as: 'json' })).catch(() => ({}))
}

/** The body of a response. @throws Error with the text of the service, or of what is before it, where that refuses */
export async function bodyOf (sent: Sent): Promise<Record<string, unknown>> {
  const body = await sent.json()
  const { status = 0 } = sent.exchange
  if (status < 200 || status > 299) throw new Error(`${failureText(body, status)}${status === 401 ? `: ${SIGN_IN}` : ''}`)
  return (body ?? {}) as Record<string, unknown>
}

/**
 * The text of an error body of any protocol, with the id that it speaks of.
 * @param requestId that of the response, where the body has none
 */
export function failureText (body: unknown, status: number | undefined, requestId?: string): string {
  const { error, message, detail } = (typeof body === 'object' && body !== null ? body : {}) as Record<string, unknown>
  if (typeof error === 'string') return error
  const { message: inner, requestId: id = requestId, data } = (error ?? {}) as Record<string, any>
  const text = inner ?? message ?? detail
  if (typeof text !== 'string') return `the service answered ${status ?? 'nothing'}`
  // A2A has it in the data of the error, 1.0 in a list
  const [facts] = [data].flat()
  return text.endsWith('the request id') ? `${text} ${facts?.requestId ?? facts?.metadata?.requestId ?? id ?? ''}`.trimEnd() : text
}
