import { randomUUID } from 'node:crypto'
import {
  ApprovalDeclinedError, ApprovalNotFoundError, ApprovalOutcomeUnknownError, ApprovalRequiredError
} from '../basics/errors.js'
import { isRecord } from '../basics/is-record.js'
import type { ChatTurn } from '../vac/vac.js'
import type { InterpreterExtra } from '../vac/interpreter.js'
import { needsApproval, replyOf } from './approval.js'
import {
  askApproval, callDigest, changeStatus, checkInput, findApproval, keptOutcome,
  type ApprovableCall, type ApprovalRecords, type ApprovalStatus, type DoneCall, type FoundApproval, type Outcome, type StoredApproval
} from './approval-store.js'

export interface ApprovalRule {
  /** The list `approve` of the VAC. */
  readonly approve: readonly string[]
  readonly ttlMs: number
  readonly records: ApprovalRecords
}

/** What a question is, as far as approvals are concerned. */
export type Begun =
  /** A question like any other. */
  | { readonly kind: 'new' }
  /** The interpreter goes on with what was asked before. */
  | { readonly kind: 'goes on', readonly question: string, readonly history: readonly ChatTurn[] }
  /** Neither yes nor no: the question comes again. */
  | { readonly kind: 'again', readonly approval: StoredApproval }
  /** A reply that comes too late. Its text is the answer. */
  | { readonly kind: 'over', readonly text: string }

/** The approvals of one answer: those that its tools need, and the one that its question gives. */
export class RunApprovals {
  /** What the interpreter continues from in a later answer, any JSON value. An interpreter without it begins anew. */
  state: unknown
  readonly #rule: ApprovalRule
  readonly #vac: string
  readonly #question: string
  readonly #history: readonly ChatTurn[]
  readonly #extra: InterpreterExtra
  /** The approval that the question answers. */
  #given: FoundApproval | undefined
  #status: ApprovalStatus | undefined
  #isSpent = false
  // @keyed none: a list of one answer, of calls that its caller has approved
  readonly #done: DoneCall[] = []
  // @keyed none: the same
  #earlier: DoneCall[] = []
  #asked: { readonly call: ApprovableCall, readonly shown: ApprovableCall, readonly relay: string | undefined } | undefined

  constructor (rule: ApprovalRule, vac: string, question: string, history: readonly ChatTurn[], extra: InterpreterExtra) {
    this.#rule = rule
    this.#vac = vac
    this.#question = question
    this.#history = history
    this.#extra = extra
  }

