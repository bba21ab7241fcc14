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
  if (latest.role === 'assistant') {
    const answered = repliedIn(stepsOf(latest.parts).at(-1)!)
    if (answered === undefined) throw invalid(path, 'must end with a message of the user, or with the answer to a question; the last one is of the assistant')
    const message = typeof latest.id === 'string' ? latest.id : undefined
    // the last turn is the answer itself
    return { ...answered, message, history: turnsOf(all).slice(0, -1), files: [], isAgain: false, isWhole }
  }
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
  return [{ id, role, text: Array.isArray(parts) ? textIn(known) : contentText(content ?? '') ?? '', parts: known }]
}

/** What was said: a message of the assistant that went on after an answer to it is several turns. */
function turnsOf (messages: readonly Message[]): ChatTurn[] {
  return normaliseHistory(messages.flatMap(({ role, text, parts }) => {
    const steps = role === 'assistant' ? stepsOf(parts) : []
    const turns = steps.some(step => repliedIn(step) !== undefined)
      ? steps.flatMap(step => [{ role, content: textIn(step) }, { role: 'user', content: repliedIn(step)?.question ?? '' }])
      : [{ role, content: text }]
    return turns.filter(({ content }) => content !== '')
  }))
}

/** The parts of a message between the marks of its steps. */
function stepsOf (parts: readonly Part[]): Part[][] {
  const steps: Part[][] = [[]]
  for (const part of parts) {
    if (part.type === 'step-start') steps.push([])
    else steps.at(-1)!.push(part)
  }
  return steps
}

function textIn (parts: readonly Part[]): string {
  return parts.flatMap(({ type, text }) => type === 'text' && typeof text === 'string' ? [text] : []).join('\n')
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

/**
 * What answers a step of the assistant: a reply by its card, or the outputs of tools that the client has; undefined for
 * a step without either.
 */
function repliedIn (step: readonly Part[]): Pick<ChatInput, 'question' | 'reply'> | undefined {
  for (const part of step.toReversed()) {
    const { toolCallId: call, state, output, approval } = part
    if (toolOf(part) !== ASK_USER || typeof call !== 'string') continue
    if (state === 'output-available' && isRecord(approval)) {
      const isDenied = approval.approved === false
      return { question: isDenied ? 'no' : 'yes', reply: { call, isDenied } }
    }
    if (state === 'output-available') return textOf(output).trim() === '' ? undefined : { question: textOf(output), reply: { call, output } }
    if (state === 'output-denied') return { question: 'no', reply: { call, isDenied: true } }
    if (state !== 'approval-responded' || !isRecord(approval)) continue
    const isDenied = approval.approved !== true
    return { question: isDenied ? 'no' : 'yes', reply: { call, isDenied } }
  }
  const outputs = step.flatMap(part => {
    if (toolOf(part) === undefined || part.providerExecuted === true) return []
    return part.state === 'output-available' ? [textOf(part.output)] : part.state === 'output-error' ? [textOf(part.errorText)] : []
  })
  const question = outputs.join('\n\n')
  return question.trim() === '' ? undefined : { question }
}

/** The name of the tool that a part is a call of; undefined for other parts. */
function toolOf ({ type, toolName }: Part): string | undefined {
  if (type === 'dynamic-tool') return typeof toolName === 'string' ? toolName : undefined
  return typeof type === 'string' && type.startsWith('tool-') ? type.slice('tool-'.length) : undefined
}

function textOf (value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value ?? null)
}

function invalid (path: string, message: string): Error {
  return new InvalidRequestError([{ path, message }])
}
