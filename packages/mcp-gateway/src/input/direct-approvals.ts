import type { ApprovalRecords, Principal } from '@polyvac/core'
import {
  allowOwnCall, APPROVAL_TTL, ApprovalDeclinedError, ApprovalNotFoundError, ApprovalNotOpenError, ApprovalRequiredError, askApproval, auditRefusal, callDigest, changeStatus,
  findApproval, mayUse, quoteName, type FoundApproval
} from '@polyvac/core/plugin'
import type { Log } from '@polyvac/core'
import { withContext } from '../errors.js'
import type { CallOptions, ToolResult } from '../protocol/call-options.js'
import type { Approval } from '../schemas.js'
import type { Upstream } from '../upstream/upstream.js'

/** The same for unknown ids, those of others, and those of VACs. */
const ONLY_DIRECT = 'it is for calls that a caller makes of the gateway: the question of a VAC is answered by `yes` or `no` where it was asked, or by `approval: { id, approved }` of POST /vac/<name>'

/** An approval, with the owner of the call. */
type Located = FoundApproval & { readonly server: string, readonly owner: string | undefined }

/** Approvals of calls that callers make themselves, of tools of servers with `approve`. */
export class DirectApprovals {
  readonly #records: ApprovalRecords | undefined
  readonly #log: Log

  constructor (records: ApprovalRecords | undefined, log: Log) {
    this.#records = records
    this.#log = log
  }

  /**
   * Calls a tool; one that needs an approval with the one that the caller names.
   * @throws APPROVAL_REQUIRED with the id in its details; APPROVAL_NOT_FOUND, APPROVAL_NOT_OPEN, APPROVAL_DECLINED; the
   *   errors of a call
   */
  call (upstream: Upstream, tool: string, args: unknown, options: CallOptions, approval: string | undefined): Promise<ToolResult> {
    const { approve = [] } = upstream.config
    return approve.length === 0 ? upstream.call(tool, args, options) : this.#callApproved(upstream, tool, args, options, approval)
  }

  async #callApproved (upstream: Upstream, tool: string, args: unknown, options: CallOptions, approval: string | undefined): Promise<ToolResult> {
    try {
      return await upstream.call(tool, args, options)
    } catch (err) {
      // the tool exists, and the arguments fit: a person is not asked about anything else
      if (!(err instanceof ApprovalRequiredError) || this.#records === undefined) throw err
    }
    const owner = options.principal?.owner
    const call = { server: upstream.name, tool, input: args }
    if (approval === undefined) {
      const { approval_ttl: ttl = APPROVAL_TTL } = upstream.config
      throw required(await askApproval(this.#records, owner, call, ttl * 1_000))
    }
    const found = await findApproval(this.#records, owner, approval)
    if (found === undefined || found.vac !== undefined) throw new ApprovalNotFoundError(ONLY_DIRECT)
    if (found.digest !== callDigest(call)) throw new ApprovalNotOpenError('is for a call of another tool, or with other arguments')
    const { status } = found
    if (status === undefined && !isExpired(found)) throw required(found)
    if (status?.approved === false) throw new ApprovalDeclinedError(quoteName(tool))
    if (status === undefined || isExpired(found)) throw new ApprovalNotOpenError('has expired')
    const isFirst = status.isBegun !== true && await changeStatus(this.#records, owner, approval, status, { ...status, isBegun: true })
    if (!isFirst) throw new ApprovalNotOpenError('was used')
    return await upstream.call(tool, args, allowOwnCall(options))
  }

  /** An approval that the caller may answer. @throws APPROVAL_NOT_FOUND for any other, as for an unknown one */
  async get (principal: Principal | undefined, id: string): Promise<Approval> {
    return viewOf(await this.#find(principal, id))
  }

  /** Answers it. @throws APPROVAL_NOT_FOUND, APPROVAL_NOT_OPEN */
  async answer (principal: Principal | undefined, id: string, approved: boolean): Promise<Approval> {
    const found = await this.#find(principal, id)
    const { owner, server, tool } = found
    if (found.status !== undefined) throw new ApprovalNotOpenError('was answered before')
    if (isExpired(found)) throw new ApprovalNotOpenError('has expired')
    const status = { approved, by: principal?.owner ?? '' }
    if (!await changeStatus(this.#records!, owner, id, undefined, status)) throw new ApprovalNotOpenError('was answered before')
    this.#log.info({ approval: id, mcpServer: server, tool, owner, by: principal?.owner, approved }, 'the call of a tool was answered')
    return viewOf({ ...found, status })
  }

  async #find (principal: Principal | undefined, id: string): Promise<Located> {
    const located = await this.#records?.locate(id)
    const found = located && await findApproval(this.#records!, located.owner, id)
    if (found === undefined || found.vac !== undefined || found.server === undefined) throw new ApprovalNotFoundError(ONLY_DIRECT)
    const { server, tool } = found
    if (!mayUse(principal, { approval: { owner: located!.owner, server, tool } })) {
      auditRefusal(this.#log, { reason: 'SCOPE', owner: principal?.owner, what: `approval:${server}__${tool}` })
      throw new ApprovalNotFoundError(ONLY_DIRECT)
    }
    return { ...found, server, owner: located!.owner }
  }
}

function isExpired ({ expiresAt }: Pick<FoundApproval, 'expiresAt'>): boolean { return Date.now() > expiresAt }

function required ({ id, server, tool, input, expiresAt }: Pick<FoundApproval, 'id' | 'server' | 'tool' | 'input' | 'expiresAt'>): Error {
  const err = new ApprovalRequiredError(quoteName(tool), `approve it by POST /approvals/${id}, then make the same call with \`approval\``)
  return withContext(err, { server: server!, tool, details: { approval: id, input, expires_at: new Date(expiresAt).toISOString() } })
}

function viewOf ({ id, server, tool, input, expiresAt, status }: Located): Approval {
  const state = status?.isBegun === true ? 'used' : status?.approved === false ? 'declined' : isExpired({ expiresAt }) ? 'expired' : status === undefined ? 'waiting' : 'approved'
  return { id, server, tool, input, state, expires_at: new Date(expiresAt).toISOString() }
}
