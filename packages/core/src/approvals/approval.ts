import { isRecord } from '../basics/is-record.js'
import type { ChatTurn } from '../vac/vac.js'

/** In a list `approve`: every tool whose annotations do not rule out that it destroys something. */
export const DESTRUCTIVE = 'destructive'

/** A tool that may need an approval. */
export interface ApprovableTool {
  /** The MCP server; undefined for a tool of the application. */
  readonly server?: string | undefined
  readonly name: string
  /** Hints of MCP; undefined for a tool that no list has. */
  readonly annotations?: object | undefined
  /** Whether the entry of its server has it in `approve`. */
  readonly approve?: boolean | undefined
}

/** Whether the call of a tool needs an approval. @param approve the list `approve` of the VAC or of the server */
export function needsApproval (approve: readonly string[], { server, name, annotations, approve: ofServer }: ApprovableTool): boolean {
  if (ofServer === true || approve.includes(server === undefined ? name : `${server}__${name}`)) return true
  if (server !== undefined && approve.includes(server)) return true
  return approve.includes(DESTRUCTIVE) && isDestructive(annotations)
}

/** As MCP has it: a tool without hints may destroy something. */
function isDestructive (annotations: object | undefined): boolean {
  const { readOnlyHint, destructiveHint } = (annotations ?? {}) as { readonly readOnlyHint?: unknown, readonly destructiveHint?: unknown }
  return readOnlyHint !== true && destructiveHint !== false
}

/** What is asked for: who answers sees the tool and its whole input. */
export interface ApprovalQuestion {
  readonly id: string
  readonly tool: string
  readonly server?: string | undefined
  readonly input: unknown
}

/** Directions, invisible marks and separators of lines, which would make an input look like another one. */
const UNSEEN = /[\u007f-\u009f\u2028\u2029\u2800\p{Cf}\p{Default_Ignorable_Code_Point}]/gu
const BY_ID = /\(approval ([A-Za-z0-9_-]{22})\)$/

/** The question as a text. It ends with the id, by which a reply is found. */
export function approvalText ({ id, tool, server, input }: ApprovalQuestion): string {
  const json = (JSON.stringify(input, null, 2) ?? 'null').replace(UNSEEN, escaped)
  // a fence that the input does not have
  const fence = '`'.repeat(Math.max(3, ...[...json.matchAll(/`+/g)].map(([{ length }]) => length + 1)))
  const name = JSON.stringify(tool).replace(UNSEEN, escaped)
  const of = server === undefined ? '' : ` of ${JSON.stringify(server).replace(UNSEEN, escaped)}`
  return `May the tool ${name}${of} be called with this input?\n\n${fence}json\n${json}\n${fence}\n\nReply yes or no. (approval ${id})`
}

function escaped (text: string): string {
  return [...Array(text.length).keys()].map(i => `\\u${text.charCodeAt(i).toString(16).padStart(4, '0')}`).join('')
}

/** What a caller replies to a question for an approval. */
export interface ApprovalReply {
  readonly id: string
  /** Undefined for a text that is neither `yes` nor `no`. */
  readonly approved: boolean | undefined
  /** Whether data name the approval. Otherwise the text before it ends with the question. */
  readonly isNamed: boolean
}

/**
 * What a question replies to: data `{ approval: { id, approved } }` of the caller, or a text after the question.
 * Undefined for any other question.
 */
export function replyOf (question: string, history: readonly ChatTurn[], { approval, data }: Readonly<Record<string, unknown>>): ApprovalReply | undefined {
  for (const given of [approval, ...Array.isArray(data) ? data.map((part: unknown) => isRecord(part) ? part.approval : undefined) : []]) {
    if (isRecord(given) && typeof given.id === 'string' && typeof given.approved === 'boolean') return { id: given.id, approved: given.approved, isNamed: true }
  }
  const last = history.at(-1)
  const id = last?.role === 'assistant' ? BY_ID.exec(last.content.trimEnd())?.[1] : undefined
  return id === undefined ? undefined : { id, approved: yesOrNo(question), isNamed: false }
}

function yesOrNo (text: string): boolean | undefined {
  const word = text.trim().toLowerCase()
  return word === 'yes' ? true : word === 'no' ? false : undefined
}
