import { normaliseHistory, type ChatTurn } from '@polyvac/core'
import { contentText, InvalidRequestError, isRecord } from '@polyvac/core/protocol'
import { fileOfUrl, questionText, type QuestionFile } from '../../chat/question-file.js'
import type { ChatBody } from './schemas.js'

/** The tool by which an answer asks its reader. */
export const ASK_USER = 'ask_user'

/** The reply to a question by its card. */
export interface CardReply {
  /** The id of the call that asked. */
  readonly call: string
  /** What was given to the call; for an approval undefined. */
  readonly output?: unknown
  readonly isDenied?: boolean
}

/** What a chat asks. */
export interface ChatInput {
  readonly question: string
  readonly history: ChatTurn[]
  readonly files: readonly QuestionFile[]
  /** The id of the message of the assistant that goes on. */
  readonly message?: string | undefined
  readonly reply?: CardReply | undefined
  /** Whether an earlier question is asked again or edited. */
  readonly isAgain: boolean
  /** Whether the client has sent the whole conversation. */
  readonly isWhole: boolean
}

type Part = Readonly<Record<string, unknown>>
interface Message { readonly id: unknown, readonly role: 'user' | 'assistant', readonly text: string, readonly parts: readonly Part[] }

/**
 * The question of a request with what was said before it. What is not known here, and messages of the system, which any
 * client could write, are left out.
 * @param takes what the interpreter takes
 * @throws BAD_REQUEST for a request without a question
 */
export function readInput (body: ChatBody, takes: readonly string[]): ChatInput {
  const { messages, message, prompt, trigger, messageId } = body
  const isWhole = Array.isArray(messages)
  if (!isWhole && !isRecord(message) && typeof prompt === 'string') return { ...asked('body/prompt', prompt, []), history: [], isAgain: false, isWhole }
  const path = isWhole ? 'body/messages' : 'body/message'
  const all = (isWhole ? messages : [message]).flatMap(readMessage)
  const isRegenerated = trigger === 'regenerate-message'
  const last = isRegenerated ? all.findLastIndex(({ role }) => role === 'user') : all.length - 1
  const latest = all[last]
  if (latest === undefined) throw invalid(path, 'needs a message of the user')
  if (latest.role === 'assistant') return { ...answerOf(path, latest), history: turnsOf(all), files: [], isAgain: false, isWhole }
  const isEdited = typeof messageId === 'string' && latest.id === messageId
  return { ...asked(path, latest.text, filesOf(latest.parts, takes)), history: turnsOf(all.slice(0, last)), isAgain: isRegenerated || isEdited, isWhole }
}

function asked (path: string, text: string, files: readonly QuestionFile[]): Pick<ChatInput, 'question' | 'files'> {
  const question = questionText(text, files)
  if (question === '') throw invalid(path, 'the last message of the user must not be blank')
  return { question, files }
}

function readMessage (value: unknown): Message[] {
  if (!isRecord(value)) return []
  const { id, role, parts, content } = value
  if (role !== 'user' && role !== 'assistant') return []
  const known = Array.isArray(parts) ? parts.filter(isRecord) : []
  const texts = known.flatMap(({ type, text }) => type === 'text' && typeof text === 'string' ? [text] : [])
  return [{ id, role, text: Array.isArray(parts) ? texts.join('\n') : contentText(content ?? '') ?? '', parts: known }]
}

function turnsOf (messages: readonly Message[]): ChatTurn[] {
  return normaliseHistory(messages.flatMap(({ role, text }) => text === '' ? [] : [{ role, content: text }]))
}

/** Files of the kinds that the interpreter takes; others are left out, and so is what has no file. */
function filesOf (parts: readonly Part[], takes: readonly string[]): QuestionFile[] {
  return parts.flatMap(({ type, mediaType, url, filename }) => {
    const file = type === 'file' && typeof url === 'string' ? fileOfUrl(url) : undefined
    if (file === undefined) return []
    const media = typeof mediaType === 'string' && mediaType !== '' ? mediaType.toLowerCase() : file.media_type
    if (!takes.includes(kindOf(media))) return []
    return [{ ...typeof filename === 'string' && filename !== '' && { filename }, ...file, ...media !== undefined && { media_type: media } }]
  })
}

function kindOf (media = ''): string {
  return media.startsWith('image/') ? 'images' : media.startsWith('audio/') ? 'audio' : 'files'
}

/** What the last message of an assistant answers: the question of a card, or calls of tools that the client has. */
function answerOf (path: string, { id, parts }: Message): Pick<ChatInput, 'question' | 'message' | 'reply'> {
  const message = typeof id === 'string' ? id : undefined
  const last = parts.slice(parts.findLastIndex(({ type }) => type === 'step-start') + 1)
  for (const part of last.toReversed()) {
    const { toolCallId: call, state, output, approval } = part
    if (toolOf(part) !== ASK_USER || typeof call !== 'string') continue
    if (state === 'output-available') return { question: textOf(output), message, reply: { call, output } }
    if (state === 'approval-responded' && isRecord(approval)) {
      const isDenied = approval.approved !== true
      return { question: isDenied ? 'no' : 'yes', message, reply: { call, isDenied } }
    }
  }
  const outputs = last.flatMap(part => toolOf(part) !== undefined && part.providerExecuted !== true && ['output-available', 'output-error'].includes(String(part.state))
    ? [textOf(part.state === 'output-error' ? part.errorText : part.output)]
    : [])
  const question = outputs.join('\n\n')
  if (question.trim() === '') throw invalid(path, 'must end with a message of the user, or with the answer to a question; the last one is of the assistant')
  return { question, message }
}

/** The name of the tool that a part is a call of; undefined for other parts. */
function toolOf ({ type, toolName }: Part): string | undefined {
  if (type === 'dynamic-tool') return String(toolName)
  return typeof type === 'string' && type.startsWith('tool-') ? type.slice('tool-'.length) : undefined
}

function textOf (value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value ?? null)
}

function invalid (path: string, message: string): Error {
  return new InvalidRequestError([{ path, message }])
}