  /** Whether a call waits for its approval. */
  get isAsking (): boolean { return this.#asked !== undefined }

  /** The state of the interpreter that asked; undefined where it begins, or begins anew. */
  get continued (): unknown { return this.#given?.state }

  get #owner (): string | undefined { return this.#extra.principal?.owner }

  /** Reads the question. @throws APPROVAL_NOT_FOUND for data with an unknown id, also of another caller */
  async begin (): Promise<Begun> {
    const { log } = this.#extra
    const reply = replyOf(this.#question, this.#history, this.#extra)
    if (reply === undefined) return { kind: 'new' }
    const { id, approved, isNamed } = reply
    const found = await findApproval(this.#rule.records, this.#owner, id)
    if (found === undefined || found.vac !== this.#vac) {
      if (isNamed) throw new ApprovalNotFoundError()
      return { kind: 'new' }
    }
    // a model could repeat an id after a text of its choice
    if (!isNamed && this.#history.at(-1)?.content.trimEnd().endsWith(found.text) !== true) return { kind: 'new' }
    const by = this.#run
    const isAgain = found.status?.by === by
    const isLate = found.status === undefined ? Date.now() > found.expiresAt : !isAgain
    if (isLate) return approved === undefined ? { kind: 'new' } : this.#over(found)
    if (approved === undefined && !isAgain) return { kind: 'again', approval: found }
    let { status } = found
    if (status === undefined) {
      status = { approved: approved === true, by }
      if (!await changeStatus(this.#rule.records, this.#owner, id, undefined, status)) return this.#over({ ...found, status })
      log.info({ approval: id, tool: found.tool, mcpServer: found.server, owner: this.#owner, approved }, 'the call of a tool was answered')
    }
    this.#given = found
    this.#status = status
    this.#earlier = [...found.done ?? []]
    return { kind: 'goes on', question: found.question ?? '', history: found.history ?? [] }
  }

  /** The same for each attempt at a run. */
  get #run (): string {
    const { runId, taskId } = this.#extra
    return typeof runId === 'string' ? runId : typeof taskId === 'string' ? taskId : randomUUID()
  }

  #over ({ status }: FoundApproval): Begun {
    const reason = status === undefined ? 'This approval has expired, and the tool was not called.' : 'This question was answered before, and nothing was done again.'
    return { kind: 'over', text: `${reason} Ask again for what you need.` }
  }

  /**
   * Calls a tool or an agent, unless it needs an approval that the question does not give. What was answered for this
   * call counts, also where the call would not need an approval any more.
   * @param work calls it; it gets what the caller has approved, which the gateway then does not ask for again
   * @throws APPROVAL_REQUIRED, which ends the answer with the question; APPROVAL_DECLINED, APPROVAL_OUTCOME_UNKNOWN,
   *   APPROVAL_TOO_LARGE, and what `work` throws
   */
  async call<Result> (call: ApprovableCall, work: Work<Result>): Promise<Result> {
    const digest = callDigest(call)
    const earlier = this.#earlier.findIndex(done => done.digest === digest)
    if (earlier !== -1) {
      const [done] = this.#earlier.splice(earlier, 1) as [DoneCall]
      this.#done.push(done)
      return resultOf<Result>(done.outcome)
    }
    if (this.#given?.digest === digest && !this.#isSpent) {
      this.#isSpent = true
      return await this.#execute(call, digest, work)
    }
    if (await this.#needs(call)) return this.#wait(call)
    try {
      return this.#unlessAsked(call, await work(undefined))
    } catch (err) {
      // a server whose tools were not listed in time, so that only the gateway knows its `approve`
      if (call.server === undefined || !isRequired(err)) throw err
      return this.#wait(call)
    }
  }

  /** @throws APPROVAL_REQUIRED; APPROVAL_TOO_LARGE */
  #wait (call: ApprovableCall, shown = call, relay?: string): never {
    checkInput(shown)
    this.#asked ??= { call, shown, relay }
    throw new ApprovalRequiredError(JSON.stringify(call.tool), 'the caller is asked for it')
  }

  /** The answer of an agent, unless the agent asks for an approval: only the caller can give it. */
  #unlessAsked<Result> (call: ApprovableCall, result: Result): Result {
    const approval = isRecord(result) ? result.approval : undefined
    if (!isRecord(approval) || typeof approval.id !== 'string') return result
    const { id, tool, server, input } = approval
    return this.#wait(call, { server: [call.tool, server].filter(name => typeof name === 'string').join(' / '), tool: String(tool), input }, id)
  }

  async #needs ({ server, tool: name }: ApprovableCall): Promise<boolean> {
    const { approve } = this.#rule
    if (server === undefined) return needsApproval(approve, { name, annotations: this.#extra.tools.find(tool => tool.name === name)?.annotations })
    const listed = await this.#extra.listTools?.()
    return needsApproval(approve, { ...listed?.find(tool => tool.server === server && tool.name === name), server, name })
  }

  /** Executes the approved call once: that it begins is written first. */
  async #execute<Result> (call: ApprovableCall, digest: string, work: Work<Result>): Promise<Result> {
    const { id, tool, relay } = this.#given!
    const status = this.#status!
    const keep = (outcome: Outcome): void => { this.#done.push({ digest, outcome }) }
    const declined = new ApprovalDeclinedError(JSON.stringify(tool))
    if (!status.approved) {
      keep(failed(declined))
      throw declined
    }
    const unknown = new ApprovalOutcomeUnknownError(JSON.stringify(tool))
    if (status.outcome !== undefined || status.isBegun === true) {
      const outcome = status.outcome ?? failed(unknown)
      keep(outcome)
      return resultOf<Result>(outcome)
    }
    const begun = { ...status, isBegun: true }
    if (!await changeStatus(this.#rule.records, this.#owner, id, status, begun)) throw unknown
    let outcome: Outcome
    let thrown: { readonly err: unknown } | undefined
    try {
      outcome = { result: this.#unlessAsked(call, await work({ relay })) }
    } catch (err) {
      // the agent asks for another approval
      if (isRequired(err)) throw err
      thrown = { err }
      outcome = failed(err)
    }
    const kept = keptOutcome(outcome)
    keep(kept ?? failed(unknown))
    await changeStatus(this.#rule.records, this.#owner, id, begun, { ...begun, outcome: kept })
    if (thrown !== undefined) throw thrown.err
    return (outcome as { readonly result: Result }).result
  }

  /** Asks for what waits. @throws APPROVAL_TOO_LARGE */
  async ask (): Promise<StoredApproval> {
    const { question = this.#question, history = this.#history } = this.#given ?? {}
    const { call, shown, relay } = this.#asked!
    return await askApproval(this.#rule.records, this.#owner, call, this.#rule.ttlMs, {
      shown, relay, vac: this.#vac, question, history, state: this.state, done: this.state === undefined ? this.#done : undefined
    })
  }
}

/** Calls what may be called; `relay` is the id of the approval that an agent has asked for. */
type Work<Result> = (approved: { readonly relay: string | undefined } | undefined) => Promise<Result>

function isRequired (err: unknown): boolean { return (err as { code?: unknown } | null)?.code === 'APPROVAL_REQUIRED' }

function failed (err: unknown): Outcome {
  const { message, code, expose } = (err ?? {}) as { readonly message?: unknown, readonly code?: unknown, readonly expose?: unknown }
  const isShown = expose === true || typeof code === 'string'
  return { error: { message: isShown && typeof message === 'string' ? message : 'the tool failed', code: typeof code === 'string' ? code : undefined } }
}

/** @throws the error of a call that failed */
function resultOf<Result> (outcome: Outcome): Result {
  if ('result' in outcome) return outcome.result as Result
  const { message, code = 'TOOL_ERROR' } = outcome.error
  throw Object.assign(new Error(message), { code })
}
