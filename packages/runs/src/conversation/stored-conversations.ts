import type {
  Answer, ChatTurn, Conversation, ConversationExport, ConversationHead, Conversations, ConversationTurn, RunCaller, SourceDocument, Step, StepView, TurnFile, TurnHistory,
  TurnPlace, TurnQuestion, TurnTask, Vacs
} from '@polyvac/core'
import { conversationAccess, newConversationId, SKILLS, stepFor, stepsFor } from '@polyvac/core/plugin'
import { isTaskError, ownerKey, type ConversationKey, type ConversationRecords, type ConversationRow, type ImportedTurn, type NewTurn, type TaskStore, type TurnRow } from '@polyvac/tasks'
import { randomUUID } from 'node:crypto'
import { NoSuchConversationError } from '../errors.js'
import { runsOwner } from '../run-owner.js'
import { runStateOf } from '../run-states.js'
import { removeTask } from '../tasks/remove-task.js'
import { keptFiles } from './messages.js'
import { placeOfQuestion, turnsOfHistory } from './sent-history.js'

/** Turns, pairs of question and answer, that an interpreter gets, the latest ones. */
export const MAX_HISTORY_TURNS = 50
/** Characters of them: a long conversation loses its beginning, and stays fast. */
export const MAX_HISTORY_CHARS = 256 * 1024
/** Turns of a conversation that are read at once, and the characters at which the page ends. */
const PAGE_TURNS = 200
const PAGE_CHARS = 8 * 1024 * 1024
/** Turns whose tasks are deleted at once. */
const DELETED_TURNS = 50
const MAX_TITLE_CHARS = 256

/** What a turn keeps besides its question and the text of its answer. */
interface TurnContent {
  readonly source_documents?: readonly SourceDocument[]
  readonly metadata?: Readonly<Record<string, unknown>>
  readonly steps?: readonly Step[]
  readonly error?: { readonly code: string, readonly message: string }
}

type Tasks = Pick<TaskStore, 'cancel' | 'delete' | 'list' | 'conversations'>

/** Conversations in a store of tasks. */
class StoredConversations implements Conversations {
  readonly #tasks: Tasks
  readonly #records: ConversationRecords
  readonly #vacs: Pick<Vacs, 'has' | 'get'>

  constructor (tasks: Tasks, records: ConversationRecords, vacs: Pick<Vacs, 'has' | 'get'>) {
    this.#tasks = tasks
    this.#records = records
    this.#vacs = vacs
  }

  async list (caller: RunCaller, vac: string, page: { readonly limit: number, readonly cursor?: string | undefined }): ReturnType<Conversations['list']> {
    // unknown callers share one owner: without their ids, conversations of others are not shown
    if (caller.principal === undefined && !caller.isLocal) return { conversations: [] }
    const { conversations, nextCursor } = await this.#records.list(ownerOf(caller), vac, page)
    return { conversations: conversations.map(viewHead), nextCursor }
  }

