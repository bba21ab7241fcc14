import type { RunCaller, Runs } from '@polyvac/core'
import { failureOf, runCallerOf, type AbortSignalLike } from '@polyvac/core/plugin'
import type { FastifyRequest } from 'fastify'
import { ConversationsNotKeptError, RunsNotConfiguredError } from '../errors.js'
import type { CallerConversations, CallerRuns } from '../protocol.js'
import type { Served } from './served.js'

export function callerOf ({ principalOf }: Served, request: FastifyRequest): RunCaller { return runCallerOf(request, principalOf(request)) }

/** @throws RUNS_NOT_CONFIGURED */
export function requireRuns ({ runs }: Served): Runs {
  if (runs === undefined) throw new RunsNotConfiguredError()
  return runs
}

/** For what does not wait. */
const NEVER: AbortSignalLike = { aborted: false, reason: undefined, addEventListener () {}, removeEventListener () {} }

/** The runs of the caller of a request. @throws RUNS_NOT_CONFIGURED */
export function callerRuns (served: Served, request: FastifyRequest): CallerRuns {
  const runs = requireRuns(served)
  const caller = callerOf(served, request)
  return {
    list: async query => await runs.list(caller, query),
    get: async (vac, id) => await runs.get(caller, vac, id),
    read: async (vac, id) => await runs.get({ ...caller, readsAll: true }, vac, id),
    async find (vac, id) {
      try {
        return await runs.get(caller, vac, id)
      } catch (err) {
        if ((err as { code?: unknown }).code === 'RUN_NOT_FOUND') return undefined
        throw err
      }
    },
    named: async (vac, key) => await runs.named(caller, vac, served.protocol.name, key),
    latest: async (vac, id) => await runs.latest(caller, vac, id),
    cancel: async (vac, id) => await runs.cancel(caller, vac, id),
    delete: async (vac, id) => { await runs.delete(caller, vac, id) },
    async replay ({ id, turn }, add) {
      try {
        for await (const item of runs.follow(caller, undefined, id, 0, NEVER, { turn, isExact: true, isSnapshot: true })) add('restart' in item ? item : item.chunk, item.seq)
      } catch (err) {
        // its error has been logged when it failed
        if ((await runs.get(caller, undefined, id)).error === undefined) throw err
        return failureOf(err, request)
      }
      return undefined
    }
  }
}

/** The conversations of the caller of a request. @throws RUNS_NOT_CONFIGURED, CONVERSATIONS_NOT_KEPT */
export function callerConversations (served: Served, request: FastifyRequest): CallerConversations {
  const { conversations } = requireRuns(served)
  if (conversations === undefined) throw new ConversationsNotKeptError()
  const caller = callerOf(served, request)
  return {
    list: async (...args) => await conversations.list(caller, ...args),
    get: async (...args) => await conversations.get(caller, ...args),
    locate: async id => await conversations.locate(caller, ['', ...served.vacsOf(request).list().map(({ name }) => name)], id),
    turn: async (...args) => await conversations.turn(caller, ...args),
    turns: async (...args) => await conversations.turns(caller, ...args),
    change: async (...args) => await conversations.change(caller, ...args),
    edit: async (...args) => { await conversations.edit(caller, ...args) },
    delete: async (...args) => { await conversations.delete(caller, ...args) },
    import: async (...args) => await conversations.import(caller, ...args),
    historyFor: async question => await conversations.historyAt(await conversations.place(caller, question))
  }
}
