import type { RunCaller, Runs } from '@polyvac/core'
import { mayAdminister } from '@polyvac/core/plugin'
import type { FastifyRequest } from 'fastify'
import { RunsNotConfiguredError } from '../errors.js'
import type { CallerRuns } from '../protocol.js'
import type { Served } from './served.js'

/** The caller of a request, as runs know it. */
export function runCallerOf ({ principalOf }: Served, request: FastifyRequest): RunCaller {
  const principal = principalOf(request)
  const isAdmin = mayAdminister(request, principal)
  return { principal, isLocal: principal === undefined && isAdmin, isAdmin }
}

/** @throws RUNS_NOT_CONFIGURED */
export function requireRuns ({ runs }: Served): Runs {
  if (runs === undefined) throw new RunsNotConfiguredError()
  return runs
}

/** The runs of the caller of a request. @throws RUNS_NOT_CONFIGURED */
export function callerRuns (served: Served, request: FastifyRequest): CallerRuns {
  const runs = requireRuns(served)
  const caller = runCallerOf(served, request)
  return {
    list: async query => await runs.list(caller, query),
    get: async (vac, id) => await runs.get(caller, vac, id),
    cancel: async (vac, id) => await runs.cancel(caller, vac, id),
    delete: async (vac, id) => { await runs.delete(caller, vac, id) }
  }
}
