import type { Authenticate, Runs, Vacs } from '@polyvac/core'
import type { FastifyBaseLogger } from 'fastify'
import { forwardTo } from './forward-to.js'
import type { HostTasks } from './host-tasks.js'

interface RunsParts {
  readonly vacs: Vacs
  readonly authenticate: Authenticate | undefined
  /** Opens the task engine. */
  readonly tasks: () => Promise<HostTasks>
  /** Whether the configuration names a store: then the host does not start without it. */
  readonly isConfigured: boolean
  /** Whether the store is open in any case: then runs that another process has left go on at once. */
  readonly isEager: boolean
  /** Whether conversations are kept. */
  readonly keeps: boolean
  readonly log: FastifyBaseLogger
  /** Loads a package; undefined where it is not installed. */
  readonly load: (name: string) => Promise<object | undefined>
}

type OwnRuns = ReturnType<typeof import('@polyvac/runs').createRuns>

/** Durable answers of the protocols of @polyvac/vac; undefined where their package or their store is missing. */
export async function openRuns ({ vacs, authenticate, tasks, isConfigured, isEager, keeps, log, load }: RunsParts): Promise<OwnRuns | undefined> {
  const module = await load('@polyvac/runs') as typeof import('@polyvac/runs') | undefined
  if (module === undefined) return undefined
  const open = async (): Promise<OwnRuns> => module.createRuns({ vacs, tasks: (await tasks()).store, authenticate, conversations: keeps, log })
  if (!isEager) return openedLater(open, keeps)
  try {
    return await open()
  } catch (err) {
    if (isConfigured) throw err
    log.warn({ reason: (err as Error).message }, 'answers cannot outlive their connection')
    return undefined
  }
}

/** Runs whose store is opened with the first of them: an open store keeps the process alive. */
function openedLater (open: () => Promise<OwnRuns>, keeps: boolean): OwnRuns {
  let opening: Promise<OwnRuns> | undefined
  const opened = async (): Promise<Runs> => await (opening ??= open())
  return {
    start: async (...args) => await (await opened()).start(...args),
    get: async (...args) => await (await opened()).get(...args),
    list: async (...args) => await (await opened()).list(...args),
    named: async (...args) => await (await opened()).named(...args),
    latest: async (...args) => await (await opened()).latest(...args),
    noteEnd: async (...args) => { await (await opened()).noteEnd(...args) },
    async * follow (...args) { yield * (await opened()).follow(...args) },
    cancel: async (...args) => await (await opened()).cancel(...args),
    delete: async (...args) => { await (await opened()).delete(...args) },
    continue: async (...args) => await (await opened()).continue(...args),
    beginTurn: async (...args) => await (await opened()).beginTurn(...args),
    answeredTurn: async (...args) => await (await opened()).answeredTurn(...args),
    conversations: keeps ? forwardTo(async () => (await opened()).conversations!) : undefined,
    stop: async () => { await (await opening)?.stop() }
  }
}
