import type {
  Answer, ChatTurn, Conversation, ConversationExport, ConversationHead, Conversations, ConversationTurn, LocatedConversation, RunCaller, SourceDocument, Step, StepView, TurnChange,
  TurnFile, TurnHistory, TurnItem, TurnPlace, TurnQuestion, TurnsQuery, TurnTask, Vacs
} from '@polyvac/core'
import { conversationAccess, newConversationId, SKILLS, stepFor, stepsFor } from '@polyvac/core/plugin'
import { ownerKey, turnAnswer, type ConversationKey, type ConversationRecords, type ConversationRow, type ImportedTurn, type NewTurn, type TaskStore, type TurnAnswer, type TurnEdit, type TurnQuery, type TurnRow } from '@polyvac/tasks'
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
/** Ids as the turns of runs have them; a turn from another service gets a new one. */
const TURN_ID = /^[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}(?:-\d{1,2})?$/

/** What a turn keeps besides its question and the text of its answer. */
interface TurnContent {
  readonly source_documents?: readonly SourceDocument[]
  readonly metadata?: Readonly<Record<string, unknown>>
  readonly steps?: readonly Step[]
  readonly error?: { readonly code: string, readonly message: string }
  readonly items?: readonly TurnItem[]
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

  async locate (caller: RunCaller, vacs: readonly string[], id: string): Promise<LocatedConversation> {
    const vac = conversationAccess(caller, id) === 'none' ? undefined : await this.#records.locate(ownerOf(caller), id, vacs)
    if (vac === undefined) throw new NoSuchConversationError()
    return { ...viewHead((await this.#find(caller, vac, id)).row), vac }
  }

  async turn (caller: RunCaller, vac: string, id: string, turn: string): Promise<ConversationTurn | undefined> {
    const { key } = await this.#find(caller, vac, id)
    const number = await this.#records.numberOf(key, turn)
    const [row] = number === undefined ? [] : await this.#records.turns(key, { before: number + 1, limit: 1 })
    return row?.id === turn ? viewTurn(row, this.#viewOf(caller, vac)) : undefined
  }

  async turns (caller: RunCaller, vac: string, id: string, { order, after, limit }: TurnsQuery): ReturnType<Conversations['turns']> {
    const { key } = await this.#find(caller, vac, id)
    const first = after === undefined ? undefined : await this.#records.numberOf(key, after)
    if (after !== undefined && first === undefined) return { turns: [], hasMore: false }
    const next = (number: number | undefined): TurnQuery => order === 'desc' ? { before: number } : { after: number ?? 0 }
    const turns = await this.#records.turns(key, { ...next(first), limit: Math.min(limit, PAGE_TURNS), chars: PAGE_CHARS })
    const last = turns.at(-1)?.number
    const hasMore = last !== undefined && (await this.#records.turns(key, { ...next(last), limit: 1 })).length > 0
    const view = this.#viewOf(caller, vac)
    return { turns: turns.map(turn => viewTurn(turn, view)), hasMore }
  }

  async change (caller: RunCaller, vac: string, id: string, change: Parameters<Conversations['change']>[3]): Promise<ConversationHead> {
    const { key } = await this.#find(caller, vac, id)
    await this.#records.change(key, change)
    return viewHead((await this.#find(caller, vac, id)).row)
  }

  async edit (caller: RunCaller, vac: string, id: string, turn: string | undefined, change: (turn: ConversationTurn | undefined) => TurnChange): Promise<void> {
    const { key } = await this.#find(caller, vac, id)
    const number = turn === undefined ? undefined : await this.#records.numberOf(key, turn) ?? 0
    let deleted: TurnRow['task']
    const isEdited = await this.#records.edit(key, number, row => {
      const { turn: changed, added } = change(row && viewTurn(row, undefined))
      deleted = changed === null ? row?.task : undefined
      return { turn: changed == null || row === undefined ? changed as null | undefined : changedTurn(row, changed), added: added?.map(importedTurn) }
    })
    if (!isEdited) throw new NoSuchConversationError()
    if (deleted !== undefined) await removeTask(this.#tasks, deleted)
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

  async import (caller: RunCaller, vac: string, { id, title, metadata, turns }: ConversationExport): Promise<ConversationHead> {
    const ids = new Set<string>()
    const rows = turns.map(({ id, ...turn }) => importedTurn(id === undefined || !TURN_ID.test(id) || ids.size === ids.add(id).size ? turn : { ...turn, id }))
    const name = title?.trim().slice(0, MAX_TITLE_CHARS).toWellFormed() || (rows.length === 0 ? id ?? '' : '')
    const own = id !== undefined && conversationAccess(caller, id) === 'own' ? [id] : []
    for (const free of [...own, newConversationId()]) {
      const key = { owner: ownerOf(caller), vac, id: free }
      if (await this.#records.import(key, { title: name, metadata, turns: rows })) return viewHead((await this.#records.get(key))!)
    }
    throw new NoSuchConversationError()
  }

  async place (caller: RunCaller, { vac, question, files, conversation: named, sent, sendsAll, replaces, isExclusive, after }: TurnQuestion): Promise<TurnPlace> {
    const owner = ownerOf(caller)
    if (after !== undefined) return { owner, vac, question, files, sent: [], isExclusive, ...await this.#placeAfter(owner, vac, after) }
    const access = named === undefined ? 'none' : conversationAccess(caller, named)
    const id = named === undefined || access === 'none' ? newConversationId() : named
    const key = { owner, vac, id }
    const place = { owner, vac, conversation: id, question, files, sent, isExclusive }
    const isNew = id !== named || ((sent.length > 0 || access === 'existing') && !await this.#isThere(key, access))
    if (!isNew) return sendsAll === true ? { ...place, ...await this.#editOf(key, sent, question, replaces) } : place
    if (access === 'existing') throw new NoSuchConversationError()
    return place
  }

  /** Whether a conversation is there, or one without a VAC, which is that of the first question. */
  async #isThere (key: ConversationKey, access: 'existing' | 'own' | 'none'): Promise<boolean> {
    if (await this.#records.get(key) !== undefined) return true
    if (access !== 'existing') return false
    // another question may have done it
    return await this.#records.move({ ...key, vac: '' }, key.vac) || await this.#records.get(key) !== undefined
  }

  /** In the conversation of a turn, or, where it has later ones or another VAC answers, in a copy of it until there. */
  async #placeAfter (owner: string, vac: string, { id, turn: n }: NonNullable<TurnQuestion['after']>): Promise<Pick<TurnPlace, 'conversation' | 'after' | 'branchOf' | 'copied'>> {
    const turn = await this.#records.turnOf(id, n)
    // a key with the owner of the caller finds nothing of another one
    const key = turn && { ...turn.conversation, owner }
    const number = key && await this.#records.numberOf(key, turn.id)
    if (key === undefined || number === undefined) return { conversation: newConversationId() }
    const [last] = await this.#records.turns(key, { limit: 1 })
    if (key.vac === vac && last?.number === number) return { conversation: key.id, after: number }
    const before = number + 1
    const turns = await this.#records.turns(key, { before, limit: PAGE_TURNS, chars: PAGE_CHARS })
    return { conversation: newConversationId(), branchOf: { vac: key.vac, id: key.id, before }, copied: turns.reverse().map(turn => copyOf(turn)) }
  }

  /** The turn that the question takes the place of. */
  async #editOf (key: ConversationKey, sent: readonly ChatTurn[], question: string, replaces: TurnQuestion['replaces']): Promise<Pick<TurnPlace, 'from' | 'dropped'>> {
    const asked = sent.filter(({ role }) => role === 'user').map(({ content }) => content)
    // a request with the new message only goes on
    if (asked.length === 0 && replaces === undefined) return {}
    // what clients have written to it before a question is not a message of theirs
    const stored = (await this.#records.questions(key)).filter(({ question }) => question !== '')
    const from = replaces === 'last' ? stored.at(-1)?.number : placeOfQuestion(stored, asked, question)
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
    const said = turns.flatMap(({ question, answer }) => [{ role: 'user' as const, content: question }, { role: 'assistant' as const, content: answer }])
    return { turns: said.filter(({ content }) => content !== ''), leftOut }
  }

  async answer ({ id, turn, attempt }: TurnTask, answer: Answer, steps: readonly Step[]): Promise<void> {
    await this.#records.answer(id, turn, attempt, answeredTurn(answer, steps))
  }

  async fail ({ id, turn, attempt }: TurnTask, error: { readonly code: string, readonly message: string }, steps: readonly Step[]): Promise<void> {
    await this.#records.answer(id, turn, attempt, failedTurn(error, steps))
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

/** What a turn has from its answer, which is worth more than its steps and sources. */
export function answeredTurn ({ answer, source_documents: sources, metadata }: Answer, steps: readonly Step[]): TurnAnswer {
  const content: TurnContent = { ...sources.length > 0 && { source_documents: sources }, ...metadata !== undefined && { metadata }, ...steps.length > 0 && { steps } }
  return turnAnswer(answer, content)
}

/** The same for a failure, as its caller may read it. */
export function failedTurn ({ code, message }: { readonly code: string, readonly message: string }, steps: readonly Step[]): TurnAnswer {
  const content: TurnContent = { error: { code, message } }
  return turnAnswer(undefined, steps.length > 0 ? { ...content, steps } : content, content)
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

function viewHead ({ id, title, metadata, createdAt, updatedAt, turnCount }: ConversationRow): ConversationHead {
  return { id, title, metadata, createdAt, updatedAt, turnCount }
}

function viewTurn ({ id, question, files: asked = [], answer, content, state, createdAt, endedAt }: TurnRow, view: StepView | undefined): ConversationTurn {
  const { source_documents: sourceDocuments = [], metadata, steps = [], error, items } = (content ?? {}) as TurnContent
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
    error: error ?? (state === 'canceled' ? { code: 'RUN_CANCELLED', message: 'the answer was cancelled' } : undefined),
    items
  }
}

/** What a turn has after a change. */
function changedTurn ({ answer: before, content }: TurnRow, { question, answer, items }: NonNullable<TurnChange['turn']>): NonNullable<TurnEdit['turn']> {
  const { error, ...rest } = (content ?? {}) as TurnContent
  const kept: TurnContent = { ...answer === before ? rest : {}, ...error !== undefined && { error }, ...items !== undefined && { items } }
  return { question, answer, content: kept }
}

/** A turn for a copy of its conversation; one that has not ended there has no answer here. */
function copyOf (turn: TurnRow): ConversationExport['turns'][number] {
  const { id: _id, ...copied } = viewTurn(turn, 'all')
  return copied
}

function importedTurn ({ id = randomUUID(), question, answer, sourceDocuments, metadata, steps = [], files = [], state = 'completed', createdAt, durationMs = 0, error, items }: ConversationExport['turns'][number]): ImportedTurn {
  const asked = files.flatMap(({ role, ...file }) => role === 'user' ? [file] : [])
  const answered = files.filter(({ role }) => role !== 'user')
  const content: TurnContent = {
    ...sourceDocuments !== undefined && sourceDocuments.length > 0 && { source_documents: sourceDocuments },
    ...metadata !== undefined && { metadata },
    ...steps.length + answered.length > 0 && { steps: [...steps, ...answered.map(file => ({ file }))] },
    ...error !== undefined && { error },
    ...items !== undefined && { items }
  }
  return {
    id,
    question,
    files: keptFiles(asked),
    ...answer === undefined ? {} : { answer },
    content,
    // what was in progress there is not in progress here
    state: state === 'cancelled' ? 'canceled' : state === 'completed' || answer !== undefined ? 'completed' : 'failed',
    createdAt,
    endedAt: createdAt + durationMs
  }
}
