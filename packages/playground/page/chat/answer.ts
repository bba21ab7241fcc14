import type { ConversationTurn, Step } from '@polyvac/client'
import { attachmentsOf, type Attachment } from '../protocols/attachments.js'
import type { ChatProtocol, InputRequest, Source, Update } from '../protocols/chat-protocol.js'
import type { Fields } from '../shared/fields.js'

/** A call of a tool that a person has to allow. */
export interface Approval {
  readonly id: string
  readonly tool: string
  readonly server?: string | undefined
  readonly input?: unknown
  readonly expires_at?: string | undefined
}

/** Tokens of the language model. */
export interface Usage { readonly prompt_tokens: number, readonly completion_tokens: number }

/** A key for an answer. */
export const nextKey = (): number => ++count
let count = 0

export interface Answer {
  /** Stays while the answer changes, also where turns come before it. */
  readonly key: number
  readonly question: string
  /** Files that came with the question. */
  readonly attached?: readonly Attachment[] | undefined
  readonly vac: string
  /** Unknown for a turn that the service has kept. */
  readonly protocol?: ChatProtocol['id'] | undefined
  readonly text: string
  readonly state: 'asking' | 'input-required' | 'done' | 'stopped' | 'failed'
  readonly sources: readonly Source[]
  /** The addresses that show the sources, by their places. */
  readonly links?: Readonly<Record<number, string>> | undefined
  readonly files?: readonly Attachment[] | undefined
  readonly steps?: readonly Step[] | undefined
  readonly progress?: number | undefined
  /** What the agent does at present. */
  readonly message?: string | undefined
  readonly usage?: Usage | undefined
  readonly task?: string | undefined
  readonly cursor?: string | undefined
  /** The conversation with the VAC that the service keeps; its next question goes to the same one. */
  readonly conversation?: string | undefined
  /** Conversations that its one takes the place of once there is an answer: its question was asked there before. */
  readonly replaces?: readonly string[] | undefined
  /** The id of a turn before which the service has more. */
  readonly earlier?: string | undefined
  /** What the agent asks. A reply has what it replies to until its first update: it may have to be sent again. */
  readonly input?: InputRequest | undefined
  /** What the question of the agent is about. */
  readonly approval?: Approval | undefined
  readonly choices?: readonly string[] | undefined
  readonly signIn?: Update['signIn']
  readonly problem?: string | undefined
  /** Earlier answers that were not sent with the question. */
  readonly unsent?: number | undefined
  /** The text is only the beginning of the answer. */
  readonly isCut?: boolean | undefined
  readonly firstByteMs?: number | undefined
  readonly totalMs?: number | undefined
  readonly frames?: number | undefined
  /** The id of its exchange; a reload forgets exchanges. */
  readonly exchange?: string | undefined
}

/** States of turns that have ended. */
const STATES: Readonly<Record<string, Answer['state']>> = { completed: 'done', failed: 'failed', cancelled: 'stopped', input_required: 'input-required' }

/** The end of the question for an approval, as every protocol has it in its text. */
const APPROVAL = /^[^]*?"([^"]+)"[^]*?```json\n([^]*?)\n```[^]*\(approval ([\w-]+)\)\s*$/

/** A turn that the service has kept. The last one may be answered at present, or wait for a reply. */
export function answerOf ({ question, answer: text = '', state, source_documents: sources, files, steps, duration_ms: totalMs, error, ...turn }: ConversationTurn, isLast: boolean): Omit<Answer, 'vac'> {
  const isWaiting = STATES[state] === 'input-required' && isLast
  const { citations, metadata } = turn as Fields
  const isOfUser = (file: unknown): boolean => (file as Fields).role === 'user'
  return {
    key: nextKey(),
    question,
    attached: attachmentsOf([{ parts: files.filter(isOfUser) }]),
    text,
    state: STATES[state] === 'input-required' && !isLast ? 'done' : STATES[state] ?? (isLast ? 'asking' : 'stopped'),
    sources,
    links: linksOf(citations),
    files: attachmentsOf([{ parts: files.filter(file => !isOfUser(file)) }]),
    steps,
    totalMs,
    usage: metadata?.usage,
    ...isWaiting && { input: { text }, approval: approvalIn(text) },
    // the reader knows that it was stopped
    problem: STATES[state] === 'stopped' ? undefined : error?.message
  }
}

/** What the end of an answer has besides its text, in the objects of the protocols. */
export function factsOf (event: Fields = {}): Pick<Answer, 'approval' | 'choices' | 'usage' | 'links'> {
  const data = (event.status?.message?.parts as Fields[] | undefined)?.find(part => part.data !== undefined)?.data
  const about = event.outcome?.interrupts?.[0]?.metadata ?? data ?? event
  const { approval, choices } = about as Fields
  const usage = (event.metadata ?? event.result?.metadata)?.usage
  return {
    ...typeof approval?.id === 'string' && { approval },
    ...Array.isArray(choices) && { choices: choices.map(choice => typeof choice === 'object' ? String(choice?.label ?? choice?.value ?? '') : String(choice)).filter(choice => choice !== '') },
    ...typeof usage?.prompt_tokens === 'number' && { usage },
    ...linksOf(event.citations) !== undefined && { links: linksOf(event.citations) }
  }
}

/** The approval that a question of the agent names at its end. */
export function approvalIn (text: string): Approval | undefined {
  const [, tool, input, id] = APPROVAL.exec(text.slice(text.lastIndexOf('May the '))) ?? []
  if (id === undefined) return undefined
  try {
    return { id, tool: tool!, input: JSON.parse(input!) as unknown }
  } catch {
    return { id, tool: tool!, input }
  }
}

/** A text without the question for an approval at its end, which the card of the approval shows. */
export function withoutApproval (text: string): string {
  const at = text.lastIndexOf('May the ')
  return at === -1 ? text : text.slice(0, at)
}

/** The addresses of citations by the places of their sources; only those of the web. */
function linksOf (citations: unknown): Readonly<Record<number, string>> | undefined {
  if (!Array.isArray(citations)) return undefined
  return Object.fromEntries((citations as Fields[]).filter(({ url }) => /^https?:\/\//i.test(url)).map(({ index, url }) => [Number(index), String(url)]))
}

/** Steps with one more. Pieces of reasoning that follow one another are one. */
export function withStep (steps: readonly Step[] = [], step: Step): readonly Step[] {
  const last = steps.at(-1)
  if ('reasoning' in step && last !== undefined && 'reasoning' in last) return [...steps.slice(0, -1), { reasoning: last.reasoning + step.reasoning }]
  return [...steps, step]
}
