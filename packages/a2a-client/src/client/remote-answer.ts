import { isRecord } from '@polyvac/core/plugin'
import type { RemoteArtifact, RemoteEvent, RemoteMessage, RemotePart, RemoteState } from '../protocol/types.js'

/** Most that an answer keeps of its artifacts, in characters. */
export const MAX_KEPT_CHARS = 64 * 1024 * 1024
/** Most parts, besides text, that an answer keeps. */
export const MAX_KEPT_PARTS = 10_000
/** Most artifacts of an answer: their texts are joined again where one of them changes. */
export const MAX_KEPT_ARTIFACTS = 1_000
const BETWEEN = '\n\n'

/** An answer with more than a client keeps. */
export class ExcessiveAnswer extends Error {}

interface Kept {
  readonly id: string
  name: string | undefined
  description: string | undefined
  /** Of all its text parts. */
  text: string
  /** Data and files. */
  readonly parts: RemotePart[]
}

/**
 * What the events of a task come to: the text of its artifacts, in the order in which they began, and what else they
 * have. A whole task replaces what came before, so a reader who lost events has them all again.
 */
export class RemoteAnswer {
  taskId: string | undefined
  contextId: string | undefined
  state: RemoteState = 'unknown'
  /** The message of the last status. */
  said: RemoteMessage | undefined
  /** The message that is the whole answer, without a task. */
  reply: RemoteMessage | undefined
  // @keyed id of an artifact, which an agent chose | holds: its text and parts | whose: the answer of one call |
  //   bound: MAX_KEPT_ARTIFACTS, MAX_KEPT_PARTS and MAX_KEPT_CHARS | share: none, it is of one call | test:
  //   packages/a2a-client/test/answers.test.ts: an answer that does not end is refused
  #artifacts = new Map<string, Kept>()
  #history: readonly RemoteMessage[] = []
  /** The artifact that began last. */
  #last: Kept | undefined
  /** What the reader has. */
  #emitted = ''
  /** Whether what the reader has is all the text. */
  #isInStep = true
  #chars = 0
  #count = 0

  /** Takes an event. The text that the reader lacks; '' where it lacks none, and where what it has is out of date. */
  take (event: RemoteEvent): string {
    if (event.kind === 'message') {
      this.reply = event.message
      this.contextId ??= event.message.contextId
      return this.#emit(textOf(event.message.parts))
    }
    if (event.kind === 'task') {
      const { task } = event
      this.taskId = task.id
      this.contextId = task.contextId ?? this.contextId
      this.#status(task)
      this.#history = task.history
      this.#restart()
      for (const artifact of task.artifacts) this.#put(artifact, false)
      return this.#emit(this.text)
    }
    this.taskId ??= event.taskId
    this.contextId ??= event.contextId
    if (event.kind === 'status') {
      this.#status(event.status)
      return ''
    }
    const known = this.#artifacts.get(event.artifact.id)
    this.#put(event.artifact, event.append)
    if (!event.append || known === undefined || known !== this.#last || !this.#isInStep) return this.#emit(this.text)
    // the usual case, without a look at the text before
    const more = textOf(event.artifact.parts)
    this.#emitted += more
    return more
  }

  /** The text of all artifacts. */
  get text (): string {
    const texts: string[] = []
    for (const { text } of this.#artifacts.values()) if (text !== '') texts.push(text)
    return texts.length === 1 ? texts[0]! : texts.join(BETWEEN)
  }

  /**
   * The whole answer: the text of the artifacts, or of the message. Agents without artifacts put it into the last
   * status or into the history.
   */
  get answer (): string {
    const { text, reply } = this
    if (reply !== undefined) return textOf(reply.parts)
    if (text !== '' || this.#artifacts.size > 0) return text
    return this.statusText ?? textOf(this.#history.findLast(({ isAgent }) => isAgent)?.parts ?? [])
  }

  /** The text of the last status; undefined where it has none. */
  get statusText (): string | undefined { return this.said && (textOf(this.said.parts) || undefined) }

  /** Data and files with the artifact that has them; those of a message have no artifact. */
  get extras (): ReadonlyArray<{ readonly artifact: Pick<Kept, 'id' | 'name' | 'description'> | undefined, readonly part: RemotePart }> {
    const ofReply = this.reply?.parts.filter(isExtra).map(part => ({ artifact: undefined, part })) ?? []
    return [...ofReply, ...[...this.#artifacts.values()].flatMap(artifact => artifact.parts.map(part => ({ artifact, part })))]
  }

  /** What the reader still lacks at the end: the rest, or the whole where the text was replaced. */
  remainder (): string {
    const { answer } = this
    if (answer.startsWith(this.#emitted)) return this.#emit(answer)
    this.#emitted = answer
    return BETWEEN + answer
  }

  #status ({ state, message }: { readonly state: RemoteState, readonly message?: RemoteMessage | undefined }): void {
    this.state = state
    this.said = message
  }

  #restart (): void {
    this.#artifacts = new Map()
    this.#last = undefined
    this.#chars = this.#count = 0
  }

  #put ({ id, name, description, parts }: RemoteArtifact, append: boolean): void {
    let kept = this.#artifacts.get(id)
    if (kept === undefined) {
      kept = { id, name, description, text: '', parts: [] }
      this.#artifacts.set(id, kept)
      this.#last = kept
      if (this.#artifacts.size > MAX_KEPT_ARTIFACTS) throw new ExcessiveAnswer(`more than ${MAX_KEPT_ARTIFACTS} artifacts`)
    } else if (!append) {
      this.#chars -= kept.text.length + sizeOf(kept.parts)
      this.#count -= kept.parts.length
      kept.text = ''
      kept.parts.length = 0
    }
    kept.name = name ?? kept.name
    kept.description = description ?? kept.description
    for (const part of parts) {
      if (part.kind === 'text') kept.text += part.text
      else kept.parts.push(part)
    }
    const others = parts.filter(isExtra)
    this.#count += others.length
    this.#chars += sizeOf(parts)
    if (this.#count > MAX_KEPT_PARTS || this.#chars > MAX_KEPT_CHARS) {
      throw new ExcessiveAnswer(`more than ${MAX_KEPT_PARTS} parts or ${MAX_KEPT_CHARS} characters`)
    }
  }

  #emit (text: string): string {
    this.#isInStep = text.startsWith(this.#emitted)
    if (!this.#isInStep) return ''
    const more = text.slice(this.#emitted.length)
    this.#emitted = text
    return more
  }
}

/** The text of a message. */
export function textOf (parts: readonly RemotePart[]): string {
  return parts.flatMap(part => part.kind === 'text' ? [part.text] : []).join('')
}

function isExtra ({ kind }: RemotePart): boolean { return kind !== 'text' }

function sizeOf (parts: readonly RemotePart[]): number {
  return parts.reduce((sum, part) => sum + (part.kind === 'text'
    ? part.text.length
    : part.kind === 'file' ? part.bytes?.length ?? part.url?.length ?? 0 : jsonSize(part.data)), 0)
}

function jsonSize (data: unknown): number {
  return isRecord(data) || Array.isArray(data) ? JSON.stringify(data).length : String(data).length
}
