import { CODES } from '@polyvac/mcp-protocol'
import { contextOf, SignInRequiredError } from '../errors.js'
import type { Servers } from '../servers.js'
import type { SourceContext } from './types.js'

/** Times that one call asks for the sign-in: a client may accept before its user has signed in. */
const MAX_ROUNDS = 20

/** Keys of the questions, besides those of servers. */
const KEY = 'polyvac-sign-in'

/**
 * Does `work`; where its owner has to sign in first, asks the client to open the address, waits for the sign-in, and
 * does it again.
 * @throws MCP_SIGN_IN_REQUIRED for a client that cannot open addresses, or whose user declines
 */
export async function withSignIn<T> (servers: Servers, context: SourceContext, ask: SourceContext['ask'], work: () => Promise<T>): Promise<T> {
  for (let round = 1; ; round++) {
    try {
      return await work()
    } catch (err) {
      if (!(err instanceof SignInRequiredError) || round > MAX_ROUNDS) throw err
      const { elicitation } = context.capabilities as { elicitation?: { url?: object } }
      if (elicitation?.url === undefined) throw err
      const { server = '', details } = contextOf(err) ?? {}
      const { url, elicitationId } = details as { url: string, elicitationId: string }
      const params = { mode: 'url', message: `Sign in to ${server} to continue.`, url, elicitationId }
      const answers = await ask({ [`${KEY}-${round}`]: { method: 'elicitation/create', params } }).catch((cannot: unknown) => {
        throw (cannot as { code?: unknown } | null)?.code === 'MCP_CANNOT_ASK' ? elicitationRequired(err, params) : cannot
      })
      if (answers[`${KEY}-${round}`]?.action !== 'accept') throw err
      const { questionTtlMs, readyWaitMs } = servers.limits
      // from 2026-07-28 on the client asks again, so that no request waits for a person
      const ms = context.era === 'legacy' ? questionTtlMs : readyWaitMs
      await servers.signIns.wait(context.principal?.owner ?? '', server, ms, context.signal)
      if (context.signal.aborted) throw context.signal.reason
    }
  }
}

/** The answers of a client without those to this service. */
export function forServer (answers: Readonly<Record<string, unknown>> | undefined): Readonly<Record<string, unknown>> | undefined {
  if (answers === undefined) return undefined
  const others = Object.entries(answers).filter(([key]) => !key.startsWith(KEY))
  return others.length === 0 ? undefined : Object.fromEntries(others)
}

/** -32042 of revision 2025-11-25, for a client that cannot be asked during its call. */
function elicitationRequired (err: Error, params: object): Error {
  return Object.assign(err, { rpcError: { code: CODES.urlElicitationRequired, message: err.message, data: { elicitations: [params] } } })
}
