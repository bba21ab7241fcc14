import type { HttpClient } from '../client/http-client.js'

/** One result of a check. A warning and a problem have a remedy, unless the text has it. */
export interface Finding {
  readonly check: string
  readonly level: 'ok' | 'not checked' | 'warning' | 'problem'
  readonly text: string
  readonly remedy?: string
}

/** A check sends only harmless requests: it reads, names tasks that do not exist, or asks what it stops or deletes. */
export type Check = (client: HttpClient) => AsyncIterable<Finding>

export const ok = (check: string, text: string): Finding => ({ check, level: 'ok', text })
export const unchecked = (check: string, text: string): Finding => ({ check, level: 'not checked', text })
export const warning = (check: string, text: string, remedy: string): Finding => ({ check, level: 'warning', text, remedy })
export const problem = (check: string, text: string, remedy: string): Finding => ({ check, level: 'problem', text, remedy })
