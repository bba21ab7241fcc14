import { computed, effect, signal } from '@preact/signals'
import { addDelta, type ChatProtocol, type InputRequest, type Question, type Turn } from '../protocols/chat-protocol.js'
import { PROTOCOLS } from '../protocols/protocols.js'
import { attachmentsOf, type Attachment } from '../protocols/attachments.js'
import { reasonOf, type Sent } from '../requests/exchange.js'
import { createPicture } from '../shared/picture.js'
import { randomId } from '../shared/random-id.js'
import { answerOf, approvalIn, factsOf, nextKey, withStep, type Answer } from './answer.js'
import { keep, MAX_TURNS, readKept } from './kept.js'
import { changeStored, isKept, readAgain, runIn, storedWith } from './stored.js'

/** Characters of the turns that are sent with the next question; services take bodies of 1 MiB. */
export const MAX_HISTORY_CHARS = 256 * 1024
/** Time in which the list of conversations is read. */
const READ_MS = 10_000
/** Time between two copies of the conversation in the storage of the tab. */
const STORE_MS = 1_000

/** The conversation of this tab. */
export const answers = signal<readonly Answer[]>(readKept())
/** Whether an answer goes on; the conversation has one at a time. */
export const isAsking = computed(() => answers.value.at(-1)?.state === 'asking')
/** Whether the page may leave the conversation: an answer in progress goes on in one that the service keeps. */
export const isFree = computed(() => {
  const { protocol, task, conversation, replaces } = answers.value.at(-1) ?? {}
  return !isAsking.value || (task !== undefined && conversation !== undefined && replaces === undefined && canGoOn(protocol))
})
/** Protocols whose answers go on without their reader, until they are cancelled. */
const canGoOn = (protocol: Answer['protocol']): boolean => PROTOCOLS.find(({ id }) => id === protocol)?.cancel !== undefined
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

effect(() => { if (answers.value !== undefined) storing ??= setTimeout(store, STORE_MS) })
addEventListener('pagehide', () => {
  picture.now()
  store()
})

function store (): void {
  clearTimeout(storing)
  storing = undefined
  keep(answers.value)
}

/** Shows and keeps nothing of the conversation any more; an answer in progress changes nothing here from now on. */
export function forget (): void {
  const left = running
  running = undefined
  isStopping = false
  newest = undefined
  answers.value = []
  left?.abort()
}

/** Begins a new conversation. */
export function leave (): void {
  if (!isFree.value) return
  // an answer in progress goes on without this reader
  const asked = isAsking.value ? answers.value.at(-1)?.vac : undefined
  forget()
  if (asked !== undefined) readAgain(asked)
}

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

/** Turns of a conversation that the service keeps: the latest, or those before one. */
async function readTurns (vac: string, id: string, before?: string): Promise<Answer[]> {
  const { turns, has_earlier: hasEarlier } = await storedWith(vac, `read conversation ${id}`).get(id, before)
  return turns.map((turn, index) => ({ ...answerOf(turn, before === undefined && index === turns.length - 1), vac, conversation: id, ...index === 0 && hasEarlier && { earlier: turn.id } }))
}

/** Shows a conversation that the service keeps. */
export async function openConversation (vac: string, id: string): Promise<void> {
  if (isAsking.value) leave()
  await changeStored(vac, async () => {
    const read = await readTurns(vac, id)
    const last = read.at(-1)
    if (last?.state === 'asking') read.splice(-1, 1, await inProgress(last))
    // a question may have been sent meanwhile
    if (!isAsking.value) answers.value = read
  })
  await resume()
}

let isReadingEarlier = false

/** Shows the turns before those that are shown, where the service has some. */
export async function readEarlier (): Promise<void> {
  const [first] = answers.value
  if (first?.earlier === undefined || isAsking.value || isReadingEarlier) return
  isReadingEarlier = true
  await changeStored(undefined, async () => {
    const read = await readTurns(first.vac, first.conversation!, first.earlier)
    // another conversation may have been opened meanwhile
    if (!isAsking.value && answers.value[0]?.key === first.key) answers.value = [...read, { ...first, earlier: undefined }, ...answers.value.slice(1)]
  })
  isReadingEarlier = false
}

/** An answer in progress, as the run that it is; tasks of A2A are not among the runs. */
async function inProgress (answer: Answer): Promise<Answer> {
  const task = await runIn(answer.vac, answer.conversation!)
  return task === undefined
    ? { ...answer, state: 'stopped', problem: 'The answer is in progress: open the conversation again to read it.' }
    : { ...answer, protocol: 'direct', task }
}

/** What comes with a question. */
export interface Asking {
  /** What the question replies to. */
  readonly reply?: InputRequest | undefined
  readonly attached?: readonly Attachment[] | undefined
  /** Of the body of a direct question. */
  readonly fields?: Readonly<Record<string, unknown>> | undefined
  readonly replaces?: Answer['replaces']
}

/** Asks. */
export async function ask (vac: string, protocol: ChatProtocol['id'], question: string, { reply, attached, fields: own, replaces }: Asking = {}): Promise<void> {
  const { history, unsent } = historyOf(vac)
  const before = answers.value.findLast(answer => answer.vac === vac && (answer.conversation !== undefined || answer.text !== ''))
  // one question for an approval is open at a time: another question makes the agent ask again
  const isOver = ({ vac: other, input, approval }: Answer): boolean => input !== undefined && (input === reply || (approval !== undefined && other === vac))
  answers.value = [...answers.value.map(answer => isOver(answer) ? { ...answer, input: undefined } : answer),
    { key: nextKey(), question, attached, vac, protocol, text: '', state: 'asking', sources: [], input: reply, replaces }]
  const files = attached?.map(({ name, type, bytes }) => ({ filename: name, media_type: type, bytes }))
  const fields = { ...own, ...files !== undefined && files.length > 0 && { files } }
  await follow(async signal => {
    const conversation = await isKept(vac, signal) ? (before === undefined ? randomId() : before.conversation) : undefined
    change({ conversation, unsent: reply === undefined && conversation === undefined ? unsent : 0 })
    return { vac, text: question, reply, fields, ...conversation === undefined ? { history } : { conversation } }
  })
  await readAgain(vac)
  await deleteReplaced()
}

