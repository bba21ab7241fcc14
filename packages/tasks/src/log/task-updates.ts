import { InvalidTaskError, TaskTooLargeError } from '../basics/errors.js'
import { charsLeft } from '../basics/json-chars.js'
import { PAGE_CHARS } from './log-page.js'
import { executorStates, type EventBody, type TaskArtifact, type TaskMessage, type TaskState, type TaskUpdate } from '../contract/task.js'
import type { TurnAnswer } from '../contract/conversation-records.js'
import { yieldToEventLoop } from '../basics/turn-time.js'

/** Updates in one `emit`. A longer list would block the event loop for too long in one transaction. */
export const MAX_UPDATES = 1_000
/** Characters of JSON of one event, 8 Mi. Most clients would not accept a longer one. */
export const MAX_EVENT_CHARS = 8 * 1024 * 1024
/** Characters of JSON that an executor keeps for later attempts. */
export const MAX_KEPT_CHARS = 64 * 1024

export interface PreparedUpdates {
  readonly bodies: EventBody[]
  /** Each body as JSON. */
  readonly texts: string[]
  /** Characters of these. */
  readonly chars: number
  /** The state after the last of them, or undefined where none names one. */
  readonly state: Exclude<TaskUpdate['state'], undefined> | undefined
  /** What the turn of the task has from now on. */
  readonly turn: TurnAnswer | undefined
}

/** Whether writing the updates takes so long that they are written in several turns of the event loop. */
export function areLargeUpdates (updates: readonly TaskUpdate[]): boolean {
  return updates.length > 1 && charsLeft(updates, PAGE_CHARS) < 0
}

/** Checks the updates of an executor and adds times. @throws TASK_INVALID, TASK_TOO_LARGE */
export function prepareUpdates (updates: readonly TaskUpdate[], at: number, turn?: TurnAnswer): PreparedUpdates {
  const bodies = eventBodies(updates, at)
  return partOf(bodies, bodies.map(eventText), turn)
}

/**
 * The same in turns of the event loop, in parts that are written one after the other.
 * @throws TASK_INVALID, TASK_TOO_LARGE
 */
export async function prepareLargeUpdatesUpdates (updates: readonly TaskUpdate[], at: number, turn?: TurnAnswer): Promise<PreparedUpdates[]> {
  const parts: PreparedUpdates[] = []
  let bodies: EventBody[] = []
  let texts: string[] = []
  let chars = 0
  for (const body of eventBodies(updates, at)) {
    const text = eventText(body)
    bodies.push(body)
    texts.push(text)
    chars += text.length
    if (chars < PAGE_CHARS) continue
    parts.push(partOf(bodies, texts))
    bodies = []
    texts = []
    chars = 0
    await yieldToEventLoop()
  }
  if (texts.length > 0) parts.push(partOf(bodies, texts))
  return parts.map((part, i) => i < parts.length - 1 ? part : { ...part, turn })
}

function partOf (bodies: EventBody[], texts: string[], turn?: TurnAnswer): PreparedUpdates {
  const state = bodies.at(-1)?.state
  return {
    bodies,
    texts,
    chars: texts.reduce((sum, { length }) => sum + length, 0),
    state: state === 'working' ? undefined : state as PreparedUpdates['state'],
    turn
  }
}

function eventText (body: EventBody): string {
  return toJson('an event', body, MAX_EVENT_CHARS)
}

function eventBodies (updates: readonly TaskUpdate[], at: number): EventBody[] {
  if (updates.length === 0) throw new InvalidTaskError('updates', 'the list is empty')
  if (updates.length > MAX_UPDATES) throw new InvalidTaskError('updates', `more than ${MAX_UPDATES} in one emit`)
  let state: TaskState = 'working'
  return updates.map(update => {
    if (state !== 'working') throw new InvalidTaskError('updates', `nothing may follow '${state}'`)
    if (update.state !== undefined) {
      if (!executorStates.includes(update.state)) throw new InvalidTaskError('state', `an executor may not set '${String(update.state)}'`)
      state = update.state
    }
    return eventBody(update, at)
  })
}

function eventBody (update: TaskUpdate, at: number): EventBody {
  const { state, progress, progressMessage, delta, message, artifact, error, usage, step, kept } = update
  if (progress !== undefined && !(progress >= 0 && progress <= 1)) throw new InvalidTaskError('progress', 'give a number from 0 to 1')
  if (progressMessage !== undefined && typeof progressMessage !== 'string') throw new InvalidTaskError('progressMessage', 'give a string')
  if (delta !== undefined && typeof delta !== 'string') throw new InvalidTaskError('delta', 'give a string')
  const body: { -readonly [K in keyof EventBody]: EventBody[K] } = { at }
  if (state !== undefined) body.state = state
  if (progress !== undefined) body.progress = progress
  if (progressMessage !== undefined) body.progressMessage = progressMessage
  if (delta !== undefined) body.delta = delta
  if (message !== undefined) body.message = messageAt(message, at)
  if (artifact !== undefined) body.artifact = artifactAt(artifact, at)
  if (error !== undefined) body.error = { code: error.code, message: error.message, timestamp: at }
  if (usage !== undefined) body.usage = usage
  if (step !== undefined) body.step = step
  if (kept !== undefined) {
    toJson('what an attempt keeps', kept, MAX_KEPT_CHARS)
    body.metadata = { kept }
  }
  return body
}

/** A message as events contain it, without undefined members. */
export function messageAt ({ role, parts, timestamp, id, metadata, extensions, referenceTaskIds }: NonNullable<TaskUpdate['message']>, at: number): TaskMessage {
  return Object.assign({ role, parts, timestamp: timestamp ?? at },
    id === undefined ? undefined : { id },
    metadata === undefined ? undefined : { metadata },
    extensions === undefined ? undefined : { extensions },
    referenceTaskIds === undefined ? undefined : { referenceTaskIds })
}

function artifactAt ({ name, content, parts, description, metadata }: NonNullable<TaskUpdate['artifact']>, at: number): TaskArtifact {
  return Object.assign({ name, type: 'json' as const, content: content ?? null, createdAt: at },
    parts === undefined ? undefined : { parts },
    description === undefined ? undefined : { description },
    metadata === undefined ? undefined : { metadata })
}

/**
 * What a turn has besides its question.
 * @param answer the text; undefined: it has none
 * @param content any JSON value
 * @param least what takes its place where it is larger than an event may be
 * @throws TASK_INVALID for a value without a JSON form
 */
export function turnAnswer (answer: string | undefined, content: unknown, least: unknown = {}): TurnAnswer {
  const text = toJson('content', content, Infinity)
  return { answer: answer ?? null, content: text.length <= MAX_EVENT_CHARS ? text : toJson('content', least, MAX_EVENT_CHARS) }
}

/**
 * JSON of a value, at most `limit` characters.
 * @throws TASK_TOO_LARGE; TASK_INVALID for values without a JSON form (cycles, bigints, too deep)
 */
export function toJson (name: string, value: unknown, limit: number): string {
  let text: string
  try {
    text = JSON.stringify(value) ?? 'null'
  } catch (error) {
    throw new InvalidTaskError(name, `it is not JSON (${(error as Error).message.split('\n')[0]})`)
  }
  if (text.length > limit) throw new TaskTooLargeError(name, limit)
  return text
}
