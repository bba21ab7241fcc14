import { createHash, randomBytes } from 'node:crypto'
import { isRecord } from '../basics/is-record.js'
import { ApprovalTooLargeError } from '../basics/errors.js'
import type { ChatTurn } from '../vac/vac.js'
import { approvalText } from './approval.js'

/** Where approvals are kept: `approvals` of a task store. Owners are names of principals. */
export interface ApprovalRecords {
  get (owner: string | undefined, id: string): Promise<{ readonly value: string, readonly status: string } | undefined>
  locate (id: string): Promise<{ readonly owner: string | undefined } | undefined>
  create (owner: string | undefined, id: string, value: string, expiresAt: number): Promise<void>
  replace (owner: string | undefined, id: string, before: string, after: string): Promise<boolean>
}

/** How long a question waits where nothing else is set, in seconds. */
export const APPROVAL_TTL = 3_600
/** How long an approval is kept after that, in ms: for late replies, and for attempts after a crash. */
const KEPT_MS = 3_600_000
/** Longest input, as JSON in characters: a person has to read it. */
export const MAX_INPUT_CHARS = 16_000
/** Longest record of a question, with the state of its interpreter, as JSON in characters. */
export const MAX_STATE_CHARS = 1024 * 1024
/** Longest result that is kept for an attempt after a crash, as JSON in characters. */
const MAX_RESULT_CHARS = 256 * 1024

/** A call of a tool. */
export interface ApprovableCall {
  readonly server?: string | undefined
  readonly tool: string
  readonly input: unknown
}

/** What is kept of a question. */
export interface StoredApproval {
  readonly id: string
  /** The VAC that asks; undefined for a direct call of the gateway. */
  readonly vac?: string | undefined
  readonly server?: string | undefined
  readonly tool: string
  readonly digest: string
  /** The question as a text. */
  readonly text: string
  /** The call itself, for the text and for protocols with a form. */
  readonly input: unknown
  /** ms since 1970. */
  readonly expiresAt: number
  /** What was asked before, with which the interpreter begins again. */
  readonly question?: string | undefined
  readonly history?: readonly ChatTurn[] | undefined
  /** What the interpreter continues from; undefined: it begins anew. */
  readonly state?: unknown
  /** The id of the approval of another agent, to which the answer is passed on. */
  readonly relay?: string | undefined
  /** Results of calls that were approved before, for an interpreter that begins anew. */
  readonly done?: readonly DoneCall[] | undefined
}

export interface DoneCall { readonly digest: string, readonly outcome: Outcome }

/** What a call has given: a result, or an error with its code. */
export type Outcome = { readonly result: unknown } | { readonly error: { readonly message: string, readonly code?: string | undefined } }

/** What became of an approval. */
export interface ApprovalStatus {
  readonly approved: boolean
  /** The run that continues. */
  readonly by: string
  /** Whether the call has begun: it never begins again. */
  readonly isBegun?: boolean | undefined
  readonly outcome?: Outcome | undefined
}

/** An approval, as it stands in a store. */
export interface FoundApproval extends StoredApproval {
  readonly status: ApprovalStatus | undefined
}

/** What does not change while calls have the same tool and input, whatever the order of keys. */
export function callDigest ({ server, tool, input }: ApprovableCall): string {
  return createHash('sha256').update(JSON.stringify([server ?? null, tool, canonical(input)])).digest('base64url')
}

function canonical (value: unknown): unknown {
  if (Array.isArray(value)) return value.map(canonical)
  if (!isRecord(value)) return value
  return { keys: Object.entries(value).sort(([a], [b]) => a < b ? -1 : 1).map(([key, child]) => [key, canonical(child)]) }
}

/**
 * Asks for an approval; it is durable when this resolves.
 * @param more.shown the call that people see, where it is not this one but that of another agent
 * @throws APPROVAL_TOO_LARGE
 */
export async function askApproval (
  records: ApprovalRecords, owner: string | undefined, call: ApprovableCall, ttlMs: number,
  { shown = call, ...more }: Pick<StoredApproval, 'vac' | 'question' | 'history' | 'state' | 'done' | 'relay'> & { readonly shown?: ApprovableCall } = {}
): Promise<StoredApproval> {
  const id = randomBytes(16).toString('base64url')
  const expiresAt = Date.now() + ttlMs
  const { server, tool, input } = shown
  checkInput(shown)
  const stored: StoredApproval = { id, server, tool, input, digest: callDigest(call), text: approvalText({ id, server, tool, input }), expiresAt, ...more }
  const value = JSON.stringify(stored)
  if (value.length > MAX_STATE_CHARS) throw new ApprovalTooLargeError(tool, `what was said before it has more than ${MAX_STATE_CHARS} characters; ask for less at once`)
  await records.create(owner, id, value, expiresAt + KEPT_MS)
  return stored
}

/** @throws APPROVAL_TOO_LARGE */
export function checkInput ({ tool, input }: ApprovableCall): void {
  const { length } = JSON.stringify(input) ?? ''
  if (length > MAX_INPUT_CHARS) throw new ApprovalTooLargeError(tool, `its input has ${length} characters, and a person can be asked about ${MAX_INPUT_CHARS} at most; call it with less`)
}

/** Undefined for an unknown one, and for one of another owner. */
export async function findApproval (records: ApprovalRecords, owner: string | undefined, id: string): Promise<FoundApproval | undefined> {
  const row = await records.get(owner, id)
  if (row === undefined) return undefined
  return { ...JSON.parse(row.value) as StoredApproval, status: row.status === '' ? undefined : JSON.parse(row.status) as ApprovalStatus }
}

/** Changes the status; false where another process was earlier. */
export async function changeStatus (records: ApprovalRecords, owner: string | undefined, id: string, before: ApprovalStatus | undefined, after: ApprovalStatus): Promise<boolean> {
  return await records.replace(owner, id, before === undefined ? '' : JSON.stringify(before), JSON.stringify(after))
}

/** What is kept of the outcome; undefined where it is too large, or not JSON. */
export function keptOutcome (outcome: Outcome): Outcome | undefined {
  try {
    return JSON.stringify(outcome).length <= MAX_RESULT_CHARS ? outcome : undefined
  } catch {
    return undefined
  }
}
