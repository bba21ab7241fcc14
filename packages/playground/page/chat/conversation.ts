import { computed, effect, signal } from '@preact/signals'
import type { ConversationTurn } from '@polyvac/client'
import { attachmentsOf, type Attachment } from '../protocols/attachments.js'
import { addDelta, type ChatProtocol, type InputRequest, type Question, type Source, type Turn, type Update } from '../protocols/chat-protocol.js'
import { PROTOCOLS } from '../protocols/protocols.js'
import { reasonOf, type Sent } from '../requests/exchange.js'
import { createPicture } from '../shared/picture.js'
import { randomId } from '../shared/random-id.js'
import { changeStored, isKept, readAgain, storedWith } from './stored.js'

const KEY = 'polyvac.chat'
/** Turns that are kept over a reload, and sent with the next question. */
const MAX_TURNS = 50
/** Characters of the turns that are kept over a reload, as JSON: browsers keep about 5 Mi of a tab. */
export const MAX_STORED_CHARS = 4 * 1024 * 1024
/** Longer contents of files, in characters, are forgotten with a reload. */
const MAX_STORED_FILE = 64 * 1024
/** Characters of the turns that are sent with the next question; services take bodies of 1 MiB. */
export const MAX_HISTORY_CHARS = 256 * 1024
/** Time between two copies of the conversation in the storage of the tab. */
const STORE_MS = 1_000

