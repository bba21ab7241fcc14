import { isLogLevel, LOG_LEVELS } from '@polyvac/mcp-protocol'
import type { LegacyCall } from '../calls/legacy-call.js'
import type { McpContext } from '../context.js'
import { invalidParams, methodNotFound } from '../protocol/rpc.js'
import { legacyTaskMethods } from './legacy-tasks.js'
import type { Method } from './method.js'
import { sharedMethods } from './shared.js'

type LegacyMethod = (server: McpContext, call: LegacyCall) => Promise<string>

const EMPTY = '{}'

/** The methods up to revision 2025-11-25, except `initialize`. */
export const legacyMethods: ReadonlyMap<string, Method> = new Map<string, Method>([
  ...sharedMethods,
  ...legacyTaskMethods,
  ['ping', async () => EMPTY],
  ['logging/setLevel', (async (_server, { params: { level }, session }) => {
    if (!isLogLevel(level)) throw invalidParams(`\`level\` must be one of ${LOG_LEVELS.join(', ')}`)
    if (session !== undefined) session.logLevel = level
    await session?.shared?.write({ level })
    return EMPTY
  }) satisfies LegacyMethod as Method],
  ['resources/subscribe', (async (server, { params: { uri }, session, principal }) => {
    if (typeof uri !== 'string') throw invalidParams('`uri` must be a string')
    if (session === undefined) throw methodNotFound('subscriptions need a session, and this server has none')
    // the answer for a resource that does not exist, which never changes
    if (!await server.registry.maySubscribe(uri, principal)) return EMPTY
    session.subscribe(uri)
    await session.shared?.write({ subscribe: uri })
    return EMPTY
  }) satisfies LegacyMethod as Method],
  ['resources/unsubscribe', (async (_server, { params: { uri }, session }) => {
    if (typeof uri !== 'string') return EMPTY
    session?.unsubscribe(uri)
    await session?.shared?.write({ unsubscribe: uri })
    return EMPTY
  }) satisfies LegacyMethod as Method]
])
