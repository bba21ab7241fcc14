import type { Log, Principal } from '@polyvac/core'
import { CallRecord, type CallFields } from '@polyvac/core/plugin'

/** Most characters of the name of a tool in a log line: callers choose it. Those of MCP have at most 128. */
const MAX_NAME_CHARS = 128

interface RecordedCall {
  readonly server: string
  readonly tool: string
  readonly principal: Principal | undefined
  readonly protocol: CallFields['protocol']
}

/** Calls a tool of a configured server, and logs the call. `outcomeOf` names the end of one that did not fail. */
export async function recordCall<T> ({ server, tool, principal, protocol }: RecordedCall, log: Log, call: () => Promise<T>, outcomeOf: (result: T) => string): Promise<T> {
  const record = new CallRecord({ server, tool: tool.slice(0, MAX_NAME_CHARS), protocol, principal }, log)
  try {
    const result = await call()
    record.outcome = outcomeOf(result)
    return result
  } catch (err) {
    throw record.failed(err)
  } finally {
    record.end('tool call')
  }
}

export function outcomeOfTool ({ isError }: { readonly isError?: unknown }): string {
  return isError === true ? 'failed' : 'completed'
}