export interface Answer {
  readonly question: string
  readonly vac: string
  /** Unknown for a turn that the service has kept. */
  readonly protocol?: ChatProtocol['id'] | undefined
  readonly text: string
  readonly state: 'asking' | 'input-required' | 'done' | 'stopped' | 'failed'
  readonly sources: readonly Source[]
  readonly files?: readonly Attachment[] | undefined
  readonly progress?: number | undefined
  readonly task?: string | undefined
  readonly cursor?: string | undefined
  /** The conversation with the VAC that the service keeps; its next question goes to the same one. */
  readonly conversation?: string | undefined
  /** The id of a turn before which the service has more. */
  readonly earlier?: string | undefined
  /** What the agent asks. A reply has what it replies to until its first update: it may have to be sent again. */
  readonly input?: InputRequest | undefined
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

function read (): Answer[] {
  try {
    return (JSON.parse(sessionStorage.getItem(KEY) ?? '[]') as Answer[]).map(answer => ({ ...answer, exchange: undefined }))
  } catch {
    return []
  }
}

/** The conversation of this tab. */
export const answers = signal<readonly Answer[]>(read())
/** Whether an answer goes on; the conversation has one at a time. */
export const isAsking = computed(() => answers.value.at(-1)?.state === 'asking')
let running: AbortController | undefined
/** Whether the answer is stopped once the id of its task has arrived. */
let isStopping = false

/** The last answer as it stands, where `answers` does not show it yet. */
let newest: Answer | undefined
const picture = createPicture(() => {
  if (newest !== undefined) answers.value = [...answers.value.slice(0, -1), newest]
  newest = undefined
})
let storing: ReturnType<typeof setTimeout> | undefined
/** The JSON of answers that were stored before; those that do not change are not converted again. */
const stored = new WeakMap<Answer, string>()

effect(() => { if (answers.value !== undefined) storing ??= setTimeout(store, STORE_MS) })
addEventListener('pagehide', () => {
  picture.now()
  store()
})

/** Keeps the newest turns over a reload, as many as the browser takes. */
function store (): void {
  clearTimeout(storing)
  storing = undefined
  const kept: string[] = []
  let left = MAX_STORED_CHARS
  for (const answer of answers.value.slice(-MAX_TURNS).reverse()) {
    const text = stored.get(answer) ?? JSON.stringify({ ...answer, files: answer.files?.map(withoutLong) })
    stored.set(answer, text)
    left -= text.length
    if (left < 0) break
    kept.unshift(text)
  }
  try {
    sessionStorage.setItem(KEY, `[${kept.join(',')}]`)
  } catch {
    // more than the browser keeps: a reload starts an empty conversation
    sessionStorage.removeItem(KEY)
  }
}

const withoutLong = (file: Attachment): Attachment =>
  (file.bytes ?? file.text ?? '').length > MAX_STORED_FILE ? { ...file, bytes: undefined, text: undefined } : file

const lastAnswer = (): Answer | undefined => newest ?? answers.value.at(-1)
const lastProtocol = (): ChatProtocol => PROTOCOLS.find(({ id }) => id === lastAnswer()!.protocol)!

/** Changes the last answer. The page shows it with the next picture: a frame costs the same in a long conversation. */
function change (part: Partial<Answer>): void {
  newest = { ...lastAnswer()!, ...part }
  picture.later()
}

/** The newest turns with a VAC that a question may take along, and how many answers are left out. */
function historyOf (vac: string): { readonly history: readonly Turn[], readonly unsent: number } {
  const earlier = answers.value.slice(-MAX_TURNS).filter(answer => answer.vac === vac)
  let left = MAX_HISTORY_CHARS
  const from = earlier.findLastIndex(({ question, text }) => (left -= question.length + text.length) < 0) + 1
  const history = earlier.slice(from).flatMap(({ question: content, text }): Turn[] =>
    [{ role: 'user', content }, ...text === '' ? [] : [{ role: 'assistant', content: text } as const]])
  return { history, unsent: from }
}

/** Shows a conversation that the service keeps, or, above the turns that are shown, those `before` one of them. */
export async function openConversation (vac: string, id: string, before?: string): Promise<void> {
  await changeStored(vac, async () => {
    const { turns, has_earlier: hasEarlier } = await storedWith(vac, `read conversation ${id}`).get(id, before)
    const read = turns.map((turn, index) => ({ ...answerOf(turn), vac, conversation: id, ...index === 0 && hasEarlier && { earlier: turn.id } }))
    // a question may have been sent meanwhile
    if (!isAsking.value) answers.value = before === undefined ? read : [...read, ...answers.value.map(answer => ({ ...answer, earlier: undefined }))]
  })
}

const STATES: Readonly<Record<string, Answer['state']>> = { completed: 'done', failed: 'failed', cancelled: 'stopped', input_required: 'input-required' }

function answerOf ({ question, answer: text = '', state, source_documents: sources, files, duration_ms: totalMs, error }: ConversationTurn): Omit<Answer, 'vac'> {
  const problem = STATES[state] === undefined ? 'The answer is in progress: open the conversation again to read it.' : error?.message
  return { question, text, state: STATES[state] ?? 'stopped', sources, files: attachmentsOf([{ parts: files }]), totalMs, problem }
}

/** Asks; `reply` is what the question replies to. */
export async function ask (vac: string, protocol: ChatProtocol['id'], question: string, reply?: InputRequest): Promise<void> {
  const { history, unsent } = historyOf(vac)
  const before = answers.value.findLast(answer => answer.vac === vac && (answer.conversation !== undefined || answer.text !== ''))
  answers.value = [...answers.value.map(answer => reply !== undefined && answer.input === reply ? { ...answer, input: undefined } : answer),
    { question, vac, protocol, text: '', state: 'asking', sources: [], input: reply }]
  await follow(async signal => {
    const conversation = await isKept(vac, signal) ? (before === undefined ? randomId() : before.conversation) : undefined
    change({ conversation, unsent: reply === undefined && conversation === undefined ? unsent : 0 })
    return { vac, text: question, reply, ...conversation === undefined ? { history } : { conversation } }
  })
  await readAgain(vac)
}

/** Follows the task of an answer that a reload interrupted; an answer without a task has ended. */
export async function resume (): Promise<void> {
  const last = lastAnswer()
  if (last?.state !== 'asking' || running !== undefined) return
  if (last.task === undefined) change({ state: 'stopped', problem: 'The page was loaded again, and this protocol cannot continue a stream.' })
  else await follow(async () => ({ vac: last.vac, text: last.question, history: [], task: last.task, cursor: last.cursor }))
}

async function follow (prepare: (signal: AbortSignal) => Promise<Omit<Question, 'signal'>>): Promise<void> {
  const { signal } = running = new AbortController()
  let sent: Sent | undefined
  let question: Omit<Question, 'signal'> | undefined
  const figures = (): Partial<Answer> =>
    ({ exchange: sent?.exchange.id, firstByteMs: sent?.exchange.firstByteAt, totalMs: sent?.exchange.endedAt, frames: sent?.exchange.received?.frames })
  try {
    question = await prepare(signal)
    for await (const update of lastProtocol().ask({ ...question, signal, onSent: response => { sent = response } })) {
      const { text, state, sources, files, task, cursor, conversation, progress } = lastAnswer()!
      const added = addDelta(text, update)
      change({
        text: update.input === undefined ? added : withQuestion(added, update.input.text),
        isCut: update.isTruncated === true && (added === update.text || question.task !== undefined),
        sources: update.sources ?? sources,
        files: update.files ?? files,
        task: update.task ?? task,
        cursor: update.cursor ?? cursor,
        conversation: conversation && (update.conversation ?? conversation),
        progress: update.progress ?? progress,
        input: update.input,
        signIn: update.signIn,
        state: update.input !== undefined ? 'input-required' : update.done === true ? 'done' : state,
        ...figures()
      })
      if (isStopping) stop()
    }
    if (lastAnswer()!.state === 'asking') change({ state: 'failed', problem: 'The stream ended before the answer did.' })
  } catch (err) {
    const isTooLong = sent?.exchange.status === 413 && !!question?.history?.length
    const remedy = isTooLong ? '. The earlier turns are sent with each question: start a new conversation.' : ''
    change(signal.aborted ? { state: 'stopped' } : { state: 'failed', problem: `${reasonOf(err)}${remedy}` })
  } finally {
    change(figures())
    picture.now()
    running = undefined
    isStopping = false
  }
}

/** The text of an answer with the question of the agent, which stays there after the reply. */
function withQuestion (text: string, question: string): string {
  return text.trimEnd().endsWith(question.trim()) ? text : `${text}\n\n${question}`.trim()
}

/**
 * Stops the answer: closes the connection, and cancels the task where there is one. Before the first update, which has
 * the id of the task, it waits for that, since the task would go on; the second time it does not.
 */
export function stop (): void {
  const { task, frames, vac } = lastAnswer()!
  const { cancel } = lastProtocol()
  isStopping = !!cancel && !task && frames === undefined && !isStopping
  if (isStopping) return
  running?.abort()
  if (task === undefined) return
  cancel?.(task, vac).catch((err: Error) => {
    if (lastAnswer()?.task === task) change({ problem: `Not canceled: ${err.message}` })
  })
}