  async get (caller: RunCaller, vac: string, id: string, before?: string): Promise<Conversation> {
    const { key, row } = await this.#find(caller, vac, id)
    const end = before === undefined ? undefined : (await this.#records.numberOf(key, before) ?? 0)
    const turns = await this.#records.turns(key, { before: end, limit: PAGE_TURNS, chars: PAGE_CHARS })
    turns.reverse()
    const view = this.#viewOf(caller, vac)
    const first = turns[0]?.number
    const hasEarlier = first !== undefined && (await this.#records.turns(key, { before: first, limit: 1 })).length > 0
    return { ...viewHead(row), turns: turns.map(turn => viewTurn(turn, view)), hasEarlier }
  }

  async rename (caller: RunCaller, vac: string, id: string, title: string): Promise<ConversationHead> {
    const { key } = await this.#find(caller, vac, id)
    await this.#records.rename(key, title)
    return viewHead((await this.#find(caller, vac, id)).row)
  }

  async delete (caller: RunCaller, vac: string, id: string): Promise<void> {
    const { key } = await this.#find(caller, vac, id)
    for (let before: number | undefined; ;) {
      const turns = await this.#records.turns(key, { before, limit: DELETED_TURNS })
      for (const { task } of turns) if (task !== undefined) await removeTask(this.#tasks, task)
      before = turns.at(-1)?.number
      if (before === undefined) break
    }
    // questions that are not kept have runs, too
    const runs = { contextId: id, skills: [SKILLS.stream.prefix + vac], limit: DELETED_TURNS }
    for (let cursor: string | undefined, more = true; more; more = cursor !== undefined) {
      const page = await this.#tasks.list(runsOwner(caller.principal?.owner), { ...runs, cursor })
      for (const task of page.tasks) await removeTask(this.#tasks, task)
      cursor = page.nextCursor
    }
    await this.#records.delete(key)
  }

  async import (caller: RunCaller, vac: string, { id, title, turns }: ConversationExport): Promise<ConversationHead> {
    const rows = turns.map(importedTurn)
    const name = title?.trim().slice(0, MAX_TITLE_CHARS).toWellFormed() || rows[0]?.question || id || ''
    const own = id !== undefined && conversationAccess(caller, id) === 'own' ? [id] : []
    for (const free of [...own, newConversationId()]) {
      const key = { owner: ownerOf(caller), vac, id: free }
      if (await this.#records.import(key, { title: name, turns: rows })) return viewHead((await this.#records.get(key))!)
    }
    throw new NoSuchConversationError()
  }

  async place (caller: RunCaller, { vac, question, files, conversation: named, sent, sendsAll, isExclusive, after }: TurnQuestion): Promise<TurnPlace> {
    const owner = ownerOf(caller)
    if (after !== undefined) return { owner, vac, question, files, sent: [], isExclusive, ...await this.#placeAfter(owner, vac, after) }
    const access = named === undefined ? 'none' : conversationAccess(caller, named)
    const id = named === undefined || access === 'none' ? newConversationId() : named
    const key = { owner, vac, id }
    const place = { owner, vac, conversation: id, question, files, sent, isExclusive }
    const isNew = id !== named || ((sent.length > 0 || access === 'existing') && await this.#records.get(key) === undefined)
    if (!isNew) return sendsAll === true && sent.length > 0 ? { ...place, ...await this.#editOf(key, sent, question) } : place
    if (access === 'existing') throw new NoSuchConversationError()
    return place
  }

  /** In the conversation of a turn, or, where it has later ones or another VAC answers, in a copy of it until there. */
  async #placeAfter (owner: string, vac: string, { task, turn: n }: NonNullable<TurnQuestion['after']>): Promise<Pick<TurnPlace, 'conversation' | 'after' | 'branchOf' | 'copied'>> {
    const turn = await this.#records.turnOf(task, n)
    if (turn === undefined || turn.conversation.owner !== owner) return { conversation: newConversationId() }
    const { number, conversation: key } = turn
    const [last] = await this.#records.turns(key, { limit: 1 })
    if (key.vac === vac && last?.number === number) return { conversation: key.id, after: number }
    const before = number + 1
    const turns = await this.#records.turns(key, { before, limit: PAGE_TURNS, chars: PAGE_CHARS })
    return { conversation: newConversationId(), branchOf: { vac: key.vac, id: key.id, before }, copied: turns.reverse().map(turn => copyOf(turn)) }
  }

  /** The turn that the question takes the place of. */
  async #editOf (key: ConversationKey, sent: readonly ChatTurn[], question: string): Promise<Pick<TurnPlace, 'from' | 'dropped'>> {
    const asked = sent.filter(({ role }) => role === 'user').map(({ content }) => content)
    // a request with the new message only goes on
    if (asked.length === 0) return {}
    const stored = await this.#records.questions(key)
    const from = placeOfQuestion(stored, asked, question)
    if (from === undefined) return {}
    return { from, dropped: stored.flatMap(({ number, task }) => number >= from && task !== undefined ? [task] : []) }
  }

  async historyOf ({ id, turn }: TurnTask): Promise<TurnHistory> {
    const found = await this.#records.turnOf(id, turn)
    return found === undefined ? { turns: [], leftOut: 0 } : await this.#history(found.conversation, found.number)
  }

  async historyAt ({ owner, vac, conversation: id, from, branchOf }: TurnPlace): Promise<TurnHistory> {
    return branchOf === undefined ? await this.#history({ owner, vac, id }, from) : await this.#history({ owner, vac: branchOf.vac, id: branchOf.id }, branchOf.before)
  }

  async #history (key: ConversationKey, before: number | undefined): Promise<TurnHistory> {
    const { turns, leftOut } = await this.#records.history(key, { before, limit: MAX_HISTORY_TURNS, chars: MAX_HISTORY_CHARS })
    return { turns: turns.flatMap(({ question, answer }) => [{ role: 'user' as const, content: question }, { role: 'assistant' as const, content: answer }]), leftOut }
  }

  async answer (task: TurnTask, { answer, source_documents: sources, metadata }: Answer, steps: readonly Step[]): Promise<void> {
    await this.#write(task, answer, { ...sources.length > 0 && { source_documents: sources }, ...metadata !== undefined && { metadata }, ...steps.length > 0 && { steps } })
  }

  async fail (task: TurnTask, error: { readonly code: string, readonly message: string }, steps: readonly Step[]): Promise<void> {
    await this.#write(task, undefined, { error, ...steps.length > 0 && { steps } })
  }

  async #write ({ id, turn, attempt }: TurnTask, answer: string | undefined, content: TurnContent): Promise<void> {
    try {
      await this.#records.answer(id, turn, attempt, answer, content)
    } catch (err) {
      if (!isTaskError(err, 'TASK_TOO_LARGE')) throw err
      // the answer is worth more than its steps and sources
      const { error } = content
      await this.#records.answer(id, turn, attempt, answer, error === undefined ? {} : { error })
    }
  }

  async #find (caller: RunCaller, vac: string, id: string): Promise<{ key: ConversationKey, row: ConversationRow }> {
    const key = { owner: ownerOf(caller), vac, id }
    const row = conversationAccess(caller, id) === 'none' ? undefined : await this.#records.get(key)
    if (row === undefined) throw new NoSuchConversationError()
    return { key, row }
  }

  #viewOf ({ isAdmin }: RunCaller, vac: string): StepView | undefined {
    return this.#vacs.has(vac) ? stepsFor(this.#vacs.get(vac).config, true, () => isAdmin) : undefined
  }
}

/** A place as the store takes it. */
export function turnAt ({ sent, dropped: _dropped, branchOf: _branchOf, copied = turnsOfHistory(sent), files, ...place }: TurnPlace): NewTurn {
  return { ...place, files: keptFiles(files), earlier: copied.map(importedTurn) }
}

/** The conversations of a store; undefined for a store that keeps none. */
export function conversationsIn (store: Tasks, vacs: Pick<Vacs, 'has' | 'get'>): Conversations | undefined {
  const { conversations } = store
  return conversations && new StoredConversations(store, conversations, vacs)
}

function ownerOf ({ principal }: RunCaller): string { return ownerKey(principal?.owner) }

function viewHead ({ id, title, createdAt, updatedAt, turnCount }: ConversationRow): ConversationHead {
  return { id, title, createdAt, updatedAt, turnCount }
}

function viewTurn ({ id, question, files: asked = [], answer, content, state, createdAt, endedAt }: TurnRow, view: StepView | undefined): ConversationTurn {
  const { source_documents: sourceDocuments = [], metadata, steps = [], error } = (content ?? {}) as TurnContent
  const seen = view === undefined ? [] : steps.map(step => stepFor(view, step))
  return {
    id,
    question,
    answer,
    sourceDocuments,
    metadata,
    steps: seen.filter(step => !('file' in step)),
    files: [...(asked as readonly TurnFile[]).map(file => ({ ...file, role: 'user' as const })), ...steps.flatMap(step => 'file' in step ? [step.file] : [])],
    // a task of another plugin may complete with the result that its tool failed
    state: error !== undefined && state === 'completed' ? 'failed' : runStateOf(state),
    createdAt,
    durationMs: endedAt === undefined ? undefined : endedAt - createdAt,
    error: error ?? (state === 'canceled' ? { code: 'RUN_CANCELLED', message: 'the answer was cancelled' } : undefined)
  }
}

/** A turn for a copy of its conversation; one that has not ended there has no answer here. */
function copyOf (turn: TurnRow): ConversationExport['turns'][number] {
  const { id: _id, ...copied } = viewTurn(turn, 'all')
  return copied
}

function importedTurn ({ id = randomUUID(), question, answer, sourceDocuments, metadata, steps = [], files = [], state = 'completed', createdAt, durationMs = 0, error }: ConversationExport['turns'][number]): ImportedTurn {
  const asked = files.flatMap(({ role, ...file }) => role === 'user' ? [file] : [])
  const answered = files.filter(({ role }) => role !== 'user')
  const content: TurnContent = {
    ...sourceDocuments !== undefined && sourceDocuments.length > 0 && { source_documents: sourceDocuments },
    ...metadata !== undefined && { metadata },
    ...steps.length + answered.length > 0 && { steps: [...steps, ...answered.map(file => ({ file }))] },
    ...error !== undefined && { error }
  }
  return {
    id,
    question,
    files: keptFiles(asked),
    ...answer === undefined ? {} : { answer },
    content,
    // what was in progress there is not in progress here
    state: state === 'completed' || answer !== undefined ? 'completed' : state === 'cancelled' ? 'canceled' : 'failed',
    createdAt,
    endedAt: createdAt + durationMs
  }
}