/**
 * Deletes the conversations in whose place the last answer is, once it has ended. Where it failed or has no text, they
 * stay, since they may have an earlier answer, until the question is asked again.
 */
async function deleteReplaced (): Promise<void> {
  const last = lastAnswer()
  if (last?.replaces === undefined) return
  const { key, vac, state, text, conversation, replaces } = last
  if (state === 'asking' || state === 'failed' || (state === 'stopped' && text === '')) return
  const isDone = await changeStored(vac, async () => {
    for (const id of replaces) if (id !== conversation) await deleteConversation(vac, id)
  })
  if (isDone) answers.value = answers.value.map(answer => answer.key === key ? { ...answer, replaces: undefined } : answer)
}

/** Deletes a conversation, if it is there. */
async function deleteConversation (vac: string, id: string): Promise<void> {
  try {
    await storedWith(vac, `delete conversation ${id}`).delete(id)
  } catch (err) {
    if ((err as { status?: number }).status !== 404) throw err
  }
}

/**
 * Follows the task of an answer that a reload interrupted, or that another page began; one without a task has ended.
 */
export async function resume (): Promise<void> {
  const last = lastAnswer()
  if (last === undefined || running !== undefined) return
  if (last.state === 'asking') {
    if (last.task === undefined) change({ state: 'stopped', problem: 'The page was loaded again, and this protocol cannot continue a stream.' })
    else await follow(async () => ({ vac: last.vac, text: last.question, history: [], task: last.task, cursor: last.cursor }))
    if (lastAnswer()?.key !== last.key) return
    await readLinks()
  }
  await deleteReplaced()
}

/** The links of sources come with the answer to a question; those of a run are in its turn. */
async function readLinks (): Promise<void> {
  const { vac, state, sources, links, conversation } = lastAnswer()!
  if (state !== 'done' || sources.length === 0 || links !== undefined || conversation === undefined || !await isKept(vac, AbortSignal.timeout(READ_MS))) return
  await changeStored(vac, async () => {
    const turns = await readTurns(vac, conversation)
    if (lastAnswer()?.sources === sources) change({ links: turns.at(-1)?.links })
  })
}

async function follow (prepare: (signal: AbortSignal) => Promise<Omit<Question, 'signal'>>): Promise<void> {
  const own = running = new AbortController()
  const { signal } = own
  let sent: Sent | undefined
  let question: Omit<Question, 'signal'> | undefined
  const figures = (): Partial<Answer> =>
    ({ exchange: sent?.exchange.id, firstByteMs: sent?.exchange.firstByteAt, totalMs: sent?.exchange.endedAt, frames: sent?.exchange.received?.frames })
  try {
    question = await prepare(signal)
    const onRun = (task: string | undefined): void => {
      if (running !== own) return
      change({ task })
      if (isStopping) stop()
    }
    for await (const update of lastProtocol().ask({ ...question, signal, onSent: response => { sent = response }, onRun })) {
      // the reader has left
      if (running !== own) return
      const { text, state, sources, files, steps, task, cursor, conversation, progress, message } = lastAnswer()!
      const added = addDelta(text, update)
      // the answer begins anew
      const isAnew = update.text === '' && update.done !== true
      const asked = update.input === undefined ? added : withQuestion(added, update.input.text)
      const file = update.step !== undefined && 'file' in update.step ? attachmentsOf([{ parts: [update.step.file] }]) : undefined
      change({
        text: asked,
        steps: isAnew ? undefined : update.step === undefined ? steps : withStep(steps, update.step),
        isCut: update.isTruncated === true && (added === update.text || question.task !== undefined),
        sources: update.sources ?? sources,
        files: isAnew ? undefined : update.files ?? (file === undefined ? files : [...files ?? [], ...file]),
        task: update.task ?? task,
        cursor: update.cursor ?? cursor,
        conversation: conversation && (update.conversation ?? conversation),
        progress: update.progress ?? progress,
        message: update.message ?? message,
        input: update.input,
        ...update.input !== undefined && { approval: approvalIn(asked) },
        ...(update.done === true || update.input !== undefined) && factsOf(update.event),
        signIn: update.signIn,
        state: update.input !== undefined ? 'input-required' : update.done === true ? 'done' : state,
        ...figures()
      })
      if (isStopping) stop()
    }
    if (running === own && lastAnswer()!.state === 'asking') change({ state: 'failed', problem: 'The stream ended before the answer did.' })
  } catch (err) {
    const isTooLong = sent?.exchange.status === 413 && !!question?.history?.length
    const remedy = isTooLong ? '. The earlier turns are sent with each question: start a new conversation.' : ''
    if (running === own) change(signal.aborted ? { state: 'stopped' } : { state: 'failed', problem: `${reasonOf(err)}${remedy}` })
  } finally {
    // otherwise the reader has left, and another answer may be the last one
    if (running === own) {
      change(figures())
      picture.now()
      running = undefined
      isStopping = false
    }
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
